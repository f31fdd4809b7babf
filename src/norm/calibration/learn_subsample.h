/* Subsample of the responses on which the calibration components are chosen [METHOD 8c]: about
 * SAMPLE_CELLS cells, of images evenly spaced over the responses, of tables drawn by key
 * [data/canonical_order.h]. A block visitor stores e, v and the
 * leave-one-out noise variance (n x sampled) in the learner, the same on all ranks. */
#ifndef KN_NORM_CALIBRATION_LEARN_SUBSAMPLE_H
#define KN_NORM_CALIBRATION_LEARN_SUBSAMPLE_H

#include "norm/calibration/learner.h"

/* True if components beyond the Student step are to be chosen for n participants: always with
 * KN_CALIBRATE_FULL, from 50 participants on with KN_CALIBRATE_AUTO. */
bool kn_learner_chooses(kn_calibrate how, ptrdiff_t n);

/* Number of responses, of T, in a subsample for n participants: about 6e5 cells, 500 to 5000
 * responses. The site prior keeps as many. */
ptrdiff_t kn_learner_sample_size(ptrdiff_t n, ptrdiff_t T);

/* Width of the blocks in which the subsample is drawn. */
enum { KN_LEARNER_CUT = 32 };

/* Number of responses in the subsample on which the calibration is chosen; 0 if nothing is to be
 * chosen. *every: of the blocks of KN_LEARNER_CUT responses a loop visits the first of every
 * `*every`. */
ptrdiff_t kn_learner_sample(const kn_learner *l, ptrdiff_t *every);

/* Visitor that stores the subsample of responses in the learner; it runs after the visitor that
 * sets the noise variance. Its end is collective. */
kn_visitor kn_learner_visitor(kn_learner *l);

/* Add to the memory plan r the block loop over the subsample, and the subsample of n participants
 * that it leaves. Returns the largest number of responses in it. */
ptrdiff_t kn_learner_sample_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
