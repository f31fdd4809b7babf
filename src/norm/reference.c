#include "norm/reference.h"

#include <math.h>

#include "base/parallel.h"
#include "gp/loo.h"
#include "la/vec.h"
#include "norm/deviance_fit.h"
#include "norm/extrapolation.h"
#include "norm/gev_fit.h"
#include "norm/order.h"
#include "norm/top.h"
#include "norm/z.h"

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

/* ---- walks over the cross-validated maps ------------------------------------------------------
 *
 * Two walks over the responses: the first for everything that is a sum over them, zz' of both
 * deviances included, the second for the deviances. Where z is kept, z by noise alone is kept for
 * as long, and the second walk need not make mean and variance again. */

enum { ROWS = 32, COLUMNS = 16 }; /* dealt out to the threads at a time */

typedef struct walk {
    const kn_gp *gp;
    const kn_gp_maps *cv;
    kn_reference *r;
    ptrdiff_t first; /* the block at hand */
    kn_mat y, mean, var;
    double *iso; /* width: R's iso term in the variance */
    kn_top_stream top;
    double noise_sum;
    kn_deviance_fitter *deviance[2]; /* of z and of z by noise alone; NULL: not to be had */
    float *z_noise;                  /* n x T by columns; NULL: not kept */
    bool noiseless;                  /* some z by noise alone are undefined */
} walk;

static void walk_clear(walk *w)
{
    for (int k = 0; k < 2; k++)
        kn_deviance_fitter_free(w->deviance[k]);
    kn_mat_clear(&w->y);
    kn_mat_clear(&w->mean);
    kn_mat_clear(&w->var);
    kn_free(w->iso);
    kn_free(w->z_noise);
    kn_top_stream_clear(&w->top);
}

static kn_status walk_new(kn_ctx *ctx, const kn_gp *gp, const kn_gp_maps *cv, kn_reference *r,
                          walk *w)
{
    kn_status status;
    ptrdiff_t width = gp->T < KN_BLOCK ? gp->T : KN_BLOCK;
    *w = (walk){.gp = gp, .cv = cv, .r = r};
    KN_TRY(kn_top_stream_init(ctx, r->n, gp->T, r->top, &w->top));
    KN_TRY(kn_mat_new(ctx, r->n, width, &w->y));
    KN_TRY(kn_mat_new(ctx, r->n, width, &w->mean));
    KN_TRY(kn_mat_new(ctx, r->n, width, &w->var));
    KN_TRY(kn_alloc_d(ctx, width, &w->iso));
    if (r->z)
        KN_TRY(kn_alloc_f(ctx, r->n * gp->T, &w->z_noise));
out:
    return status;
}

typedef struct block_job {
    walk *w;
    kn_mat y, mean, var;
} block_job;

static block_job set_block(walk *w, ptrdiff_t first)
{
    ptrdiff_t n = w->gp->T - first < KN_BLOCK ? w->gp->T - first : KN_BLOCK;
    w->first = first;
    return (block_job){w, kn_cols(w->y, 0, n), kn_cols(w->mean, 0, n), kn_cols(w->var, 0, n)};
}

/* y_sum and extrapolation of some samples. */
static void sum_rows(void *self, ptrdiff_t from, ptrdiff_t to)
{
    block_job *b = self;
    double *y_sum = b->w->r->y_sum, *model = b->w->r->extrapolation;
    for (ptrdiff_t j = 0; j < b->y.cols; j++) {
        const double *y = kn_col(b->y, j), *v = kn_col(b->var, j);
        double iso = b->w->iso[j];
        for (ptrdiff_t i = from; i < to; i++) {
            double e = v[i] - iso;
            y_sum[i] += y[i];
            model[i] += e > 0 ? e : 0;
        }
    }
}

