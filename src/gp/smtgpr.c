/* S-MTGPR: basis, number of components, parameters, noise                        [METHOD 1a, 1b] */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "gp/fit.h"
#include "la/la.h"

enum { PILOT_COMPONENTS = 25 }; /* at which (rho, length) of the components curve is fitted */

/* METHOD 2: principal components of standardised responses number at most N - 1. */
static kn_status check_components(kn_ctx *ctx, const kn_gram *gram, const kn_responses *Y,
                                  ptrdiff_t P)
{
    ptrdiff_t most = gram->rank;
    if (P < 1)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "components is %td, expected 1 to %td", P, most);
    if (P > most)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "components is %td, but %td samples of %td responses have at most %td", P,
                       Y->N, Y->T, most);
    return KN_OK;
}

/* iso exact has no noise left to fit when the basis spans the responses [METHOD 2]. */
static kn_status check_complement(kn_ctx *ctx, const kn_spec *spec, const kn_basis *basis,
                                  const kn_gram *gram, ptrdiff_t T)
{
    ptrdiff_t P = basis->B.cols;
    if (spec->noise != KN_NOISE_ISO || spec->likelihood != KN_EXACT || P == T ||
        basis->E > 1e-10 * basis->total)
        return KN_OK;
    double left = 0;
    ptrdiff_t works = 0;
    if (gram->G.data)
        for (ptrdiff_t p = gram->rank; p-- > 0 && works == 0;) {
            left += gram->s2[p];
            if (left > 1e-10 * basis->total)
                works = p;
        }
    return kn_fail(ctx, KN_ERR_DATA,
                   "%td components span the responses, which leaves the exact iso likelihood "
                   "without noise; the largest number that works is %td",
                   P, works);
}

static kn_status search_components(kn_ctx *ctx, kn_mat X, const kn_responses *Y,
                                   const kn_gram *gram, const kn_spec *spec, const kn_gp_options *o,
                                   kn_fit_info *info, ptrdiff_t *P)
{
    kn_status status;
    kn_spec pilot_spec = *spec;
    kn_basis pilot = {0};
    kn_engine e = {0};
    kn_found found;
    kn_search_options so = o->search;
    ptrdiff_t most = gram->rank < (Y->N - 1) / 2 ? gram->rank : (Y->N - 1) / 2;
    most = most < PILOT_COMPONENTS ? most : PILOT_COMPONENTS;
    pilot_spec.noise = KN_NOISE_STRUCTURED;
    pilot_spec.sample_kernel = kn_spec_r0(spec);
    so.optimiser = KN_NESTED;
    so.theta = NULL;
    /* only Z is needed of the pilot: coordinates without the T x P basis */
    KN_TRY(kn_mat_new(ctx, Y->N, most, &pilot.Z));
    for (ptrdiff_t p = 0; p < most; p++)
        for (ptrdiff_t i = 0; i < Y->N; i++)
            kn_col(pilot.Z, p)[i] = kn_at(gram->U, i, p) * sqrt(gram->s2[p]);
    pilot.total = 1; /* and no complement: constant in (rho, length) */
    KN_TRY(kn_fit_search(ctx, X, &pilot, &pilot_spec, &so, Y->T, &e, &found));
    info->evaluations += found.evals;
    info->evaluations_subsample += found.evals_subsample;
    pilot_spec = *spec;
    pilot_spec.rank = e.spec.rank; /* as it turned out */
    pilot_spec.rank_auto = false;
    KN_TRY(kn_choose_components(ctx, X, Y, gram, &pilot_spec, found.rho, found.length, o, info, P));
out:
    kn_engine_clear(&e);
    kn_basis_clear(&pilot);
    return status;
}

/* From the engine at its optimum to the fitted model. */
static kn_status assemble(kn_ctx *ctx, kn_mat X, kn_engine *e, kn_basis *basis, kn_gp *gp)
{
    kn_status status;
    kn_mat own_X = {0};
    bool iso = e->spec.noise == KN_NOISE_ISO;
    KN_TRY(kn_mat_copy(ctx, X, &own_X));
    if (iso && !e->iso.diagonal) {
        KN_TRY(kn_mat_new(ctx, basis->B.rows, e->P, &gp->B));
        kn_gemm(1, KN_N, basis->B, KN_N, e->iso.UC, 0, gp->B); /* B U_C */
        KN_TRY(kn_mat_copy(ctx, e->iso.UC, &gp->UC));
    } else {
        gp->B = basis->B;
        basis->B = kn_mat_none();
    }
    gp->s2 = e->s2;
    gp->spec.rank = e->spec.rank; /* folds do as the fit did */
    gp->spec.rank_auto = false;
    memcpy(gp->inside, e->inside, sizeof gp->inside);
    KN_TRY(kn_fit_latent(ctx, &own_X, e, &gp->latent));
    KN_TRY(kn_alloc_d(ctx, gp->T, &gp->noise));
out:
    kn_mat_clear(&own_X);
    return status;
}

kn_status kn_smtgpr_fit(kn_ctx *ctx, kn_mat X, const kn_responses *Y, const kn_spec *spec,
                        const kn_gp_options *o, kn_gp *gp, kn_fit_info *info)
{
    kn_status status = KN_OK;
    kn_gram gram = {0};
    kn_basis basis = {0};
    kn_engine e = {0};
    kn_found found;
    double t0 = kn_clock(), t1, t2;
    *gp = (kn_gp){.method = KN_SMTGPR,
                  .spec = *spec,
                  .N = X.rows,
                  .F = X.cols,
                  .T = Y->T,
                  .P = o->components,
                  .pca = !o->basis.data};
    if (gp->pca) {
        KN_TRY(kn_gram_new(ctx, Y, &gram));
        if (gp->P == 0)
            KN_TRY(search_components(ctx, X, Y, &gram, spec, o, info, &gp->P));
        KN_TRY(check_components(ctx, &gram, Y, gp->P));
        KN_TRY(kn_basis_pca(ctx, Y, &gram, gp->P, &basis));
    } else {
        KN_TRY(kn_basis_given(ctx, Y, o->basis, &basis));
        gp->P = basis.B.cols;
    }
    KN_TRY(check_complement(ctx, spec, &basis, &gram, Y->T));
    t1 = kn_clock();
    KN_TRY(kn_fit_search(ctx, X, &basis, spec, &o->search, Y->T, &e, &found));
    KN_TRY(assemble(ctx, X, &e, &basis, gp));
    kn_fit_record(gp, &found, &e, &basis, info);
    kn_engine_clear(&e);
    t2 = kn_clock();
    KN_TRY(kn_fit_reference(ctx, gp, Y, &gram, o, info));
    info->seconds_basis = t1 - t0;
    info->seconds_fit = t2 - t1;
    info->seconds_reference = kn_clock() - t2;
out:
    kn_engine_clear(&e);
    kn_basis_clear(&basis);
    kn_gram_clear(&gram);
    if (status != KN_OK)
        kn_gp_clear(gp);
    return status;
}
