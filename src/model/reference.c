#include "model/reference.h"

#include <math.h>

#include "stat/extrapolation.h"
#include "stat/npm.h"
#include "stat/order.h"
#include "stat/top.h"

enum { LEAST_FOR_GEV = 10 };

void kn_reference_clear(kn_reference *r)
{
    kn_free(r->statistic);
    kn_free(r->loo_statistic);
    kn_free(r->y_sum);
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

/* z of the cross-validated maps, block by block: from the float copy, or made again. */
typedef struct z_maps {
    const kn_gp *gp;
    const kn_gp_maps *cv;
    const float *kept;
    bool noise_only;
} z_maps;

static kn_status z_block(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z)
{
    z_maps *m = self;
    kn_status status;
    kn_mat mean = {0}, var = {0};
    if (m->kept && !m->noise_only) {
        for (ptrdiff_t j = 0; j < count; j++)
            for (ptrdiff_t i = 0; i < z.rows; i++)
                kn_col(z, j)[i] = m->kept[i * m->gp->T + first + j];
        return kn_check_cancel(ctx);
    }
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_mat_new(ctx, z.rows, count, &mean));
    KN_TRY(kn_mat_new(ctx, z.rows, count, &var));
    KN_TRY(kn_gp_maps_block(ctx, m->cv, first, mean, var));
    kn_responses_block(ctx, &m->cv->Y, first, z);
    kn_npm(z, mean, m->noise_only ? kn_mat_none() : var, m->gp->noise + first, z);
out:
    kn_mat_clear(&var);
    kn_mat_clear(&mean);
    return status;
}

/* One pass over the maps: statistic, extrapolation, and the z themselves. */
static kn_status first_pass(kn_ctx *ctx, const kn_gp *gp, const kn_gp_maps *cv, kn_reference *r,
                            bool *finite)
{
    kn_status status;
    kn_top_stream top = {0};
    kn_mat y = {0}, mean = {0}, var = {0};
    double noise_sum = 0, *sd = NULL;
    ptrdiff_t width = gp->T < KN_BLOCK ? gp->T : KN_BLOCK;
    *finite = true;
    KN_TRY(kn_top_stream_init(ctx, r->n, gp->T, r->top, &top));
    KN_TRY(kn_mat_new(ctx, r->n, width, &y));
    KN_TRY(kn_mat_new(ctx, r->n, width, &mean));
    KN_TRY(kn_mat_new(ctx, r->n, width, &var));
    KN_TRY(kn_alloc_d(ctx, width, &sd));
    for (ptrdiff_t j = 0; j < width; j++)
        sd[j] = 1; /* standardised units */
    for (ptrdiff_t first = 0; first < gp->T; first += KN_BLOCK) {
        ptrdiff_t w = gp->T - first < KN_BLOCK ? gp->T - first : KN_BLOCK;
        kn_mat yb = kn_cols(y, 0, w), mb = kn_cols(mean, 0, w), vb = kn_cols(var, 0, w);
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_gp_maps_block(ctx, cv, first, mb, vb));
        kn_responses_block(ctx, &cv->Y, first, yb);
        for (ptrdiff_t j = 0; j < w; j++)
            for (ptrdiff_t i = 0; i < r->n; i++)
                r->y_sum[i] += kn_at(yb, i, j);
        kn_npm(yb, mb, vb, gp->noise + first, yb);
        kn_top_stream_add(ctx, &top, yb);
        for (ptrdiff_t j = 0; j < w; j++) {
            double iso = kn_reference_iso_share(gp, first + j);
            for (ptrdiff_t i = 0; i < r->n; i++) {
                *finite = *finite && isfinite(kn_at(yb, i, j));
                kn_col(vb, j)[i] = fmax(kn_at(vb, i, j) - iso, 0);
                if (r->z)
                    r->z[i * gp->T + first + j] = (float)kn_at(yb, i, j);
            }
        }
        kn_extrapolation_add(vb, gp->noise + first, sd, r->extrapolation, &noise_sum);
        kn_tell(ctx, "reference", first + w, gp->T, NAN);
    }
    kn_top_stream_result(&top, r->statistic);
    kn_extrapolation_ratio(r->extrapolation, r->n, noise_sum);
    kn_sort(r->extrapolation, r->n);
out:
    kn_free(sd);
    kn_mat_clear(&var);
    kn_mat_clear(&mean);
    kn_mat_clear(&y);
    kn_top_stream_clear(&top);
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

static kn_status fit_deviance(kn_ctx *ctx, const kn_gp *gp, const kn_gp_maps *cv, const int *fold,
                              int folds, kn_reference *r)
{
    z_maps maps = {gp, cv, r->z, false};
    kn_z_source z = {&maps, r->n, gp->T, z_block};
    kn_status status = kn_deviance_fit(ctx, &z, fold, folds, KN_DEVIANCE_AUTO, &r->deviance);
    if (status == KN_OK) {
        maps.noise_only = true;
        status = kn_deviance_fit(ctx, &z, fold, folds, KN_DEVIANCE_AUTO, &r->deviance_noise);
    }
    if (status == KN_ERR_DATA || status == KN_ERR_NUMERIC || status == KN_ERR_ARGUMENT) {
        kn_log(ctx, KN_LOG_WARNING, "no joint deviance: %s", kn_message(ctx));
        kn_deviance_clear(&r->deviance);
        kn_deviance_clear(&r->deviance_noise);
        return KN_OK;
    }
    r->has_deviance = status == KN_OK;
    return status;
}

