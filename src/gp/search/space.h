/* The space of a nested search, and one ascent in it [METHOD 3b]
 *
 *     x = (eta, ln shapes) inside a box [cov/simplex_weights.h]
 *
 * or, at a vertex of the simplex of weights, the shapes of the one remaining term. An ascent is
 * L-BFGS on the nested likelihood; each step is one evaluation of the engine. */
#ifndef KN_GP_SEARCH_SPACE_H
#define KN_GP_SEARCH_SPACE_H

#include "gp/search/search.h"

extern const double kn_search_tolerance; /* change of the likelihood that ends an ascent, nats */
enum { KN_SEARCH_RESTARTS = 102 };       /* stream of random numbers */

/* The coordinates that a search varies; e is borrowed. */
typedef struct kn_search_space {
    kn_engine *e;
    bool warm; /* the inside parameters of the engine are a start */
    kn_box box;
    int first, n;      /* coordinates that vary: all, or the shapes of one term */
    bool vertex;       /* the weights are fixed at a vertex */
    kn_cov_point held; /* that vertex */
} kn_search_space;

/* Sets s to all coordinates of the engine's R0, in root's box. e is borrowed. Collective. */
kn_status kn_search_space_new(kn_ctx *ctx, kn_engine *e, kn_search_space *s);

/* Weights and shapes at coordinates x (s->n). */
kn_cov_point kn_search_point(const kn_search_space *s, const double *x);
/* Coordinates x (s->n) of a point, clipped to the box. */
void kn_search_coordinates(const kn_search_space *s, const kn_cov_point *p, double *x);

/* Sets *yes if the search must end with the best point so far: cancelled, no evaluations left or
 * deadline passed. KN_ERR_CANCELLED if cancelled and the best point is not to be kept.
 * Collective. */
kn_status kn_search_stopped(kn_ctx *ctx, const kn_limits *limits, bool *yes);

/* One ascent from `start`. Its result replaces *found if its likelihood is larger. stage: name in
 * progress reports; NULL: no reports. limits are counted down. Collective. */
kn_status kn_search_climb(kn_ctx *ctx, kn_search_space *s, kn_limits *limits,
                          const kn_cov_point *start, const char *stage, kn_search_result *found);

/* Sets these fields of *found. */
void kn_search_take(kn_search_result *found, const kn_cov_point *at, double lml, kn_stop stop,
                    double projected);

#endif
