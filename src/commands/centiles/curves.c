/* Mean and variance of responses at given covariates: predicts the points and converts the chosen
 * responses of each block to original units. Several sites are averaged if a site covariate is at
 * its mean. */
#include "commands/centiles/centiles.h"

#include <math.h>

#include "commands/score/extrapolation.h"
#include "commands/score/site_lookup.h"
#include "gp/block_visitor.h"
#include "gp/method.h"
#include "gp/predict/predict.h"
#include "model/model.h"
#include "norm/metrics/extrapolation.h"

void kn_curves_clear(kn_curves *c)
{
    kn_mat_clear(&c->mean);
    kn_mat_clear(&c->var);
    kn_mat_clear(&c->noise);
    kn_free(c->extrapolation);
    c->extrapolation = NULL;
}

/* ---- sites ---- */

/* mu_j: offset of the mean of sites from the prediction without site effect, standardised units; 0
 * without a site prior. kept: index of the response among those in use. */
static double site_mean(const kn_model *m, ptrdiff_t kept)
{
    return m->sites.T > 0 ? m->sites.mu[kept] : 0;
}

/* Offset, its variance and noise factor of a site for the response with index kept, relative to the
 * prediction without site effect, standardised units. */
static kn_site_shift site_shift(const kn_model *m, kn_curve_site site, ptrdiff_t kept)
{
    ptrdiff_t s = site.adapted;
    if (!site.without_site || s < 0)
        return (kn_site_shift){site.without_site ? site_mean(m, kept) : 0, 0, 1};
    return (kn_site_shift){kn_at(m->adapted.offset, kept, s), kn_at(m->adapted.offset_var, kept, s),
                           kn_at(m->adapted.scale, kept, s)};
}

double kn_curves_site_var(const kn_model *m, kn_curve_site site, ptrdiff_t kept)
{
    return site_shift(m, site, kept).var * m->y.sd[kept] * m->y.sd[kept];
}

/* Predict the points raw (n x covariates), clamped. n_clamped (n, or NULL): number of clamped
 * covariates of each. out is owned by the caller. */
static kn_status predict_points(kn_ctx *ctx, const kn_model *m, kn_view raw, bool without_site,
                                int *n_clamped, kn_gp_maps *out)
{
    kn_status status;
    kn_mat X = {0};
    KN_TRY(kn_mat_new(ctx, raw.rows, m->x.F, &X));
    KN_TRY(kn_design_apply(ctx, &m->x, raw, true, X, n_clamped));
    if (without_site)
        kn_design_set_without_site(&m->x, NULL, X);
    KN_TRY(kn_gp_predict(ctx, &m->gp, &(kn_predict_input){.X = X}, out));
out:
    kn_mat_clear(&X);
    return status;
}

/* ---- curves ---- */

/* State of the block loop over all responses. */
typedef struct passing {
    kn_curves *c;
    kn_mat D;       /* n x F: columns of the noise scale; empty without one */
    double *term;   /* n: site terms of the noise scale; NULL: none */
    double *factor; /* n: noise factor of one response */
    ptrdiff_t at;   /* responses of `kept` done so far */
    double *ratio;  /* n: variance sums of extrapolation */
    double *extra;  /* n: added to ratio, or without components used instead
                       [commands/score/extrapolation.h] */
    double noise_sum;
} passing;

/* Store mean, variance and noise of response j of block b as the next column of the curves, in
 * original units. */
static void store_response(passing *p, const kn_block *b, ptrdiff_t j)
{
    const kn_model *m = p->c->model;
    ptrdiff_t k = b->first + j, column = p->at++;
    double sd = m->y.sd[k], own = sd * sd;
    kn_site_shift shift = site_shift(m, p->c->site, k);
    const double *beta = p->D.data ? kn_col(m->calibration.beta, k) : NULL;
    kn_calibration_factor(p->D, beta, p->c->n, p->term, p->factor);
    for (ptrdiff_t i = 0; i < p->c->n; i++) {
        kn_col(p->c->mean, column)[i] = (kn_at(b->mean, i, j) + shift.offset) * sd + m->y.mean[k];
        kn_col(p->c->var, column)[i] = (kn_at(b->var, i, j) + shift.var) * own;
        kn_col(p->c->noise, column)[i] = m->gp.noise[k] * shift.scale * p->factor[i] * own;
    }
}

