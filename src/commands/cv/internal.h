/* Private interfaces of kn_cv: folds and strata, the state of one run, and its output. kn_cv is
 * collective: ranks make each fit together, distribute the scored participants, and root writes
 * [METHOD 8i]. */
#ifndef KN_COMMANDS_CV_INTERNAL_H
#define KN_COMMANDS_CV_INTERNAL_H

#include "commands/fit/basis_source.h"
#include "commands/score/join/join.h"
#include "data/preloaded.h"
#include "data/sample.h"
#include "io/table/table.h"

/* ---- folds_and_strata.c: strata ---- */

/* Groups participants by the level of one column, or by the combination of levels of several
 * columns. cv uses it for held-out sites and stratified folds. */

/* Levels of a number of participants. Owns its arrays. */
typedef struct kn_strata {
    ptrdiff_t n;     /* number of levels; 0: no strata were asked for */
    char **name;     /* n, sorted (numbers by value); "n/a" for a missing cell */
    ptrdiff_t *size; /* n: participants of each level */
    /* number of participants */
    ptrdiff_t participants;
    ptrdiff_t *of; /* participants: index of the level */
} kn_strata;

/* Makes the levels of rows row[0..participants) from n_cols columns; several columns make levels
 * such as "Leeds Prisma". KN_ERR_DATA if a cell is too long for a level. Free with kn_strata_clear.
 */
kn_status kn_strata_new(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *col, ptrdiff_t n_cols,
                        const ptrdiff_t *row, ptrdiff_t participants, kn_strata *out);
void kn_strata_clear(kn_strata *s); /* accepts {0} */

/* ---- folds_and_strata.c: folds ---- */

/* Assigns participants to folds: seeded folds, one level of a column after the other ({leave_out}),
 * or a test set ({split}). A model never learns from a row of a participant or group that it scores
 * [METHOD 8i]. */

/* Folds of n rows. A unit is a set of rows that belong together, such as visits of a participant.
 * Seeded folds and test sets hold whole units; with {leave_out} a unit may have rows in several
 * folds, and is in no training sample of these. */
typedef struct kn_holdout {
    ptrdiff_t n;
    ptrdiff_t *row;   /* n: row of the covariates, ascending */
    int *unit;        /* n: index of the first row of the unit */
    ptrdiff_t *order; /* n: the rows in canonical order [data/canonical_order.h] */
    ptrdiff_t units;  /* number of units */
    int folds;
    int *fold;       /* n: fold in which the row is scored; {split}: 1 test, 0 training */
    kn_strata level; /* levels of {leave_out} or stratify; n = 0: none */
    bool *control; /* n: {leave_out}: control for the adaptation of the fold's model; NULL: none */
    ptrdiff_t *controls; /* folds: number of controls; 0: too few participants */
} kn_holdout;

/* Sets rows and units: rows with the same id, the same value of {group}, or the same group of
 * `participants` form a unit. participants NULL: all matched rows of the data. */
kn_status kn_holdout_new(kn_ctx *ctx, const kn_data *data, const kn_settings *s,
                         const kn_sample *participants, kn_holdout *out);
void kn_holdout_clear(kn_holdout *h); /* accepts {0} */

/* Assign the units to s->cv_folds folds by the seed. KN_ERR_DATA if there are fewer units. */
kn_status kn_holdout_folds(kn_ctx *ctx, const kn_settings *s, kn_holdout *h);

/* Make each level of the column {leave_out} a fold, and draw {controls} of each. abnormal (n, may
 * be NULL): labelled rows, never controls. KN_ERR_DATA for too few or too many levels, or a missing
 * cell. */
kn_status kn_holdout_by_level(kn_ctx *ctx, const kn_data *data, const kn_settings *s,
                              const bool *abnormal, kn_holdout *h);
/* Assigns a test set by {split=test=.2,stratify=site}. KN_ERR_ARGUMENT if it cannot be parsed,
 * KN_ERR_DATA if either set would be empty. */
kn_status kn_holdout_test(kn_ctx *ctx, const kn_data *data, const kn_settings *s, kn_holdout *h);

/* Sets use[row of the covariates] for the training sample of a fold: no row of a unit that is
 * scored in it, and no labelled row. Returns the number of rows. */
ptrdiff_t kn_holdout_training(const kn_holdout *h, int fold, const bool *abnormal, bool *use);

/* ---- write.c ---- */

/* Output of kn_cv: every participant scored by a model that has not seen them [METHOD 8i]. kn_cv is
 * collective: ranks make each fit together, distribute the scored participants, and root writes.
 * write.c implements this section. */

/* Facts about the fit of one fold, for folds.tsv and the log. */
typedef struct kn_fold_fact {
    ptrdiff_t n_train, components; /* components -1: the method has none */
    ptrdiff_t n_sites;             /* sites of training; 0: the model has no batch */
    ptrdiff_t warned;  /* number of warnings from the first fold to the end of this one */
    bool on_root_only; /* root alone made the fit, since cells were imputed */
} kn_fold_fact;

