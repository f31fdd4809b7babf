/* Private interfaces of the experiment: splits of the scans into training and test, the table of
 * results, and the figure. Each section names the file that implements it. */
#ifndef KN_PAPER_INTERNAL_H
#define KN_PAPER_INTERNAL_H

#include "paper/systems.h"
#include "paper/visual/load.h"

/* ---- split.c ---- */

/* Splits the rows of the experiment into training and test, anew for each repeat. */

/* 600 of the paper's 1320 scans of random patterns are for training; with other numbers the same
 * share. The other random scans are the normal test rows, and all figure scans the abnormal
 * ones.
 * scan: any 600 scans. Most test scans then share their pattern with training and no figure
 * does, which favours detection. pattern: scans of one pattern stay together. */
typedef enum kn_split_by { KN_BY_SCAN = 0, KN_BY_PATTERN = 1, KN_N_SPLITS } kn_split_by;

extern const char *const kn_split_name[KN_N_SPLITS];

typedef struct kn_split {
    ptrdiff_t n_train, n_test, n_normal; /* n_normal: normal test rows, which come first */
    /* Row numbers, ascending; in test, figures after normals. */
    ptrdiff_t *train, *test;
} kn_split;

/* Draws the training and test rows of a split; they depend on the data, seed, repeat and kind only.
 * *out is owned (kn_split_clear). KN_ERR_DATA if there are too few scans. */
kn_status kn_split_new(kn_ctx *ctx, const kn_visual *v, kn_split_by by, uint64_t seed, int repeat,
                       kn_split *out);
/* Frees the row numbers; {0} is allowed. */
void kn_split_clear(kn_split *s);

/* ---- results.c ---- */

/* Results of the experiment: a row per run, kept in results.tsv and summarised in summary.json. */

/* Columns of results.tsv, in this order. R2 to Z2 are means over voxels, on the test scans of
 * random patterns (RHO2_ALL: on all test scans, figures included). */
typedef enum kn_quantity {
    KN_Q_R2,
    KN_Q_RHO2,
    KN_Q_RHO2_ALL,
    KN_Q_MSLL,
    KN_Q_Z2,
    KN_Q_JOINT,         /* ln p of a whole map minus that of the null model, mean as above */
    KN_Q_AUC_EXTREME_Z, /* figures against test scans of random patterns */
    KN_Q_AUC_DEVIANCE,
    KN_Q_LML,
    KN_Q_EVALUATIONS,
    KN_Q_SECONDS_FIT, /* basis and hyperparameters, without the reference */
    KN_Q_SECONDS_PREDICT,
    KN_N_QUANTITIES
} kn_quantity;

extern const char *const kn_quantity_name[KN_N_QUANTITIES];
#define KN_REFUSED_NAME "refused" /* name of the last column */

typedef struct kn_run {
    int method, variant, split;
    ptrdiff_t components; /* 0: the method has none */
    int repeat;           /* from 1 */
} kn_run;

enum { KN_REFUSED = 512 };
typedef struct kn_result {
    kn_run run;
    double value[KN_N_QUANTITIES]; /* NaN: not available */
    char refused[KN_REFUSED];      /* why the system does not support these sizes; "": it does */
} kn_result;

typedef struct kn_results {
    ptrdiff_t n, capacity;
    kn_result *row;
    /* The experiment that the rows belong to; rows of another one cannot be added. */
    uint64_t seed, fingerprint;
    ptrdiff_t random_scans, figure_scans, pixels, voxels;
} kn_results;

/* Frees the rows; {0} is allowed. */
void kn_results_clear(kn_results *r);
/* Appends a copy of the row. Fails only without memory. */
kn_status kn_results_add(kn_ctx *ctx, kn_results *r, const kn_result *row);
/* Returns the row of this run, borrowed; NULL if it is not there. Linear search. */
const kn_result *kn_results_find(const kn_results *r, const kn_run *run);

/* Runs that differ in the repeat only: one entry of summary.json and one point of the figure. */
typedef struct kn_group {
    kn_run run;                                        /* repeat: number of runs */
    double mean[KN_N_QUANTITIES], sd[KN_N_QUANTITIES]; /* divisor n - 1; NaN for one run */
    /* Reason of the first refused run; borrowed. */
    const char *refused;
} kn_group;

/* Groups the runs, sorted by split, method, variant, components; *out is owned by the caller
 * (kn_free). */
kn_status kn_results_group(kn_ctx *ctx, const kn_results *r, kn_group **out, ptrdiff_t *n);

/* Writes DIR/summary.json, then DIR/results.tsv, each atomically, replacing existing files. */
kn_status kn_results_write(kn_ctx *ctx, const kn_results *r, const char *dir);

/* Adds the rows of DIR/results.tsv if it exists. Fails if they belong to other data, another
 * seed or other columns; columns that version 0.2 did not have may be missing. */
kn_status kn_results_resume(kn_ctx *ctx, const char *dir, kn_results *r);

enum { KN_RESULTS_PATH = 4096 };
/* Joins dir and name to a path. */
kn_status kn_results_path(kn_ctx *ctx, const char *dir, const char *name,
                          char path[KN_RESULTS_PATH]);

/* ---- figure.c ---- */

/* The paper's figure: run time, R2 and AUC against the number of components, as mean and
 * standard deviation over repeats; one row of panels per kind of split. */

/* Writes the figure as SVG, replacing an existing file. KN_ERR_IO if it cannot be written. */
kn_status kn_paper_figure_write(kn_ctx *ctx, const kn_results *r, const char *path);

#endif