/* Block visitor, called for each block of responses: stores those that are wanted as columns of the
 * curves, and adds all to the sums of the extrapolation ratio. */
static kn_status pass_block(kn_ctx *ctx, void *self, kn_block *b)
{
    passing *p = self;
    const kn_curves *c = p->c;
    while (p->at < c->S && c->kept[p->at] < b->first + b->count)
        store_response(p, b, c->kept[p->at] - b->first);
    for (ptrdiff_t j = 0; j < b->count; j++) {
        double iso = kn_reference_iso_variance(&c->model->gp, b->first + j);
        kn_extrapolation_add(kn_cols(b->var, j, 1), &iso, c->model->gp.noise + b->first + j,
                             p->ratio, &p->noise_sum);
    }
    return kn_check_cancel(ctx);
}

/* Predict only the blocks that contain wanted responses, and store these. Blocks begin where a full
 * loop begins them, so the bits are the same. Can be cancelled. */
static kn_status predict_kept_blocks(kn_ctx *ctx, passing *p, const kn_responses *Y,
                                     const kn_gp_maps *maps)
{
    kn_status status;
    const kn_curves *c = p->c;
    kn_mat mean = {0}, var = {0};
    KN_TRY(kn_mat_new(ctx, c->n, KN_BLOCK, &mean));
    KN_TRY(kn_mat_new(ctx, c->n, KN_BLOCK, &var));
    for (ptrdiff_t first = 0, last; p->at < c->S; first = last) {
        last = kn_block_end(Y, KN_BLOCK, first);
        if (c->kept[p->at] >= last)
            continue;
        kn_block b = {.first = first,
                      .count = last - first,
                      .mean = kn_cols(mean, 0, last - first),
                      .var = kn_cols(var, 0, last - first)};
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_gp_maps_from(ctx, maps, first, kn_mat_none(), b.mean, b.var));
        while (p->at < c->S && c->kept[p->at] < last)
            store_response(p, &b, c->kept[p->at] - first);
    }
out:
    kn_mat_clear(&mean);
    kn_mat_clear(&var);
    return status;
}

/* Set the extrapolation percentile of each point (n) as in scores; 100 if a covariate was clamped.
 * Without components there is no model variance, and the distance of the covariates is used. */
static void set_extrapolation(const passing *p, const kn_gp_maps *maps, const int *n_clamped)
{
    const kn_reference *r = &p->c->model->reference;
    bool by_covariates =
        p->c->model->gp.P == 0 && p->c->model->gp.method->components && maps->extrapolation;
    for (ptrdiff_t i = 0; i < p->c->n; i++)
        p->ratio[i] += p->extra[i];
    kn_extrapolation_ratio(p->ratio, p->c->n, p->noise_sum);
    for (ptrdiff_t i = 0; i < p->c->n; i++) {
        double ratio = by_covariates ? p->extra[i] : p->ratio[i];
        p->c->extrapolation[i] =
            n_clamped[i] > 0 ? 100 : kn_percentile(r->extrapolation, r->n, ratio);
    }
}

/* Set p->extra (n), what is added to the ratio of points at no training site: they are compared as
 * participants of an adapted site are. */
static kn_status find_extrapolation(kn_ctx *ctx, passing *p, kn_view raw, const kn_gp_maps *maps,
                                    const int *n_clamped)
{
    kn_status status;
    bool *without_site = NULL;
    KN_TRY(kn_alloc_bool(ctx, p->c->n, &without_site));
    for (ptrdiff_t i = 0; i < p->c->n; i++)
        without_site[i] = p->c->site.without_site;
    KN_TRY(kn_alloc_d(ctx, p->c->n, &p->extra));
    KN_TRY(kn_extrapolation_at_site(
        ctx, &(kn_extrapolation_job){p->c->model, raw, maps, n_clamped, without_site}, p->extra));
out:
    kn_free(without_site);
    return status;
}

