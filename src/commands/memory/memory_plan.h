/* Decides where responses are stored: in memory, in a scratch file, or not at all because the rest
 * exceeds the budget. data/ asks through kn_memory_policy while it reads. */
#ifndef KN_COMMANDS_MEMORY_MEMORY_PLAN_H
#define KN_COMMANDS_MEMORY_MEMORY_PLAN_H

#include "base/memory/budget.h"
#include "commands/memory/memory_need.h"
#include "data/sample.h"
#include "model/model.h"

/* Sets *in_file if the responses fit the budget only in a scratch file. KN_ERR_MEMORY, with need,
 * budget and suggestions, if that is not enough either. at_least: T is not known yet, and shape has
 * a lower bound of it. */
kn_status kn_place_responses(kn_ctx *ctx, const kn_mem_budget *a, const kn_problem_size *shape,
                             bool at_least, bool *in_file);

/* Memory policy for data/ with the state that its callback needs. */
typedef struct kn_command_memory {
    kn_memory_policy room; /* must be first: the callback casts this pointer */
    kn_mem_budget budget;  /* limit of this process */
    kn_problem_size shape; /* without N, T, F, M and what depends on the files */
    ptrdiff_t rank;        /* rank of R0, as in kn_settings */
    bool additive;         /* additive kernel */
} kn_command_memory;

/* Policy of a fit. Errors of kn_check_covariances. */
kn_status kn_memory_policy_fit(kn_ctx *ctx, const kn_settings *s, kn_command_memory *out);
/* Policy of scoring. maps: per participant of a minibatch; kept: of these in memory for all
 * participants. */
kn_command_memory kn_memory_policy_score(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                                         int maps, int kept);

#endif
