#include "common.h"

/* Basis: Gram matrix, eigenproblem, B; evaluation: the same problem for R, U'Z, gradient. */
static double flops_linear(double N, double T, int evaluations)
{
    return 3 * N * N * T + bench_eig_flops(N) + evaluations * (bench_eig_flops(N) + 6 * N * N * N);
}

/* Distances; T x T eigenproblem of C, U'Z U_C and the contraction of its gradient. */
static double flops_se(double N, double T, int evaluations)
{
    return 2 * N * T * T + evaluations * (bench_eig_flops(T) + 4 * N * T * T + T * T * T);
}

static void run(bench *b, const bench_data *d, const char *what, kn_settings o, int threads)
{
    bench_job j;
    bench_threads(b, threads);
    o.method = "kronprod";
    o.folds = 0;
    bench_run(b, d, &o, &j);
    double flops = (o.task_kernel ? flops_se : flops_linear)((double)d->Y.rows, (double)d->Y.cols,
                                                             j.info.evaluations);
    bench_row(b, "%s|%td|%d|%.2f|%.2f|%d|%.2f|%.1f|%.0f %%|%.0f", what, d->Y.cols,
              kn_threads(b->ctx), j.fit, j.info.seconds_fit, j.info.evaluations,
              j.latent + j.maps + j.z, 1e-9 * flops / j.fit, bench_of_dgemm(b, flops, j.fit),
              j.peak);
}

int main(int argc, char **argv)
{
    static const double linear[] = {-4, -2, -2.65, -0.35, 2, -1, -0.5};
    static const double se[] = {-4, -1, 3.5, -2, -2.65, -0.35, 2, -1, -0.5};
    bench b;
    bench_data d, small;
    kn_settings fit, one, dense;
    bench_begin(
        &b, argc, argv, "kronprod",
        "What does MT-Kronprod cost, whose task kernel is over all responses? N = 600, "
        "F = 100, 1440 new samples. The authors' code, extrapolated to T = 5438: 60 s for one "
        "evaluation and 34 h for the variance. Linear and iso terms need no T x T problem, "
        "se does.");
    ptrdiff_t N = bench_size(&b, 600, 30), F = bench_size(&b, 100, 5),
              Ns = bench_size(&b, 1440, 20);
    bench_paper(&b, N, bench_size(&b, 5438, 50), F, Ns, &d);
    bench_paper(&b, N, bench_size(&b, 1500, 40), F, Ns, &small);
    kn_settings_init(&fit);
    one = fit;
    one.theta_start = linear;
    one.n_theta_start = 7;
    one.max_evals = 0;
    dense = one;
    dense.task_kernel = dense.sample_kernel = "linear+se+iso";
    dense.theta_start = se;
    dense.n_theta_start = 9;
    bench_table(&b,
                "task kernel                 |    T|threads| fit s|of it search s|eval|maps, z s|"
                "GFLOP/s|of DGEMM|peak MB");
    for (int k = 0; k < 2; k++) {
        int threads = k == 0 ? 1 : b.all;
        run(&b, &d, "linear + iso, one evaluation", one, threads);
        run(&b, &small, "with se, one evaluation", dense, threads);
    }
    run(&b, &d, "with se, one evaluation", dense, 0);
    run(&b, &d, "linear + iso, whole fit", fit, 0);
    bench_free(&small);
    bench_free(&d);
    return bench_end(&b);
}
