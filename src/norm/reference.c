#include "norm/reference.h"

#include <math.h>

#include "base/parallel.h"
#include "gp/loo.h"
#include "gp/z.h"
#include "norm/deviance_fit.h"
#include "norm/extrapolation.h"
#include "norm/gev_fit.h"
#include "norm/order.h"
#include "norm/top.h"

enum { LEAST_FOR_GEV = 10 };

void kn_reference_clear(kn_reference *r)
{
    kn_free(r->statistic);
    kn_free(r->loo_statistic);
    kn_free(r->y_sum);
    kn_free(r->sample);
    kn_free(r->extrapolation);
    kn_free(r->z);
    kn_deviance_clear(&r->deviance);
    kn_deviance_clear(&r->deviance_noise);
    *r = (kn_reference){0};
}

double kn_reference_iso_share(const kn_gp *gp, ptrdiff_t j)
{
    double sum = 0, row = 0;
    if (!(gp->latent.iso > 0))
        return 0;
    for (ptrdiff_t p = 0; p < gp->P; p++) {
        double b2 = kn_at(gp->B, j, p) * kn_at(gp->B, j, p);
        sum += b2 * gp->latent.c[p];
        row += b2;
    }
    if (gp->complement_component)
        sum += (1 - row) * gp->latent.c[gp->P];
    return sum * gp->latent.iso;
}

