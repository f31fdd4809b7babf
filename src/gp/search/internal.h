/* What only the files of gp/search use, from evaluation to start: the subsample, evaluations in
 * lock-step, the space of a nested search, its starts, and the joint search. Other folders use
 * search.h. */
#ifndef KN_GP_SEARCH_INTERNAL_H
#define KN_GP_SEARCH_INTERNAL_H

#include "gp/likelihood/engine.h"
#include "gp/search/search.h"

/* ---- subsample ----
 *
 * A likelihood of a random subset of rows, where a search finds its starts [METHOD 3b]
 *
 * n = max(150, N/3), at most 400: its evaluation is dense and costs (n/N)^3 of one on all N rows,
 * 1/27 for n = N/3; more than 400 rows do not improve the starts. */

enum { KN_SUBSAMPLE_MIN = 150 }; /* for N up to this there is no subsample */

/* Returns the number of rows of the subsample for N rows (a third, within limits), before whole
 * groups are completed. */
ptrdiff_t kn_subsample_size(ptrdiff_t N);

/* Creates a dense engine *out on seeded rows of e. Groups are taken whole, so the last one may
 * exceed the size. *Z (owned by the caller, must outlive out): the coordinates of the rows. */
kn_status kn_subsample(kn_ctx *ctx, const kn_engine *e, const kn_search_options *o, kn_mat *Z,
                       kn_engine *out);

/* Predicts in plan r the memory of the engine of the subsample of s->N participants, which stays
 * in the plan. */
void kn_subsample_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- lockstep ----
 *
 * Likelihood evaluations of the search, in lock-step over MPI ranks.
 *
 * All ranks evaluate the same function of the same numbers, but on different processors the last
 * bits differ, and ranks that compare different numbers take different branches of the search.
 * Therefore root evaluates and broadcasts the value, the gradient and the state from which the
 * next evaluation starts. The other ranks only receive. Where kn_engine.lockstep is false, the
 * calls are kn_engine_nested and kn_engine_joint.
 *
 *     cost: one broadcast of some kB per evaluation */

/* Evaluates kn_engine_nested at `at`, with e->lockstep on root for all MPI ranks: *lml and
 * gradient g are broadcast; the decomposition, c and d, which predictions need, are left on root
 * only. Collective if e->lockstep. KN_ERR_CANCELLED: a rank was cancelled and the best point is
 * not to be kept. */
kn_status kn_lockstep_nested(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *lml,
                             double *g);
/* Evaluates kn_engine_joint at theta in the same way as kn_lockstep_nested: with e->lockstep on
 * root, for all MPI ranks. Collective if e->lockstep. */
kn_status kn_lockstep_joint(kn_ctx *ctx, kn_engine *e, const double *theta, double *lml, double *g);

/* ---- space ----
 *
 * The space of a nested search, and one ascent in it [METHOD 3b]
 *
 *     x = (eta, ln shapes) inside a box [cov/simplex_weights.h]
 *
 * or, at a vertex of the simplex of weights, the shapes of the one remaining term. An ascent is
 * L-BFGS on the nested likelihood; each step is one evaluation of the engine. */

extern const double kn_search_tolerance; /* change of the likelihood that ends an ascent, nats */
enum { KN_SEARCH_RESTARTS = 102 };       /* stream of random numbers */

/* The coordinates that a search varies; e is borrowed. */
typedef struct kn_search_space {
    kn_engine *e;
    bool warm; /* the inside parameters of the engine are a start */
    kn_box box;
    int first, n;       /* coordinates that vary: all, or the shapes of one term */
    bool vertex;        /* the weights are fixed at a vertex */
    kn_cov_point fixed; /* that vertex */
} kn_search_space;

/* Sets s to all coordinates of the engine's R0 (covariance between participants; ratios of
 * weights, ln shapes), bounded by root's box. e is borrowed. Collective. */
kn_status kn_search_space_new(kn_ctx *ctx, kn_engine *e, kn_search_space *s);

