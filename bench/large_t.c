#include "common.h"
#include "gp/basis.h"

static void row(bench *b, const char *step, ptrdiff_t N, ptrdiff_t T, double seconds, double flops,
                double bytes)
{
    bench_row(b, "%s|%td|%td|%.2f|%.2f|%.1f|%.1f|%.0f %%|%.1f|%.0f %%|%.0f", step, N, T, seconds,
              1e9 * seconds / bytes, 1e-9 * flops, 1e-9 * flops / seconds,
              bench_of_dgemm(b, flops, seconds), 1e-9 * bytes / seconds,
              bench_of_memory(b, bytes, seconds), bench_peak_mb());
}

/* The steps that read Y, each by itself. */
static void passes(bench *b, const bench_data *d, ptrdiff_t P)
{
    double N = (double)d->Y.rows, T = (double)d->Y.cols, bytes = 4 * N * T, s, p = (double)P;
    kn_scaling scaling;
    kn_gram gram;
    kn_basis basis;
    bench_peak_reset(b);
    BENCH_TIME(s, 1, BENCH_TRY(b, kn_scaling_new(b->ctx, d->Y, true, &scaling)));
    row(b, "means, deviations", d->Y.rows, d->Y.cols, s, 5 * N * T, bytes);
    kn_responses Y = kn_responses_of(d->Y, &scaling);
    bench_peak_reset(b);
    BENCH_TIME(s, 1, BENCH_TRY(b, kn_gram_new(b->ctx, &Y, &gram)));
    row(b, "Gram, its eig", d->Y.rows, d->Y.cols, s, N * N * T + bench_eig_flops(N), bytes);
    bench_peak_reset(b);
    BENCH_TIME(s, 1, BENCH_TRY(b, kn_basis_pca(b->ctx, &Y, &gram, P, &basis)));
    row(b, "B = Y'U/s", d->Y.rows, d->Y.cols, s, 2 * N * T * p + T * p * p, bytes);
    kn_basis_clear(&basis);
    kn_gram_clear(&gram);
    kn_scaling_clear(&scaling);
}

/* The basis as a fit makes it, whatever way it chooses for this many samples. */
static void basis(bench *b, const bench_data *d, int P)
{
    kn_settings o;
    bench_job j;
    bench_settings(d, &o);
    o.components = P;
    o.folds = 0;
    o.max_evals = 0;
    bench_run(b, d, &o, &j);
    double N = (double)d->Y.rows, T = (double)d->Y.cols;
    row(b, "basis in a fit", d->Y.rows, d->Y.cols, j.info.seconds_basis,
        N * N * T + 2 * N * T * P + bench_eig_flops(N), 4 * N * T);
}

static void job(bench *b, const bench_data *d, int P)
{
    double N = (double)d->Y.rows, T = (double)d->Y.cols, Ns = (double)d->Xs.rows, p = P;
    double bytes = 4 * N * T, maps = 2 * 8 * Ns * T;
    kn_settings o;
    bench_job j;
    bench_settings(d, &o);
    o.components = P;
    o.folds = 0;
    bench_run(b, d, &o, &j);
    row(b, "whole fit", d->Y.rows, d->Y.cols, j.fit,
        N * N * T + 4 * N * T * p + (1 + j.info.evaluations) * bench_eig_flops(N), bytes);
    row(b, "maps", d->Xs.rows, d->Y.cols, j.latent + j.maps, 4 * Ns * p * T, maps);
    row(b, "z, top 5 %", d->Xs.rows, d->Y.cols, j.z, 4 * Ns * T, maps + 4 * Ns * T);
}

int main(int argc, char **argv)
{
    static const ptrdiff_t T[] = {50000, 200000};
    bench b;
    bench_data d;
    bench_begin(&b, argc, argv, "large_t",
                "How fast are many responses read? A cohort of N = 600 in float32, F = 8, P = 50, "
                "500 new samples; then the basis of N = 3000. Bytes are those of Y, or of the "
                "maps, once; flops "
                "those of the Gram matrix, also where a range finder takes its place.");
    bench_table(&b, "step             |  N|     T|     s|  s/GB| GFLOP|GFLOP/s|of DGEMM|  GB/s|"
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
