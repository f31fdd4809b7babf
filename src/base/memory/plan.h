/* Memory plan: predicts the peak memory of a fit or a scoring from its sizes, before it begins.
 *
 * Every stage declares its allocations in a function ..._need, in the file that allocates. The plan
 * of a fit (commands/memory/memory_plan.c) calls these functions in the order in which the fit
 * calls the stages; the peak is the prediction. The test test_predicted_vs_peak compares it with
 * the peak that kn_alloc measured, and fails if a stage allocates more than it declares.
 *
 * Each ..._need function either keeps its allocation in the plan, like the ..._new function next to
 * it, or only raises the peak, like a function that frees its work space; the latter are marked
 * "temporary". */
#ifndef KN_BASE_MEMORY_PLAN_H
#define KN_BASE_MEMORY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

/* What memory is used for, as messages name it. */
typedef enum kn_mem_category {
    KN_NEED_RESPONSES, /* the N x T responses, which can be in a scratch file instead */
    KN_NEED_SAMPLES,   /* matrices over participants: N x N or N x rank */
    KN_NEED_BASIS,     /* the T x P basis or what replaces it; scoring: the model */
    KN_NEED_REFERENCE, /* reference sample: z-scores, deviance, extreme-value statistic */
    KN_NEED_WORK,      /* everything else that grows with the problem */
    KN_NEED_CATEGORIES /* number of categories */
} kn_mem_category;

typedef struct kn_mem_usage {
    double bytes[KN_NEED_CATEGORIES]; /* bytes per category */
} kn_mem_usage;

typedef struct kn_mem_plan { /* {0}: empty */
    kn_mem_usage now, peak;
    const char *stage, *peak_stage; /* current stage, and the stage of the peak; borrowed */
} kn_mem_plan;

/* Names the stage that the following allocations of the plan belong to. */
void kn_plan_stage(kn_mem_plan *r, const char *stage);

/* Adds the bytes of kn_alloc(ctx, n, element) to a category of the plan, and raises the peak if
 * it is exceeded. */
void kn_plan_alloc(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n, size_t element);
/* Adds the bytes of a block of rows x cols doubles to a category of the plan, and raises the
 * peak if it is exceeded. */
void kn_plan_alloc_d(kn_mem_plan *r, kn_mem_category category, ptrdiff_t rows, ptrdiff_t cols);
/* Adds the bytes of a block of rows x cols floats to a category of the plan, and raises the peak
 * if it is exceeded. */
void kn_plan_alloc_f(kn_mem_plan *r, kn_mem_category category, ptrdiff_t rows, ptrdiff_t cols);
/* Adds `bytes`, as they are, to a category of the plan, and raises the peak if it is exceeded. */
void kn_plan_alloc_bytes(kn_mem_plan *r, kn_mem_category category, double bytes);

/* Frees everything since a mark:
 *     kn_mem_usage mark = r->now;  ...  kn_plan_free_to(r, mark); */
void kn_plan_free_to(kn_mem_plan *r, kn_mem_usage mark);

/* Frees the allocations between two marks, and keeps the later ones. */
void kn_plan_free(kn_mem_plan *r, kn_mem_usage from, kn_mem_usage to);

/* Returns the bytes of a memory usage over all categories. */
double kn_mem_usage_sum(const kn_mem_usage *usage);

/* ---- the sizes of a fit or a scoring ---- */

struct kn_method;

typedef struct kn_problem_size {
    bool scoring;    /* N new participants are scored by a model. Only the fields up to `method`,
                      * those of the data and of the machine, and P, M, groups, stats count then */
    double model;    /* bytes of the model in memory */
    ptrdiff_t train; /* participants of its training sample */
    int maps, kept;  /* maps per participant of a minibatch; those kept for all participants */
    const struct kn_method *method; /* of the fit, or of the model */
    bool iso;                       /* iso noise */
    bool rotated;        /* the task kernel turns the basis: se, or linear over a given basis */
    bool given_basis;    /* the user gives the basis */
    ptrdiff_t span;      /* columns of a given basis of which the components are the principal axes;
                          * 0: the components are the given columns, or there are none */
    bool plain;          /* STGPR: each response has hyperparameters of its own */
    ptrdiff_t N, T, F;   /* participants, responses, covariates */
    ptrdiff_t P;         /* components; 0: chosen by the fit */
    ptrdiff_t M;         /* rank of the decomposition of R0; N: dense */
    ptrdiff_t low;       /* rank to try if the dense decomposition exceeds the budget; 0: none */
    ptrdiff_t range;     /* columns of a range finder for the basis; 0: by the N x N Gram matrix */
    ptrdiff_t groups;    /* groups of repeated measures; 0: none */
    ptrdiff_t sites;     /* upper bound of the training sites; 0: no site effects */
    int stats;           /* N x N statistics of pairs that the sample kernel needs; 0: two */
    int task_stats;      /* the same of the task kernel; 0: two if it turns the basis, else one */
    int folds;           /* folds of the reference sample; 0: no reference sample */
    bool in_parts;       /* cv: many fits, so that {folds} is not that of the reference sample */
    int calibrate;       /* value of the option; 0: none */
    double top;          /* fraction of the responses in the extreme-value statistic */
    int value;           /* bytes of one response in memory: 4 or 8 */
    double kept_bytes;   /* bytes that the input keeps, such as the text of a table */
    ptrdiff_t elsewhere; /* responses whose values are on other MPI ranks */
    double reading;      /* bytes of work space while responses are read */
    int threads;
    double memory; /* budget in bytes, which limits how many tasks run in parallel; 0: no limit */
    /* convolved: values of the options of the same name, {latent} and {inducing_points} for the
     * last two; 0: the default */
    int inducing, widths;
    ptrdiff_t processes, points;
    bool on_responses; /* convolved: the tasks are the responses, not components */
    ptrdiff_t factors; /* MTGPR: factors of the noise; the method adds them to P */
    bool complement;   /* MTGPR: the complement of the basis has a signal */
    bool chosen;       /* set by the method: it chooses the number of components, at most P */
} kn_problem_size;

/* The smaller of the two. */
static inline ptrdiff_t kn_min_size(ptrdiff_t n, ptrdiff_t limit)
{
    return n < limit ? n : limit;
}

/* ---- budget ---------------------------------------------------------------------------------- */

/* The memory budget of a call: the limit that its memory plan must keep, and its source. */

typedef struct kn_mem_budget {
    double bytes;
    const char *from;   /* source for messages, before the number: "{memory} allows" */
    bool address_space; /* the limit is ulimit -v, so that mapped files count too */
} kn_mem_budget;

/* Returns the memory that a call may use: the smaller of kn_memory and the address space that
 * ulimit -v leaves, with the words that tell where it comes from. */
kn_mem_budget kn_mem_budget_of(const kn_ctx *ctx);

#endif
