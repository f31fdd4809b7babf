/* Scoring within a cross-validation on several MPI ranks: each rank holds complete rows of its
 * participants (data/mpi/partition_responses.h) and scores them alone; root gathers the results in
 * its join. A participant's numbers do not depend on the other participants, and sums over
 * participants do not depend on their order, so the scores are those of one process [METHOD 6b,
 * 8] */
#ifndef KN_COMMANDS_SCORE_MPI_H
#define KN_COMMANDS_SCORE_MPI_H

#include "commands/score/internal.h"

/* Participants of a rank in a step, at most w->batch; all ranks take the same number of steps. */
kn_range kn_score_step(const kn_score_work *w, int rank, int ranks, ptrdiff_t step);
ptrdiff_t kn_score_steps(const kn_ctx *ctx, const kn_score_work *w);

/* Gathers the maps of all ranks of a step into root's join; map: maps of this rank. Collective. */
kn_status kn_score_bring_maps(kn_ctx *ctx, kn_score_work *w, ptrdiff_t step, float *const *map);

/* Gathers per-participant, per-response and total results on root after the last step.
 * Collective. */
kn_status kn_score_bring_sums(kn_ctx *ctx, kn_score_work *w);

#endif
