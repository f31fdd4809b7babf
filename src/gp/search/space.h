/* What a nested search moves in, and a climb there                                   [METHOD 3b]
 *
 *     x = (eta, ln shapes) inside a box [cov/simplex_weights.h]
 *
 * or, at a vertex of the simplex of weights, the shapes of the one term that is left. A climb is
 * L-BFGS on the nested likelihood: an evaluation of the engine a step. */
#ifndef KN_GP_SEARCH_SPACE_H
#define KN_GP_SEARCH_SPACE_H

#include "gp/search/search.h"

extern const double kn_search_tolerance; /* of the likelihood, nats */
enum { KN_SEARCH_RESTARTS = 102 };       /* stream of random numbers */

typedef struct kn_search_space {
    kn_engine *e;
    bool warm; /* the engine holds inside parameters to start from */
    kn_box box;
    int first, n;      /* coordinates that move: all of them, or the shapes of one term ... */
    bool vertex;       /* ... while the weights stay */
    kn_cov_point held; /* where they do */
} kn_search_space;

/* All coordinates of the engine's R0, in the first rank's box. Collective. */
kn_status kn_search_space_new(kn_ctx *ctx, kn_engine *e, kn_search_space *s);

kn_cov_point kn_search_point(const kn_search_space *s, const double *x);
/* x of a point, moved into the box. */
void kn_search_coordinates(const kn_search_space *s, const kn_cov_point *p, double *x);

/* Whether to leave off with what there is. Collective. */
kn_status kn_search_stopped(kn_ctx *ctx, const kn_limits *limits, bool *yes);

/* From `start`; what is found takes the place of `found` where it is better. stage NULL: nobody is
 * told of steps. Collective. */
kn_status kn_search_climb(kn_ctx *ctx, kn_search_space *s, kn_limits *limits,
                          const kn_cov_point *start, const char *stage, kn_search_result *found);

void kn_search_take(kn_search_result *found, const kn_cov_point *at, double lml, kn_stop stop,
                    double projected);

#endif
