/* Simulated studies, and the whole job on one of them. */
#include <cblas.h>

#include "base/parallel/parallel_for.h"
#include "base/random.h"
#include "common.h"
#include "data/responses/responses.h"
#include "gp/zscore.h"
#include "la/la.h"
#include "norm/metrics/extreme_statistic.h"

static kn_view rows_of(kn_mat M, ptrdiff_t first, ptrdiff_t rows)
{
    return (kn_view){M.data + first, KN_F64, rows, M.cols, 1, M.ld};
}

static kn_mat new_mat(bench *b, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_mat m;
    BENCH_TRY(b, kn_mat_new(b->ctx, rows, cols, &m));
    return m;
}

void bench_paper(bench *b, ptrdiff_t N, ptrdiff_t T, ptrdiff_t F, ptrdiff_t Ns, bench_data *out)
{
    enum { SHARED = 20 };
    ptrdiff_t n = N + Ns;
    kn_mat X = new_mat(b, n, F), Y = new_mat(b, n, T), S = new_mat(b, n, SHARED);
    kn_mat L = new_mat(b, T, SHARED);
    kn_rng rng;
    kn_rng_init(&rng, 1, 7);
    for (ptrdiff_t i = 0; i < n * F; i++)
        X.data[i] = kn_rng_uniform(&rng) < 0.5;
    for (ptrdiff_t k = 0; k < SHARED; k++) {
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(S, k)[i] = kn_rng_normal(&rng);
        double phase = 6.28 * kn_rng_uniform(&rng), rate = 0.002 * (double)(k + 1);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(L, k)[j] = 0.25 * sin(phase + rate * (double)j);
    }
    kn_gemm(b->ctx, 1, KN_N, S, KN_T, L, 0, Y);
    for (ptrdiff_t j = 0; j < T; j++) {
        double centre = (double)F * kn_rng_uniform(&rng), gain = kn_rng_uniform(&rng);
        for (ptrdiff_t f = 0; f < F; f++) {
            double w = 0.5 * gain * exp(-0.5 * pow(((double)f - centre) / 3, 2));
            for (ptrdiff_t i = 0; w > 1e-3 && i < n; i++)
                kn_col(Y, j)[i] += w * (kn_at(X, i, f) - 0.5);
        }
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(Y, j)[i] += kn_rng_normal(&rng);
    }
    kn_mat_clear(&S);
    kn_mat_clear(&L);
    *out = (bench_data){.X = rows_of(X, 0, N),
                        .Y = rows_of(Y, 0, N),
                        .Xs = rows_of(X, N, Ns),
                        .Ys = rows_of(Y, N, Ns),
                        .memory = {X.data, Y.data}};
}

void bench_settings(const bench_data *d, kn_settings *o)
{
    kn_settings_init(o);
    o->design = d->coded ? &d->design : NULL;
}

void bench_cohort(bench *b, ptrdiff_t N, ptrdiff_t T, int sites, ptrdiff_t Ns, bench_data *out)
{
    enum { EFFECTS = 3, LATENT = EFFECTS + 8 };
    ptrdiff_t n = N + Ns;
    kn_mat X = new_mat(b, n, sites > 0 ? 3 : 2);
    float *Y, *S, *L; /* Y = S L' + noise, n x LATENT and T x LATENT, in rows */
    kn_rng rng;
    kn_rng_init(&rng, 1, 8);
    BENCH_TRY(b, kn_alloc_f(b->ctx, n * T, &Y));
    BENCH_TRY(b, kn_alloc_f(b->ctx, n * LATENT, &S));
    BENCH_TRY(b, kn_alloc_f(b->ctx, T * LATENT, &L));
    for (ptrdiff_t i = 0; i < n; i++) {
        double age = kn_rng_uniform(&rng), sex = kn_rng_uniform(&rng) < 0.5;
        kn_col(X, 0)[i] = 20 + 60 * age;
        kn_col(X, 1)[i] = sex;
        if (sites > 0)
            kn_col(X, 2)[i] = (double)kn_rng_below(&rng, sites);
        float *s = S + i * LATENT;
        s[0] = (float)age;
        s[1] = (float)(4 * (age - 0.5) * (age - 0.5));
        s[2] = (float)sex;
        for (int k = EFFECTS; k < LATENT; k++)
            s[k] = (float)(0.5 * kn_rng_normal(&rng));
    }
    for (ptrdiff_t j = 0; j < T * LATENT; j++)
        L[j] = (float)kn_rng_normal(&rng);
    for (ptrdiff_t i = 0; i < n * T; i++)
        Y[i] = (float)(3.46 * (kn_rng_uniform(&rng) - 0.5)); /* sd 1 */
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)T, LATENT, 1, S, LATENT, L,
                LATENT, 1, Y, (int)T);
    kn_free(S);
    kn_free(L);
    *out = (bench_data){rows_of(X, 0, N),  kn_view_rows_f32(Y, N, T),
                        rows_of(X, N, Ns), kn_view_rows_f32(Y + N * T, Ns, T),
                        {X.data, Y},       .levels = {0, 2, sites},
                        .coded = true};
    out->design = (kn_design_options){.levels = out->levels, .quadratic = -1};
}