typedef struct kn_crossval { /* all borrowed */
    const kn_settings *s;
    const kn_holdout *holdout;
    const char *const *id;         /* per row of the holdout; an entry is NULL without id */
    const kn_fold_fact *fold;      /* one per fold */
    const kn_strata *site;         /* of the rows of the holdout; n = 0: no sites */
    const kn_join *join, *adapted; /* adapted: joined scores of adapted models; NULL: none */
    const char *dir;               /* output folder, exists */
    const kn_write_options *options;
} kn_crossval;

/* Check before the computation that folds.tsv and metrics_by_site.tsv can be written; with {split}
 * folds.tsv, train.txt and test.txt. */
kn_status kn_crossval_check(kn_ctx *ctx, const kn_crossval *c);

/* Write these files, and add their number to *n_files. */
kn_status kn_crossval_write(kn_ctx *ctx, const kn_crossval *c, ptrdiff_t *n_files);

/* With {force}: removes the folder adapted/ of an earlier run, if this one has none and it is empty
 * by now. */
void kn_crossval_remove_folder(const kn_crossval *c);

/* ---- cv.c, options.c and prepare.c: the run ---- */

enum { KN_CV_PATH = 4096 };

/* One run of kn_cv. preloaded owns the values of all participants, `all` describes them, holdout
 * assigns the folds, and join and adapted collect the scores. */
typedef struct kn_cv_work {
    kn_data *data;
    const kn_options *given; /* options of the caller */
    kn_settings s;
    kn_options *fit, *score, *adapt; /* options of the steps, owned */
    kn_basis_source basis;           /* shared by all fits */
    kn_preloaded *preloaded;         /* values of all participants */
    const kn_sample *all;            /* borrowed from preloaded */
    kn_holdout holdout;              /* folds */
    const char **id;                 /* per row of the holdout, borrowed from the data */
    kn_strata site;                  /* sites for metrics_by_site.tsv; n = 0: none */
    kn_fold_fact *fold;              /* one per fold */
    bool *abnormal;                  /* per row of the holdout: labelled; NULL: no label */
    bool *use;                       /* per row of the covariates: member of the current subset */
    unsigned write;                  /* KN_MAP_... and KN_WRITE_METRICS bits */
    kn_exclusions exclusions;
    kn_warnings warnings, of_fits; /* of all data; of the folds */
    uint64_t values;               /* hash of all responses; 0: not made */
    kn_join *join, *adapted;       /* adapted: scores of adapted models, may be NULL */
    ptrdiff_t *scored_row;         /* n_scored: rows scored by adapted models */
    bool *scored_abnormal;
    ptrdiff_t n_scored;
    char adapted_dir[KN_CV_PATH];
    char label[256];     /* column of {cases}; empty: none */
    const char **inputs; /* input files, never overwritten */
    kn_write_options options;
    kn_created_files made;        /* removed if the run fails */
    kn_uncommitted_files pending; /* written, but not renamed yet */
    kn_crossval files;            /* view of this struct for write.c */
    kn_cv_info info;
} kn_cv_work;

void kn_cv_work_clear(kn_cv_work *w); /* accepts {0} */

/* True if the option was given explicitly, not left at its default. */
bool kn_cv_given(const kn_options *options, const char *key);

/* Makes the options of a step (fit, score, adapt): all given to cv that the command has too, except
 * label and output, which concern the whole run. *out is owned by the caller. */
kn_status kn_cv_make_step_options(kn_ctx *ctx, const kn_options *from, const char *command,
                                  kn_options **out);

/* Set w->fit, w->score and w->write from the options given to cv. */
kn_status kn_cv_make_options(kn_ctx *ctx, kn_cv_work *w);

/* Fixes which covariates are numbers, categories and batches from all participants, so that all
 * folds use the same kinds: a subset may have two values where all have three. */
kn_status kn_cv_settle_kinds(kn_ctx *ctx, kn_cv_work *w);

/* True if covariate c is a batch effect of the fits. A category of {leave_out} becomes one unless
 * {batch} is given, since new participants may have other levels of it. */
bool kn_cv_is_batch(const kn_cv_work *w, const kn_covariate *c);

/* Reads all data, assigns folds, and checks memory, sites and output files. Collective. */
kn_status kn_cv_prepare(kn_ctx *ctx, kn_cv_work *w);
/* Sets w->id; with several sessions each row has its own id. */
kn_status kn_cv_find_ids(kn_ctx *ctx, kn_cv_work *w);
/* Creates the folders and checks all output files. Call after kn_cv_find_ids. */
kn_status kn_cv_check_outputs(kn_ctx *ctx, kn_cv_work *w);

#endif