ptrdiff_t kn_reference_row(const kn_reference *r, ptrdiff_t t)
{
    if (!r->sample)
        return t >= 0 && t < r->n ? t : -1;
    ptrdiff_t low = 0, high = r->n; /* sample[low - 1] < t <= sample[high] */
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        if (r->sample[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n && r->sample[low] == t ? low : -1;
}

/* ---- walks over maps --------------------------------------------------------------------------
 *
 * Two walks over the cross-validated maps: the first for everything that is a sum over responses,
 * zz' of both deviances included, the second for the deviances. Where z is kept, z by noise alone
 * is kept for as long, and the second walk need not make mean and variance again. A third, over the
 * leave-one-out maps, has the statistic only. */

enum { ROWS = 32, COLUMNS = 16 }; /* dealt out to the threads at a time */

/* Of each sample and of all: one slot a block, added in the order of blocks. */
typedef struct slots {
    kn_mat y, model;   /* n x blocks: sums of y, of the model variance without R's iso term */
    kn_losses *losses; /* blocks */
    double *noise;     /* blocks */
} slots;

typedef struct maps_walk {
    const kn_gp *gp;
    const kn_gp_maps *maps;
    kn_reference *r;
    bool alone; /* z by noise alone besides */
    ptrdiff_t blocks;
    slots slots;
    double *iso;       /* width: R's iso term in the variance; NULL: not wanted */
    kn_losses *column; /* width: of each response */
    kn_top_stream top;
    kn_deviance_fitter *deviance[2]; /* of z and of z by noise alone; NULL: not to be had */
    float *z_noise;                  /* n x T by columns; NULL: not kept */
    kn_mat kept[2];                  /* n x width: z and z by noise alone, recalled */
    bool noiseless;                  /* some z by noise alone are undefined */
} maps_walk;

static void walk_clear(maps_walk *w)
{
    for (int k = 0; k < 2; k++) {
        kn_deviance_fitter_free(w->deviance[k]);
        kn_mat_clear(&w->kept[k]);
    }
    kn_mat_clear(&w->slots.y);
    kn_mat_clear(&w->slots.model);
    kn_free(w->slots.losses);
    kn_free(w->slots.noise);
    kn_free(w->iso);
    kn_free(w->column);
    kn_free(w->z_noise);
    kn_top_stream_clear(&w->top);
}

/* ---- z and what it is made of ---- */

static kn_status begin_z(kn_ctx *ctx, void *self, const kn_walk_plan *plan)
{
    kn_status status;
    maps_walk *w = self;
    void *memory;
    w->blocks = plan->blocks;
    KN_TRY(kn_alloc(ctx, plan->width, sizeof *w->column, &memory));
    w->column = memory;
    KN_TRY(kn_alloc(ctx, plan->blocks, sizeof *w->slots.losses, &memory));
    w->slots.losses = memory;
    if (w->alone) {
        KN_TRY(kn_alloc_d(ctx, plan->width, &w->iso));
        KN_TRY(kn_alloc_d(ctx, plan->blocks, &w->slots.noise));
        KN_TRY(kn_mat_new(ctx, plan->n, plan->blocks, &w->slots.y));
        KN_TRY(kn_mat_new(ctx, plan->n, plan->blocks, &w->slots.model));
    }
    KN_TRY(kn_top_stream_init(ctx, plan->n, plan->T, w->r->top, &w->top));
out:
    return status;
}

typedef struct block_job {
    maps_walk *w;
    const kn_block *b;
} block_job;

static void sum_rows(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    const kn_block *b = job->b;
    double *y_sum = kn_col(job->w->slots.y, b->number);
    double *model = kn_col(job->w->slots.model, b->number);
    for (ptrdiff_t j = 0; j < b->count; j++) {
        const double *y = kn_col(b->y, j), *v = kn_col(b->var, j);
        double iso = job->w->iso[j];
        for (ptrdiff_t i = from; i < to; i++) {
            double e = v[i] - iso;
            y_sum[i] += y[i];
            model[i] += e > 0 ? e : 0;
        }
    }
}

/* Losses of each response; then z takes the place of y, z by noise alone that of the mean. */
static void make_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    const maps_walk *w = job->w;
    const kn_block *b = job->b;
    const kn_scaling *s = w->maps->Y.scaling;
    const double *noise = w->gp->noise + b->first;
    for (ptrdiff_t j = from; w->column && j < to; j++) {
        ptrdiff_t t = b->first + j;
        double sd = s->sd0[t] / s->sd[t];
        kn_trivial trivial = {(s->mean0[t] - s->mean[t]) / s->sd[t], sd * sd};
        w->column[j] = kn_losses_of(b->y.rows, kn_col(b->y, j), kn_col(b->mean, j),
                                    kn_col(b->var, j), noise[j], trivial);
    }
    ptrdiff_t n = to - from;
    kn_mat y = kn_cols(b->y, from, n), mean = kn_cols(b->mean, from, n);
    kn_mat var = kn_cols(b->var, from, n);
    if (w->alone)
        kn_npm_both(y, mean, var, noise + from);
    else
        kn_npm(y, mean, var, noise + from, y);
}

static void show_z(const maps_walk *w, kn_block *b)
{
    b->z = b->y;
    b->z_noise = w->alone ? b->mean : kn_mat_none();
}

static kn_status make_z(kn_ctx *ctx, void *self, kn_block *b)
{
    maps_walk *w = self;
    block_job job = {w, b};
    kn_losses *losses = &w->slots.losses[b->number];
    if (w->alone) {
        for (ptrdiff_t j = 0; j < b->count; j++) {
            w->iso[j] = kn_reference_iso_share(w->gp, b->first + j);
            w->slots.noise[b->number] += w->gp->noise[b->first + j];
        }
        kn_parallel(ctx, b->y.rows, ROWS, sum_rows, &job);
    }
    kn_parallel(ctx, b->count, COLUMNS, make_columns, &job);
    for (ptrdiff_t j = 0; j < b->count; j++)
        kn_losses_add(losses, &w->column[j]);
    show_z(w, b);
    kn_top_stream_add(ctx, &w->top, b->z);
    return KN_OK;
}

/* Without the sums, for a walk that has had them. */
static kn_status make_z_again(kn_ctx *ctx, void *self, kn_block *b)
{
    maps_walk *w = self;
    kn_parallel(ctx, b->count, COLUMNS, make_columns, &(block_job){w, b});
    show_z(w, b);
    return KN_OK;
}

static kn_losses sum_losses(const maps_walk *w)
{
    kn_losses sum = {0};
    for (ptrdiff_t b = 0; b < w->blocks; b++)
        kn_losses_add(&sum, &w->slots.losses[b]);
    return sum;
}

/* ---- z kept, and recalled ---- */

static void keep_rows(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    const kn_block *b = job->b;
    ptrdiff_t T = job->w->gp->T;
    for (ptrdiff_t j0 = 0; j0 < b->count; j0 += COLUMNS) {
        ptrdiff_t j1 = j0 + COLUMNS < b->count ? j0 + COLUMNS : b->count;
        for (ptrdiff_t i = from; i < to; i++) {
            float *row = job->w->r->z + i * T + b->first;
            for (ptrdiff_t j = j0; j < j1; j++)
                row[j] = (float)kn_at(b->z, i, j);
        }
    }
}

static void keep_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    ptrdiff_t n = job->w->r->n;
    for (ptrdiff_t j = from; j < to; j++) {
        float *kept = job->w->z_noise + (job->b->first + j) * n;
        const double *z = kn_col(job->b->z_noise, j);
        for (ptrdiff_t i = 0; i < n; i++)
            kept[i] = (float)z[i];
    }
}

