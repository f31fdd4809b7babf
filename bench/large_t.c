#include "common.h"
#include "data/scaling.h"
#include "gp/basis/basis.h"

typedef struct step {
    const char *name;
    ptrdiff_t N, T;
    double seconds, peak;   /* peak: MB */
    double f64, f32, bytes; /* flops in double and in float32; bytes read or written */
} step;

static void row(bench *b, const step *s)
{
    double flops = s->f64 + s->f32;
    bench_row(b, "%s|%td|%td|%.2f|%.2f|%.1f|%.1f|%.0f %%|%.1f|%.0f %%|%.0f", s->name, s->N, s->T,
              s->seconds, 1e9 * s->seconds / s->bytes, 1e-9 * flops, 1e-9 * flops / s->seconds,
              bench_of_gemm(b, s->f64, s->f32, s->seconds), 1e-9 * s->bytes / s->seconds,
              bench_of_memory(b, s->bytes, s->seconds), s->peak);
}

static step reading(const bench_data *d, const char *name)
{
    double bytes = 4 * (double)d->Y.rows * (double)d->Y.cols;
    return (step){.name = name, .N = d->Y.rows, .T = d->Y.cols, .bytes = bytes};
}

/* Adds the Gram matrix in its precision, and its eigenproblem in double. */
static void add_gram_flops(const bench_data *d, step *s)
{
    double N = (double)d->Y.rows, flops = N * N * (double)d->Y.cols;
    kn_responses Y = {.Y = d->Y, .N = d->Y.rows, .T = d->Y.cols};
    *(kn_gram_precision(&Y) == KN_F32 ? &s->f32 : &s->f64) += flops;
    s->f64 += bench_eig_flops(N);
}

/* The steps that read Y, each by itself. */
static void passes(bench *b, const bench_data *d, ptrdiff_t P)
{
    double N = (double)d->Y.rows, T = (double)d->Y.cols, p = (double)P;
    step s = reading(d, "means, deviations");
    kn_scaling scaling;
    kn_gram gram;
    kn_basis basis;
    bench_peak_reset(b);
    BENCH_TIME(s.seconds, 1, BENCH_TRY(b, kn_scaling_new(b->ctx, d->Y, true, &scaling)));
    s.peak = bench_peak_mb();
    s.f64 = 5 * N * T;
    row(b, &s);
    s = reading(d, "Gram, its eig");
    kn_responses Y = kn_responses_of(d->Y, &scaling);
    bench_peak_reset(b);
    BENCH_TIME(s.seconds, 1, BENCH_TRY(b, kn_gram_new(b->ctx, &Y, &gram)));
    s.peak = bench_peak_mb();
    add_gram_flops(d, &s);
    row(b, &s);
    s = reading(d, "B = Y'U/s");
    bench_peak_reset(b);
    BENCH_TIME(s.seconds, 1, BENCH_TRY(b, kn_basis_pca(b->ctx, &Y, &gram, P, &basis)));
    s.peak = bench_peak_mb();
    s.f64 = 2 * N * T * p + T * p * p;
    row(b, &s);
    kn_basis_clear(&basis);
    kn_gram_clear(&gram);
    kn_scaling_clear(&scaling);
}

/* search: of the parameters too; else the model is that of one point. */
static void run_fit(bench *b, const bench_data *d, int P, bool search, bench_job *out)
{
    kn_settings o;
    bench_settings(d, &o);
    o.components = P;
    o.folds = 0;
    if (!search)
        o.max_evals = 0;
    bench_run(b, d, &o, out);
}

/* The basis as a fit makes it. */
static void basis(bench *b, const bench_data *d, int P)
{
    bench_job j;
    step s = reading(d, "basis in a fit");
    run_fit(b, d, P, false, &j);
    add_gram_flops(d, &s);
    s.seconds = j.info.seconds_basis;
    s.peak = j.peak;
    s.f64 += 2 * (double)d->Y.rows * (double)d->Y.cols * P;
    row(b, &s);
}

/* Of one evaluation, at least: the Gram matrix of m features, its eigenproblem and U'Z; dense, the
 * eigenproblem of R0 and U'Z. */
static double evaluation_flops(double N, double m, double P)
{
    return bench_eig_flops(m) + 2 * N * m * P + (m < N ? N * m * m : 0);
}

static void job(bench *b, const bench_data *d, int P)
{
    double N = (double)d->Y.rows, T = (double)d->Y.cols, Ns = (double)d->Xs.rows, p = P;
    bench_job j;
    run_fit(b, d, P, true, &j);
    step fit = reading(d, "whole fit"), maps = fit, z = fit;
    fit.peak = maps.peak = z.peak = j.peak;
    fit.seconds = j.fit;
    add_gram_flops(d, &fit);
    fit.f64 += 4 * N * T * p + j.info.evaluations * evaluation_flops(N, (double)j.info.rank, p);
    row(b, &fit);
    maps.name = "maps";
    maps.N = z.N = d->Xs.rows;
    maps.seconds = j.latent + j.maps;
    maps.f64 = 4 * Ns * p * T;
    maps.bytes = 2 * 8 * Ns * T;
    row(b, &maps);
    z.name = "z, top 5 %";
    z.seconds = j.z;
    z.f64 = 4 * Ns * T;
    z.bytes = maps.bytes + 4 * Ns * T;
    row(b, &z);
}

int main(int argc, char **argv)
{
    static const ptrdiff_t T[] = {50000, 200000};
    bench b;
    bench_data d;
    bench_begin(&b, argc, argv, "large_t",
                "How fast are many responses read? A cohort of N = 600 in float32, F = 8, P = 50, "
                "500 new samples; then the basis of N = 3000. Bytes are those of Y, or of the "
                "maps, once; of GEMM: of DGEMM, or of SGEMM for a Gram matrix in float32.");
    bench_table(&b, "step             |  N|     T|     s|  s/GB| GFLOP|GFLOP/s|of GEMM|  GB/s|"
                    "of memory|peak MB");
    for (int k = 0; k < 2; k++) {
        bench_cohort(&b, bench_size(&b, 600, 30), bench_size(&b, T[k], 100), 6,
                     bench_size(&b, 500, 10), &d);
        passes(&b, &d, bench_size(&b, 50, 3));
        job(&b, &d, (int)bench_size(&b, 50, 3));
        bench_free(&d);
    }
    bench_cohort(&b, bench_size(&b, 3000, 40), bench_size(&b, T[0], 100), 6, 0, &d);
    basis(&b, &d, (int)bench_size(&b, 50, 3));
    bench_free(&d);
    return bench_end(&b);
}
