/* Finding the parameters: nested search over (rho, length) [SCALE 2], or all at once [joint]. */
#ifndef KN_GP_SEARCH_H
#define KN_GP_SEARCH_H

#include "gp/journal.h"

typedef struct kn_search_options {
    kn_optimiser optimiser;
    int restarts;
    uint64_t seed;
    kn_limits limits;
    bool optimise;       /* false: evaluate at the start only */
    double rho, length;  /* start of nested; NaN: none given */
    const double *theta; /* start of iso; NULL: none given */
    kn_journal *journal; /* NULL: none */
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

/* Where (logit rho, ln length) may go: |logit rho| <= 7, rho = 0 and 1 besides;
 * length in [max(0.1 med, nn/2), 20 med]                               [SCALE 2, METHOD 9.12] */
typedef struct kn_box {
    bool has_rho, has_length; /* both kernels; the se kernel */
    double rho[2];            /* logit */
    double length[2];         /* ln */
    double median;            /* distance between samples; 1 without se */
} kn_box;
kn_status kn_box_new(kn_ctx *ctx, const kn_pairs *pairs, unsigned kernels, kn_box *out);

/* On return the engine stands at the point found (c, d, decomposition, state of iso). */
kn_status kn_search(kn_ctx *ctx, kn_engine *e, const kn_search_options *o, kn_found *found);

#endif