/* Make the inputs of the noise scale: columns D (n x F) and the site terms of the points. */
static kn_status prepare_noise(kn_ctx *ctx, passing *p, kn_view raw)
{
    kn_status status;
    const kn_model *m = p->c->model;
    int *site = NULL;
    KN_TRY(kn_alloc_d(ctx, p->c->n, &p->factor));
    KN_TRY(kn_calibration_columns(ctx, &m->calibration, &m->x, raw, &p->D));
    if (p->c->site.without_site || m->batch.M == 0 || m->calibration.S == 0)
        return KN_OK;
    KN_TRY(kn_alloc_int(ctx, p->c->n, &site));
    KN_TRY(kn_alloc_d(ctx, p->c->n, &p->term));
    kn_site_levels_sites(&m->batch, raw, site);
    kn_calibration_shift(&m->calibration, site, p->c->n, p->term);
out:
    kn_free(site);
    return status;
}

kn_status kn_curves_compute(kn_ctx *ctx, kn_view raw, kn_curves *curves)
{
    kn_status status;
    const kn_model *m = curves->model;
    kn_gp_maps maps = {0};
    int *n_clamped = NULL;
    passing p = {.c = curves};
    kn_visitor visitor = {&p, KN_BLOCK_MAPS, NULL, pass_block, NULL};
    curves->n = raw.rows;
    KN_TRY(kn_mat_new(ctx, curves->n, curves->S, &curves->mean));
    KN_TRY(kn_mat_new(ctx, curves->n, curves->S, &curves->var));
    KN_TRY(kn_mat_new(ctx, curves->n, curves->S, &curves->noise));
    KN_TRY(kn_alloc_d(ctx, curves->n, &curves->extrapolation));
    KN_TRY(kn_alloc_d(ctx, curves->n, &p.ratio));
    KN_TRY(kn_alloc_int(ctx, curves->n, &n_clamped));
    KN_TRY(prepare_noise(ctx, &p, raw));
    KN_TRY(predict_points(ctx, m, raw, curves->site.without_site, n_clamped, &maps));
    kn_block_loop walk = {.Y = kn_responses_of((kn_view){.rows = curves->n, .cols = m->y.n_all},
                                               &m->y),
                          .maps = &maps};
    if (curves->few) {
        KN_TRY(predict_kept_blocks(ctx, &p, &walk.Y, &maps));
    } else {
        KN_TRY(find_extrapolation(ctx, &p, raw, &maps, n_clamped));
        KN_TRY(kn_block_loop_run(ctx, &walk, &visitor, 1));
        set_extrapolation(&p, &maps, n_clamped);
    }
out:
    kn_mat_clear(&p.D);
    kn_free(p.term);
    kn_free(p.factor);
    kn_free(p.ratio);
    kn_free(p.extra);
    kn_free(n_clamped);
    kn_gp_maps_clear(&maps);
    if (status != KN_OK)
        kn_curves_clear(curves);
    return status;
}

kn_status kn_curves_mean(kn_ctx *ctx, const kn_model *model, kn_view raw, bool without_site,
                         const ptrdiff_t *response, kn_mat mean)
{
    kn_status status;
    kn_maps maps = {.model = model};
    KN_TRY(predict_points(ctx, model, raw, without_site, NULL, &maps.maps));
    for (ptrdiff_t j = 0, w; j < mean.cols; j += w) { /* consecutive responses at a time */
        w = 1;
        while (j + w < mean.cols && w < KN_BLOCK && response[j + w] == response[j] + w)
            w++;
        KN_TRY(kn_model_maps_block(ctx, &maps, response[j], w, kn_cols(mean, j, w), kn_mat_none()));
    }
    for (ptrdiff_t j = 0; without_site && j < mean.cols; j++) {
        ptrdiff_t k = kn_kept_from(&model->y, response[j]);
        if (k >= model->y.n_kept || model->y.kept[k] != response[j])
            continue;
        for (ptrdiff_t i = 0; i < mean.rows; i++)
            kn_col(mean, j)[i] += site_mean(model, k) * model->y.sd[k];
    }
out:
    kn_gp_maps_clear(&maps.maps);
    return status;
}
