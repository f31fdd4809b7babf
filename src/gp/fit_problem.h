/* Input of a fit and of a cross-validation: options, responses, design and the intermediate results
 * that later stages of a fit reuse. The operations of kn_method receive these structs. */
#ifndef KN_GP_FIT_PROBLEM_H
#define KN_GP_FIT_PROBLEM_H

#include "gp/cv/single_holdout.h"
#include "gp/predict/gp_maps.h"
#include "gp/search/search.h"

/* Options of methods whose tasks are convolved processes [METHOD 1i]. */
typedef struct kn_tasks_options {
    kn_on on;
    kn_inducing inducing;
    kn_widths widths;
    int latent, points; /* number of latent processes; inducing inputs per process */
    const bool *smooth; /* per raw covariate: smooth over it; NULL: all continuous covariates */
    const char *smooth_text; /* the option as the user wrote it */
} kn_tasks_options;

/* Options of a fit. All pointers are borrowed. */
typedef struct kn_gp_options {
    kn_search_options search;
    ptrdiff_t components; /* P; 0: chosen by held-out loss */
    kn_view basis;        /* T_all x Q  basis of the user; data NULL: principal components */
    bool axes_given; /* columns of basis are the components; false: principal axes of their span */
    int folds;       /* number of folds of the reference sample; 0: no cross-validation */
    const int *groups;          /* N, or NULL; rows with equal values stay in one fold */
    const ptrdiff_t *row_order; /* N, order in which rows are assigned to folds; NULL: by index */
    kn_gp_maps *cv;             /* receives the cross-validated maps; NULL: not wanted */
    bool plain;                 /* STGPR: every response is fitted separately */
    int shrinkage;              /* MT-Kronsum: value of the option */
    const struct kn_design *design; /* the design that produced X */
    kn_tasks_options tasks;
    ptrdiff_t noise_rank; /* MTGPR: Q, the number of columns of H */
    bool ppca, iso_term;  /* MTGPR: gamma is free; R has an iso term */
} kn_gp_options;

/* Input of kn_method.fit, and intermediate results that later stages reuse. */
typedef struct kn_fit_problem {
    kn_mat X;              /* N x F  standardised design */
    kn_mat X_without_site; /* X with every site set to "no site"; none: no site covariate */
    kn_responses Y;        /* N x T  standardised responses */
    kn_spec spec;
    kn_groups groups; /* repeated measures that share noise; {0}: none */
    const kn_gp_options *options;
    kn_gram gram;         /* Gram matrix of Y; G.data NULL: not computed */
    kn_heldout held_out;  /* single held-out set for N > KN_MANY; mean NULL: not computed */
    ptrdiff_t pilot_rank; /* spec.rank after the pilot search [gp/components/pilot.h] */
    /* borrowed; imputation of Y; NULL: no cell is missing */
    const struct kn_completion *completion;
    /* borrowed; reusable state of a dense search over all participants; NULL: not kept */
    kn_engine_core *core;
} kn_fit_problem;

void kn_fit_problem_clear(kn_fit_problem *p); /* frees gram and held_out */

/* Input of kn_method.cv: the responses and their assignment to folds. */
typedef struct kn_cv_problem {
    const kn_responses *Y;
    const kn_gram *gram; /* Gram matrix of Y; NULL: computed where needed */
    int folds;
    const int *fold; /* N  fold of each participant, 0 .. folds-1; -1: never held out */
    /* each fold imputes its training rows with it; NULL: no missing cells */
    const struct kn_completion *completion;
    kn_mat X_without_site; /* N x F  design of the held-out rows with the site set to "no site"; or
                              none */
    const kn_pairs *pairs; /* pair statistics of all participants; NULL: computed where needed */
} kn_cv_problem;

/* Searches all hyperparameters for the coordinates of `basis`; *found is the result. On return
 * the engine *e is at the optimum; the caller clears it. Collective. */
kn_status kn_fit_search(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis, kn_engine *e,
                        kn_search_result *found);

/* Evaluates the likelihood once at found->at, an R0 (covariance between participants) that is
 * already known, for the coordinates of `basis`; resets the counters of *found. The caller
 * clears *e. Collective. */
kn_status kn_fit_at(kn_ctx *ctx, const kn_fit_problem *p, const kn_basis *basis, kn_engine *e,
                    kn_search_result *found);

/* Builds the latent form *out of the fitted components from the engine at its current point. *X
 * and parts of *e are moved. */
kn_status kn_fit_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out);

#endif
