/* Visitors that make, cache and replay z maps (internal.h). z-scores are computed once and cached
 * if they fit into memory. */
#include "norm/reference/internal.h"

#include <math.h>

#include "base/parallel/parallel_for.h"
#include "gp/assign_folds.h"
#include "norm/metrics/burden.h"
#include "norm/reference/reference.h"

enum { ROWS = 32, COLUMNS = 16 }; /* chunk sizes of the parallel loops */

/* ---- computation of z ----------------------------------------------------------------------- */

/* Work of a thread: residuals, total variances, z, losses, losses by the null model, n each; then
 * the work of either learner. */
enum { E, V, Z, LOSS, NULL_LOSS, WORK };

/* Allocate one slot per block for each sum over responses, so that sums do not depend on the
 * ranks. */
static kn_status begin_sums(kn_ctx *ctx, kn_z_builder *m, const kn_block_loop_plan *plan)
{
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, plan->width, &m->iso));
    KN_TRY(kn_slots_new(ctx, plan->blocks, 1, &m->noise_sum));
    KN_TRY(kn_slots_new(ctx, plan->blocks, plan->n, &m->y));
    KN_TRY(kn_slots_new(ctx, plan->blocks, plan->n, &m->model));
    KN_TRY(kn_slots_new(ctx, plan->blocks, 3 * plan->n, &m->burden));
out:
    return status;
}

/* Block visitor, called before the first block: allocates work per thread, sums of losses, and the
 * stream of the extreme-value statistic. */
static kn_status begin_z(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_status status;
    kn_z_builder *m = self;
    void *memory;
    KN_TRY(kn_alloc(ctx, plan->width, sizeof *m->column, &memory));
    m->column = memory;
    ptrdiff_t learner = m->learner ? kn_learner_work(m->learner) : 0;
    ptrdiff_t null = m->null ? kn_null_work(m->null) : 0;
    ptrdiff_t work = WORK * plan->n + (learner > null ? learner : null);
    KN_TRY(kn_mat_new(ctx, work, kn_workers(ctx, plan->width, COLUMNS), &m->work));
    KN_TRY(kn_slots_new(ctx, plan->blocks, KN_N_LOSSES, &m->losses));
    if (m->whole)
        KN_TRY(begin_sums(ctx, m, plan));
    KN_TRY(kn_extreme_stream_init(ctx, plan->n, plan->T, m->proportion, &m->top));
out:
    return status;
}

typedef struct block_job {
    kn_z_builder *m;
    const kn_block *b;
} block_job;

/* Worker: for participants from .. end - 1, adds y and the model variance without the iso term over
 * the responses of the block to their sums. Runs before y and var are overwritten. */
static void sum_rows(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const block_job *job = self;
    const kn_block *b = job->b;
    double *y_sum = kn_slot(&job->m->y, b->number), *model = kn_slot(&job->m->model, b->number);
    for (ptrdiff_t j = 0; j < b->count; j++) {
        const double *y = kn_col(b->y, j), *v = kn_col(b->var, j);
        double iso = job->m->iso[j];
        for (ptrdiff_t i = from; i < end; i++) {
            double e = v[i] - iso;
            y_sum[i] += isfinite(y[i]) ? y[i] : 0; /* missing: 0 [METHOD 0b] */
            model[i] += e > 0 ? e : 0;
        }
    }
}

/* Worker: for participants from .. end - 1, adds z and the counts of z beyond the threshold over
 * the responses of the block. */
static void sum_burden(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const block_job *job = self;
    const kn_block *b = job->b;
    double *sum = kn_slot(&job->m->burden, b->number), *low = sum + b->y.rows;
    double *high = low + b->y.rows;
    for (ptrdiff_t j = 0; j < b->count; j++) {
        const double *z = kn_col(b->z, j);
        for (ptrdiff_t i = from; i < end; i++) {
            sum[i] += isfinite(z[i]) ? z[i] : 0;
            low[i] += z[i] < -KN_BURDEN_THRESHOLD;
            high[i] += z[i] > KN_BURDEN_THRESHOLD;
        }
    }
}

