/* Implements common.h. */
#include "gp/methods/common.h"
#include <math.h>

#include "base/mpi/comm.h"
#include "gp/assign_folds.h"

/* Creates the likelihood engine for the coordinates of a basis; groups are copied. */
static kn_status make_engine(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis,
                             kn_engine *e)
{
    kn_status status;
    kn_groups groups = {0};
    kn_engine_data data = {.X = p->X,
                           .Z = basis->Z,
                           .groups = &groups,
                           .T = p->Y.T,
                           .E = basis->E,
                           .total = basis->total,
                           .core = p->core};
    KN_TRY(kn_groups_subset(ctx, &p->groups, NULL, p->X.rows, &groups));
    KN_TRY(kn_engine_new(ctx, &p->spec, &data, e));
out:
    kn_groups_clear(&groups);
    return status;
}

kn_status kn_fit_search(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis, kn_engine *e,
                        kn_search_result *found)
{
    kn_status status = make_engine(ctx, p, basis, e);
    return status == KN_OK ? kn_search(ctx, e, &p->options->search, found) : status;
}

kn_status kn_fit_at(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis, kn_engine *e,
                    kn_search_result *found)
{
    kn_status status = make_engine(ctx, p, basis, e);
    if (status == KN_OK)
        status = kn_engine_evaluate_at(ctx, e, &found->at, &found->lml);
    found->evals = e->evals;
    found->evals_subsample = found->inner_evals = 0;
    if (status == KN_OK)
        status = kn_comm_broadcast(ctx, found, sizeof *found, 0);
    return status;
}

/* With B = I the directions outside the basis form one more component, A = 0, c0 and d0 = c0 iso +
 * s2 [METHOD 1c]. */
static kn_status outside_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out)
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
    KN_TRY(kn_latent_new(ctx, &(kn_latent_parts){X, &e->cell[0].R0, &A, c, d, e->iso.iso}, out));
out:
    kn_mat_clear(&A);
    kn_free(d);
    kn_free(c);
    return status;
}

kn_status kn_fit_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out)
{
    return e->spec.identity && e->iso.diagonal ? outside_latent(ctx, X, e, out)
                                               : kn_engine_latent(ctx, X, e, out);
}

_Static_assert((int)KN_MAX_THETA >= (int)KN_THETA, "info has room for every parameter");

void kn_fit_record(const kn_gp *gp, const kn_search_result *found, const kn_engine *e,
                   const kn_basis *basis, kn_fit_info *info)
{
    info->n_components = gp->P;
    info->rank = gp->latent.cell[0].R0.m;
    info->rank_residual = gp->latent.cell[0].R0.residual;
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
    if (gp->spec.noise != KN_NOISE_ISO) {
        if (!gp->spec.additive && kn_cov_is_rho_length(&gp->spec.sample))
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

kn_status kn_fit_cv(kn_ctx *ctx, const kn_gp *gp, kn_fit_problem *p, kn_fit_info *info)
{
    kn_status status = KN_OK;
    const kn_gp_options *o = p->options;
    void *fold = NULL;
    bool once = gp->method->held_out_once && gp->N > KN_MANY;
    int folds = once && o->folds > 0 ? KN_HELD_OUT_ONCE : o->folds;
    kn_cv_problem cv = {.Y = &p->Y,
                        .X_alone = p->X_alone,
                        .gram = p->gram.G.data ? &p->gram : NULL,
                        .completion = p->completion,
                        .pairs = p->core && p->core->pairs.n > 0 ? &p->core->pairs : NULL};
    if (!kn_cancel_keeps_best(ctx))
        KN_TRY(kn_check_cancel(ctx));
    if (!o->cv || folds == 0 || gp->N < 2 || info->stop == KN_STOP_CANCELLED)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, gp->N, sizeof(int), &fold));
    KN_TRY(kn_folds_deal(ctx, gp->N, o->groups, o->search.seed, &folds, fold));
    cv.folds = folds;
    cv.fold = fold;
    KN_TRY(p->held.mean ? kn_gp_cv_heldout(ctx, gp, &cv, &p->held, o->cv)
                        : kn_gp_cv(ctx, gp, &cv, o->cv));
    info->clamped = fmax(info->clamped, o->cv->clamped);
out:
    if (status == KN_ERR_CANCELLED && kn_cancel_keeps_best(ctx)) { /* keep the model */
        info->stop = KN_STOP_CANCELLED;
        status = KN_OK;
    }
    kn_free(fold);
    return status;
}
