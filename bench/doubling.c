#include "common.h"

typedef struct sizes {
    ptrdiff_t N, T, F;
    int P;
} sizes;

typedef struct costs {
    double basis, fit, one, predict, peak; /* seconds; one: a single evaluation */
    int eig, sub;
} costs;

static costs measure(bench *b, sizes n)
{
    bench_data d;
    bench_job j, at;
    kn_settings o;
    bench_paper(b, n.N, n.T, n.F, bench_size(b, 500, 10), &d);
    kn_settings_init(&o);
    o.components = n.P;
    o.folds = 0;
    bench_run(b, &d, &o, &j);
    o.rho = 0.5;
    o.length = sqrt((double)n.F);
    o.max_evals = 0;
    costs c = {
        j.info.seconds_basis, j.info.seconds_fit,          INFINITY, j.latent + j.maps, j.peak,
        j.info.evaluations,   j.info.evaluations_subsample};
    for (int k = 0; k < 3; k++) {
        bench_run(b, &d, &o, &at);
        c.basis = fmin(c.basis, at.info.seconds_basis);
        c.one = fmin(c.one, at.info.seconds_fit);
        c.predict = fmin(c.predict, at.latent + at.maps);
    }
    bench_free(&d);
    return c;
}

static void row(bench *b, const char *what, const costs *c, const costs *base)
{
    bench_row(b, "%s|%.3f|x %.2f|%.3f|x %.2f|%.3f|x %.2f|%d + %d|%.3f|x %.2f|%.0f", what, c->basis,
              c->basis / base->basis, c->one, c->one / base->one, c->fit, c->fit / base->fit,
              c->eig, c->sub, c->predict, c->predict / base->predict, c->peak);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(
        &b, argc, argv, "doubling",
        "How does the cost grow when one size is doubled and the others stay? From N = 400, "
        "T = 5000, P = 50, F = 10, with structured noise; mean and variance of 500 new "
        "samples. x: against the first row; eig: evaluations at N + at N/3.");
    sizes n = {bench_size(&b, 400, 30), bench_size(&b, 5000, 50), bench_size(&b, 10, 2),
               (int)bench_size(&b, 50, 3)};
    costs base = measure(&b, n), doubled[4];
    doubled[0] = measure(&b, (sizes){2 * n.N, n.T, n.F, n.P});
    doubled[1] = measure(&b, (sizes){n.N, 2 * n.T, n.F, n.P});
    doubled[2] = measure(&b, (sizes){n.N, n.T, n.F, 2 * n.P});
    doubled[3] = measure(&b, (sizes){n.N, n.T, 2 * n.F, n.P});
    bench_table(&b, "        |basis s|       |one evaluation s|       |search s|       |     eig|"
                    "predict s|       |peak MB");
    row(&b, "first", &base, &base);
    row(&b, "2 N", &doubled[0], &base);
    row(&b, "2 T", &doubled[1], &base);
    row(&b, "2 P", &doubled[2], &base);
    row(&b, "2 F", &doubled[3], &base);
    return bench_end(&b);
}