kn_status kn_reference_make(kn_ctx *ctx, const kn_gp *gp, const kn_gp_maps *cv, const int *fold,
                            int folds, double top, bool keep_z, kn_reference *out)
{
    kn_status status;
    bool finite;
    *out = (kn_reference){.n = gp->N, .top = top};
    KN_TRY(kn_alloc_d(ctx, out->n, &out->statistic));
    KN_TRY(kn_alloc_d(ctx, out->n, &out->extrapolation));
    KN_TRY(kn_alloc_d(ctx, out->n, &out->y_sum));
    if (keep_z)
        KN_TRY(kn_alloc_f(ctx, out->n * gp->T, &out->z));
    KN_TRY(first_pass(ctx, gp, cv, out, &finite));
    if (!finite) { /* a response without any noise has no z */
        kn_log(ctx, KN_LOG_WARNING,
               "some responses have no noise at all, so their z are undefined: "
               "no abnormality statistics");
        goto out;
    }
    KN_TRY(fit_gev(ctx, out));
    KN_TRY(fit_deviance(ctx, gp, cv, fold, folds, out));
out:
    if (status != KN_OK)
        kn_reference_clear(out);
    return status;
}

typedef struct loo_totals {
    double z2, loss, inside, n;
} loo_totals;

/* y becomes z; the trivial model has each response's own mean and sd [METHOD 8]. */
static void loo_block(const kn_scaling *s, ptrdiff_t first, kn_mat y, kn_mat mean, kn_mat var,
                      const double *noise, loo_totals *t)
{
    static const double Z95 = 1.959963984540054;
    for (ptrdiff_t j = 0; j < y.cols; j++) {
        double sd = s->sd[first + j], sd0 = s->sd0[first + j] / sd;
        double mean0 = (s->mean0[first + j] - s->mean[first + j]) / sd;
        for (ptrdiff_t i = 0; i < y.rows; i++) {
            double v = kn_at(var, i, j) + noise[j], e0 = (kn_at(y, i, j) - mean0) / sd0;
            double e = kn_at(y, i, j) - kn_at(mean, i, j), z2 = e * e / v;
            t->z2 += z2;
            t->loss += 0.5 * (log(v) + z2 - 2 * log(sd0) - e0 * e0);
            t->inside += z2 < Z95 * Z95;
            t->n++;
        }
    }
    kn_npm(y, mean, var, noise, y);
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
    ptrdiff_t width = gp->T < KN_BLOCK ? gp->T : KN_BLOCK;
    KN_TRY(kn_gp_loo(ctx, gp, Y, &loo));
    KN_TRY(kn_alloc_d(ctx, gp->N, &r->loo_statistic));
    KN_TRY(kn_top_stream_init(ctx, gp->N, gp->T, r->top, &top));
    KN_TRY(kn_mat_new(ctx, gp->N, width, &y));
    KN_TRY(kn_mat_new(ctx, gp->N, width, &mean));
    KN_TRY(kn_mat_new(ctx, gp->N, width, &var));
    for (ptrdiff_t first = 0; first < gp->T; first += KN_BLOCK) {
        ptrdiff_t w = gp->T - first < KN_BLOCK ? gp->T - first : KN_BLOCK;
        kn_mat yb = kn_cols(y, 0, w), mb = kn_cols(mean, 0, w), vb = kn_cols(var, 0, w);
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_gp_maps_block(ctx, &loo, first, mb, vb));
        kn_responses_block(ctx, Y, first, yb);
        loo_block(Y->scaling, first, yb, mb, vb, gp->noise + first, &t);
        kn_top_stream_add(ctx, &top, yb);
        kn_tell(ctx, "leave-one-out", first + w, gp->T, NAN);
    }
    kn_top_stream_result(&top, r->loo_statistic);
    *summary = (kn_cv_summary){(int)gp->N, t.z2 / t.n, t.loss / t.n, t.inside / t.n};
    if (r->has_gev) { /* what the folds allow, leave-one-out allows */
        status = kn_gev_fit(ctx, r->loo_statistic, gp->N, &e);
        r->has_loo_gev = status == KN_OK;
        if (r->has_loo_gev)
            r->loo_gev = e.gev;
        if (status == KN_ERR_DATA || status == KN_ERR_NUMERIC)
            status = KN_OK;
    }
out:
    kn_mat_clear(&var);
    kn_mat_clear(&mean);
    kn_mat_clear(&y);
    kn_top_stream_clear(&top);
    kn_gp_maps_clear(&loo);
    return status;
}
