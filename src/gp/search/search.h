/* Finding the parameters: nested search over the weights and shapes of R0 [METHOD 3b], or all at
 * once [joint]. */
#ifndef KN_GP_SEARCH_SEARCH_H
#define KN_GP_SEARCH_SEARCH_H

#include "base/memory/plan.h"
#include "gp/search/lockstep.h"

typedef struct kn_search_options {
    kn_optimiser optimiser;
    int restarts;
    uint64_t seed;
    kn_limits limits;
    bool optimise;       /* false: evaluate at the start only */
    double rho, length;  /* start of nested for two terms; NaN: none given */
    const double *theta; /* start of iso; NULL: none given */
    bool lockstep;       /* all ranks search together, see lockstep.h; false: this process alone */
} kn_search_options;

typedef struct kn_search_result {
    kn_cov_point at;           /* of a nested search */
    double theta[KN_THETA];    /* iso */
    double gradient[KN_THETA]; /* iso */
    double lml;
    int evals, evals_subsample, inner_evals;
    kn_stop stop;
    double projected; /* per sample */
} kn_search_result;

/* On return the engine stands at the point found (c, d, decomposition, state of iso). The first
 * rank says where to go, by its numbers and its clock. Collective. */
kn_status kn_search(kn_ctx *ctx, kn_engine *e, const kn_search_options *o, kn_search_result *found);

void kn_search_need(kn_mem_plan *r, const kn_problem_size *s); /* leaves the engine */

#endif
