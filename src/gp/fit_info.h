/* The record of a fit: what was fitted, how the search ended, what it found. Kept in the model. */
#ifndef KN_GP_FIT_INFO_H
#define KN_GP_FIT_INFO_H

#include "base/options/options.h"

struct kn_method;

enum { KN_MAX_THETA = 49, KN_MAX_CURVE = 16 };

typedef enum kn_stop {
    KN_STOP_CONVERGED = 0, /* projected gradient or change of the likelihood below tolerance */
    KN_STOP_MAX_EVALS = 1,
    KN_STOP_MAX_SECONDS = 2,
    KN_STOP_CANCELLED = 3,
    KN_STOP_LINE_SEARCH = 4, /* no further progress within rounding; see projected_gradient */
    KN_STOP_NOT_OPTIMISED = 5
} kn_stop;

typedef struct kn_cv_summary { /* over the standardised training responses; folds = 0: not made */
    int folds;
    double z2;         /* mean squared z */
    double msll;       /* mean standardised log loss */
    double coverage95; /* share of |z| below 1.96 */
} kn_cv_summary;

typedef struct kn_curve_point { /* one row of the search for the number of components */
    int components;
    double msll, se; /* cross-validated mean standardised log loss and its standard error */
    double lml;      /* grows with P by construction: not for choosing */
} kn_curve_point;

typedef struct kn_missing_record { /* of the responses; cells = 0: none was missing [METHOD 0b] */
    ptrdiff_t cells, responses;    /* missing cells, and the responses that have some */
    double share;                  /* of all cells */
    ptrdiff_t responses_out, people_out; /* left out: fewer than 10 values, none at all */
    int rounds;
    ptrdiff_t components;
    double rms_change; /* of the last round, in standard deviations */
} kn_missing_record;

typedef struct kn_noise_choice { /* of {noise=auto}; tried = 0: nothing was compared [METHOD 1f] */
    int tried;
    double structured, whitened; /* mean log density of the maps of people held out */
    double gain, se;             /* mean of the differences, by groups, and its standard error */
} kn_noise_choice;

typedef struct kn_fit_info {
    const struct kn_method *method;
    kn_noise noise;
    kn_likelihood likelihood;
    ptrdiff_t n_samples, n_covariates, n_responses;
    ptrdiff_t n_left_out;   /* responses constant or not finite in training */
    ptrdiff_t n_constant_x; /* covariates without variation; they carry no information */
    ptrdiff_t n_components;
    ptrdiff_t rank;            /* of the decomposition of R in use; n_samples when dense */
    double lml;                /* log marginal likelihood of the standardised responses */
    int evaluations;           /* decompositions of R at full size */
    int evaluations_subsample; /* the same on the subsample of the grid */
    int evaluations_inner;     /* likelihoods with cached decomposition (iso) */
    kn_stop stop;
    int converged;
    double projected_gradient; /* largest entry, per sample, in the optimiser's parameters */
    double rho, length;        /* structured: R0 = (1-rho) XX'/F + rho SE(length); else NaN */
    int n_theta;               /* iso: parameters in the order of docs/METHOD.md, 1a */
    double theta[KN_MAX_THETA];
    double gradient[KN_MAX_THETA];
    char theta_name[KN_MAX_THETA][16];
    double noise_variance;     /* mean over responses, standardised units */
    double complement;         /* |Y - YBB'|^2 / |Y|^2 */
    int complement_empty;      /* 1: the basis spans the responses, no complement was modelled */
    int basis_orthonormalised; /* 1: the basis given was not orthonormal and was made so */
    double clamped;            /* how far below zero a variance fell by rounding, before clamping */
    int nothing_predicted;     /* 1: no number of components beat the trivial model */
    int n_curve;
    kn_curve_point curve[KN_MAX_CURVE];
    kn_cv_summary cv;
    double seconds_basis, seconds_fit, seconds_reference;
    kn_cv_summary loo; /* leave-one-out in closed form, folds = N: optimistic, the basis saw all */
    double rank_residual;  /* share of R's trace that its rank leaves out; 0 when dense */
    double basis_residual; /* of principal components by a range finder (more than 5000 samples):
                            * each one's variance is known to this share of it; 0 when exact */
    kn_missing_record missing;
    kn_noise_choice noise_choice;
    char basis[128];         /* a basis of the user's own by its name; "": it has none */
    ptrdiff_t basis_columns; /* of a basis of the user's own; 0: principal components */
    double basis_constant;   /* the share that its span has of the same shift of all responses */
} kn_fit_info;

#endif
