#include "common.h"

typedef struct output {
    kn_mat mean, variance; /* N* x T */
    kn_mat model, noise;   /* J x J */
    ptrdiff_t *responses;  /* J of them */
} output;

static void row(bench *b, const char *step, kn_noise noise, int P, double seconds, double flops,
                double bytes)
{
    bench_row(b, "%s|%s|%d|%.2f|%.2f|%.1f|%.0f %%|%.1f|%.0f %%", step,
              noise == KN_NOISE_ISO ? "iso" : "structured", P, 1e3 * seconds, 1e-9 * flops,
              1e-9 * flops / seconds, bench_of_dgemm(b, flops, seconds), 1e-9 * bytes / seconds,
              bench_of_memory(b, bytes, seconds));
}

static kn_status latent(bench *b, const kn_model *model, kn_view Xs)
{
    kn_maps *maps;
    kn_status status = kn_maps_predict(b->ctx, model, Xs, &maps);
    kn_maps_free(maps);
    return status;
}

static void run(bench *b, const bench_data *d, const output *out, kn_noise noise, int P)
{
    enum { REPEATS = 5 };
    kn_settings o;
    kn_model *model;
    kn_maps *maps;
    double s, N = (double)d->X.rows, T = (double)d->Y.cols, Ns = (double)d->Xs.rows;
    double p = (double)P, F = (double)d->X.cols, J = (double)out->model.rows;
    kn_view x = d->Xs;
    kn_settings_init(&o);
    o.noise = noise;
    o.components = P;
    o.folds = 0;
    BENCH_TRY(b, kn_fit_arrays(b->ctx, d->X, d->Y, &o, &model));
    BENCH_TRY(b, kn_maps_predict(b->ctx, model, d->Xs, &maps));
    BENCH_TIME(s, REPEATS, BENCH_TRY(b, latent(b, model, d->Xs)));
    row(b, "latent", noise, P, s, 2 * Ns * N * (F + N + 2 * p), 8 * (4 * Ns * N + 2 * Ns * p));
    BENCH_TIME(s, REPEATS,
               BENCH_TRY(b, kn_maps_block(b->ctx, maps, 0, d->Y.cols, out->mean, kn_mat_none())));
    row(b, "mean", noise, P, s, 2 * Ns * p * T, 8 * (Ns * T + Ns * p + p * T));
    BENCH_TIME(s, REPEATS,
               BENCH_TRY(b,
                         kn_maps_block(b->ctx, maps, 0, d->Y.cols, kn_mat_none(), out->variance)));
    row(b, "variance", noise, P, s, 2 * Ns * p * T, 8 * (Ns * T + Ns * p + 3 * p * T));
    x.rows = 1;
    BENCH_TIME(s, REPEATS,
               BENCH_TRY(b, kn_covariance(b->ctx, model, x, out->responses, out->model.rows,
                                          out->model, out->noise)));
    row(b, "covariance", noise, P, s, (noise == KN_NOISE_ISO ? 2 : 4) * J * J * p,
        8 * (2 * J * J + 5 * J * p));
    kn_maps_free(maps);
    kn_model_free(model);
}

int main(int argc, char **argv)
{
    static const int P[] = {25, 500};
    bench b;
    bench_data d;
    output out;
    bench_begin(
        &b, argc, argv, "predict",
        "How near to the machine's limit is prediction? 1440 new samples at N = 600, "
        "T = 5438, F = 100: latent moments, then mean and variance of every response; the "
        "covariance of 1000 responses for one sample. Bytes are those that must move once.");
    ptrdiff_t T = bench_size(&b, 5438, 60), Ns = bench_size(&b, 1440, 20);
    ptrdiff_t J = bench_size(&b, 1000, 10);
    bench_paper(&b, bench_size(&b, 600, 40), T, bench_size(&b, 100, 5), Ns, &d);
    BENCH_TRY(&b, kn_mat_new(b.ctx, Ns, T, &out.mean));
    BENCH_TRY(&b, kn_mat_new(b.ctx, Ns, T, &out.variance));
    BENCH_TRY(&b, kn_mat_new(b.ctx, J, J, &out.model));
    BENCH_TRY(&b, kn_mat_new(b.ctx, J, J, &out.noise));
    BENCH_TRY(&b, kn_alloc_i(b.ctx, J, &out.responses));
    for (ptrdiff_t j = 0; j < J; j++)
        out.responses[j] = j * T / J;
    bench_table(&b, "step      |noise     |   P|    ms| GFLOP|GFLOP/s|of DGEMM|  GB/s|of memory");
    for (int k = 0; k < 2; k++)
        for (int iso = 0; iso < 2; iso++)
            run(&b, &d, &out, iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED, b.quick ? 2 + k : P[k]);
    kn_mat_clear(&out.mean);
    kn_mat_clear(&out.variance);
    kn_mat_clear(&out.model);
    kn_mat_clear(&out.noise);
    kn_free(out.responses);
    bench_free(&d);
    return bench_end(&b);
}
