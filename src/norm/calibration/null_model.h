/* The null model: every participant is expected to have the mean of the response, and the
 * residual is calibrated like that of the model. The gain of the covariates is the difference of
 * the two log densities, so that calibration alone gains nothing  [METHOD 8k]
 *
 *     m_j^(-f)   mean of response j over the training participants that fold f does not hold out
 *     e_ij       y_ij - m_j^(-f(i))            noise0_j = mean_i e_ij^2, leave one out as in 1d
 *     a_j, b_j   skew and tail of 8c from e, if held-out participants prefer them; no noise scale
 *                and no sites
 *     gain       mean over cells of ln p(y_ij) - ln p0(y_ij), in nats
 *
 * New participants are expected to have the training mean, with variance noise0_j. */
#ifndef KN_NORM_CALIBRATION_NULL_MODEL_H
#define KN_NORM_CALIBRATION_NULL_MODEL_H

#include "norm/calibration/learner.h"

typedef struct kn_null_calibration {
    double *noise; /* T: noise0_j, standardised units; NULL: there is no null model */
    double *R2;    /* T: R2 of the model in held-out participants; NaN: the response is constant */
    kn_calibration_transform transform;
} kn_null_calibration;

/* Free the arrays; {0} is allowed. */
void kn_null_calibration_clear(kn_null_calibration *c);

/* Participants whose null residuals are made. */
typedef struct kn_null_sample {
    ptrdiff_t n, N;  /* participants, of N training participants; n < N: held out together */
    const int *fold; /* n: fold that each is held out with; used if n = N */
    int folds;
} kn_null_sample;

/* Residuals e (n) of the null model: y minus the mean of the participants outside the fold of each;
 * NaN if y is missing or no other participant has a value. mean: of all N training participants.
 * sums: 2 folds doubles of work. O(n). */
void kn_null_residuals(const kn_null_sample *s, const double *y, double mean, double *sums,
                       double *e);

/* Learns the null model of one response after the other, in the same block loops as the model's
 * learner. */
typedef struct kn_null_learner {
    kn_null_sample sample;
    const kn_scaling *scaling; /* borrowed: training means */
    const uint64_t *key; /* T, borrowed: hashes that draw a sample of responses; NULL: by index */
    kn_null_calibration *null; /* borrowed: receives the null model */
    kn_learner *learner;
    double *zero;     /* n: the model variance of the null model */
    kn_mat mean, var; /* n x width: maps of the null model during the loop over the subsample */
    double *sums;     /* 2 folds: work of that loop */
} kn_null_learner;

/* Begin with the participants, folds, exclusions and kind of calibration of `job`, the model's
 * learner; its covariates, sites and noise are not used. Clears *null first. Release it with
 * kn_null_learner_clear(). */
kn_status kn_null_learner_init(kn_ctx *ctx, const kn_learner_job *job, ptrdiff_t N,
                               const kn_scaling *scaling, kn_null_calibration *null,
                               kn_null_learner *out);

/* Free a learner, not the null model that it filled. */
void kn_null_learner_clear(kn_null_learner *l);
/* Visitor that puts mean and variance of the null model into a block; it needs y. The visitor of
 * l->learner follows it. */
kn_visitor kn_null_visitor(kn_null_learner *l);

/* Fit the null model of column j of block b: sets its noise variance and shape, and loss (n), -ln
 * density - 1/2 ln 2pi of each participant by a fit without its fold. With more than 20,000
 * responses only an even sample has losses, the others are NaN. work: kn_null_work() doubles.
 * Thread-safe for different responses. */
void kn_null_learn(const kn_null_learner *l, const kn_block *b, ptrdiff_t j, double *work,
                   double *loss);

/* Doubles of work that kn_null_learn() needs per thread. */
ptrdiff_t kn_null_work(const kn_null_learner *l);

/* loss (n): -ln density - 1/2 ln 2pi of new values y (n) of response j under the null model with
 * this mean; standardised units. shash: distribution of the response; NULL: no shape. Cannot
 * fail. */
void kn_null_losses(const kn_null_calibration *c, const kn_shash *shash, ptrdiff_t j, double mean,
                    ptrdiff_t n, const double *y, double *loss);

/* kn_null_work() of a learner for n participants and `folds` folds. */
ptrdiff_t kn_null_work_of(ptrdiff_t n, int folds);

/* Add to the memory plan r the null model and its learner for n participants. */
void kn_null_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
