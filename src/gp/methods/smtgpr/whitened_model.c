/* Components and complement of whitened responses at a given R0, for the fit and for each fold
 * [METHOD 1f].
 *
 *     Z = Yw B     A = U'Z     D = U'Yw - A B'     e_n = |D_n|^2
 *     LML = sum_p LML_p + LML_0 - N/2 sum ln psi_j
 *     LML_0 = -1/2 [N(T-P) ln 2pi + (T-P) sum ln(c0 r_n + d0) + sum e_n/(c0 r_n + d0)]
 *
 * LML_0/(T-P) is the LML of one component whose squares are e/(T-P), so the profile of 1b finds c0
 * and d0. Directions outside U have r = 0 and the rest of the energy. c and d
 * come from the likelihood engine. */
#include "gp/methods/smtgpr/internal.h"

#include <math.h>

#include "gp/likelihood/engine.h"
#include "gp/likelihood/profile_1d.h"

static const double EMPTY = 1e-12; /* proportion of the energy that is rounding */

void kn_whitened_clear(kn_whitened *w)
{
    kn_factors_clear(&w->factors);
    kn_latent_clear(&w->latent);
    *w = (kn_whitened){0};
}

kn_complement_input kn_whitened_outside(const kn_whitened_data *data, const kn_whitened *w)
{
    return (kn_complement_input){.Y = data->Y,
                                 .mean = data->mean,
                                 .psi = w->factors.psi,
                                 .V = w->factors.B,
                                 .AV = kn_cols(w->latent.cell[0].A, 0, w->factors.B.cols)};
}

/* Builds w->latent from the engine: c, d and A of its components, with space for one more, that
 * of the directions outside, if w->complement. X (N x F) is copied, R0 (covariance between
 * participants) is moved. */
static kn_status copy_components(kn_ctx *ctx, kn_mat X, kn_engine *e, kn_whitened *w)
{
    kn_status status;
    ptrdiff_t P = e->P, all = P + w->complement;
    double *c = NULL, *d = NULL;
    kn_mat A = {0}, own = {0};
    KN_TRY(kn_alloc_d(ctx, all, &c));
    KN_TRY(kn_alloc_d(ctx, all, &d));
    KN_TRY(kn_mat_new(ctx, e->cell[0].R0.m, all, &A));
    KN_TRY(kn_mat_copy(ctx, X, &own));
    kn_mat_set(kn_cols(A, 0, P), e->cell[0].A);
    for (ptrdiff_t p = 0; p < P; p++) {
        c[p] = e->c[p];
        d[p] = e->d[p];
    }
    KN_TRY(kn_latent_new(ctx, &(kn_latent_parts){&own, &e->cell[0].R0, &A, c, d, 0}, &w->latent));
out:
    kn_mat_clear(&own);
    kn_mat_clear(&A);
    kn_free(d);
    kn_free(c);
    return status;
}

/* Finds the variances c0 and d0 of the directions outside the components by their profile
 * likelihood, into the last component of w->latent; *lml is their part of the log likelihood.
 * Reads Y once. Collective. */
static kn_status fit_complement(kn_ctx *ctx, const kn_whitened_data *data, kn_whitened *w,
                                double *lml)
{
    kn_status status;
    kn_latent *l = &w->latent;
    const kn_decomp *R0 = &l->cell[0].R0;
    kn_complement_input outside = kn_whitened_outside(data, w);
    ptrdiff_t N = data->X.rows, last = l->P - 1;
    double *e = NULL, left = w->factors.total - kn_sumsq(w->factors.Z);
    double n_outside = (double)(data->Y->T - w->factors.B.cols), rest;
    *lml = l->c[last] = l->d[last] = 0;
    if (!(left > EMPTY * w->factors.total))
        return KN_OK; /* the basis spans the responses of this fold */
    KN_TRY(kn_alloc_d(ctx, R0->m, &e));
    KN_TRY(kn_complement_energies(ctx, l, &outside, e));
    rest = left / n_outside;
    for (ptrdiff_t n = 0; n < R0->m; n++) {
        e[n] /= n_outside;
        rest -= e[n];
    }
    KN_TRY(kn_profile(ctx, R0->m, R0->r, N - R0->m, kn_mat_cols(e, R0->m, 1),
                      kn_decomp_is_low(R0) ? &rest : NULL, &l->c[last], &l->d[last], lml));
    *lml *= n_outside;
out:
    kn_free(e);
    return status;
}

kn_status kn_whitened_at(kn_ctx *ctx, const kn_whitened_data *data, kn_whitened *w)
{
    kn_status status;
    kn_engine e = {0};
    kn_spec spec = *data->spec;
    double outside = 0;
    kn_engine_data engine_data = {.X = data->X, .Z = w->factors.Z, .T = data->Y->T, .total = 1};
    spec.noise = KN_NOISE_STRUCTURED;
    spec.sample = kn_cov_between(&data->spec->sample);
    KN_TRY(kn_engine_new(ctx, &spec, &engine_data, &e));
    KN_TRY(kn_engine_at(ctx, &e, data->theta, &w->lml));
    w->rank = e.spec.rank;
    KN_TRY(copy_components(ctx, data->X, &e, w));
    kn_engine_clear(&e); /* freed before the block loop, which needs memory of its own */
    if (w->complement)
        KN_TRY(fit_complement(ctx, data, w, &outside));
    w->lml += outside;
    for (ptrdiff_t j = 0; j < data->Y->T; j++)
        w->lml -= 0.5 * (double)data->X.rows * log(w->factors.psi[j]);
out:
    kn_engine_clear(&e);
    return status;
}

void kn_whitened_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_problem_size one = *s;
    kn_factors_need(r, s->N, s->T, s->P);
    kn_mem_usage mark = r->now;
    one.groups = 0;
    kn_engine_need(r, &one, false, false);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->F + s->P + 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->P + 1, 4);
    kn_plan_free_to(r, mark);
    kn_latent_need(r, &one);
}
