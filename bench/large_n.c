#include "evaluate.h"

enum { SITES = 12, POINTS = 5 }; /* four points are timed */

typedef struct study {
    bench_data d;
    kn_settings o;
    double *B; /* T x P */
} study;

/* With a basis of its own, the first P responses as they are, where the basis is not the question.
 */
static void study_new(bench *b, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P, ptrdiff_t Ns, study *s)
{
    bench_cohort(b, N, T, SITES, Ns, &s->d);
    BENCH_TRY(b, kn_alloc_d(b->ctx, T * P, &s->B));
    for (ptrdiff_t p = 0; p < P; p++)
        s->B[p * T + p] = 1;
    bench_settings(&s->d, &s->o);
    s->o.basis_view = kn_view_cols(s->B, T, P);
    s->o.folds = 0;
}

static void study_clear(study *s)
{
    bench_free(&s->d);
    kn_free(s->B);
}

static void evaluation(bench *b, ptrdiff_t N, bool dense)
{
    bench_shape shape = {.N = N, .P = bench_size(b, 25, 3), .sites = SITES, .dense = dense};
    bench_additive a;
    kn_cov_point at[POINTS];
    bench_evaluation t;
    bench_peak_reset(b);
    bench_additive_new(b, &shape, &a);
    bench_points(&a.e.cov, &a.box.middle, POINTS, at);
    BENCH_TRY(b, bench_evaluate(b, &a.e, at, POINTS, &t));
    bench_row(b, "%s|%td|%td|%.1e|%.2f|%.2f|%.2f|%.2f|%.2f|%.0f", dense ? "dense" : "low rank", N,
              a.e.cell[0].R0.m, a.e.cell[0].R0.residual, 1e3 * t.whole, 1e3 * t.decompose,
              1e3 * t.maximise, 1e3 * t.gradient, 1e6 * t.whole / (double)N, bench_peak_mb());
    bench_additive_clear(&a);
}

static void fit(bench *b, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P)
{
    study s;
    bench_job j;
    study_new(b, N, T, P, bench_size(b, 1000, 10), &s);
    for (int own = 1; own >= 0; own--) {
        if (!own) {
            s.o.basis_view = (kn_view){0};
            s.o.components = (int)P;
        }
        bench_run(b, &s.d, &s.o, &j);
        bench_row(b, "%s|%td|%td|%td|%td|%.1f|%.1f|%d|%.1f|%.1f|%.0f|%.0f",
                  own ? "given" : "principal components", N, T, P, j.info.rank, j.fit,
                  j.info.seconds_basis, j.info.evaluations, j.latent + j.maps, j.z,
                  4e-6 * (double)N * (double)T, j.peak);
    }
    study_clear(&s);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(
        &b, argc, argv, "large_n",
        "What do many samples cost? R of low rank against dense, for a cohort with "
        "age, sex and 12 sites: milliseconds of one likelihood with gradient at P = 25 and of "
        "its parts, each repetition at a point of its own; then whole fits of 200,000 "
        "samples with their peak memory, data included.");
    bench_table(&b, "R       |     N|  rank|residual|ms for one|R0, eig, U'Z|components|gradient|"
                    "us/sample|peak MB");
    ptrdiff_t N = bench_size(&b, 2000, 40);
    evaluation(&b, N, true);
    evaluation(&b, N, false);
    evaluation(&b, bench_size(&b, 10000, 60), false);
    evaluation(&b, bench_size(&b, 50000, 80), false);
    bench_table(
        &b, "basis               |     N|   T|  P| rank| fit s|of it basis s|evaluations|maps s|"
            "   z s|data MB|peak MB");
    fit(&b, bench_size(&b, 200000, 80), bench_size(&b, 300, 20), bench_size(&b, 20, 3));
    return bench_end(&b);
}
