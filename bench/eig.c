#include <lapacke.h>

#include "base/random.h"
#include "common.h"
#include "la/la.h"

typedef lapack_int (*solver)(kn_mat A, kn_mat Q, double *w);

static lapack_int dsyevd(kn_mat A, kn_mat Q, double *w)
{
    (void)Q;
    return LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', (lapack_int)A.rows, A.data,
                          (lapack_int)A.rows, w);
}

/* support: which entries of each vector are not zero; w has room for it */
static lapack_int dsyevr(kn_mat A, kn_mat Q, double *w)
{
    lapack_int n = (lapack_int)A.rows, found, *support = (lapack_int *)(w + n);
    return LAPACKE_dsyevr(LAPACK_COL_MAJOR, 'V', 'A', 'L', n, A.data, n, 0, 0, 0, 0, 0, &found, w,
                          Q.data, n, support);
}

static double seconds_of(bench *b, solver solve, kn_mat R, kn_mat A, kn_mat Q, double *w)
{
    double best = INFINITY, t;
    for (int k = 0; k < (R.rows > 1000 ? 2 : 5); k++) {
        lapack_int info;
        kn_mat_set(A, R);
        BENCH_TIME(t, 1, info = solve(A, Q, w));
        if (info != 0)
            BENCH_TRY(b, kn_fail(b->ctx, KN_ERR_NUMERIC, "info is %d", (int)info));
        best = fmin(best, t);
    }
    return best;
}

static void size(bench *b, ptrdiff_t N)
{
    static const solver solvers[] = {dsyevd, dsyevr};
    double n3 = (double)N * (double)N * (double)N;
    kn_mat X, R, A, Q;
    double *w, s[2];
    kn_rng rng;
    kn_rng_init(&rng, 1, 9);
    BENCH_TRY(b, kn_mat_new(b->ctx, N, 2 * N, &X));
    BENCH_TRY(b, kn_mat_new(b->ctx, N, N, &R));
    BENCH_TRY(b, kn_mat_new(b->ctx, N, N, &A));
    BENCH_TRY(b, kn_mat_new(b->ctx, N, N, &Q));
    BENCH_TRY(b, kn_alloc_d(b->ctx, 2 * N, &w));
    for (ptrdiff_t i = 0; i < 2 * N * N; i++)
        X.data[i] = kn_rng_normal(&rng);
    kn_syrk(b->ctx, 1.0 / (double)N, KN_N, X, 0, R);
    for (int k = 0; k < 2; k++) {
        for (int t = 0; t < 2; t++) {
            bench_threads(b, t == 0 ? 1 : b->all);
            s[t] = seconds_of(b, solvers[k], R, A, Q, w);
        }
        bench_row(b, "%s|%td|%.2f|%.2f|%.2f|%.3f|%.3f|%.1f|%.0f %%", k == 0 ? "dsyevd" : "dsyevr",
                  N, 1e3 * s[0], 1e3 * s[1], s[0] / s[1], 1e9 * s[0] / n3, 1e9 * s[1] / n3,
                  1e-9 * bench_eig_flops((double)N) / s[1],
                  bench_of_dgemm(b, bench_eig_flops((double)N), s[1]));
    }
    kn_mat_clear(&X);
    kn_mat_clear(&R);
    kn_mat_clear(&A);
    kn_mat_clear(&Q);
    kn_free(w);
}

int main(int argc, char **argv)
{
    static const ptrdiff_t sizes[] = {150, 300, 600, 1200, 2000}, tiny[] = {5, 20, 40, 60, 80};
    bench b;
    bench_begin(&b, argc, argv, "eig",
                "What does one symmetric eigenproblem with vectors cost, the unit of all the "
                "others? On a Wishart matrix; flops are 10/3 N^3.");
    bench_table(&b, "routine|    N|  1 ms|all ms|speed-up|1: ns/N^3|all: ns/N^3|GFLOP/s|of DGEMM");
    for (int k = 0; k < 5; k++)
        size(&b, b.quick ? tiny[k] : sizes[k]);
    return bench_end(&b);
}
