#include <lapacke.h>

#include "common.h"
#include "cov/kernel_sum.h"
#include "data/responses/responses.h"
#include "data/scaling.h"
#include "gp/likelihood/profile_1d.h"
#include "la/la.h"

enum { GRID = 45 }; /* of kn_profile */

/* s[0] = seconds of `call` with one thread, s[1] with all */
#define BOTH(b, s, times, call)                                                                    \
    for (int who_ = 0; who_ < 2; who_++) {                                                         \
        bench_threads((b), who_ == 0 ? 1 : (b)->all);                                              \
        BENCH_TIME((s)[who_], (b)->quick ? 1 : (times), call);                                     \
    }

static void row(bench *b, const char *where, const char *what, ptrdiff_t size, double one,
                double all)
{
    bench_row(b, "%s%s|%td|%.3f|%.3f|%.2f|%s", what, where, size, 1e3 * one, 1e3 * all, one / all,
              all > 1.05 * one ? "worse" : "");
}

static kn_mat values(bench *b, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_mat m;
    BENCH_TRY(b, kn_mat_new(b->ctx, rows, cols, &m));
    for (ptrdiff_t i = 0; i < rows * cols; i++)
        m.data[i] = 0.1 + (double)(i * 7 % 11) + (double)(i % 101) / 101;
    return m;
}

/* The products of an evaluation with P components. */
static void products(bench *b, const char *rows, ptrdiff_t N, ptrdiff_t P)
{
    kn_mat U = values(b, N, N), Z = values(b, N, P), A = values(b, N, P), Q = values(b, P, GRID);
    kn_mat inverse = values(b, N, GRID), H = values(b, N, N);
    double s[2];
    BOTH(b, s, 100, kn_gemm(b->ctx, 1, KN_T, U, KN_N, Z, 0, A));
    row(b, rows, "U'Z", P, s[0], s[1]);
    BOTH(b, s, 100, kn_gemm(b->ctx, 1, KN_T, Z, KN_N, inverse, 0, Q));
    row(b, rows, "grid of the profile", P, s[0], s[1]);
    BOTH(b, s, 100, kn_syrk(b->ctx, 1, KN_N, Z, 0, H));
    row(b, rows, "VV'", P, s[0], s[1]);
    kn_mat *all[] = {&U, &Z, &A, &Q, &inverse, &H};
    for (int k = 0; k < 6; k++)
        kn_mat_clear(all[k]);
}

