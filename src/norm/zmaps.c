#include "norm/zmaps.h"

#include "base/parallel.h"
#include "norm/reference.h"

enum { ROWS = 32, COLUMNS = 16 }; /* dealt out to the threads at a time */

/* ---- z and what it is made of ---- */

static kn_status begin_z(kn_ctx *ctx, void *self, const kn_walk_plan *plan)
{
    kn_status status;
    kn_z_maker *m = self;
    void *memory;
    KN_TRY(kn_alloc(ctx, plan->width, sizeof *m->column, &memory));
    m->column = memory;
    KN_TRY(kn_slots_new(ctx, plan->blocks, KN_N_LOSSES, &m->losses));
    if (m->alone) {
        KN_TRY(kn_alloc_d(ctx, plan->width, &m->iso));
        KN_TRY(kn_slots_new(ctx, plan->blocks, 1, &m->noise));
        KN_TRY(kn_slots_new(ctx, plan->blocks, plan->n, &m->y));
        KN_TRY(kn_slots_new(ctx, plan->blocks, plan->n, &m->model));
    }
    KN_TRY(kn_top_stream_init(ctx, plan->n, plan->T, m->share, &m->top));
out:
    return status;
}

typedef struct block_job {
    kn_z_maker *m;
    const kn_block *b;
} block_job;

static void sum_rows(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    const kn_block *b = job->b;
    double *y_sum = kn_slot(&job->m->y, b->number), *model = kn_slot(&job->m->model, b->number);
    for (ptrdiff_t j = 0; j < b->count; j++) {
        const double *y = kn_col(b->y, j), *v = kn_col(b->var, j);
        double iso = job->m->iso[j];
        for (ptrdiff_t i = from; i < to; i++) {
            double e = v[i] - iso;
            y_sum[i] += isfinite(y[i]) ? y[i] : 0; /* missing [METHOD 0b] */
            model[i] += e > 0 ? e : 0;
        }
    }
}

/* Losses of each response; then z takes the place of y, z by noise alone that of the mean. */
static void make_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    const kn_z_maker *m = job->m;
    const kn_block *b = job->b;
    const kn_scaling *s = m->maps->Y.scaling;
    const double *noise = m->gp->noise + b->first;
    for (ptrdiff_t j = from; m->column && j < to; j++) {
        ptrdiff_t t = b->first + j;
        double sd = s->sd0[t] / s->sd[t];
        kn_trivial trivial = {(s->mean0[t] - s->mean[t]) / s->sd[t], sd * sd};
        m->column[j] = kn_losses_of(b->y.rows, kn_col(b->y, j), kn_col(b->mean, j),
                                    kn_col(b->var, j), noise[j], trivial);
    }
    ptrdiff_t n = to - from;
    kn_mat y = kn_cols(b->y, from, n), mean = kn_cols(b->mean, from, n);
    kn_mat var = kn_cols(b->var, from, n);
    if (m->alone)
        kn_npm_both(y, mean, var, noise + from);
    else
        kn_npm(y, mean, var, noise + from, y);
}

static void show_z(const kn_z_maker *m, kn_block *b)
{
    b->z = b->y;
    b->z_noise = m->alone ? b->mean : kn_mat_none();
}

static kn_status make_z(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_z_maker *m = self;
    block_job job = {m, b};
    double *losses = kn_slot(&m->losses, b->number);
    if (m->alone) {
        for (ptrdiff_t j = 0; j < b->count; j++) {
            m->iso[j] = kn_reference_iso_share(m->gp, b->first + j);
            *kn_slot(&m->noise, b->number) += m->gp->noise[b->first + j];
        }
        kn_parallel(ctx, b->y.rows, ROWS, sum_rows, &job);
    }
    kn_parallel(ctx, b->count, COLUMNS, make_columns, &job);
    for (ptrdiff_t j = 0; j < b->count; j++)
        kn_losses_add(losses, &m->column[j]);
    show_z(m, b);
    kn_top_stream_add(ctx, &m->top, b->z);
    return KN_OK;
}

/* Without the sums, for a walk that has had them. */
static kn_status make_z_again(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_z_maker *m = self;
    kn_parallel(ctx, b->count, COLUMNS, make_columns, &(block_job){m, b});
    show_z(m, b);
    return KN_OK;
}

kn_walk kn_z_maker_walk(const kn_z_maker *m, const char *stage)
{
    return (kn_walk){.Y = kn_gp_maps_y(m->maps), .maps = m->maps, .stage = stage};
}

kn_visitor kn_z_maker_visitor(kn_z_maker *m)
{
    return (kn_visitor){m, KN_WALK_Y | KN_WALK_MAPS, begin_z, make_z, NULL};
}