/* Returns weights and shapes of R0 (covariance between participants) at the coordinates x
 * (s->n). */
kn_cov_point kn_search_point(const kn_search_space *s, const double *x);
/* Writes the coordinates x (s->n; logs of weight ratios, then logs of shapes of R0, the
 * covariance between participants) of the point p, clipped to the bounds of the search. */
void kn_search_coordinates(const kn_search_space *s, const kn_cov_point *p, double *x);

/* Sets *yes if the search must end with the best point so far: cancelled, no evaluations left or
 * deadline passed by root's clock. KN_ERR_CANCELLED if cancelled and the best point is not to be
 * kept. Collective. */
kn_status kn_search_stopped(kn_ctx *ctx, const kn_limits *limits, bool *yes);

/* Maximises the nested likelihood from `start` by L-BFGS; the result replaces *found if its
 * likelihood is larger. stage: name in progress reports; NULL: no reports. limits are counted
 * down. Collective. */
kn_status kn_search_ascend(kn_ctx *ctx, kn_search_space *s, kn_limits *limits,
                           const kn_cov_point *start, const char *stage, kn_search_result *found);

/* Sets at, lml, stop and projected of *found. */
void kn_search_record(kn_search_result *found, const kn_cov_point *at, double lml, kn_stop stop,
                      double projected);

/* ---- starts ----
 *
 * Default starts of a nested search [METHOD 3b]
 *
 * One or two terms: a grid of weights by lengths, 5 x 5 evaluations; the best two cells are
 * starts. Additive sums: equal weights, and for each term a start where it has most of the
 * variance. With enough rows all this runs on a subsample (subsample.c), where an ascent costs
 * less than one evaluation on all rows. */

/* Finds one or two starts of a search: at[*n], *n = 1 or 2, the best two cells of a grid; if
 * there are enough rows, after an ascent in the subsample, and as one start if both ascents end
 * at the same place. Adds evaluation counts to found. Collective. */
kn_status kn_starts_grid(kn_ctx *ctx, const kn_search_space *s, const kn_search_options *o,
                         kn_cov_point at[2], int *n, kn_search_result *found);

/* Sets *small if the starts of an additive sum are to be searched in a subsample: more than 150
 * rows for a dense R0 (covariance between participants), more than 5000 for low rank. May change
 * the engine to dense. Collective. */
kn_status kn_starts_small(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, bool *small);

/* Finds the start of an additive sum: ascents in a subsample from *at and from each term; *at
 * becomes the best point. Adds evaluation counts to found. Collective. */
kn_status kn_starts_additive(kn_ctx *ctx, const kn_search_space *s, const kn_search_options *o,
                             kn_cov_point *at, kn_search_result *found);

/* Ascends from points where one term in turn has 3/4 of the variance, at median lengths, because
 * the likelihood of an additive sum has local maxima in its weights. The best replaces *found.
 * Collective. */
kn_status kn_starts_terms(kn_ctx *ctx, kn_search_space *s, kn_limits *limits, const char *stage,
                          kn_search_result *found);

/* ---- joint ----
 *
 * Joint search for iso noise: L-BFGS or truncated Newton over all parameters theta = [task,
 * sample, noise] [METHOD 3b, joint]. Each step is one evaluation with gradient; restarts add
 * standard normal numbers to the first start. */

/* Sets theta to the start of the joint search: o->theta if given, else equal weights and median
 * lengths; clipped to the bounds and broadcast from root. Collective. */
kn_status kn_search_joint_start(kn_ctx *ctx, kn_engine *e, const kn_search_options *o,
                                double *theta);

/* Runs the joint search of iso noise over all of theta, from one start and o->restarts random
 * ones; sets found->theta, lml, stop and projected. Collective. */
kn_status kn_search_joint(kn_ctx *ctx, kn_engine *e, const kn_search_options *o,
                          kn_search_result *found);

#endif
