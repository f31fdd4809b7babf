/* The search for the hyperparameters: nested over weights and shapes of R0 [METHOD 3b], or joint
 * over all parameters (joint.c). gp/methods call kn_search through kn_fit_search. */
#ifndef KN_GP_SEARCH_SEARCH_H
#define KN_GP_SEARCH_SEARCH_H

#include "base/memory/plan.h"
#include "gp/likelihood/engine.h"

/* Options of a search. */
typedef struct kn_search_options {
    kn_optimiser optimiser;
    int restarts;
    uint64_t seed;
    const ptrdiff_t
        *row_order; /* of the engine's rows: subsamples are drawn in it; NULL: by index */
    kn_limits limits;
    bool optimise;       /* false: evaluate at the start only */
    double rho, length;  /* start of a nested search with two terms; NaN: not given */
    const double *theta; /* borrowed; start for iso noise; NULL: not given */
    bool lockstep; /* all MPI ranks search together, see lockstep.c; false: this process alone */
} kn_search_options;

/* The point found and the cost of finding it. */
typedef struct kn_search_result {
    kn_cov_point at;           /* nested: weights and shapes found */
    double theta[KN_THETA];    /* iso: parameters found */
    double gradient[KN_THETA]; /* iso: gradient there */
    double lml;
    int evals, evals_subsample, inner_evals;
    kn_stop stop;
    double projected; /* largest entry of the projected gradient, per participant */
} kn_search_result;

/* Maximises the likelihood over all hyperparameters, nested or joint, as o and the noise model
 * say. On return the engine is at the point found (c, d, decomposition, iso state). Root's
 * numbers and clock decide for all ranks. A search that a limit stopped returns the best point
 * met; see found->stop. KN_ERR_ARGUMENT if rho or length is given but R0 has more than two
 * terms. Collective. */
kn_status kn_search(kn_ctx *ctx, kn_engine *e, const kn_search_options *o, kn_search_result *found);

/* Predicts in plan r the memory of kn_search: the engine stays in the plan, the subsample only
 * raises the peak. */
void kn_search_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
