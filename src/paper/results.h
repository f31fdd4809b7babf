/* What the experiment found: a row per run, kept in results.tsv and summed up in results.json. */
#ifndef KN_PAPER_RESULTS_H
#define KN_PAPER_RESULTS_H

#include "paper/split.h"
#include "paper/systems.h"

typedef enum kn_quantity {          /* columns of results.tsv, in this order */
                           KN_Q_R2, /* these five: mean over voxels, on test scans of random
                                       patterns ... */
                           KN_Q_RHO2,
                           KN_Q_RHO2_ALL, /* ... but this one on all test scans, figures included */
                           KN_Q_MSLL,
                           KN_Q_Z2,
                           KN_Q_JOINT,   /* ln p of a whole map less the null model's, mean over the
                                            test scans of random patterns */
                           KN_Q_AUC_TOP, /* figures against test scans of random patterns */
                           KN_Q_AUC_DEVIANCE,
                           KN_Q_LML,
                           KN_Q_EVALUATIONS,
                           KN_Q_SECONDS_FIT, /* basis and parameters; the reference is not in it */
                           KN_Q_SECONDS_PREDICT,
                           KN_N_QUANTITIES
} kn_quantity;

extern const char *const kn_quantity_name[KN_N_QUANTITIES];
#define KN_REFUSED_NAME "refused" /* the last column */

typedef struct kn_run {
    int method, variant, split;
    ptrdiff_t components; /* 0: the method has none */
    int repeat;           /* from 1 */
} kn_run;

enum { KN_REFUSED = 512 };
typedef struct kn_result {
    kn_run run;
    double value[KN_N_QUANTITIES]; /* NaN: could not be had */
    char refused[KN_REFUSED];      /* why the system does not take these sizes; "": it does */
} kn_result;

typedef struct kn_results {
    ptrdiff_t n, room;
    kn_result *row;
    /* What they are of; rows of anything else cannot be added to them. */
    uint64_t seed, fingerprint;
    ptrdiff_t random_scans, figure_scans, pixels, voxels;
} kn_results;

void kn_results_clear(kn_results *r); /* {0} is fine */
kn_status kn_results_add(kn_ctx *ctx, kn_results *r, const kn_result *row);
const kn_result *kn_results_find(const kn_results *r, const kn_run *run); /* NULL: not there */

/* Runs that differ in their repeat alone: a place in results.json and in the figure. */
typedef struct kn_group {
    kn_run run;                                        /* repeat: how many there are */
    double mean[KN_N_QUANTITIES], sd[KN_N_QUANTITIES]; /* divisor n - 1; NaN for a single one */
    const char *refused;                               /* of the first of them, lent */
} kn_group;

/* By split, method, variant, components; *out by kn_alloc. */
kn_status kn_results_group(kn_ctx *ctx, const kn_results *r, kn_group **out, ptrdiff_t *n);

/* DIR/results.json, then DIR/results.tsv, each whole or not at all, over what is there. */
kn_status kn_results_write(kn_ctx *ctx, const kn_results *r, const char *dir);

/* Adds the rows of DIR/results.tsv, if it is there. Results of other data, another seed or other
 * columns are refused; columns that version 0.2 did not have may be missing. */
kn_status kn_results_resume(kn_ctx *ctx, const char *dir, kn_results *r);

enum { KN_RESULTS_PATH = 4096 };
kn_status kn_results_path(kn_ctx *ctx, const char *dir, const char *name,
                          char path[KN_RESULTS_PATH]);

#endif
