/* Steps that the fits of all methods share. */
#include "gp/fit_steps.h"
#include "gp/cv_deal.h"
#include "gp/noise.h"

#include <math.h>

void kn_gp_clear(kn_gp *gp)
{
    kn_latent_clear(&gp->latent);
    kn_mat_clear(&gp->B);
    kn_mat_clear(&gp->UC);
    kn_stgpr_clear(&gp->stgpr);
    kn_free(gp->noise);
    kn_free(gp->energy);
    *gp = (kn_gp){0};
}

kn_status kn_fit_search(kn_ctx *ctx, kn_mat X, const kn_basis *basis, const kn_spec *spec,
                        const kn_search_options *o, ptrdiff_t T, kn_engine *e, kn_found *found)
{
    kn_status status =
        kn_engine_over(ctx, spec, X, basis->Z, T, basis->E, basis->total, X.rows, NULL, e);
    return status == KN_OK ? kn_search(ctx, e, o, found) : status;
}

/* MT-Kronprod's component outside the basis has A = 0, c0 and d0 = c0 iso + s2     [METHOD 1c] */
static kn_status kronprod_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out)
{
    kn_status status;
    kn_mat A = {0};
    double *c = NULL, *d = NULL;
    ptrdiff_t P = e->P;
    KN_TRY(kn_alloc_d(ctx, P + 1, &c));
    KN_TRY(kn_alloc_d(ctx, P + 1, &d));
    KN_TRY(kn_mat_new(ctx, e->iso.A.rows, P + 1, &A));
    kn_mat_set(A, e->iso.A);
    for (ptrdiff_t p = 0; p < P; p++) {
        c[p] = e->c[p];
        d[p] = e->d[p];
    }
    c[P] = e->iso.c0;
    d[P] = e->iso.c0 * e->iso.iso + e->iso.s2;
    KN_TRY(kn_latent_new(ctx, X, &e->R0, &A, c, d, e->iso.iso, out));
out:
    kn_mat_clear(&A);
    kn_free(d);
    kn_free(c);
    return status;
}

kn_status kn_fit_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out)
{
    if (e->spec.noise == KN_NOISE_STRUCTURED)
        return kn_latent_new(ctx, X, &e->R0, &e->A0, e->c, e->d, 0, out);
    if (e->spec.kronprod && e->iso.diagonal)
        return kronprod_latent(ctx, X, e, out);
    return kn_latent_new(ctx, X, &e->R0, &e->iso.A, e->c, e->d, e->iso.iso, out);
}

_Static_assert((int)KN_MAX_THETA >= (int)KN_THETA, "info has room for every parameter");

void kn_fit_record(const kn_gp *gp, const kn_found *found, const kn_engine *e,
                   const kn_basis *basis, kn_fit_info *info)
{
    info->n_components = gp->P;
    info->rank = gp->latent.R0.m;
    info->rank_residual = gp->latent.R0.residual;
    info->lml = found->lml;
    info->evaluations += found->evals;
    info->evaluations_subsample += found->evals_subsample;
    info->evaluations_inner += found->inner_evals;
    info->stop = found->stop;
    info->projected_gradient = found->projected;
    info->rho = info->length = NAN;
    info->complement = basis->total > 0 ? basis->E / basis->total : 0;
    info->complement_empty = gp->P < gp->T && !e->complement && !gp->complement_component;
    info->basis_orthonormalised = basis->orthonormalised;
    if (gp->spec.noise == KN_NOISE_STRUCTURED) {
        if (kn_cov_is_rho_length(&gp->spec.sample))
            kn_cov_rho_length(&gp->spec.sample, &found->at, &info->rho, &info->length);
    } else {
        info->n_theta = kn_spec_n_theta(&gp->spec);
        for (int i = 0; i < info->n_theta; i++) {
            info->theta[i] = found->theta[i];
            info->gradient[i] = found->gradient[i];
            kn_spec_theta_name(&gp->spec, i, info->theta_name[i], sizeof info->theta_name[i]);
        }
    }
}

kn_status kn_fit_reference(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gram *gram,
                           kn_heldout *held, const kn_gp_options *o, kn_fit_info *info)
{
    kn_status status = KN_OK;
    kn_gp_maps cv = {0};
    void *fold = NULL;
    bool once = gp->method == KN_SMTGPR && gp->N > KN_MANY;
    int folds = once && o->folds > 0 ? KN_HELD_OUT_ONCE : o->folds;
    if (folds > 0 && gp->N >= 2 && info->stop != KN_STOP_CANCELLED) {
        KN_TRY(kn_alloc(ctx, gp->N, sizeof(int), &fold));
        KN_TRY(kn_folds_deal(ctx, gp->N, o->groups, o->search.seed, &folds, fold));
        status = held ? kn_gp_cv_heldout(ctx, gp, Y, held, &cv)
                      : kn_gp_cv(ctx, gp, Y, gram && gram->G.data ? gram : NULL, folds, fold, &cv);
        if (status == KN_OK)
            status = kn_gp_set_noise(ctx, gp, Y, &cv, &info->cv);
        if (status != KN_OK && status != KN_ERR_CANCELLED)
            goto out;
        if (status == KN_ERR_CANCELLED)
            info->stop = KN_STOP_CANCELLED;
        info->clamped = fmax(info->clamped, cv.clamped);
    }
    if (info->cv.folds == 0)
        KN_TRY(kn_gp_set_noise(ctx, gp, Y, NULL, NULL));
    for (ptrdiff_t j = 0; j < gp->T; j++)
        info->noise_variance += gp->noise[j] / (double)gp->T;
    if (o->cv && info->cv.folds > 0) {
        *o->cv = cv;
        cv = (kn_gp_maps){0};
    }
out:
    kn_free(fold);
    kn_gp_maps_clear(&cv);
    return status;
}