/* LAPACK's own, so that src/la/eig.c's choice of one thread can be checked against it. */
static void eigenproblem(bench *b, ptrdiff_t N)
{
    kn_mat X = values(b, N, N), R = values(b, N, N), A = values(b, N, N);
    double s[2] = {INFINITY, INFINITY}, t, *w;
    BENCH_TRY(b, kn_alloc_d(b->ctx, N, &w));
    for (ptrdiff_t i = 0; i < N * N; i++)
        X.data[i] = sin((double)(i * i % 1000003));
    kn_syrk(b->ctx, 1, KN_N, X, 0, R);
    for (int k = 0; k < 2; k++) {
        bench_threads(b, k == 0 ? 1 : b->all);
        for (int again = 0; again < 10; again++) {
            kn_mat_set(A, R);
            BENCH_TIME(t, 1, LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', (int)N, A.data, (int)N, w));
            s[k] = fmin(s[k], t);
        }
    }
    row(b, "", "dsyevd", N, s[0], s[1]);
    kn_mat_clear(&X);
    kn_mat_clear(&R);
    kn_mat_clear(&A);
    kn_free(w);
}

static void profile(bench *b, ptrdiff_t N, ptrdiff_t P)
{
    kn_mat A2 = values(b, N, P), out = values(b, P, 3), r = values(b, N, 1);
    double s[2];
    BOTH(b, s, 20,
         BENCH_TRY(b, kn_profile(b->ctx, N, r.data, 0, A2, NULL, kn_col(out, 0), kn_col(out, 1),
                                 kn_col(out, 2))));
    row(b, "", "kn_profile", P, s[0], s[1]);
    kn_mat_clear(&A2);
    kn_mat_clear(&out);
    kn_mat_clear(&r);
}

static kn_status pairs_of(bench *b, kn_mat X)
{
    kn_pairs pairs = {0};
    kn_cov cov;
    kn_status status = kn_cov_parse(b->ctx, "linear+se", X.cols, &cov);
    if (status == KN_OK)
        status = kn_pairs_within(b->ctx, X, &cov.stats, &pairs);
    kn_pairs_clear(&pairs);
    return status;
}

/* What reads the data once. */
static void passes(bench *b, const bench_data *d)
{
    kn_mat X = {d->memory[0], d->X.rows, d->X.cols, d->X.col_stride};
    ptrdiff_t width = d->Y.cols < KN_BLOCK ? d->Y.cols : KN_BLOCK;
    kn_mat block = values(b, d->Y.rows, width);
    kn_scaling scaling;
    double s[2];
    BOTH(b, s, 5, BENCH_TRY(b, pairs_of(b, X)));
    row(b, "", "distances of samples, by F", X.cols, s[0], s[1]);
    BENCH_TRY(b, kn_scaling_new(b->ctx, d->Y, true, &scaling));
    kn_responses Y = kn_responses_of(d->Y, &scaling);
    BOTH(b, s, 10, kn_responses_block(b->ctx, &Y, 0, block));
    row(b, "", "standardised block of responses", width, s[0], s[1]);
    kn_scaling_clear(&scaling);
    BOTH(b, s, 1, BENCH_TRY(b, kn_scaling_new(b->ctx, d->Y, true, &scaling));
         kn_scaling_clear(&scaling));
    row(b, "", "means and deviations of responses", d->Y.cols, s[0], s[1]);
    kn_mat_clear(&block);
}

static void fit(bench *b, const bench_data *d, kn_noise noise, int P)
{
    kn_settings o;
    bench_job j[2];
    kn_settings_init(&o);
    o.noise = noise;
    o.components = P;
    o.folds = 0;
    for (int t = 0; t < 2; t++) {
        bench_threads(b, t == 0 ? 1 : b->all);
        bench_run(b, d, &o, &j[t]);
    }
    const char *name = noise == KN_NOISE_ISO ? "iso" : "structured";
    row(b, name, "basis, ", P, j[0].info.seconds_basis, j[1].info.seconds_basis);
    row(b, name, "search, ", P, j[0].info.seconds_fit, j[1].info.seconds_fit);
    row(b, name, "maps and z, ", P, j[0].total - j[0].fit, j[1].total - j[1].fit);
}

int main(int argc, char **argv)
{
    static const ptrdiff_t eig[] = {50, 100, 150, 200, 256, 320, 400, 600},
                           P[] = {10, 25, 100, 500};
    bench b;
    bench_data d;
    bench_begin(&b, argc, argv, "threads",
                "Is more than one thread worth its start for each step of a fit at N = 600, "
                "T = 5438, F = 100? This is what ONE_THREAD in src/la/eig.c and the grain sizes of "
                "kn_parallel are chosen by.");
    ptrdiff_t N = bench_size(&b, 600, 30);
    bench_table(&b, "step                             | size|1 thread ms|all ms|speed-up|     ");
    for (int k = 0; k < 8; k++)
        eigenproblem(&b, b.quick ? 5 + k : eig[k]);
    for (int k = 0; k < 4; k++) {
        products(&b, "", N, b.quick ? 1 + k : P[k]);
        profile(&b, N, b.quick ? 1 + k : P[k]);
    }
    products(&b, " on a third of the rows", N / 3, b.quick ? 2 : 25);
    bench_paper(&b, N, bench_size(&b, 5438, 60), bench_size(&b, 100, 5), bench_size(&b, 1440, 20),
                &d);
    passes(&b, &d);
    fit(&b, &d, KN_NOISE_STRUCTURED, b.quick ? 2 : 25);
    fit(&b, &d, KN_NOISE_ISO, b.quick ? 2 : 25);
    fit(&b, &d, KN_NOISE_ISO, b.quick ? 3 : 500);
    bench_free(&d);
    return bench_end(&b);
}
