/* Applies a model to participants: the part of score and predict that other commands call. The
 * public kn_score and kn_predict are in score.c. */
#ifndef KN_COMMANDS_SCORE_SCORE_H
#define KN_COMMANDS_SCORE_SCORE_H

#include "base/memory/plan.h"
#include "data/dataset.h"
#include "model/model.h"

/* Runs kn_score or kn_predict, by the command of the options, with `rows` participants per
 * minibatch; 0: chosen by the size of a map. The results do not depend on `rows`, byte for byte.
 * *scores is owned by the caller. */
kn_status kn_score_in_batches(kn_ctx *ctx, const kn_model *model, kn_data *data,
                              const kn_options *options, ptrdiff_t rows, kn_scores **scores);

/* Number of participants in a minibatch, from the sizes alone. */
ptrdiff_t kn_score_rows(const kn_problem_size *s);

/* Add to the memory plan r all that a call of kn_score() for s->N participants allocates. */
void kn_score_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