/* z takes the place of y, z by noise alone that of the mean. */
static void make_z(void *self, ptrdiff_t from, ptrdiff_t to)
{
    block_job *b = self;
    ptrdiff_t n = to - from;
    kn_npm_both(kn_cols(b->y, from, n), kn_cols(b->mean, from, n), kn_cols(b->var, from, n),
                b->w->gp->noise + b->w->first + from);
    for (ptrdiff_t j = from; b->w->z_noise && j < to; j++) {
        float *kept = b->w->z_noise + (b->w->first + j) * b->w->r->n;
        const double *z = kn_col(b->mean, j);
        for (ptrdiff_t i = 0; i < b->w->r->n; i++)
            kept[i] = (float)z[i];
    }
}

/* Both again from what was kept. */
static void recall_z(void *self, ptrdiff_t from, ptrdiff_t to)
{
    block_job *b = self;
    ptrdiff_t n = b->w->r->n, T = b->w->gp->T, first = b->w->first;
    for (ptrdiff_t i = 0; i < n; i++) {
        const float *row = b->w->r->z + i * T + first;
        for (ptrdiff_t j = from; j < to; j++)
            kn_col(b->y, j)[i] = (double)row[j];
    }
    for (ptrdiff_t j = from; j < to; j++) {
        const float *kept = b->w->z_noise + (first + j) * n;
        double *z = kn_col(b->mean, j);
        for (ptrdiff_t i = 0; i < n; i++)
            z[i] = (double)kept[i];
    }
}

static void keep_rows(void *self, ptrdiff_t from, ptrdiff_t to)
{
    block_job *b = self;
    ptrdiff_t T = b->w->gp->T;
    for (ptrdiff_t j0 = 0; j0 < b->y.cols; j0 += COLUMNS) {
        ptrdiff_t j1 = j0 + COLUMNS < b->y.cols ? j0 + COLUMNS : b->y.cols;
        for (ptrdiff_t i = from; i < to; i++) {
            float *row = b->w->r->z + i * T + b->w->first;
            for (ptrdiff_t j = j0; j < j1; j++)
                row[j] = (float)kn_at(b->y, i, j);
        }
    }
}

static void drop_deviance(walk *w)
{
    for (int k = 0; k < 2; k++) {
        kn_deviance_fitter_free(w->deviance[k]);
        w->deviance[k] = NULL;
    }
    kn_deviance_clear(&w->r->deviance);
    kn_deviance_clear(&w->r->deviance_noise);
}

/* What these data cannot give is left out with a warning. */
static kn_status no_deviance(kn_ctx *ctx, kn_status status, walk *w)
{
    if (status != KN_ERR_DATA && status != KN_ERR_NUMERIC && status != KN_ERR_ARGUMENT)
        return status;
    kn_log(ctx, KN_LOG_WARNING, "no joint deviance: %s", kn_message(ctx));
    drop_deviance(w);
    return KN_OK;
}

static kn_status first_block(kn_ctx *ctx, walk *w, ptrdiff_t first)
{
    kn_status status;
    block_job b = set_block(w, first);
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_gp_maps_with_y(ctx, w->cv, first, b.y, b.mean, b.var));
    for (ptrdiff_t j = 0; j < b.y.cols; j++) {
        w->iso[j] = kn_reference_iso_share(w->gp, first + j);
        w->noise_sum += w->gp->noise[first + j];
    }
    kn_parallel(ctx, w->r->n, ROWS, sum_rows, &b);
    kn_parallel(ctx, b.y.cols, COLUMNS, make_z, &b);
    kn_top_stream_add(ctx, &w->top, b.y);
    if (w->r->z)
        kn_parallel(ctx, w->r->n, ROWS, keep_rows, &b);
    for (int k = 0; k < 2 && w->deviance[k] && status == KN_OK; k++)
        status = kn_deviance_first(ctx, w->deviance[k], first, k == 0 ? b.y : b.mean);
    if (status == KN_ERR_DATA) { /* no noise, no z: said once the walk is over */
        w->noiseless = true;
        drop_deviance(w);
        status = KN_OK;
    }
    kn_tell(ctx, "reference", first + b.y.cols, w->gp->T, NAN);
out:
    return status;
}

