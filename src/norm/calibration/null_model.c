/* Implements null_model.h. Training and new participants are judged by the same null model. */
#include "norm/calibration/null_model.h"

#include <math.h>

#include "norm/calibration/learn_subsample.h"

void kn_null_calibration_clear(kn_null_calibration *c)
{
    kn_free(c->noise);
    kn_free(c->R2);
    kn_calibration_clear(&c->transform);
    *c = (kn_null_calibration){0};
}

void kn_null_residuals(const kn_null_sample *s, const double *y, double mean, double *sums,
                       double *e)
{
    double *sum = sums, *count = sums + s->folds, all = 0, known = 0;
    bool subset = s->n < s->N;
    for (int f = 0; f < s->folds; f++)
        sum[f] = count[f] = 0;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        int f = subset ? 0 : s->fold[i];
        if (!isfinite(y[i]))
            continue;
        sum[f] += y[i];
        count[f]++;
        all += y[i];
        known++;
    }
    if (subset) { /* missing cells are as frequent among the others */
        known *= (double)s->N / (double)s->n;
        all = known * mean;
    }
    for (ptrdiff_t i = 0; i < s->n; i++) {
        int f = subset ? 0 : s->fold[i];
        double others = known - count[f];
        e[i] = isfinite(y[i]) && others > 0 ? y[i] - (all - sum[f]) / others : NAN;
    }
}

/* ---- learner -------------------------------------------------------------------------------- */

kn_status kn_null_learner_init(kn_ctx *ctx, const kn_learner_job *job, ptrdiff_t N,
                               const kn_scaling *scaling, kn_null_calibration *null,
                               kn_null_learner *out)
{
    kn_status status;
    kn_learner_job alone = *job;
    *out = (kn_null_learner){.sample = {job->n, N, job->fold, job->folds},
                             .scaling = scaling,
                             .null = null};
    kn_null_calibration_clear(null);
    KN_TRY(kn_alloc_d(ctx, job->T, &null->noise));
    KN_TRY(kn_alloc_d(ctx, job->T, &null->R2));
    KN_TRY(kn_alloc_d(ctx, job->n, &out->zero));
    KN_TRY(kn_alloc_d(ctx, 2 * job->folds, &out->sums));
    alone.x = NULL;
    alone.site = NULL;
    alone.S = 0;
    alone.noise = NULL;
    alone.mean_square = true;
    alone.noise_of_all = null->noise;
    KN_TRY(kn_learner_new(ctx, &alone, &null->transform, &out->learner));
out:
    if (status != KN_OK)
        kn_null_learner_clear(out);
    return status;
}

void kn_null_learner_clear(kn_null_learner *l)
{
    kn_learner_free(l->learner);
    kn_free(l->zero);
    kn_free(l->sums);
    kn_mat_clear(&l->mean);
    kn_mat_clear(&l->var);
    *l = (kn_null_learner){0};
}

/* Training mean of response t in the standardised units of the model. */
static double training_mean(const kn_null_learner *l, ptrdiff_t t)
{
    return (l->scaling->mean0[t] - l->scaling->mean[t]) / l->scaling->sd[t];
}

/* Block visitor, called before the first block: allocates mean and variance of the null model for
 * one block (n x width). */
static kn_status begin_maps(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_status status;
    kn_null_learner *l = self;
    KN_TRY(kn_mat_new(ctx, plan->n, plan->width, &l->mean));
    KN_TRY(kn_mat_new(ctx, plan->n, plan->width, &l->var));
out:
    return status;
}

/* Block visitor, called for each block of responses: sets its mean and variance to those of the
 * null model. The mean excludes each participant's fold; the model variance is 0. */