static kn_status keep_z(kn_ctx *ctx, void *self, kn_block *b)
{
    block_job job = {self, b};
    if (!job.w->r->z)
        return KN_OK;
    kn_parallel(ctx, job.w->r->n, ROWS, keep_rows, &job);
    kn_parallel(ctx, b->count, COLUMNS, keep_columns, &job);
    return KN_OK;
}

static kn_status begin_recall(kn_ctx *ctx, void *self, const kn_walk_plan *plan)
{
    kn_status status;
    maps_walk *w = self;
    KN_TRY(kn_mat_new(ctx, plan->n, plan->width, &w->kept[0]));
    KN_TRY(kn_mat_new(ctx, plan->n, plan->width, &w->kept[1]));
out:
    return status;
}

static void recall_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    const kn_block *b = job->b;
    ptrdiff_t n = job->w->r->n, T = job->w->gp->T;
    for (ptrdiff_t i = 0; i < n; i++) {
        const float *row = job->w->r->z + i * T + b->first;
        for (ptrdiff_t j = from; j < to; j++)
            kn_col(b->z, j)[i] = (double)row[j];
    }
    for (ptrdiff_t j = from; j < to; j++) {
        const float *kept = job->w->z_noise + (b->first + j) * n;
        double *z = kn_col(b->z_noise, j);
        for (ptrdiff_t i = 0; i < n; i++)
            z[i] = (double)kept[i];
    }
}

static kn_status recall_z(kn_ctx *ctx, void *self, kn_block *b)
{
    maps_walk *w = self;
    b->z = kn_cols(w->kept[0], 0, b->count);
    b->z_noise = kn_cols(w->kept[1], 0, b->count);
    kn_parallel(ctx, b->count, COLUMNS, recall_columns, &(block_job){w, b});
    return KN_OK;
}

/* ---- deviance ---- */

static void drop_deviance(maps_walk *w)
{
    for (int k = 0; k < 2; k++) {
        kn_deviance_fitter_free(w->deviance[k]);
        w->deviance[k] = NULL;
    }
    kn_deviance_clear(&w->r->deviance);
    kn_deviance_clear(&w->r->deviance_noise);
}

/* What these data cannot give is left out with a warning. */
static kn_status no_deviance(kn_ctx *ctx, kn_status status, maps_walk *w)
{
    if (status != KN_ERR_DATA && status != KN_ERR_NUMERIC && status != KN_ERR_ARGUMENT)
        return status;
    kn_log(ctx, KN_LOG_WARNING, "no joint deviance: %s", kn_message(ctx));
    drop_deviance(w);
    return KN_OK;
}

static kn_status first_deviance(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_status status = KN_OK;
    maps_walk *w = self;
    for (int k = 0; k < 2 && w->deviance[k] && status == KN_OK; k++)
        status = kn_deviance_first(ctx, w->deviance[k], b->first, k == 0 ? b->z : b->z_noise);
    if (status == KN_ERR_DATA) { /* no noise, no z: said once the walk is over */
        w->noiseless = true;
        drop_deviance(w);
        status = KN_OK;
    }
    return status;
}

static kn_status second_deviance(kn_ctx *ctx, void *self, kn_block *b)
{
    maps_walk *w = self;
    kn_deviance_second(ctx, w->deviance[0], b->first, b->z);
    kn_deviance_second(ctx, w->deviance[1], b->first, b->z_noise);
    return KN_OK;
}

/* zz' of one of them once more */
static kn_status again_z(kn_ctx *ctx, void *self, kn_block *b)
{
    return kn_deviance_first(ctx, ((maps_walk *)self)->deviance[0], b->first, b->z);
}

static kn_status again_noise(kn_ctx *ctx, void *self, kn_block *b)
{
    return kn_deviance_first(ctx, ((maps_walk *)self)->deviance[1], b->first, b->z_noise);
}

