/* How a calibration layer is learned from held-out residuals, and what each training person's z is
 * under a layer that has not seen its fold                                           [METHOD 8c]
 *
 *     z0   = e / sqrt(v + noise^(-i))                    noise as others say
 * (gp/predict/noise_leave_one_out.h) eta  from z0, a and b from zt; without each fold: one Newton
 * step from the fit to everybody
 *
 * First a sample of the responses, an even one of SAMPLE_CELLS cells or so: priors, with and
 * without each fold, and which parts to keep. A part is kept whose held-out loss, person by person,
 * is less by more than the standard error of that gain; in this order: linear scale, quadratic
 * scale, shape; before the shape, where there are sites, the terms of these, which are kept in any
 * case (learner_batch.c). Then the walk over all responses learns and applies it one response at a
 * time.
 *
 * People are held in the order of their folds, so that all of a fold stand together. */
#ifndef KN_NORM_CALIBRATION_LEARNER_H
#define KN_NORM_CALIBRATION_LEARNER_H

#include "base/memory/plan.h"
#include "gp/predict/noise.h"
#include "norm/calibration/noise_scale.h"
#include "norm/calibration/shash_fit.h"
#include "norm/calibration/transform.h"

typedef struct kn_learner_job {
    kn_calibrate how;
    const kn_noise_scale_covariates
        *x; /* of the n people; NULL: none are known, and scale has no part */
    ptrdiff_t n, T;
    const int *fold; /* n */
    int folds;
    const kn_noise_builder *noise; /* NULL: noise_j for everybody */
    const kn_exclusion_groups *apart;
    const double *noise_of_all; /* T, set block by block */
    const int *site;            /* n: 0 .. S-1, -1 of none; NULL: there are no sites */
    ptrdiff_t S;
} kn_learner_job;

typedef struct kn_learner {
    kn_learner_job job;
    kn_calibration_transform *layer;      /* what is learned, the caller's */
    ptrdiff_t *order;                     /* n: the person at each place */
    int *fold;                            /* n, in that order, ascending */
    ptrdiff_t *start;                     /* folds + 1: where each begins */
    kn_mat D;                             /* n x F, in that order; none: no scale */
    kn_noise_scale_prior prior, *without; /* of everybody; folds */
    kn_shash_prior shape;
    double *shift; /* n, in that order: of each person's site, without its fold; NULL: none */
    /* the sample: n x sampled, in that order */
    ptrdiff_t sampled;
    kn_mat e, v, others, factor;
} kn_learner;

kn_status kn_learner_new(kn_ctx *ctx, const kn_learner_job *job, kn_calibration_transform *layer,
                         kn_learner **out);
void kn_learner_free(kn_learner *l);

/* After a walk over a sample of the responses (learner_sample.h). Collective. */
kn_status kn_learner_choose(kn_ctx *ctx, kn_learner *l);

/* One response. e, v in the order of people as they came; z, and where not NULL its losses, the z
 * of the joint deviance by noise_j, and that by noise_j alone. Sets beta_j and theta_j of the
 * layer. work: kn_learner_work doubles. */
typedef struct kn_learner_column {
    const kn_block *b;
    ptrdiff_t j; /* in the block */
    const double *e, *v;
    double *z, *loss, *joint, *alone;
    bool known; /* beta_j, theta_j are there already, and only joint and alone are asked for */
} kn_learner_column;
ptrdiff_t kn_learner_work(const kn_learner *l);
void kn_learner_learn(const kn_learner *l, const kn_learner_column *c, double *work);

/* What a learner holds, and for a while until it has chosen; what the layer holds that is learned.
 * Columns of the scale, with its constant, there will be at most so many; 0: no scale. */
enum { KN_LEARNER_FOLDS = 5 }; /* where maps come from one held-out set */
void kn_learner_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);
void kn_calibration_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);
ptrdiff_t kn_learner_columns_most(const kn_problem_size *s, ptrdiff_t n);
ptrdiff_t kn_learner_work_of(ptrdiff_t n, ptrdiff_t F, int folds); /* kn_learner_work */

#endif