static kn_status first_walk(kn_ctx *ctx, walk *w, bool *finite)
{
    kn_status status = KN_OK;
    kn_reference *r = w->r;
    *finite = true;
    for (ptrdiff_t first = 0; first < w->gp->T; first += KN_BLOCK)
        KN_TRY(first_block(ctx, w, first));
    for (ptrdiff_t i = 0; i < r->n; i++)
        *finite = *finite && w->top.finite[i] == w->gp->T;
    kn_top_stream_result(&w->top, r->statistic);
    kn_extrapolation_ratio(r->extrapolation, r->n, w->noise_sum);
    kn_sort(r->extrapolation, r->n);
out:
    return status;
}

static kn_status second_walk(kn_ctx *ctx, walk *w)
{
    kn_status status;
    for (int k = 0; k < 2; k++)
        KN_TRY(kn_deviance_turn(ctx, w->deviance[k]));
    for (ptrdiff_t first = 0; first < w->gp->T; first += KN_BLOCK) {
        block_job b = set_block(w, first);
        KN_TRY(kn_check_cancel(ctx));
        if (!w->z_noise)
            KN_TRY(kn_gp_maps_with_y(ctx, w->cv, first, b.y, b.mean, b.var));
        kn_parallel(ctx, b.y.cols, COLUMNS, w->z_noise ? recall_z : make_z, &b);
        kn_deviance_second(ctx, w->deviance[0], first, b.y);
        kn_deviance_second(ctx, w->deviance[1], first, b.mean);
        kn_tell(ctx, "deviance", first + b.y.cols, w->gp->T, NAN);
    }
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

kn_status kn_reference_make(kn_ctx *ctx, const kn_gp *gp, const kn_gp_maps *cv, const int *fold,
                            int folds, double top, bool keep_z, kn_reference *out)
{
    kn_status status;
    bool finite;
    walk w = {0};
    ptrdiff_t width = gp->T < KN_BLOCK ? gp->T : KN_BLOCK;
    *out = (kn_reference){.n = cv->n, .top = top};
    KN_TRY(kn_alloc_d(ctx, out->n, &out->statistic));
    KN_TRY(kn_alloc_d(ctx, out->n, &out->extrapolation));
    KN_TRY(kn_alloc_d(ctx, out->n, &out->y_sum));
    if (cv->sample) {
        KN_TRY(kn_alloc_i(ctx, out->n, &out->sample));
        for (ptrdiff_t i = 0; i < out->n; i++)
            out->sample[i] = cv->sample[i];
    }
    if (keep_z)
        KN_TRY(kn_alloc_f(ctx, out->n * gp->T, &out->z));
    KN_TRY(walk_new(ctx, gp, cv, out, &w));
    for (int k = 0; k < 2 && status == KN_OK; k++)
        status = kn_deviance_fitter_new(ctx, out->n, gp->T, width, fold, folds, KN_DEVIANCE_AUTO,
                                        KN_BY_SIZE, &w.deviance[k]);
    if (status != KN_OK)
        KN_TRY(no_deviance(ctx, status, &w));
    KN_TRY(first_walk(ctx, &w, &finite));
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

/* ---- leave-one-out ----------------------------------------------------------------------------
 */

typedef struct loo_totals { /* of one response */
    double z2, loss, inside;
} loo_totals;

typedef struct loo_job {
    const kn_scaling *scaling;
    const double *noise;
    ptrdiff_t first;
    kn_mat y, mean, var;
    loo_totals *total; /* width */
} loo_job;

/* y becomes z; the trivial model has each response's own mean and sd [METHOD 8]. */
static void loo_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    static const double Z95 = 1.959963984540054;
    loo_job *b = self;
    const kn_scaling *s = b->scaling;
    for (ptrdiff_t j = from; j < to; j++) {
        const double *y = kn_col(b->y, j), *mean = kn_col(b->mean, j), *var = kn_col(b->var, j);
        double sd = s->sd[b->first + j], sd0 = s->sd0[b->first + j] / sd, noise = b->noise[j];
        double mean0 = (s->mean0[b->first + j] - s->mean[b->first + j]) / sd;
        double z2 = 0, e2 = 0, inside = 0, n = (double)b->y.rows;
        for (ptrdiff_t i = 0; i < b->y.rows; i++) {
            double e = y[i] - mean[i], e0 = y[i] - mean0, q = e * e / (var[i] + noise);
            z2 += q;
            e2 += e0 * e0;
            inside += q < Z95 * Z95 ? 1 : 0;
        }
        double log_v = kn_vec_sum_log_shift(b->y.rows, var, noise);
        b->total[j] =
            (loo_totals){z2, 0.5 * (log_v + z2 - 2 * n * log(sd0) - e2 / (sd0 * sd0)), inside};
    }
    kn_mat z = kn_cols(b->y, from, to - from);
    kn_npm(z, kn_cols(b->mean, from, to - from), kn_cols(b->var, from, to - from), b->noise + from,
           z);
}

kn_status kn_reference_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_reference *r,
                           kn_cv_summary *summary)
{
    kn_status status;
    kn_gp_maps loo = {0};
    kn_top_stream top = {0};
    kn_mat y = {0}, mean = {0}, var = {0};
    kn_gev_estimate e;
    loo_totals t = {0};
    void *total = NULL;
    ptrdiff_t width = gp->T < KN_BLOCK ? gp->T : KN_BLOCK;
    KN_TRY(kn_gp_loo(ctx, gp, Y, &loo));
    if (r->sample)
        KN_TRY(kn_gp_maps_select(ctx, &loo, Y, r->sample, r->n));
    else
        loo.Y = *Y;
    KN_TRY(kn_alloc_d(ctx, r->n, &r->loo_statistic));
    KN_TRY(kn_top_stream_init(ctx, r->n, gp->T, r->top, &top));
    KN_TRY(kn_mat_new(ctx, r->n, width, &y));
    KN_TRY(kn_mat_new(ctx, r->n, width, &mean));
    KN_TRY(kn_mat_new(ctx, r->n, width, &var));
    KN_TRY(kn_alloc(ctx, width, sizeof(loo_totals), &total));
    for (ptrdiff_t first = 0; first < gp->T; first += KN_BLOCK) {
        ptrdiff_t w = gp->T - first < KN_BLOCK ? gp->T - first : KN_BLOCK;
        loo_job b = {Y->scaling,          gp->noise + first,  first, kn_cols(y, 0, w),
                     kn_cols(mean, 0, w), kn_cols(var, 0, w), total};
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_gp_maps_with_y(ctx, &loo, first, b.y, b.mean, b.var));
        kn_parallel(ctx, w, COLUMNS, loo_columns, &b);
        for (ptrdiff_t j = 0; j < w; j++) {
            t.z2 += b.total[j].z2;
            t.loss += b.total[j].loss;
            t.inside += b.total[j].inside;
        }
        kn_top_stream_add(ctx, &top, b.y);
        kn_tell(ctx, "leave-one-out", first + w, gp->T, NAN);
    }
    kn_top_stream_result(&top, r->loo_statistic);
    double n = (double)r->n * (double)gp->T;
    *summary = (kn_cv_summary){(int)gp->N, t.z2 / n, t.loss / n, t.inside / n};
    if (r->has_gev) { /* what the folds allow, leave-one-out allows */
        status = kn_gev_fit(ctx, r->loo_statistic, r->n, &e);
        r->has_loo_gev = status == KN_OK;
        if (r->has_loo_gev)
            r->loo_gev = e.gev;
        if (status == KN_ERR_DATA || status == KN_ERR_NUMERIC)
            status = KN_OK;
    }
out:
    kn_free(total);
    kn_mat_clear(&var);
    kn_mat_clear(&mean);
    kn_mat_clear(&y);
    kn_top_stream_clear(&top);
    kn_gp_maps_clear(&loo);
    return status;
}
