/* Maximising a function with gradient inside a box, by NLopt, with honest bookkeeping: the best
 * point seen is kept, limits and cancellation stop at once, and the reason is reported. */
#ifndef KN_GP_OPTIMISE_OPTIMISE_H
#define KN_GP_OPTIMISE_OPTIMISE_H

#include "gp/spec.h"

enum { KN_MAX_DIM = KN_THETA };

/* *value and grad (n) at x. A status other than KN_OK ends the optimisation with it. */
typedef kn_status (*kn_objective_fn)(void *self, kn_ctx *ctx, const double *x, double *value,
                                     double *grad);

typedef struct kn_limits {
    int evals_left;  /* -1: no limit; counted down */
    double deadline; /* kn_clock time; 0: none */
} kn_limits;

/* Whether the deadline has passed, by the clock of the first rank. Collective where there is one.
 */
kn_status kn_deadline_passed(kn_ctx *ctx, const kn_limits *limits, bool *late);

typedef struct kn_optimise_options {
    kn_optimiser algorithm; /* KN_LBFGS or KN_TNEWTON */
    int n;
    const double *lower, *upper;
    double unit;        /* the objective is divided by this (N): the optimiser sees values near 1 */
    double f_tolerance; /* absolute change of the undivided objective that ends the search */
    const char *stage;  /* progress is told under this name; NULL: none */
} kn_optimise_options;

typedef struct kn_optimum {
    double x[KN_MAX_DIM];
    double value;
    double grad[KN_MAX_DIM];
    double projected; /* largest entry of the projected gradient, per unit */
    int evals;
    kn_stop stop;
} kn_optimum;

/* The same with room of the caller's, for any number of variables. */
typedef struct kn_climb_options {
    kn_optimiser algorithm;
    ptrdiff_t n;
    const double *lower, *upper; /* NULL: none */
    double unit, f_tolerance;
    unsigned kept; /* steps that stand for the curvature */
    const char *stage;
} kn_climb_options;

typedef struct kn_climb_result {
    double *x, *grad;  /* n each: the start; the best point met and its gradient */
    double *at, *work; /* n each */
    double value, projected;
    int evals;
    kn_stop stop;
} kn_climb_result;

kn_status kn_climb(kn_ctx *ctx, const kn_climb_options *o, kn_limits *limits, kn_objective_fn f,
                   void *self, kn_climb_result *best);

/* Starts at *best->x. On return the best point met, even when it was stopped; KN_ERR_CANCELLED
 * only when nothing was evaluated, or among ranks. Collective where there is a deadline. */
kn_status kn_maximise(kn_ctx *ctx, const kn_optimise_options *o, kn_limits *limits,
                      kn_objective_fn f, void *self, kn_optimum *best);

/* Largest gradient entry that does not push against a bound. */
double kn_projected_gradient(ptrdiff_t n, const double *x, const double *g, const double *lower,
                             const double *upper);

#endif
