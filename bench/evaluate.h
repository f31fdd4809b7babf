/* The cost of one likelihood with gradient, part by part. An engine keeps the decomposition of the
 * point where it stands, so every repetition must be at a point of its own: what is timed otherwise
 * is an evaluation without its most expensive part. */
#ifndef KN_BENCH_EVALUATE_H
#define KN_BENCH_EVALUATE_H

#include "common.h"
#include "gp/likelihood/engine.h"

/* Seconds of the fastest repetition. The parts were measured one after the other in that very
 * repetition, so that they add up to the whole and none is a difference of two measurements. */
typedef struct bench_evaluation {
    double whole;
    double decompose; /* R0, its eigenvectors U, and U'Z */
    double maximise;  /* signal and noise of the components */
    double gradient;
    double inner; /* likelihoods of iso noise with U at hand, mean over repetitions */
} bench_evaluation;

/* n points near `from`, no two alike: each further by a small step in every coordinate of R0. */
void bench_points(const kn_cov *cov, const kn_cov_point *from, int n, kn_cov_point *points);

/* Evaluates at each of n points, at least 2: the first warms up, the others are timed. Fails with
 * KN_ERR_ARGUMENT where the engine did not decompose R0 once for every point. */
kn_status bench_evaluate(bench *b, kn_engine *e, const kn_cov_point *points, int n,
                         bench_evaluation *out);

/* ---- an engine of the additive model ------------------------------------------------------ */

/* N samples, P coordinates that depend on the first covariate. */
typedef struct bench_shape {
    bool pixels; /* the paper's covariates; else age, sex and site */
    int sites;
    bool groups; /* of BENCH_SCANS rows that share noise */
    bool dense;  /* else of low rank */
    ptrdiff_t N, P;
} bench_shape;

enum { BENCH_SCANS = 3 };

typedef struct bench_additive {
    bench_data d;
    kn_mat X, Z;
    kn_box box;
    kn_engine e;
} bench_additive;

void bench_additive_new(bench *b, const bench_shape *shape, bench_additive *out);
void bench_additive_clear(bench_additive *a);

/* Codes of groups of BENCH_SCANS rows, to be freed by kn_free. */
int *bench_groups(bench *b, ptrdiff_t N);

#endif
