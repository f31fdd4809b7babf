/* Learns the calibration transform from held-out residuals, and computes the z-scores of each
 * training participant under a transform that was learned without the participant's fold
 * [METHOD 8c]
 *
 *     z0   = e / sqrt(v + noise^(-i))      leave-one-out noise (gp/predict/noise.h)
 *     eta  from z0, a and b from zt;       without each fold: one Newton step from the fit to all
 *
 * Use: kn_learner_new(); a block loop over the subsample of responses (learn_subsample.h);
 * kn_learner_choose(), which fits the priors with and without each fold and chooses the
 * components; then kn_learner_learn() for every response. A component is kept if it lowers the
 * held-out loss per participant by more than the standard error of that gain. They are tried in
 * the order linear scale, quadratic scale, shape. The terms of sites come before the shape and
 * are kept in any case (learn_site_noise.c).
 *
 * Participants are stored in fold order, so that those of one fold are contiguous. */
#ifndef KN_NORM_CALIBRATION_LEARNER_H
#define KN_NORM_CALIBRATION_LEARNER_H

#include "base/memory/plan.h"
#include "gp/predict/noise.h"
#include "norm/calibration/calibration_transform.h"
#include "norm/calibration/noise_scale.h"
#include "norm/calibration/shash_fit.h"

typedef struct kn_learner_job {
    kn_calibrate how;
    /* covariates of the n participants; NULL: none, and the noise has no scale component */
    const kn_noise_scale_covariates *x;
    ptrdiff_t n, T;  /* training participants, responses */
    const int *fold; /* n */
    int folds;
    const kn_noise_builder *noise; /* leave-one-out noise; NULL: noise_j for all participants ... */
    bool mean_square;              /* ... or the mean square of e of the others */
    const kn_exclusion_groups
        *exclusions; /* participants that are left out together with each one */
    /* T: noise_j, standardised; the noise visitor sets it block by block */
    const double *noise_of_all;
    const int *site; /* n: 0 .. S-1, -1: no site; NULL: there are no sites */
    ptrdiff_t S;
} kn_learner_job;

typedef struct kn_learner {
    kn_learner_job job;
    kn_calibration_transform *calibration; /* borrowed: receives the transform */
    ptrdiff_t *order;                      /* n: the participant at each position of fold order */
    int *fold;                             /* n, fold order: the fold, ascending */
    ptrdiff_t *start;                      /* folds + 1: first position of each fold */
    kn_mat D;                              /* n x F, fold order; none: no scale component */
    kn_noise_scale_prior prior, *without;  /* from all participants; without each fold (folds) */
    kn_shash_prior shape;
    /* n, fold order: term of the participant's site, estimated without its fold; NULL: none */
    double *shift;
    /* the response subsample: n x sampled, fold order; `others` is the leave-one-out noise */
    ptrdiff_t sampled;
    kn_mat e, v, others, factor;
} kn_learner;

/* Create a learner that fills `calibration` (borrowed, must outlive the learner; cleared first).
 * `job` is copied, its arrays are borrowed. Release it with kn_learner_free(), which accepts NULL.
 */
kn_status kn_learner_new(kn_ctx *ctx, const kn_learner_job *job,
                         kn_calibration_transform *calibration, kn_learner **out);

/* Free a learner, not the calibration that it filled; NULL is allowed. */
void kn_learner_free(kn_learner *l);

/* Choose the components of the calibration by held-out gain and fit their priors, on the subsample
 * of responses that a block loop has stored; the subsample is then freed. Collective. */
kn_status kn_learner_choose(kn_ctx *ctx, kn_learner *l);

/* Input and output for one response. e, v (n) are residual and model variance, standardised
 * units, in the order of the data. Outputs (n each): z; and, where not NULL, loss (-ln p(y) -
 * 1/2 ln 2pi), joint (z of the whole-map deviance, by noise_j of all participants) and noise_only
 * (the same without v). */
typedef struct kn_learner_column {
    const kn_block *b;
    ptrdiff_t j; /* column in block b */
    const double *e, *v;
    double *z, *loss, *joint, *noise_only;
    bool known; /* beta_j, theta_j are already set, and only joint and noise_only are computed */
} kn_learner_column;
/* Doubles of work that kn_learner_learn() needs per thread. */
ptrdiff_t kn_learner_work(const kn_learner *l);

/* Fit the calibration of one response: sets its coefficients beta_j and shape theta_j, and computes
 * z, loss and the z of the deviances of every participant by a fit without its fold. work:
 * kn_learner_work() doubles. Thread-safe for different responses. */
void kn_learner_learn(const kn_learner *l, const kn_learner_column *c, double *work);

enum {
    KN_LEARNER_FOLDS = 5
    /* Folds of the calibration if the maps come from one held-out set. */
};

/* Add to the memory plan r what a learner for n participants keeps, and its temporary peak until it
 * has chosen the components. */
void kn_learner_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

/* Add to the memory plan r the learned arrays of a calibration transform. */
void kn_calibration_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

/* The largest number of columns of the noise scale, including the constant; 0: there is no
 * scale. */
ptrdiff_t kn_learner_columns_max(const kn_problem_size *s, ptrdiff_t n);

/* kn_learner_work() of a learner for n participants, F columns of the noise scale and `folds`
 * folds. */
ptrdiff_t kn_learner_work_of(ptrdiff_t n, ptrdiff_t F, int folds);

#endif