/* z and losses of response j by a given calibration, into cells. v (n): model variance; total (n)
 * receives the total variance. */
static void apply_calibration(const kn_z_builder *m, ptrdiff_t j, const kn_calibration_cells *cells,
                              const double *v, double *total)
{
    const kn_calibration_transform *l = m->calibration;
    const kn_shash *shash = NULL;
    kn_shash own;
    kn_calibration_factor(m->D, m->D.data ? kn_col(l->beta, j) : NULL, cells->n, m->shift, total);
    for (ptrdiff_t i = 0; i < cells->n; i++)
        total[i] = v[i] + m->gp->noise[j] * total[i];
    if (l->theta.data) {
        own = kn_calibration_distribution(l, j);
        shash = &own;
    }
    kn_calibration_z(l, shash, cells);
}

/* Compute the z-scores (n) of column j of block b, which overwrite y, and their losses; with
 * m->column NULL (a second loop) only those of the whole-map deviances. work: that of one
 * thread. */
static void make_column(const kn_z_builder *m, const kn_block *b, ptrdiff_t j, double *work)
{
    ptrdiff_t n = b->y.rows, t = b->first + j;
    double *y = kn_col(b->y, j), *mean = kn_col(b->mean, j), *v = kn_col(b->var, j);
    double *e = work + E * n, *z = work + Z * n, *loss = work + LOSS * n, *V_ = work + V * n;
    double *null = m->null ? work + NULL_LOSS * n : NULL;
    for (ptrdiff_t i = 0; i < n; i++)
        e[i] = isfinite(y[i]) ? y[i] - mean[i] : NAN;
    if (null && m->column)
        kn_null_learn(m->null, b, j, work + WORK * n, null);
    if (m->learner) {
        for (ptrdiff_t i = 0; i < n; i++)
            V_[i] = v[i];
        kn_learner_column c = {.b = b,
                               .j = j,
                               .e = e,
                               .v = V_,
                               .z = m->column ? z : NULL,
                               .loss = loss,
                               .joint = v,
                               .noise_only = mean,
                               .known = !m->column};
        kn_learner_learn(m->learner, &c, work + WORK * n);
    } else {
        apply_calibration(m, t, &(kn_calibration_cells){n, e, V_, z, loss}, v, V_);
    }
    if (!m->column)
        return;
    const kn_scaling *s = m->maps->Y.scaling;
    double sd = s->sd0[t] / s->sd[t];
    kn_null_model trivial = {(s->mean0[t] - s->mean[t]) / s->sd[t], sd * sd};
    m->column[j] = kn_losses_of(&(kn_loss_cells){n, y, e, z, loss, null}, trivial);
    if (m->null)
        m->null->null->R2[t] = m->column[j].responses > 0 ? m->column[j].R2 : NAN;
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] = z[i];
}

/* Worker: make_column() for columns from .. end - 1 of the block. */
static void make_columns(void *self, int worker, ptrdiff_t from, ptrdiff_t end)
{
    const block_job *job = self;
    for (ptrdiff_t j = from; j < end; j++)
        make_column(job->m, job->b, j, kn_col(job->m->work, worker));
}

/* Compute the z-scores of all responses of block b in parallel: z overwrites y, the z of both
 * whole-map deviances overwrite var and mean. Can be cancelled. */
static kn_status make_all(kn_ctx *ctx, kn_z_builder *m, kn_block *b)
{
    b->z = b->y;
    b->z_joint = m->whole ? b->var : kn_mat_none();
    b->z_noise = m->whole ? b->mean : kn_mat_none();
    return kn_parallel_or_stop(ctx, b->count, COLUMNS, make_columns, &(block_job){m, b});
}

/* Block visitor, called for each block of responses: computes the z-scores of the training
 * participants, and adds to the sums of y, variance, losses and burden, and to the extreme-value
 * statistic. */
