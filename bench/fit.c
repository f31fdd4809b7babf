#include <stdio.h>

#include "common.h"
#include "norm/calibration/calibration_transform.h"

/* Gram matrix, basis, eigenproblems of the search (the grid's on N/3 rows), products and gradients
 * of each evaluation, latent and full maps. */
static double flops(const bench_job *j, double Ns)
{
    double N = (double)j->info.n_samples, T = (double)j->info.n_responses;
    double P = (double)j->info.n_components, n = fmin(N, fmax(150, N / 3));
    return N * N * T + bench_eig_flops(N) + 2 * N * T * P +
           j->info.evaluations * (bench_eig_flops(N) + 5 * N * N * P + N * N * N) +
           j->info.evaluations_subsample * (bench_eig_flops(n) + 2 * n * n * P) +
           2 * Ns * N * (N + 2 * P) + 4 * Ns * P * T;
}

/* What is asked for beside the noise and P. */
typedef struct extra {
    const char *name; /* NULL: that of the noise */
    kn_calibrate calibrate;
    int folds;         /* of the reference */
    const int *groups; /* N, or NULL */
} extra;

static void run(bench *b, const bench_data *d, kn_noise noise, int P, const extra *more,
                double unit)
{
    kn_settings o;
    bench_job j;
    kn_settings_init(&o);
    o.noise = noise;
    o.components = P;
    o.calibrate = (int)more->calibrate;
    o.folds = more->folds;
    o.groups = more->groups;
    bench_run(b, d, &o, &j);
    double done = flops(&j, (double)d->Xs.rows);
    bench_row(b, "%s|%d|%.3f|%.3f|%.3f|%.3f|%.1f|%d|%d|%d|%.1f|%.0f %%|%.0f",
              more->name              ? more->name
              : noise == KN_NOISE_ISO ? "iso"
                                      : "structured",
              P, j.fit, j.latent + j.maps, j.z, j.total, j.total / unit, j.info.evaluations,
              j.info.evaluations_subsample, j.info.evaluations_inner, 1e-9 * done / j.total,
              bench_of_dgemm(b, done, j.total), j.peak);
}

/* What the default adds, one thing after the other: a reference, all of the calibration, and noise
 * that rows of a group share. */
static void defaults(bench *b, const bench_data *d, int P, double unit)
{
    void *code;
    BENCH_TRY(b, kn_alloc(b->ctx, d->X.rows, sizeof(int), &code));
    for (ptrdiff_t i = 0; i < d->X.rows; i++)
        ((int *)code)[i] = (int)(i / 3);
    extra more[] = {{"reference", KN_CALIBRATE_STUDENT, 10, NULL},
                    {"+ full", KN_CALIBRATE_FULL, 10, NULL},
                    {"+ groups", KN_CALIBRATE_FULL, 10, code}};
    for (size_t k = 0; k < sizeof more / sizeof *more; k++)
        run(b, d, KN_NOISE_STRUCTURED, P, &more[k], unit);
    kn_free(code);
}

int main(int argc, char **argv)
{
    static const int P[] = {10, 25, 100, 500}, few[] = {1, 2, 5, 10};
    bench b;
    bench_data d;
    bench_begin(
        &b, argc, argv, "fit",
        "How long does the whole job take at the paper's size? Fit with full search, mean "
        "and variance, z and the top 5 % statistic of 1440 new samples; N = 600, T = 5438, "
        "F = 100; without a reference, and then what reference, calibration and groups of three "
        "rows add to structured noise. In units of one dsyevd(600); eig: evaluations at N, each "
        "with "
        "a decomposition of R0 unless the one before was at the same point, sub: at N/3, inner: "
        "likelihoods with one at hand.");
    ptrdiff_t N = bench_size(&b, 600, 40);
    bench_paper(&b, N, bench_size(&b, 5438, 60), bench_size(&b, 100, 5), bench_size(&b, 1440, 20),
                &d);
    double unit = bench_unit(&b, N);
    printf("\nOne dsyevd(%td) took %.1f ms.\n", N, 1e3 * unit);
    bench_table(&b, "noise     |   P| fit s|maps s|   z s|total s| units| eig| sub|inner|GFLOP/s|"
                    "of DGEMM|peak MB");
    for (int k = 0; k < 4; k++)
        for (int iso = 0; iso < 2; iso++)
            run(&b, &d, iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED, b.quick ? few[k] : P[k],
                &(extra){.calibrate = KN_CALIBRATE_STUDENT}, unit);
    defaults(&b, &d, b.quick ? few[1] : P[1], unit);
    bench_free(&d);
    return bench_end(&b);
}