static kn_walk walk_of(const maps_walk *w, const char *stage)
{
    return (kn_walk){.Y = kn_gp_maps_y(w->maps), .maps = w->maps, .stage = stage};
}

static kn_status first_walk(kn_ctx *ctx, const kn_reference_job *job, maps_walk *w, bool *finite)
{
    kn_status status;
    kn_reference *r = w->r;
    kn_walk walk = walk_of(w, "reference");
    kn_visitor visitor[4];
    int n = 0;
    if (job->noise)
        visitor[n++] = *job->noise;
    visitor[n++] = (kn_visitor){w, KN_WALK_Y | KN_WALK_MAPS, begin_z, make_z, NULL};
    visitor[n++] = (kn_visitor){w, 0, NULL, keep_z, NULL};
    visitor[n++] = (kn_visitor){w, 0, NULL, first_deviance, NULL};
    KN_TRY(kn_walk_run(ctx, &walk, visitor, n));
    double noise = 0;
    *finite = true;
    for (ptrdiff_t b = 0; b < w->blocks; b++) {
        noise += w->slots.noise[b];
        for (ptrdiff_t i = 0; i < r->n; i++) {
            r->y_sum[i] += kn_at(w->slots.y, i, b);
            r->extrapolation[i] += kn_at(w->slots.model, i, b);
        }
    }
    for (ptrdiff_t i = 0; i < r->n; i++)
        *finite = *finite && w->top.finite[i] == w->gp->T;
    kn_top_stream_result(&w->top, r->statistic);
    kn_extrapolation_ratio(r->extrapolation, r->n, noise);
    kn_sort(r->extrapolation, r->n);
    kn_free(w->column); /* whoever makes z again has no use for losses */
    w->column = NULL;
out:
    return status;
}

static kn_status second_walk(kn_ctx *ctx, maps_walk *w)
{
    kn_status status;
    kn_walk walk = walk_of(w, "deviance");
    kn_visitor z = {w, KN_WALK_Y | KN_WALK_MAPS, NULL, make_z_again, NULL};
    if (w->z_noise)
        z = (kn_visitor){w, 0, begin_recall, recall_z, NULL};
    for (int k = 0; k < 2; k++) {
        bool again;
        KN_TRY(kn_deviance_turn(ctx, w->deviance[k], &again));
        while (again) { /* z beyond all bounds: only this one's zz' is made anew */
            kn_visitor first[] = {z, {w, 0, NULL, k == 0 ? again_z : again_noise, NULL}};
            KN_TRY(kn_walk_run(ctx, &walk, first, 2));
            KN_TRY(kn_deviance_turn(ctx, w->deviance[k], &again));
        }
    }
    kn_visitor second[] = {z, {w, 0, NULL, second_deviance, NULL}};
    KN_TRY(kn_walk_run(ctx, &walk, second, 2));
    KN_TRY(kn_deviance_finish(ctx, w->deviance[0], &w->r->deviance));
    KN_TRY(kn_deviance_finish(ctx, w->deviance[1], &w->r->deviance_noise));
    w->r->has_deviance = true;
out:
    return status;
}

static kn_status fit_gev(kn_ctx *ctx, kn_reference *r)
{
    kn_gev_estimate e;
    if (r->n < LEAST_FOR_GEV) {
        kn_log(ctx, KN_LOG_WARNING,
               "%td reference samples are too few for an extreme value fit (10 needed): "
               "no abnormality probabilities",
               r->n);
        return KN_OK;
    }
    kn_status status = kn_gev_fit(ctx, r->statistic, r->n, &e);
    if (status == KN_ERR_DATA || status == KN_ERR_NUMERIC) {
        kn_log(ctx, KN_LOG_WARNING, "no abnormality probabilities: %s", kn_message(ctx));
        return KN_OK;
    }
    if (status == KN_OK) {
        r->has_gev = true;
        r->gev = e.gev;
        r->gev_se = e.se;
        r->gev_at_bound = e.at_bound;
        if (e.at_bound)
            kn_log(ctx, KN_LOG_WARNING,
                   "the extreme value fit ended at the bound of its shape (%.2f): read abnormality "
                   "probabilities near 0 and 1 with care",
                   e.gev.xi);
    }
    return status;
}

