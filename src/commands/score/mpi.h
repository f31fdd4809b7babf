/* Scoring of a cross-validation that ranks share: each has the whole rows of the people dealt to it
 * (data/mpi/partition_responses.h) and scores them as if it were alone; what they come to goes to
 * rank 0, which has the join. A person's numbers do not depend on who is scored beside, and sums
 * over people have no order, so that the scores are those of one process [METHOD 6b, 8] */
#ifndef KN_COMMANDS_SCORE_MPI_H
#define KN_COMMANDS_SCORE_MPI_H

#include "commands/score/internal.h"

/* People of rank r in a step, at most w->batch: all ranks take as many steps. */
kn_range kn_score_step(const kn_score_work *w, int rank, int ranks, ptrdiff_t step);
ptrdiff_t kn_score_steps(const kn_ctx *ctx, const kn_score_work *w);

/* Maps of everybody's people of a step into rank 0's join; `map` has this rank's. Collective. */
kn_status kn_score_bring_maps(kn_ctx *ctx, kn_score_work *w, ptrdiff_t step, float *const *map);

/* After the last step: rank 0 has what is of people, of responses and of all. Collective. */
kn_status kn_score_bring_sums(kn_ctx *ctx, kn_score_work *w);

#endif
