/* The paper's experiment, as `kronorm reproduce` runs it, and one run of it: fit, predict,
 * evaluate. */
#ifndef KN_PAPER_REPRODUCE_H
#define KN_PAPER_REPRODUCE_H

#include "paper/results.h"

typedef struct kn_reproduced {
    ptrdiff_t n_runs;    /* asked for */
    ptrdiff_t n_resumed; /* of them found finished */
    ptrdiff_t n_refused; /* of them of a system that does not take such sizes */
} kn_reproduced;

/* Options of "reproduce". results.tsv is written anew, whole, after each run: stopped at any moment
 * it holds the finished ones, and the same call takes up from there. */
kn_status kn_reproduce(kn_ctx *ctx, const kn_options *options, kn_reproduced *result);

typedef struct kn_halves { /* the rows of one split */
    kn_mat X, Y;           /* training */
    kn_mat Xs, Ys;         /* test: random patterns, then figures */
    bool *normal;          /* of the test rows: a random pattern */
    int *pattern;          /* of the training rows: which they show ... */
    int *test_pattern;     /* ... and of the test rows */
} kn_halves;

kn_status kn_halves_new(kn_ctx *ctx, const kn_visual *v, const kn_split *s, kn_halves *out);
void kn_halves_clear(kn_halves *h); /* {0} is fine */

/* out->value from out->run, or out->refused. */
kn_status kn_reproduce_run(kn_ctx *ctx, const kn_halves *h, uint64_t seed, kn_result *out);

#endif
