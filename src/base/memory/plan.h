/* The memory that a piece of work will hold, rehearsed from its sizes alone before it begins.
 *
 * Each stage declares, in the file that allocates and beside the code that does, what it takes and
 * what it lets go again (the functions called ..._need); the rehearsal of a fit calls these in the
 * order in which the fit calls the stages, and the highest mark is the need. So a constant stands
 * once, with its owner. test_need holds the need against the mark that kn_alloc really reached:
 * whoever allocates more without saying so fails there.
 *
 * A ..._need either leaves what it has taken, as a ..._new does, or, where it says "passes", only
 * moves the mark, as a function does that frees its work space. */
#ifndef KN_BASE_MEMORY_PLAN_H
#define KN_BASE_MEMORY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* What memory is for, as sentences name it. */
typedef enum kn_mem_category {
    KN_NEED_RESPONSES, /* N x T as read: the part that can be in a file */
    KN_NEED_SAMPLES,   /* matrices over pairs of samples: N x N or N x rank */
    KN_NEED_BASIS,     /* T x P, or what takes its place; scoring: the model */
    KN_NEED_REFERENCE, /* z of the training samples, joint deviance, top share */
    KN_NEED_WORK,      /* everything else that grows with the problem */
    KN_NEED_PARTS
} kn_mem_category;

typedef struct kn_mem_usage { /* bytes */
    double part[KN_NEED_PARTS];
} kn_mem_usage;

typedef struct kn_mem_plan { /* {0} begins */
    kn_mem_usage now, peak;
    const char *stage, *peak_stage; /* the peak was reached in */
} kn_mem_plan;

void kn_plan_stage(kn_mem_plan *r, const char *stage); /* what follows belongs to it */

/* As kn_alloc(ctx, n, element) would; rows x cols doubles; so many floats. */
void kn_plan_alloc(kn_mem_plan *r, kn_mem_category part, ptrdiff_t n, size_t element);
void kn_plan_alloc_d(kn_mem_plan *r, kn_mem_category part, ptrdiff_t rows, ptrdiff_t cols);
void kn_plan_alloc_f(kn_mem_plan *r, kn_mem_category part, ptrdiff_t rows, ptrdiff_t cols);
void kn_plan_alloc_bytes(kn_mem_plan *r, kn_mem_category part, double bytes);

/* All that was taken since r->now was `mark`: kn_mem_usage mark = r->now; ... kn_plan_free_to(r,
 * mark); */
void kn_plan_free_to(kn_mem_plan *r, kn_mem_usage mark);

/* What was taken between two marks, and not since. */
void kn_plan_free(kn_mem_plan *r, kn_mem_usage from, kn_mem_usage to);

double kn_mem_usage_sum(const kn_mem_usage *held);

/* ---- the sizes of a fit or a scoring ---- */

struct kn_method;

typedef struct kn_problem_size {
    bool scoring;    /* of N new samples by a model; then of what follows only these count: */
    double model;    /* bytes of the model in memory */
    ptrdiff_t train; /* its samples */
    int maps, kept;  /* maps that a batch holds of each sample; of them kept, for all samples */
    const struct kn_method *method; /* of the model as well, and N, T, F, P, M, stats, value */
    bool iso;                       /* iso noise */
    bool rotated;        /* a task kernel that turns the basis: se, or linear over a given basis */
    bool given_basis;    /* not from the responses */
    ptrdiff_t span;      /* columns of which the components are the principal axes; 0: given ones */
    bool plain;          /* each response alone, all parameters free */
    ptrdiff_t N, T, F;   /* samples, responses, covariates */
    ptrdiff_t P;         /* components; 0: auto */
    ptrdiff_t M;         /* rank of the decomposition of R; N: dense */
    ptrdiff_t low;       /* rank that may be enough where dense has no room; 0: none */
    ptrdiff_t range;     /* columns of a range finder for the basis; 0: by the N x N Gram matrix */
    ptrdiff_t groups;    /* of samples that share noise; 0: none */
    ptrdiff_t sites;     /* of training, at most; 0: no category is a batch */
    int stats;           /* statistics of pairs that the sample kernel needs; 0: two */
    int task_stats;      /* that the task kernel needs; 0: two where it turns the basis, else one */
    int folds;           /* 0: no reference */
    bool in_parts;       /* many fits of some of the people: {folds} is not the reference's */
    int calibrate;       /* as the option is, in its order; 0: none */
    double top;          /* share of the responses in the abnormality statistic */
    int value;           /* bytes of one response as it is held: 4 or 8 */
    double held;         /* bytes that stay with the input files, such as the text of a table */
    ptrdiff_t elsewhere; /* responses whose values other ranks hold */
    double reading;      /* bytes of work while responses are read */
    int threads;
    double memory; /* bytes that may be used: how many work side by side; 0: no end of them */
    /* of processes that share inducing values, as their options are; 0: the default */
    int inducing, widths;
    ptrdiff_t processes, points;
    bool on_responses; /* tasks are the responses */
    ptrdiff_t factors; /* MTGPR: of the noise, in P once it is settled */
    bool complement;   /* MTGPR: a complement with a signal */
    bool chosen; /* settled by the method: components are chosen along a curve that ends at P */
} kn_problem_size;

static inline ptrdiff_t kn_min_size(ptrdiff_t n, ptrdiff_t most)
{
    return n < most ? n : most;
}

#endif
