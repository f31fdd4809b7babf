/* Cross-validated maps for methods that refit each fold completely (convolved, kronsum, mtgpr,
 * whitened noise) [METHOD 5b]. Scaling of responses and covariates and R0 stay fixed; everything
 * else comes from the training rows of the fold, whose missing cells are imputed from these rows
 * alone. */
#ifndef KN_GP_CV_REFIT_H
#define KN_GP_CV_REFIT_H

#include "gp/cv/fold.h"
#include "gp/fit_problem.h"

typedef struct kn_refit {
    const kn_gp *gp;        /* the full model, borrowed: fixed hyperparameters */
    int number;             /* fold 0 .. folds-1 */
    ptrdiff_t n;            /* training rows */
    const ptrdiff_t *train; /* n  their indices among all rows */
    kn_mat X;               /* n x F */
    kn_groups groups;       /* of the training rows; n = 0: none */
    kn_responses Y;         /* n x T  imputed, uncentred */
    double *mu;             /* T  mean of Y */
    kn_mat Xs;              /* h x F  held-out rows */
    kn_mat X_without_site;  /* h x F  the same without site; none: not requested */
    double *extrapolation;  /* h  output of kn_latent_extrapolation if gp->P = 0; else NULL */
    kn_fold rows;           /* row lists: train, and test (held out) */
    double *imputed;        /* imputed values of Y; NULL: no cell is missing */
} kn_refit;

/* Data of all participants, from which folds take rows; all borrowed. */
typedef struct kn_refit_all {
    const int *fold; /* N  fold of each participant */
    const kn_responses *Y;
    const struct kn_completion *completion; /* NULL: no cell is missing */
    kn_mat X, X_without_site;               /* N x F; X_without_site may be none */
    const kn_groups *groups;
} kn_refit_all;

/* Prepares fold r->number for a refit: sets all fields except gp and extrapolation: rows,
 * imputed training responses, their mean, designs and groups. The caller calls kn_refit_close,
 * also after a failure. Collective. */
kn_status kn_refit_open(kn_ctx *ctx, const kn_refit_all *all, kn_refit *r);
/* Frees everything that the fold owns. */
void kn_refit_close(kn_refit *r);

/* Fits one fold. Must set part->mean and part->var (h x P), part->mean_without_site if
 * X_without_site is present, and part->B (T x P), the loadings from components to responses.
 * clamped: see kn_clamp_nonnegative. */
typedef kn_status (*kn_refit_fn)(kn_ctx *ctx, const kn_refit *fold, kn_fold_prediction *part,
                                 double *clamped);

/* Implements kn_method.cv for methods that are refitted completely: calls `fit` for each fold in
 * turn and sets rows and mu of each part itself. out is cleared on error. Collective. */
kn_status kn_refit_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_refit_fn fit,
                      kn_gp_maps *out);

/* Predicts in plan r the memory of kn_refit_open for n training and h held-out rows, which stays
 * in the plan; the fit itself is not in it. */
void kn_refit_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h);

#endif