static kn_status make_z(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_z_builder *m = self;
    block_job job = {m, b};
    double *losses = kn_slot(&m->losses, b->number);
    if (m->whole) {
        for (ptrdiff_t j = 0; j < b->count; j++) {
            m->iso[j] = kn_reference_iso_variance(m->gp, b->first + j);
            *kn_slot(&m->noise_sum, b->number) += m->gp->noise[b->first + j];
        }
        kn_parallel(ctx, b->y.rows, ROWS, sum_rows, &job);
    }
    kn_status status = make_all(ctx, m, b);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t j = 0; j < b->count; j++)
        kn_losses_add(losses, &m->column[j]);
    if (m->whole)
        kn_parallel(ctx, b->y.rows, ROWS, sum_burden, &job);
    kn_extreme_stream_add(ctx, &m->top, b->z);
    return KN_OK;
}

/* Worker: rounds the z of both deviances to float in columns from .. end - 1, as the cache does. */
static void round_columns(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const kn_block *b = self;
    const kn_mat both[2] = {b->z_joint, b->z_noise};
    for (int k = 0; k < 2; k++)
        for (ptrdiff_t j = from; j < end; j++) {
            double *z = kn_col(both[k], j);
            for (ptrdiff_t i = 0; i < both[k].rows; i++)
                z[i] = (double)(float)z[i];
        }
}

/* Block visitor, called for each block of a second loop: computes only the z-scores of both
 * whole-map deviances, without sums. */
static kn_status make_z_again(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_status status = make_all(ctx, self, b);
    if (status == KN_OK)
        kn_parallel(ctx, b->count, COLUMNS, round_columns, b);
    return status;
}

kn_block_loop kn_z_builder_loop(const kn_z_builder *m, const char *stage)
{
    return (kn_block_loop){.Y = kn_gp_maps_y(m->maps), .maps = m->maps, .stage = stage};
}

kn_visitor kn_z_builder_visitor(kn_z_builder *m)
{
    return (kn_visitor){m, KN_BLOCK_Y | KN_BLOCK_MAPS, begin_z, make_z, NULL};
}

kn_visitor kn_z_builder_again(kn_z_builder *m)
{
    kn_free(m->column); /* without `column`, z itself and the losses are not computed */
    m->column = NULL;
    return (kn_visitor){m, KN_BLOCK_Y | KN_BLOCK_MAPS, NULL, make_z_again, NULL};
}

void kn_z_builder_clear(kn_z_builder *m)
{
    kn_slots *slots[] = {&m->losses, &m->y, &m->model, &m->noise_sum, &m->burden};
    kn_mat_clear(&m->work);
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        kn_slots_clear(slots[i]);
    kn_free(m->iso);
    kn_free(m->column);
    kn_extreme_stream_clear(&m->top);
}

void kn_z_builder_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, bool whole)
{
    ptrdiff_t blocks = 1 + s->T / KN_BLOCK, width = kn_block_loop_width(0, s->T);
    kn_plan_alloc(r, KN_NEED_WORK, width, sizeof(kn_losses));
    int folds = s->folds == KN_HELD_OUT_ONCE ? KN_LEARNER_FOLDS : s->folds;
    ptrdiff_t learner = kn_learner_work_of(n, kn_learner_columns_max(s, n), folds);
    learner = learner > kn_null_work_of(n, folds) ? learner : kn_null_work_of(n, folds);
    kn_plan_alloc_d(r, KN_NEED_WORK, WORK * n + (whole ? learner : 0),
                    kn_workers_of(s->threads, width, COLUMNS));
    kn_slots_need(r, KN_NEED_WORK, blocks, KN_N_LOSSES);
    if (whole) {
        kn_plan_alloc_d(r, KN_NEED_WORK, width, 1);
        kn_slots_need(r, KN_NEED_WORK, blocks, 5 * n + 1);
    }
}

/* ---- cache of z ----------------------------------------------------------------------------- */

typedef struct kept_job {
    kn_z_cache *k;
    const kn_block *b;
} kept_job;

