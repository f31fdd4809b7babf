/* Where the responses go: to memory, to a scratch file, or nowhere because the rest has no room. */
#ifndef KN_COMMANDS_MEMORY_MEMORY_PLAN_H
#define KN_COMMANDS_MEMORY_MEMORY_PLAN_H

#include "base/memory/budget.h"
#include "commands/memory/memory_need.h"
#include "data/sample.h"
#include "model/model.h"

/* *in_file: the responses fit only in a file. KN_ERR_MEMORY, with need, allowance and what would
 * help, when that is not enough either. at_least: T is not known yet,
 * and the shape has a lower bound of it. */
kn_status kn_place_responses(kn_ctx *ctx, const kn_mem_budget *a, const kn_problem_size *shape,
                             bool at_least, bool *in_file);

/* What data/ asks, with what it takes to answer. */
typedef struct kn_command_memory {
    kn_memory_policy room; /* first: its callback gets this pointer */
    kn_mem_budget budget;
    kn_problem_size shape; /* all but N, T, F, M and what depends on the files */
    ptrdiff_t rank;        /* of R, as kn_settings has it */
    bool additive;
} kn_command_memory;

kn_status kn_memory_policy_fit(kn_ctx *ctx, const kn_settings *s, kn_command_memory *out);
/* maps: that a batch holds of each person; kept: of these in memory, for all people. */
kn_command_memory kn_memory_policy_score(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                                         int maps, int kept);

#endif
