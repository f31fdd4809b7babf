/* Maximisation of a function of many variables with gradient, with or without bounds: the L-BFGS
 * of optimise.h with heap memory, which counts towards the budget. */
#ifndef KN_GP_OPTIMISE_LBFGS_H
#define KN_GP_OPTIMISE_LBFGS_H

#include "base/memory/plan.h"
#include "gp/optimise/optimise.h"

/* Options of kn_maximise_large; pointers are borrowed. */
typedef struct kn_large_options {
    ptrdiff_t n;
    const double *lower, *upper; /* n each, entries may be infinite; NULL: none */
    double unit;                 /* the objective is divided by this (N) */
    double f_tolerance;          /* a step that gains less than this ends the search */
    const char *stage;           /* name in progress reports; NULL: no reports */
} kn_large_options;

/* Its result. */
typedef struct kn_large_optimum {
    double *x; /* n, borrowed: the start; on return the best point met */
    double value;
    double projected; /* largest entry of the projected gradient at x, per unit */
    int evals;
    kn_stop stop;
} kn_large_optimum;

/* Maximises f from best->x. If f returns KN_ERR_CANCELLED, the best point met is kept and KN_OK
 * returned if the context keeps it; errors of f are returned. KN_ERR_NUMERIC if f is not finite at
 * the start. */
kn_status kn_maximise_large(kn_ctx *ctx, const kn_large_options *o, kn_limits *limits,
                            kn_objective_fn f, void *self, kn_large_optimum *best);

void kn_maximise_large_need(kn_mem_plan *r, ptrdiff_t n); /* kept while the objective runs */

#endif