/* Worker: stores z of participants from .. end - 1 of the block in the cache, row-major, in tiles
 * of COLUMNS responses. */
static void keep_rows(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const kept_job *job = self;
    const kn_block *b = job->b;
    ptrdiff_t T = job->k->T;
    for (ptrdiff_t j0 = 0; j0 < b->count; j0 += COLUMNS) {
        ptrdiff_t j1 = j0 + COLUMNS < b->count ? j0 + COLUMNS : b->count;
        for (ptrdiff_t i = from; i < end; i++) {
            float *row = job->k->z + i * T + b->first;
            for (ptrdiff_t j = j0; j < j1; j++)
                row[j] = (float)kn_at(b->z, i, j);
        }
    }
}

/* Worker: stores the z of both deviances of columns from .. end - 1 in the cache, column-major. */
static void keep_columns(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const kept_job *job = self;
    const kn_mat both[2] = {job->b->z_joint, job->b->z_noise};
    ptrdiff_t n = job->k->n;
    for (int k = 0; k < 2; k++)
        for (ptrdiff_t j = from; j < end; j++) {
            float *kept = job->k->joint[k] + (job->b->first - job->k->own.first + j) * n;
            const double *z = kn_col(both[k], j);
            for (ptrdiff_t i = 0; i < n; i++)
                kept[i] = (float)z[i];
        }
}

/* Block visitor, called for each block of responses: stores its z-scores in the cache `self` as
 * floats. */
static kn_status keep_z(kn_ctx *ctx, void *self, kn_block *b)
{
    kept_job job = {self, b};
    if (job.k->z)
        kn_parallel(ctx, job.k->n, ROWS, keep_rows, &job);
    if (job.k->joint[0] && b->first < job.k->own.last)
        kn_parallel(ctx, b->count, COLUMNS, keep_columns, &job);
    return KN_OK;
}

/* Block visitor, called before the first block of a loop over cached z-scores: allocates one block
 * for each of both deviances (n x width). */
static kn_status begin_recall(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_status status;
    kn_z_cache *k = self;
    kn_z_cache_clear(k);
    KN_TRY(kn_mat_new(ctx, plan->n, plan->width, &k->recalled[0]));
    KN_TRY(kn_mat_new(ctx, plan->n, plan->width, &k->recalled[1]));
out:
    return status;
}

void kn_z_replay_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, n, kn_block_loop_width(0, T));
    kn_plan_alloc_d(r, KN_NEED_WORK, n, kn_block_loop_width(0, T));
}

/* Worker: copies cached z of both deviances of columns from .. end - 1 to double precision. */
static void recall_columns(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const kept_job *job = self;
    ptrdiff_t n = job->k->n;
    for (int k = 0; k < 2; k++)
        for (ptrdiff_t j = from; j < end; j++) {
            const float *kept = job->k->joint[k] + (job->b->first - job->k->own.first + j) * n;
            double *z = kn_col(job->k->recalled[k], j);
            for (ptrdiff_t i = 0; i < n; i++)
                z[i] = (double)kept[i];
        }
}

/* Block visitor, called for each block of responses: sets the z-scores of both whole-map deviances,
 * z_joint and z_noise, from the cache. */
static kn_status recall_z(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_z_cache *k = self;
    kn_parallel(ctx, b->count, COLUMNS, recall_columns, &(kept_job){k, b});
    b->z_joint = kn_cols(k->recalled[0], 0, b->count);
    b->z_noise = kn_cols(k->recalled[1], 0, b->count);
    return KN_OK;
}

kn_visitor kn_z_keep(kn_z_cache *k)
{
    return (kn_visitor){k, 0, NULL, keep_z, NULL};
}

kn_visitor kn_z_replay(kn_z_cache *k)
{
    return (kn_visitor){k, 0, begin_recall, recall_z, NULL};
}

void kn_z_cache_clear(kn_z_cache *k)
{
    kn_mat_clear(&k->recalled[0]);
    kn_mat_clear(&k->recalled[1]);
}
