#include "common.h"

enum { SITES = 12 };

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

/* Seconds of one evaluation with gradient: a search cut short against none at all. */
static void evaluation(bench *b, ptrdiff_t N, ptrdiff_t rank)
{
    study s;
    bench_job none, some;
    study_new(b, N, bench_size(b, 300, 20), bench_size(b, 100, 3), 0, &s);
    s.o.rank = (int)rank;
    s.o.max_evals = 0;
    bench_run(b, &s.d, &s.o, &none);
    s.o.max_evals = 8;
    bench_run(b, &s.d, &s.o, &some);
    int more = some.info.evaluations - none.info.evaluations;
    double one = (some.info.seconds_fit - none.info.seconds_fit) / more;
    bench_row(b, "%s|%td|%td|%.1e|%d|%.3f|%.2f|%.2f|%.2f|%.0f",
              some.info.rank == N ? "dense" : "low rank", N, some.info.rank,
              some.info.rank_residual, more, one, 1e6 * one / (double)N, none.info.seconds_fit,
              some.info.seconds_fit, some.peak);
    study_clear(&s);
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
    bench_begin(&b, argc, argv, "large_n",
                "What do many samples cost? R of low rank against dense, for a cohort with "
                "age, sex and 12 sites: seconds of one likelihood with gradient at P = 25, then "
                "whole fits of 200,000 samples with their peak memory, data included.");
    bench_table(&b,
                "R       |     N|  rank|residual|evaluations|s for one|us/sample|first s|search s|"
                "peak MB");
    ptrdiff_t N = bench_size(&b, 2000, 40), rank = bench_size(&b, KN_RANK_AUTO, 20);
    evaluation(&b, N, KN_RANK_FULL);
    evaluation(&b, N, rank);
    evaluation(&b, bench_size(&b, 10000, 60), rank);
    evaluation(&b, bench_size(&b, 50000, 80), rank);
    bench_table(
        &b, "basis               |     N|   T|  P| rank| fit s|of it basis s|evaluations|maps s|"
            "   z s|data MB|peak MB");
    fit(&b, bench_size(&b, 200000, 80), bench_size(&b, 300, 20), bench_size(&b, 20, 3));
    return bench_end(&b);
}
