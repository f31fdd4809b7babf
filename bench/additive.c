#include "evaluate.h"
#include "norm/calibration/calibration_transform.h"

enum { POINTS = 6, SITES = 20 }; /* five points are timed */

/* One likelihood with gradient, near where a search begins. */
static void evaluation(bench *b, const bench_shape *shape, double unit)
{
    bench_additive a;
    kn_cov_point at[POINTS];
    bench_evaluation t;
    bench_additive_new(b, shape, &a);
    bench_points(&a.e.cov, &a.box.middle, POINTS, at);
    BENCH_TRY(b, bench_evaluate(b, &a.e, at, POINTS, &t));
    bench_row(b, "%s|%td|%td|%s|%s|%td|%.2f|%.3f", shape->pixels ? "100 pixels" : "age, sex, site",
              shape->N, shape->P, shape->groups ? "yes" : "no", shape->dense ? "dense" : "low rank",
              a.e.cell[0].R0.m, 1e3 * t.whole, t.whole / unit);
    bench_additive_clear(&a);
}

/* A whole fit: components given, or by the curve and with a reference. The seconds; `given`: those
 * of the fit to compare with, or 0. */
static double whole(bench *b, bool pixels, bool groups, int P, double given, double unit)
{
    ptrdiff_t N = bench_size(b, 600, 60), T = bench_size(b, 5438, 60);
    int folds = P == KN_COMPONENTS_AUTO ? 10 : 0;
    bench_data d;
    kn_settings o;
    bench_job j;
    int *code = groups ? bench_groups(b, N) : NULL;
    if (pixels)
        bench_paper(b, N, T, bench_size(b, 100, 5), 0, &d);
    else
        bench_cohort(b, N, T, SITES, 0, &d);
    bench_settings(&d, &o);
    o.components = P;
    o.folds = folds;
    o.calibrate = KN_CALIBRATE_STUDENT;
    o.groups = code;
    bench_run(b, &d, &o, &j);
    bench_row(b, "%s|%td|%td|%s|%td|%td|%d|%d|%.3f|%.1f|%.1f|%.1f|%.1f",
              pixels ? "100 pixels" : "age, sex, site", N, T, groups ? "yes" : "no",
              j.info.n_components, j.info.rank, j.info.evaluations, j.info.evaluations_subsample,
              j.fit, (j.info.seconds_basis + j.info.seconds_fit) / unit,
              j.info.seconds_reference / unit, j.fit / unit, given > 0 ? j.fit / given : 1);
    kn_free(code);
    bench_free(&d);
    return j.fit;
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "additive",
                "What does the additive model cost? One likelihood with gradient, by exact "
                "features and dense, with and without groups of three rows, each repetition at a "
                "point of its own; then whole fits: components given, or by the curve and with the "
                "reference, Student's calibration. In units of one dsyevd(600) of this run.");
    ptrdiff_t N = bench_size(&b, 600, 60);
    double unit = bench_unit(&b, N);
    int P = (int)bench_size(&b, 25, 2);
    bench_table(&b, "covariates    |     N|  P|groups|R0      |rank|     ms|  units");
    for (int groups = 0; groups < 2; groups++) {
        bench_shape shapes[] = {
            {.N = N, .P = P},
            {.N = N, .P = P, .dense = true},
            {.N = N, .P = P, .dense = true, .pixels = true},
            {.N = bench_size(&b, 50000, 200), .P = bench_size(&b, 100, 3)},
        };
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            shapes[k].groups = groups;
            shapes[k].sites = SITES;
            evaluation(&b, &shapes[k], unit);
        }
    }
    bench_table(&b, "covariates    |  N|   T|groups|  P|rank|eig|sub|fit s|basis + search|"
                    "reference| units|x given");
    for (int groups = 0; groups < 2; groups++)
        for (int pixels = 0; pixels < 2; pixels++) {
            double given = whole(&b, pixels, groups, P, 0, unit);
            whole(&b, pixels, groups, KN_COMPONENTS_AUTO, given, unit);
        }
    return bench_end(&b);
}
