/* Memory of a command: predicts the peak from the sizes of the problem, and decides where
 * responses are stored: in memory, in a scratch file, or not at all because the rest exceeds the
 * budget. The user sees either a note or an error with the options that would help. */
#ifndef KN_COMMANDS_MEMORY_MEMORY_PLAN_H
#define KN_COMMANDS_MEMORY_MEMORY_PLAN_H

#include <stdbool.h>

#include "base/memory/plan.h"
#include "data/sample.h"
#include "gp/method.h"
#include "model/model.h"

/* ---- the need ---- */

/* Predicts the peak memory of a fit or of scoring from the sizes of the problem alone; see
 * base/memory/plan.h. */

typedef struct kn_need { /* bytes at the moment of peak memory */
    double responses;    /* N x T, as read: may be in a scratch file instead */
    double samples;      /* matrices over pairs of participants: N x N or N x M */
    double basis;        /* T x P, or in its place alpha N x T, U_D T x T; scoring: the model */
    double reference;    /* z of the training sample, whole-map deviance, top fraction */
    double work;         /* everything else that grows with the problem */
    double program;      /* the program itself, buffers of the BLAS */
    const char *stage;   /* name of the stage at the peak */
} kn_need;

/* Sum of the bytes of all parts. */
double kn_need_total(const kn_need *need);

/* Bytes of the program itself with this number of threads. */
double kn_need_program(int threads);

/* Predict the bytes at the moment of peak memory of a fit, or of scoring (shape->scoring), from the
 * sizes alone. */
void kn_need_predict(const kn_problem_size *shape, kn_need *out);

/* Bytes of responses that are in memory although they are stored in a scratch file: the columns
 * that all threads read, or in scoring the rows of a minibatch. */
double kn_need_window(const kn_problem_size *shape);

/* ---- the decision ---- */

/* Decide whether the responses are kept in memory or in a scratch file (*in_file), by predicted
 * memory and budget. KN_ERR_MEMORY, with both and suggestions, if neither fits. at_least: T is not
 * known yet, and shape has a lower bound of it. */
kn_status kn_choose_response_storage(kn_ctx *ctx, const kn_mem_budget *a,
                                     const kn_problem_size *shape, bool at_least, bool *in_file);

/* Memory policy for data/ with the state that its callback needs. */
typedef struct kn_command_memory {
    kn_memory_policy policy; /* must be first: the callback casts this pointer */
    kn_mem_budget budget;    /* limit of this process */
    kn_problem_size shape;   /* without N, T, F, M and what depends on the files */
    ptrdiff_t rank;          /* rank of R0, as in kn_settings */
    bool additive;           /* additive kernel */
} kn_command_memory;

/* Memory policy of a fit, for reading its data. Errors of kn_check_covariances(). */
kn_status kn_memory_policy_fit(kn_ctx *ctx, const kn_settings *s, kn_command_memory *out);

/* Memory policy of scoring. maps: maps per participant of a minibatch; kept: how many of these are
 * kept in memory for all participants. */
kn_command_memory kn_memory_policy_score(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                                         int maps, int kept);

#endif
