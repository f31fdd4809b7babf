/* Private declarations of S-MTGPR [METHOD 1a, 1b, 1f]: most of them belong to whitened noise, where
 * each response has a noise variance of its own. Functions that end in _need declare in a memory
 * plan what the function of that name allocates: "temporary" if it is free again afterwards,
 * "keeps" for what stays. */
#ifndef KN_GP_METHODS_SMTGPR_INTERNAL_H
#define KN_GP_METHODS_SMTGPR_INTERNAL_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"
#include "gp/basis/complement.h"
#include "gp/cv/refit.h"
#include "gp/likelihood_spec.h"
#include "gp/method.h"
#include "gp/predict/gp_maps.h"

/* ---- smtgpr.c: description ---- */

#define KN_SMTGPR_WORDS                                                                            \
    "scalable multi-task Gaussian process regression, in which all responses are predicted "       \
    "jointly through shared components"

/* ---- factor_analysis.c: noise variances and shared directions of the responses ---- */

typedef struct kn_factors {
    double *psi;  /* T  positive */
    kn_mat B;     /* T x P, B'B = I; P is lower than requested if the rank of Yw is, */
    kn_mat Z;     /* N x P, Yw B        and lower than the rank if that is below T */
    double total; /* |Yw|^2 */
} kn_factors;

/* Factor analysis of the responses Y (N x T) with at most P factors: noise variances psi,
 * directions B and coordinates Z. mean (T) is subtracted from Y; NULL: 0. Results do not depend
 * on the number of threads. KN_ERR_NUMERIC if an eigenproblem fails. The caller frees *out.
 * Collective. */
kn_status kn_factors_new(kn_ctx *ctx, const kn_responses *Y, const double *mean, ptrdiff_t P,
                         kn_factors *out);
/* Frees psi, B and Z. */
void kn_factors_clear(kn_factors *f);

/* Returns the estimated cost in flops of kn_factors_new. */
double kn_factors_flops(ptrdiff_t N, ptrdiff_t T, ptrdiff_t P);
/* Predicts in plan r the memory of kn_factors_new: psi (T), B (T x P) and Z (N x P) stay in the
 * plan, the iterations only raise the peak. */
void kn_factors_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P);

/* ---- whitened_model.c: components and complement at a given R0 ---- */

typedef struct kn_whitened {
    kn_factors factors; /* psi, B, Z */
    kn_latent latent;   /* P components, and one more for the complement, A = 0 */
    bool complement;    /* fewer components than responses */
    double lml;         /* of Y, including the determinant of Psi */
    ptrdiff_t rank;     /* rank with which R0 was decomposed: kn_spec.rank */
} kn_whitened;

/* Frees factors and components. */
void kn_whitened_clear(kn_whitened *w);

/* Data of a fit; all borrowed. */
typedef struct kn_whitened_data {
    const kn_spec *spec;
    kn_mat X;              /* N x F, copied */
    const kn_responses *Y; /* N x T */
    const double *mean;    /* T, subtracted from Y, or NULL: 0 */
    const double *theta;   /* of R0 */
} kn_whitened_data;

/* Estimates c, d of the components and of the directions outside at R0 (covariance between
 * participants) with parameters data->theta, by the profile of METHOD 1b: sets latent, lml and
 * rank of *w; w->factors and w->complement must be set. Collective. */
kn_status kn_whitened_at(kn_ctx *ctx, const kn_whitened_data *data, kn_whitened *w);
/* Returns the input of the functions of gp/basis/complement.h for this fit: responses, psi, B
 * and their coordinates; borrowed from *data and *w. */
kn_complement_input kn_whitened_outside(const kn_whitened_data *data, const kn_whitened *w);

/* Predicts in plan r the memory of kn_whitened_at with the factors: factors and components stay
 * in the plan, the engine only raises the peak. */
void kn_whitened_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- whitened_fold.c: cross-validation with whitened noise ---- */

/* Fits whitened noise to the training rows of a fold at fixed R0 (covariance between
 * participants) and predicts its held-out rows, for kn_refit_cv. */
kn_status kn_whitened_fold(kn_ctx *ctx, const kn_refit *f, kn_fold_prediction *part,
                           double *clamped);
/* Implements kn_method.cv for whitened noise: every fold is refitted. */
kn_status kn_whitened_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                         kn_gp_maps *out);
/* Predicts in plan r the memory of kn_whitened_cv: the predictions of all folds stay in the
 * plan. */
void kn_whitened_cv_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- whitened_loo.c: leave-one-out with whitened noise ---- */

/* Implements kn_method.loo for whitened noise: closed-form leave-one-out at fixed psi and B. */
kn_status kn_whitened_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
/* Predicts in plan r the memory of kn_whitened_loo: the smoother (N x N) stays in the plan, the
 * rest only raises the peak. */
void kn_whitened_loo_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- whitened.c: fit with whitened noise ---- */

/* Fits whitened noise with P components at the R0 (covariance between participants) found->at,
 * with rank p->spec.rank. If R0 is not additive, it is searched again with these components.
 * Sets *gp, *info and the cross-validated maps. */
kn_status kn_whitened_fit_at(kn_ctx *ctx, kn_fit_problem *p, kn_search_result *found, ptrdiff_t P,
                             kn_gp *gp, kn_fit_info *info);

#endif
