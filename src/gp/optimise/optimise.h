/* Maximisation of a function with gradient inside a box, by NLopt. The best point met is kept,
 * limits and cancellation stop at once, and the reason is reported. Used by gp/search and by
 * methods with many variables (L-BFGS below). */
#ifndef KN_GP_OPTIMISE_OPTIMISE_H
#define KN_GP_OPTIMISE_OPTIMISE_H

#include "base/memory/plan.h"
#include "gp/likelihood_spec.h"

/* Maximal number of variables of kn_maximise. */
enum { KN_MAX_DIM = KN_THETA };

/* The objective: sets *value and grad (n) at x. A status other than KN_OK ends the optimisation. */
typedef kn_status (*kn_objective_fn)(void *self, kn_ctx *ctx, const double *x, double *value,
                                     double *grad);

/* Limits of a search, shared by its ascents. */
typedef struct kn_limits {
    int evals_left;  /* -1: no limit; counted down */
    double deadline; /* kn_clock time; 0: none */
} kn_limits;

/* Sets *late if limits->deadline has passed by the clock of root, equal on all MPI ranks; false
 * without one. Collective if there is a deadline. */
kn_status kn_deadline_passed(kn_ctx *ctx, const kn_limits *limits, bool *late);

/* Options of kn_maximise; pointers are borrowed. */
typedef struct kn_optimise_options {
    kn_optimiser algorithm; /* KN_LBFGS or KN_TNEWTON */
    int n;
    const double *lower, *upper;
    /* the objective is divided by this (N), so that the optimiser sees values near 1 */
    double unit;
    double f_tolerance; /* absolute change of the undivided objective that ends the search */
    const char *stage;  /* name in progress reports; NULL: no reports */
} kn_optimise_options;

/* In: the start x. Out: the best point met, its value and gradient. */
typedef struct kn_optimum {
    double x[KN_MAX_DIM];
    double value;
    double grad[KN_MAX_DIM];
    double projected; /* largest entry of the projected gradient, per unit */
    int evals;
    kn_stop stop;
} kn_optimum;

/* Options of kn_climb, as above for any number of variables. */
typedef struct kn_climb_options {
    kn_optimiser algorithm;
    ptrdiff_t n;
    const double *lower, *upper; /* NULL: none */
    double unit, f_tolerance;
    unsigned kept; /* number of steps that approximate the curvature */
    const char *stage;
} kn_climb_options;

/* The same as kn_optimum, with the memory of the caller. */
typedef struct kn_climb_result {
    double *x, *grad;  /* n each, borrowed: in: the start; out: best point met and its gradient */
    double *at, *work; /* n each, borrowed work space */
    double value, projected;
    int evals;
    kn_stop stop;
} kn_climb_result;

/* Maximises f from best->x like kn_maximise, for any number of variables, with the arrays of the
 * caller (best->x, grad, at, work: o->n each). */
kn_status kn_climb(kn_ctx *ctx, const kn_climb_options *o, kn_limits *limits, kn_objective_fn f,
                   void *self, kn_climb_result *best);

/* Maximises f from best->x, clipped to the bounds; limits are counted down and checked from the
 * second evaluation on. Returns the best point evaluated, also if stopped (best->stop).
 * KN_ERR_CANCELLED if cancelled, unless the context keeps the best point and there is one;
 * KN_ERR_NUMERIC if f is not finite at the start; errors of f. Collective if there is a deadline.
 */
kn_status kn_maximise(kn_ctx *ctx, const kn_optimise_options *o, kn_limits *limits,
                      kn_objective_fn f, void *self, kn_optimum *best);

/* Returns the largest |g_i| that does not push x against a bound: 0 at a maximum. lower, upper:
 * n values or NULL. */
double kn_projected_gradient(ptrdiff_t n, const double *x, const double *g, const double *lower,
                             const double *upper);

/* ---- lbfgs ----
 *
 * Maximisation of a function of many variables with gradient, with or without bounds: the L-BFGS
 * of optimise.h with heap memory, which counts towards the budget. */

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

/* Maximises f from best->x by L-BFGS with many variables. If f returns KN_ERR_CANCELLED, the
 * best point met is kept and KN_OK returned if the context keeps it; errors of f are returned.
 * KN_ERR_NUMERIC if f is not finite at the start. */
kn_status kn_maximise_large(kn_ctx *ctx, const kn_large_options *o, kn_limits *limits,
                            kn_objective_fn f, void *self, kn_large_optimum *best);

/* Predicts in plan r the memory of kn_maximise_large for n variables, which stays in the plan. */
void kn_maximise_large_need(kn_mem_plan *r, ptrdiff_t n);

#endif
