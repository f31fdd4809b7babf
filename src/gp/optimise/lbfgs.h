/* Maximising a function of many variables with gradient, inside a box or not: NLopt's L-BFGS as in
 * optimise.h, with room that is counted with all other. */
#ifndef KN_GP_OPTIMISE_LBFGS_H
#define KN_GP_OPTIMISE_LBFGS_H

#include "base/memory/plan.h"
#include "gp/optimise/optimise.h"

typedef struct kn_large_options {
    ptrdiff_t n;
    const double *lower, *upper; /* n each, entries may be infinite; NULL: none */
    double unit;                 /* the objective is divided by this (N) */
    double f_tolerance;          /* a step that gains less than this ends the search */
    const char *stage;           /* progress is told under this name; NULL: none */
} kn_large_options;

typedef struct kn_large_optimum {
    double *x; /* n, the caller's: the start; on return the best point met */
    double value;
    double projected; /* largest entry of the projected gradient there, per unit */
    int evals;
    kn_stop stop;
} kn_large_optimum;

/* KN_ERR_CANCELLED only when nothing was evaluated; an objective that is cancelled inside returns
 * that status, and the point before it is kept. */
kn_status kn_maximise_large(kn_ctx *ctx, const kn_large_options *o, kn_limits *limits,
                            kn_objective_fn f, void *self, kn_large_optimum *best);

void kn_maximise_large_need(kn_mem_plan *r, ptrdiff_t n); /* leaves it; the objective is inside */

#endif
