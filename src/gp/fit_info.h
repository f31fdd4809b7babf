/* The record of a fit, which the model file keeps: what was fitted, how the search ended and what
 * it found. Numbers that only the report and kn_model_number() show are here too. */
#ifndef KN_GP_FIT_INFO_H
#define KN_GP_FIT_INFO_H

#include "base/options/options.h"

struct kn_method;

/* Maximal number of iso parameters and of candidate numbers of components. */
enum { KN_MAX_THETA = 49, KN_MAX_CURVE = 16 };

/* Why a search ended. */
typedef enum kn_stop {
    KN_STOP_CONVERGED = 0, /* projected gradient or change of the likelihood below tolerance */
    KN_STOP_MAX_EVALS = 1,
    KN_STOP_MAX_SECONDS = 2,
    KN_STOP_CANCELLED = 3,
    KN_STOP_LINE_SEARCH = 4, /* no further progress within rounding; see projected_gradient */
    KN_STOP_NOT_OPTIMISED = 5
} kn_stop;

/* Cross-validation over the standardised training responses; folds = 0: not computed. */
typedef struct kn_cv_summary {
    int folds;
    double z2;         /* mean squared z */
    double msll;       /* mean standardised log loss */
    double coverage95; /* proportion of |z| below 1.96 */
    double gain;       /* mean log density minus that of the null model; NaN: no null model */
    double R2;         /* mean over responses */
} kn_cv_summary;

typedef struct kn_curve_point { /* one candidate number of components */
    int components;
    double msll, se; /* cross-validated mean standardised log loss and its standard error */
    double lml;      /* grows with P by construction: not comparable across P */
} kn_curve_point;

typedef struct kn_missing_record { /* missing responses; cells = 0: none [METHOD 0b] */
    ptrdiff_t cells, responses;    /* missing cells; responses with at least one */
    double proportion;             /* proportion of all cells */
    /* excluded: responses with fewer than 10 values; participants with none */
    ptrdiff_t responses_out, participants_out;
    /* cells that are missing because they were outlying; participants excluded for too many */
    ptrdiff_t outliers, outlying_participants;
    int rounds;
    ptrdiff_t components;
    double rms_change; /* of the imputed cells in the last round, in standard deviations */
} kn_missing_record;

typedef struct kn_noise_choice { /* result of {noise=auto}; tried = 0: not compared [METHOD 1f] */
    int tried;
    double structured, whitened; /* mean log density of held-out maps */
    double gain, se;             /* mean difference and its standard error, clustered by group */
} kn_noise_choice;

/* The record. Lengths and variances are in standardised units, times in seconds. */
typedef struct kn_fit_info {
    const struct kn_method *method;
    kn_noise noise;
    kn_likelihood likelihood;
    ptrdiff_t n_samples, n_covariates, n_responses;
    ptrdiff_t n_left_out;   /* responses that are constant or not finite in the training sample */
    ptrdiff_t n_constant_x; /* constant covariates, not used */
    ptrdiff_t n_components;
    ptrdiff_t rank;            /* of the decomposition of R; n_samples if dense */
    double lml;                /* log marginal likelihood of the standardised responses */
    int evaluations;           /* evaluations of the likelihood at full size */
    int evaluations_subsample; /* evaluations of the likelihood on the subsample */
    int evaluations_inner;     /* evaluations with a cached decomposition (iso) */
    kn_stop stop;
    int converged;
    /* largest entry per participant, in the parameters of the optimiser */
    double projected_gradient;
    double rho, length; /* structured: R0 = (1-rho) XX'/F + rho SE(length); else NaN */
    int n_theta;        /* iso: number of parameters, in the order of METHOD 1a */
    double theta[KN_MAX_THETA];
    double gradient[KN_MAX_THETA];
    char theta_name[KN_MAX_THETA][16];
    double noise_variance;     /* mean over responses, standardised units */
    double complement;         /* |Y - YBB'|^2 / |Y|^2 */
    int complement_empty;      /* 1: the basis spans the responses and no complement is modelled */
    int basis_orthonormalised; /* 1: the user's basis was not orthonormal and was orthonormalised */
    double clamped;        /* largest relative amount by which rounding made a variance negative */
    int nothing_predicted; /* 1: no number of components beat the trivial model */
    int n_curve;
    kn_curve_point curve[KN_MAX_CURVE];
    kn_cv_summary cv;
    double seconds_basis, seconds_fit, seconds_reference;
    kn_cv_summary loo; /* closed-form leave-one-out, folds = N; optimistic: the basis comes from all
                          participants */
    double rank_residual;  /* proportion of the trace of R that the low rank omits; 0 if dense */
    double basis_residual; /* range finder (more than 5000 participants and 2048 responses):
                              relative error bound of the variance of each component; 0 if exact */
    kn_missing_record missing;
    kn_noise_choice noise_choice;
    char basis[128];         /* name of the user's basis; "": principal components */
    ptrdiff_t basis_columns; /* columns of the user's basis; 0: principal components */
    /* proportion of a constant shift of all responses that its span contains */
    double basis_constant;
} kn_fit_info;

#endif
