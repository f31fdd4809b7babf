/* Evaluates the likelihood of responses in candidate cells, in parallel [METHOD 7]. A trial is one
 * decomposition of R0 and a profile of each response that requests the cell. Each thread evaluates
 * its own trial, which is faster than all threads on one, because an eigenproblem gains little from
 * a second thread (bench/stgpr.c). */
#ifndef KN_GP_METHODS_STGPR_EVALUATE_CELLS_H
#define KN_GP_METHODS_STGPR_EVALUATE_CELLS_H

#include "gp/methods/stgpr/cells.h"

typedef struct kn_cell_trial {
    kn_cov_point at; /* candidate cell */
    double gamma;
    const ptrdiff_t *J; /* n responses, ascending: those of this MPI rank that request the cell */
    ptrdiff_t n;
    double *lml; /* out: of response J[k] in lml[k stride] */
    ptrdiff_t stride;
    bool done; /* out: false if the search stopped before */
} kn_cell_trial;

typedef struct kn_cell_trials {
    kn_cell_trial *trial; /* in the order of evaluation */
    ptrdiff_t n;
    double nats;       /* accuracy of the likelihoods; 0: full */
    bool all;          /* ignore the limits; else they may stop the search, but not before the
                        * very first trial */
    bool first;        /* trial[0] is the very first trial of the search */
    const char *stage; /* name for progress reports */
} kn_cell_trials;

struct kn_cell_search;

/* Evaluates the trials. The responses Y are in s->alpha. Updates o->evals, o->limits and o->stop.
 * Collective. */
kn_status kn_cells_try(kn_ctx *ctx, const kn_cell_samples *samples, struct kn_cell_search *o,
                       const kn_stgpr *s, const kn_cell_trials *trials);

/* Memory plan for all T responses in every trial; temporary. */
void kn_cells_try_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
