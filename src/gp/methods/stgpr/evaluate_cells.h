/* Cells tried for some responses, side by side                [METHOD 7]
 *
 * A trial is a decomposition of R0 and a profile of each response that asks. Trials know nothing of
 * each other: each thread takes one of its own, which is faster than all threads in one, because an
 * eigenproblem hardly gains from a second thread (bench/stgpr.c). */
#ifndef KN_GP_METHODS_STGPR_EVALUATE_CELLS_H
#define KN_GP_METHODS_STGPR_EVALUATE_CELLS_H

#include "gp/methods/stgpr/cells.h"

typedef struct kn_cell_trial {
    kn_cov_point at;
    double gamma;
    const ptrdiff_t *J; /* n responses, ascending: this rank's own of those that ask */
    ptrdiff_t n;
    double *lml; /* out: of response k of J in lml[k stride] */
    ptrdiff_t stride;
    bool done; /* out: else the search had to end before */
} kn_cell_trial;

typedef struct kn_cell_trials {
    kn_cell_trial *trial; /* in the order in which they are tried and kept */
    ptrdiff_t n;
    double nats;       /* accuracy of the likelihoods */
    bool all;          /* whatever limits say; else they may end, the very first trial apart */
    bool first;        /* the first of these is the very first */
    const char *stage; /* of progress */
} kn_cell_trials;

struct kn_cell_search;

/* Y is in alpha. Collective. */
kn_status kn_cells_try(kn_ctx *ctx, const kn_cell_samples *samples, struct kn_cell_search *o,
                       const kn_stgpr *s, const kn_cell_trials *trials);

/* Of at most so many responses each; passes. */
void kn_cells_try_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