kn_visitor kn_z_maker_again(kn_z_maker *m)
{
    kn_free(m->column); /* no losses either */
    m->column = NULL;
    return (kn_visitor){m, KN_WALK_Y | KN_WALK_MAPS, NULL, make_z_again, NULL};
}

void kn_z_maker_clear(kn_z_maker *m)
{
    kn_slots *slots[] = {&m->losses, &m->y, &m->model, &m->noise};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        kn_slots_clear(slots[i]);
    kn_free(m->iso);
    kn_free(m->column);
    kn_top_stream_clear(&m->top);
}

void kn_z_maker_need(kn_rehearsal *r, ptrdiff_t n, ptrdiff_t T, bool alone)
{
    ptrdiff_t blocks = 1 + T / KN_BLOCK, width = kn_walk_width(0, T);
    kn_hold(r, KN_NEED_WORK, width, sizeof(kn_losses));
    kn_slots_need(r, KN_NEED_WORK, blocks, KN_N_LOSSES);
    if (alone) {
        kn_hold_d(r, KN_NEED_WORK, width, 1);
        kn_slots_need(r, KN_NEED_WORK, blocks, 2 * n + 1);
    }
}

/* ---- z kept, and recalled ---- */

typedef struct kept_job {
    kn_z_keeper *k;
    const kn_block *b;
} kept_job;

static void keep_rows(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const kept_job *job = self;
    const kn_block *b = job->b;
    ptrdiff_t T = job->k->T;
    for (ptrdiff_t j0 = 0; j0 < b->count; j0 += COLUMNS) {
        ptrdiff_t j1 = j0 + COLUMNS < b->count ? j0 + COLUMNS : b->count;
        for (ptrdiff_t i = from; i < to; i++) {
            float *row = job->k->z + i * T + b->first;
            for (ptrdiff_t j = j0; j < j1; j++)
                row[j] = (float)kn_at(b->z, i, j);
        }
    }
}

static void keep_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const kept_job *job = self;
    ptrdiff_t n = job->k->n;
    for (ptrdiff_t j = from; j < to; j++) {
        float *kept = job->k->z_noise + (job->b->first + j) * n;
        const double *z = kn_col(job->b->z_noise, j);
        for (ptrdiff_t i = 0; i < n; i++)
            kept[i] = (float)z[i];
    }
}

static kn_status keep_z(kn_ctx *ctx, void *self, kn_block *b)
{
    kept_job job = {self, b};
    if (!job.k->z)
        return KN_OK;
    kn_parallel(ctx, job.k->n, ROWS, keep_rows, &job);
    kn_parallel(ctx, b->count, COLUMNS, keep_columns, &job);
    return KN_OK;
}

static kn_status begin_recall(kn_ctx *ctx, void *self, const kn_walk_plan *plan)
{
    kn_status status;
    kn_z_keeper *k = self;
    kn_z_keeper_clear(k);
    KN_TRY(kn_mat_new(ctx, plan->n, plan->width, &k->recalled[0]));
    KN_TRY(kn_mat_new(ctx, plan->n, plan->width, &k->recalled[1]));
out:
    return status;
}

void kn_z_recall_need(kn_rehearsal *r, ptrdiff_t n, ptrdiff_t T)
{
    kn_hold_d(r, KN_NEED_WORK, n, kn_walk_width(0, T));
    kn_hold_d(r, KN_NEED_WORK, n, kn_walk_width(0, T));
}

static void recall_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const kept_job *job = self;
    const kn_block *b = job->b;
    ptrdiff_t n = job->k->n, T = job->k->T;
    for (ptrdiff_t i = 0; i < n; i++) {
        const float *row = job->k->z + i * T + b->first;
        for (ptrdiff_t j = from; j < to; j++)
            kn_col(b->z, j)[i] = (double)row[j];
    }
    for (ptrdiff_t j = from; j < to; j++) {
        const float *kept = job->k->z_noise + (b->first + j) * n;
        double *z = kn_col(b->z_noise, j);
        for (ptrdiff_t i = 0; i < n; i++)
            z[i] = (double)kept[i];
    }
}

static kn_status recall_z(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_z_keeper *k = self;
    b->z = kn_cols(k->recalled[0], 0, b->count);
    b->z_noise = kn_cols(k->recalled[1], 0, b->count);
    kn_parallel(ctx, b->count, COLUMNS, recall_columns, &(kept_job){k, b});
    return KN_OK;
}

kn_visitor kn_z_keep(kn_z_keeper *k)
{
    return (kn_visitor){k, 0, NULL, keep_z, NULL};
}

kn_visitor kn_z_recall(kn_z_keeper *k)
{
    return (kn_visitor){k, 0, begin_recall, recall_z, NULL};
}

void kn_z_keeper_clear(kn_z_keeper *k)
{
    kn_mat_clear(&k->recalled[0]);
    kn_mat_clear(&k->recalled[1]);
}