static kn_status set_maps(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_null_learner *l = self;
    (void)ctx;
    for (ptrdiff_t j = 0; j < b->count; j++) {
        double *mean = kn_col(l->mean, j);
        const double *y = kn_col(b->y, j);
        kn_null_residuals(&l->sample, y, training_mean(l, b->first + j), l->sums, mean);
        for (ptrdiff_t i = 0; i < l->sample.n; i++)
            mean[i] = y[i] - mean[i];
    }
    b->mean = kn_cols(l->mean, 0, b->count);
    b->var = kn_cols(l->var, 0, b->count);
    return KN_OK;
}

/* Block visitor, called after the last block: frees mean and variance of the null model. */
static kn_status end_maps(kn_ctx *ctx, void *self)
{
    kn_null_learner *l = self;
    (void)ctx;
    kn_mat_clear(&l->mean);
    kn_mat_clear(&l->var);
    return KN_OK;
}

kn_visitor kn_null_visitor(kn_null_learner *l)
{
    return (kn_visitor){l, KN_BLOCK_Y, begin_maps, set_maps, end_maps};
}

/* With more responses an even sample has as good a mean gain. */
enum { GAINED = 20000 };

/* Columns of n doubles in the work of a thread, followed by 2 folds and the learner's work. */
enum { E, Z, COLUMNS };

ptrdiff_t kn_null_work_of(ptrdiff_t n, int folds)
{
    return COLUMNS * n + 2 * folds + kn_learner_work_of(n, 0, folds);
}

ptrdiff_t kn_null_work(const kn_null_learner *l)
{
    return kn_null_work_of(l->sample.n, l->sample.folds);
}

/* True if response t is among those whose losses are made: all, or about GAINED of them. */
static bool has_losses(const kn_null_learner *l, ptrdiff_t t)
{
    ptrdiff_t T = l->learner->job.T, every = (T + GAINED - 1) / GAINED;
    uint64_t number = l->key ? l->key[t] : (uint64_t)t;
    return every <= 1 || number % (uint64_t)every == 0;
}

void kn_null_learn(const kn_null_learner *l, const kn_block *b, ptrdiff_t j, double *work,
                   double *loss)
{
    ptrdiff_t n = l->sample.n, t = b->first + j;
    double *e = work + E * n, *sums = work + COLUMNS * n, square = 0, known = 0;
    kn_null_residuals(&l->sample, kn_col(b->y, j), training_mean(l, t), sums, e);
    for (ptrdiff_t i = 0; i < n; i++)
        if (isfinite(e[i])) {
            square += e[i] * e[i];
            known++;
        }
    l->null->noise[t] = known > 0 ? square / known : 0;
    kn_learner_column column = {.b = b, .j = j, .e = e, .v = l->zero};
    if (has_losses(l, t)) {
        column.z = work + Z * n;
        column.loss = loss;
    }
    for (ptrdiff_t i = 0; !column.loss && i < n; i++)
        loss[i] = NAN;
    kn_learner_learn(l->learner, &column, sums + 2 * l->sample.folds);
}

/* ---- new values ------------------------------------------------------------------------------ */

void kn_null_losses(const kn_null_calibration *c, const kn_shash *shash, ptrdiff_t j, double mean,
                    ptrdiff_t n, const double *y, double *loss)
{
    enum { FEW = 256 };
    double e[FEW], V[FEW];
    for (ptrdiff_t at = 0; at < n; at += FEW) {
        ptrdiff_t count = n - at < FEW ? n - at : FEW;
        for (ptrdiff_t i = 0; i < count; i++) {
            e[i] = y[at + i] - mean;
            V[i] = c->noise[j];
        }
        kn_calibration_z(&c->transform, shash, &(kn_calibration_cells){count, e, V, e, loss + at});
    }
}

void kn_null_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, s->T, 2);
    if (kn_learner_chooses((kn_calibrate)s->calibrate, n))
        kn_plan_alloc_d(r, KN_NEED_REFERENCE, 2, s->T);
    kn_plan_alloc(r, KN_NEED_WORK, n, sizeof(ptrdiff_t) + sizeof(int) + sizeof(double));
}
