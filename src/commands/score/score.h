/* A model and people to scores. */
#ifndef KN_COMMANDS_SCORE_SCORE_H
#define KN_COMMANDS_SCORE_SCORE_H

#include "base/memory/plan.h"
#include "data/dataset.h"
#include "model/model.h"

/* kn_score or kn_predict, as the options say, with so many people at a time; 0: as many as suit the
 * size of a map. No byte depends on it, nor on who else is scored, where that is not said. */
kn_status kn_score_in_batches(kn_ctx *ctx, const kn_model *model, kn_data *data,
                              const kn_options *options, ptrdiff_t rows, kn_scores **scores);

/* Of s->N people; and how many of them a batch has. */
ptrdiff_t kn_score_rows(const kn_problem_size *s);
void kn_score_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