static kn_status new_deviances(kn_ctx *ctx, const kn_reference_job *job, maps_walk *w)
{
    kn_status status = KN_OK;
    kn_walk walk = walk_of(w, NULL);
    kn_deviance_shape shape = {.N = w->r->n,
                               .T = w->gp->T,
                               .plan = kn_walk_plan_of(&walk),
                               .fold = job->fold,
                               .folds = job->folds,
                               .K = KN_DEVIANCE_AUTO};
    for (int k = 0; k < 2 && status == KN_OK; k++)
        status = kn_deviance_fitter_new(ctx, &shape, &w->deviance[k]);
    return status == KN_OK ? KN_OK : no_deviance(ctx, status, w);
}

static kn_status reference_new(kn_ctx *ctx, const kn_reference_job *job, kn_reference *r)
{
    kn_status status;
    const kn_gp_maps *cv = job->cv;
    *r = (kn_reference){.n = cv->n, .top = job->top};
    KN_TRY(kn_alloc_d(ctx, r->n, &r->statistic));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->extrapolation));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->y_sum));
    if (cv->sample) {
        KN_TRY(kn_alloc_i(ctx, r->n, &r->sample));
        for (ptrdiff_t i = 0; i < r->n; i++)
            r->sample[i] = cv->sample[i];
    }
    if (job->keep_z)
        KN_TRY(kn_alloc_f(ctx, r->n * job->gp->T, &r->z));
out:
    return status;
}

kn_status kn_reference_make(kn_ctx *ctx, const kn_reference_job *job, kn_reference *out,
                            kn_cv_summary *summary)
{
    kn_status status;
    bool finite;
    maps_walk w = {.gp = job->gp, .maps = job->cv, .r = out, .alone = true};
    KN_TRY(reference_new(ctx, job, out));
    if (job->keep_z)
        KN_TRY(kn_alloc_f(ctx, out->n * job->gp->T, &w.z_noise));
    KN_TRY(new_deviances(ctx, job, &w));
    KN_TRY(first_walk(ctx, job, &w, &finite));
    kn_losses losses = sum_losses(&w);
    *summary = kn_losses_summary(&losses, job->cv->folds);
    if (!finite) { /* a response without any noise has no z */
        kn_log(ctx, KN_LOG_WARNING,
               "some responses have no noise at all, so their z are undefined: "
               "no abnormality statistics");
        goto out;
    }
    KN_TRY(fit_gev(ctx, out));
    if (w.noiseless)
        kn_log(ctx, KN_LOG_WARNING, "no joint deviance: some responses have no noise at all");
    if (w.deviance[0] && (status = second_walk(ctx, &w)) != KN_OK)
        KN_TRY(no_deviance(ctx, status, &w));
out:
    walk_clear(&w);
    if (status != KN_OK)
        kn_reference_clear(out);
    return status;
}

kn_status kn_reference_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_reference *r,
                           kn_cv_summary *summary)
{
    kn_status status;
    kn_gp_maps loo = {0};
    maps_walk w = {.gp = gp, .maps = &loo, .r = r};
    kn_visitor visitor = {&w, KN_WALK_Y | KN_WALK_MAPS, begin_z, make_z, NULL};
    kn_gev_estimate e;
    KN_TRY(kn_gp_loo(ctx, gp, Y, &loo));
    if (r->sample)
        KN_TRY(kn_gp_maps_select(ctx, &loo, r->sample, r->n));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->loo_statistic));
    kn_walk walk = walk_of(&w, "leave-one-out");
    KN_TRY(kn_walk_run(ctx, &walk, &visitor, 1));
    kn_top_stream_result(&w.top, r->loo_statistic);
    kn_losses losses = sum_losses(&w);
    *summary = kn_losses_summary(&losses, (int)gp->N);
    if (r->has_gev) { /* what the folds allow, leave-one-out allows */
        status = kn_gev_fit(ctx, r->loo_statistic, r->n, &e);
        r->has_loo_gev = status == KN_OK;
        if (r->has_loo_gev)
            r->loo_gev = e.gev;
        if (status == KN_ERR_DATA || status == KN_ERR_NUMERIC)
            status = KN_OK;
    }
out:
    if (status != KN_OK) {
        kn_free(r->loo_statistic);
        r->loo_statistic = NULL;
    }
    walk_clear(&w);
    kn_gp_maps_clear(&loo);
    return status;
}
