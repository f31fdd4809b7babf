/* The command `kronorm reproduce`: the paper's experiment, and a single run of it (fit, predict,
 * evaluate). The data are those of a visual experiment, measured or simulated. */
#ifndef KN_PAPER_REPRODUCE_H
#define KN_PAPER_REPRODUCE_H

#include "paper/internal.h"

typedef struct kn_reproduced {
    ptrdiff_t n_runs;    /* requested */
    ptrdiff_t n_resumed; /* found finished in results.tsv */
    ptrdiff_t n_refused; /* refused by a system that does not support these sizes */
} kn_reproduced;

/* Runs the experiment with the options of "reproduce". results.tsv is rewritten atomically after
 * each run, so an interrupted experiment keeps its finished runs, and the same call resumes it. */
kn_status kn_reproduce(kn_ctx *ctx, const kn_options *options, kn_reproduced *result);

typedef struct kn_halves { /* the rows of one split */
    kn_mat X, Y;           /* training */
    kn_mat Xs, Ys;         /* test: random patterns first, then figures */
    bool *normal;          /* test rows: true for a random pattern */
    int *pattern;          /* pattern shown in each training row ... */
    int *test_pattern;     /* ... and in each test row */
} kn_halves;

/* Copies the training and test rows of a split; out owns the copies (kn_halves_clear). Fails only
 * without memory. */
kn_status kn_halves_new(kn_ctx *ctx, const kn_visual *v, const kn_split *s, kn_halves *out);
/* Frees the copies; {0} is allowed. */
void kn_halves_clear(kn_halves *h);

/* Executes out->run: fits the training rows, predicts the test rows, and sets out->value; or sets
 * out->refused and returns KN_OK if the method does not support such data. Other failures are
 * errors; can be cancelled. */
kn_status kn_reproduce_run(kn_ctx *ctx, const kn_halves *h, uint64_t seed, kn_result *out);

#endif
