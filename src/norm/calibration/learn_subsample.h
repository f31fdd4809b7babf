/* The sample of the responses from which a calibration layer is chosen: an even one of SAMPLE_CELLS
 * cells or so, e, v and the noise as others say, n x sampled, the same on all ranks  [METHOD 8c] */
#ifndef KN_NORM_CALIBRATION_LEARN_SUBSAMPLE_H
#define KN_NORM_CALIBRATION_LEARN_SUBSAMPLE_H

#include "norm/calibration/learner.h"

/* Is there anything to choose? */
bool kn_learner_chooses(kn_calibrate how, ptrdiff_t n);

/* Responses to be looked at beforehand: 0 where nothing is to be chosen. every: of blocks of
 * KN_LEARNER_CUT responses the first of each so many. */
enum { KN_LEARNER_CUT = 32 };
ptrdiff_t kn_learner_sample(const kn_learner *l, ptrdiff_t *every);
/* Of a walk over these, after the noise's. Its end is collective. */
kn_visitor kn_learner_visitor(kn_learner *l);

/* The walk, and the sample that it leaves, of n people: so many responses at most. */
ptrdiff_t kn_learner_sample_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

#endif