void bench_free(bench_data *d)
{
    kn_free(d->memory[0]);
    kn_free(d->memory[1]);
}

/* z of a block's responses, by threads as the command makes them */
typedef struct z_job {
    kn_view Ys;
    ptrdiff_t first;
    kn_mat mean, var, z;
    const double *noise;
} z_job;

static void some_z(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const z_job *b = self;
    kn_mat z = kn_cols(b->z, from, to - from);
    kn_view_block(b->Ys, b->first + from, z);
    kn_zscores(z, kn_cols(b->mean, from, z.cols), kn_cols(b->var, from, z.cols), b->noise + from,
               z);
}

/* Mean, variance, z and statistic of all responses, a block of them at a time. */
static void score(bench *b, const bench_data *d, const kn_model *model, kn_maps *maps,
                  bench_job *out)
{
    ptrdiff_t Ns = d->Xs.rows, T = d->Y.cols, width = T < KN_BLOCK ? T : KN_BLOCK;
    kn_mat mean = new_mat(b, Ns, width), var = new_mat(b, Ns, width), z = new_mat(b, Ns, width);
    kn_mat noise = new_mat(b, T, 1), statistic = new_mat(b, Ns, 1);
    kn_extreme_stream top;
    BENCH_TRY(b, kn_model_noise(b->ctx, model, noise.data));
    BENCH_TRY(b, kn_extreme_stream_init(b->ctx, Ns, T, KN_TOP_FRACTION, &top));
    for (ptrdiff_t j = 0; j < T; j += width) {
        ptrdiff_t n = T - j < width ? T - j : width;
        kn_mat m = kn_cols(mean, 0, n), v = kn_cols(var, 0, n), zj = kn_cols(z, 0, n);
        double t0 = kn_clock();
        BENCH_TRY(b, kn_maps_block(b->ctx, maps, j, n, m, v));
        double t1 = kn_clock();
        kn_parallel(b->ctx, n, 32, some_z, &(z_job){d->Ys, j, m, v, zj, noise.data + j});
        kn_extreme_stream_add(b->ctx, &top, zj);
        out->maps += t1 - t0;
        out->z += kn_clock() - t1;
    }
    kn_extreme_stream_result(&top, statistic.data);
    kn_extreme_stream_clear(&top);
    kn_mat_clear(&mean);
    kn_mat_clear(&var);
    kn_mat_clear(&z);
    kn_mat_clear(&noise);
    kn_mat_clear(&statistic);
}

kn_status bench_attempt(bench *b, const bench_data *d, const kn_settings *o, bench_job *out)
{
    kn_model *model;
    kn_maps *maps;
    *out = (bench_job){0};
    bench_peak_reset(b);
    kn_memory_peak_reset(b->ctx);
    size_t before = kn_memory_now(b->ctx);
    double t0 = kn_clock();
    kn_status status = kn_fit_arrays(b->ctx, d->X, d->Y, o, &model);
    if (status != KN_OK)
        return status;
    double t1 = kn_clock();
    out->fit = t1 - t0;
    out->held = 1e-6 * (double)(kn_memory_peak(b->ctx) - before);
    kn_model_info(model, &out->info);
    if (d->Xs.rows > 0) {
        BENCH_TRY(b, kn_maps_predict(b->ctx, model, d->Xs, &maps));
        out->latent = kn_clock() - t1;
        score(b, d, model, maps, out);
        kn_maps_free(maps);
    }
    out->total = kn_clock() - t0;
    out->peak = bench_peak_mb();
    kn_model_free(model);
    return KN_OK;
}

void bench_run(bench *b, const bench_data *d, const kn_settings *o, bench_job *out)
{
    BENCH_TRY(b, bench_attempt(b, d, o, out));
}
