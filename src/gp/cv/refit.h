/* Cross-validated maps of a method whose folds are fits of their own                [METHOD 5b]
 *
 * Scaling of responses and covariates and R0 are held; mean and everything else of a fold comes
 * from its own training rows, with what was missing filled in by them. */
#ifndef KN_GP_CV_REFIT_H
#define KN_GP_CV_REFIT_H

#include "gp/cv/fold.h"
#include "gp/method.h"

typedef struct kn_refit {
    const kn_gp *gp;        /* the model whose fold it is: what is held */
    int number;             /* of the fold, 0 .. folds-1 */
    ptrdiff_t n;            /* training samples */
    const ptrdiff_t *train; /* n  their rows among all */
    kn_mat X;               /* n x F */
    kn_groups groups;       /* theirs; n = 0: none */
    kn_responses Y;         /* n x T, with mean mu */
    double *mu;             /* T */
    kn_mat Xs;              /* h x F  of those held out */
    kn_mat X_alone;         /* h x F  the same as if they were of no batch; none: nobody asks */
    double *far;            /* h  to be filled in by kn_latent_far where gp->P = 0; else NULL */
    kn_fold rows;           /* train, and test: those held out */
    double *filled;         /* what Y has where responses are missing */
} kn_refit;

/* Of everybody: what a fold has rows of. */
typedef struct kn_refit_all {
    const int *fold; /* of each sample */
    const kn_responses *Y;
    const struct kn_completion *completion; /* NULL: nothing is missing */
    kn_mat X, X_alone;                      /* X_alone: or none */
    const kn_groups *groups;
} kn_refit_all;

/* Fold r->number: all of the above but gp and far. */
kn_status kn_refit_open(kn_ctx *ctx, const kn_refit_all *all, kn_refit *r);
void kn_refit_close(kn_refit *r);

/* Fills part->mean and part->var (h x P), part->alone where X_alone is there, and part->B (T x P):
 * the loadings that lead from them to responses. clamped: see kn_clamp_nonnegative. */
typedef kn_status (*kn_refit_fn)(kn_ctx *ctx, const kn_refit *fold, kn_fold_prediction *part,
                                 double *clamped);

/* For kn_method.cv. */
kn_status kn_refit_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_refit_fn fit,
                      kn_gp_maps *out);

/* What a fold holds besides what the method's own fit of it does; its part stays. */
void kn_refit_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h);

#endif
