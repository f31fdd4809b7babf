#include "data/scaling.h"
#include "evaluate.h"
#include "gp/basis/gram.h"

enum { POINTS = 8 }; /* seven are timed */

/* The eigenproblem; A = U'Z; V = UM, VV' and the slices of U diag(w) U' of the gradient. */
static double flops(double N, double P)
{
    return bench_eig_flops(N) + 2 * N * N * P + 3 * N * N * P + N * N * N;
}

/* Z = U s, the coordinates in P principal components; returns the energy left. */
static double coordinates(const kn_gram *gram, double total, kn_mat Z)
{
    for (ptrdiff_t p = 0; p < Z.cols; p++) {
        total -= gram->s2[p];
        for (ptrdiff_t i = 0; i < Z.rows; i++)
            kn_col(Z, p)[i] = kn_at(gram->U, i, p) * sqrt(gram->s2[p]);
    }
    return total;
}

static void run(bench *b, kn_mat X, ptrdiff_t T, const kn_gram *gram, kn_noise noise, ptrdiff_t P,
                double unit)
{
    bool iso = noise == KN_NOISE_ISO;
    kn_spec spec = {.noise = noise};
    kn_mat Z;
    kn_pairs pairs;
    kn_engine e;
    kn_cov_point at[POINTS];
    bench_evaluation t;
    double total = 0, done = flops((double)X.rows, (double)P);
    BENCH_TRY(b, kn_cov_parse(b->ctx, iso ? "linear+se+iso" : "linear+se", X.cols, &spec.sample));
    if (iso)
        BENCH_TRY(b, kn_cov_parse(b->ctx, "linear+iso", KN_ALL_COLUMNS, &spec.task));
    BENCH_TRY(b, kn_mat_new(b->ctx, X.rows, P, &Z));
    for (ptrdiff_t p = 0; p < X.rows; p++)
        total += gram->s2[p];
    double E = coordinates(gram, total, Z);
    BENCH_TRY(b, kn_pairs_within(b->ctx, X, &spec.sample.stats, &pairs));
    kn_engine_data data = {.pairs = &pairs, .Z = Z, .T = T, .E = E, .total = total};
    BENCH_TRY(b, kn_engine_new(b->ctx, &spec, &data, &e));
    kn_cov_point from = kn_cov_at_rho(&e.cov, 0.3, 6);
    bench_points(&e.cov, &from, POINTS, at);
    BENCH_TRY(b, bench_evaluate(b, &e, at, POINTS, &t));
    bench_row(b, "%s|%td|%.1f|%.3f|%.3f|%.3f|%.3f|%.1f|%.1f|%.0f %%", iso ? "iso" : "structured", P,
              1e3 * t.whole, t.whole / unit, bench_cost(b, "the decomposition", t.decompose) / unit,
              bench_cost(b, "the components", t.maximise) / unit,
              bench_cost(b, "the gradient", t.gradient) / unit, t.inner, 1e-9 * done / t.whole,
              bench_of_dgemm(b, done, t.whole));
    kn_engine_clear(&e);
    kn_mat_clear(&Z);
}

int main(int argc, char **argv)
{
    static const ptrdiff_t P[] = {10, 25, 100, 500}, few[] = {1, 2, 5, 10};
    bench b;
    bench_data d;
    kn_scaling scaling;
    kn_gram gram;
    bench_begin(
        &b, argc, argv, "evaluation",
        "What does one likelihood with gradient cost at N = 600, T = 5438, F = 100, and "
        "where does the time go? Each repetition is at a point of its own, where R0 is decomposed "
        "anew; the parts are those of the fastest repetition, in units of one dsyevd(N). R0, eig, "
        "U'Z: the decomposition of R0 and the coordinates in it; components: their signal and "
        "noise; inner: likelihoods of iso noise with the eigenvectors at hand, on average.");
    ptrdiff_t N = bench_size(&b, 600, 30);
    bench_paper(&b, N, bench_size(&b, 5438, 60), bench_size(&b, 100, 5), 0, &d);
    kn_mat X = {d.memory[0], N, d.X.cols, d.X.col_stride};
    double unit = bench_unit(&b, N);
    BENCH_TRY(&b, kn_scaling_new(b.ctx, d.Y, true, &scaling));
    kn_responses Y = kn_responses_of(d.Y, &scaling);
    BENCH_TRY(&b, kn_gram_new(b.ctx, &Y, &gram));
    bench_table(&b, "noise     |   P|    ms| units|R0, eig, U'Z|components|gradient|inner|"
                    "GFLOP/s|of DGEMM");
    for (int k = 0; k < 4; k++)
        for (int iso = 0; iso < 2; iso++)
            run(&b, X, d.Y.cols, &gram, iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED,
                b.quick ? few[k] : P[k], unit);
    kn_gram_clear(&gram);
    kn_scaling_clear(&scaling);
    bench_free(&d);
    return bench_end(&b);
}
