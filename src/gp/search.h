/* Finding the parameters: nested search over (rho, length) [SCALE 2], or all at once [joint]. */
#ifndef KN_GP_SEARCH_H
#define KN_GP_SEARCH_H

#include "gp/engine.h"

typedef struct kn_search_options {
    kn_optimiser optimiser;
    int restarts;
    uint64_t seed;
    kn_limits limits;
    bool optimise;       /* false: evaluate at the start only */
    double rho, length;  /* start of nested; NaN: none given */
    const double *theta; /* start of iso; NULL: none given */
} kn_search_options;

typedef struct kn_found {
    double rho, length;            /* NaN for a joint search */
    double theta[KN_MAX_THETA];    /* iso */
    double gradient[KN_MAX_THETA]; /* iso */
    double lml;
    int evals, evals_subsample, inner_evals;
    kn_stop stop;
    double projected; /* per sample */
} kn_found;

/* On return the engine stands at the point found (c, d, decomposition, state of iso). */
kn_status kn_search(kn_ctx *ctx, kn_engine *e, const kn_search_options *o, kn_found *found);

#endif
