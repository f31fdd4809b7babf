/* State of one run of kn_cv, and the steps before the first fit: options.c, prepare.c,
 * check_sites.c. */
#ifndef KN_COMMANDS_CV_INTERNAL_H
#define KN_COMMANDS_CV_INTERNAL_H

#include "commands/cv/cv.h"
#include "commands/fit/basis_source.h"
#include "data/preloaded.h"

enum { KN_CV_PATH = 4096 };

/* One run of kn_cv. held owns the values of all participants, `all` describes them, holdout assigns
 * the folds, and join and adapted collect the scores. */
typedef struct kn_cv_work {
    kn_data *data;
    const kn_options *given; /* options of the caller */
    kn_settings s;
    kn_options *fit, *score, *adapt; /* options of the steps, owned */
    kn_basis_source basis;           /* shared by all fits */
    kn_preloaded *held;              /* values of all participants */
    const kn_sample *all;            /* borrowed from held */
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
    char label[256];     /* column of {label}; empty: none */
    const char **inputs; /* input files, never overwritten */
    kn_write_options options;
    kn_created_files made;        /* removed if the run fails */
    kn_uncommitted_files pending; /* written, but not renamed yet */
    kn_crossval files;            /* view of this struct for write.c */
    kn_cv_info info;
} kn_cv_work;

void kn_cv_work_clear(kn_cv_work *w); /* accepts {0} */

/* True if the option was given explicitly. */
bool kn_cv_given(const kn_options *options, const char *key);

/* Makes the options of a step (fit, score, adapt): all given to cv that the command has too, except
 * label and output, which concern the whole run. *out is owned by the caller. */
kn_status kn_cv_hand_on(kn_ctx *ctx, const kn_options *from, const char *command, kn_options **out);

kn_status kn_cv_make_options(kn_ctx *ctx, kn_cv_work *w); /* sets w->fit, w->score and w->write */

/* Fixes which covariates are numbers, categories and batches from all participants, so that all
 * folds use the same kinds: a subset may have two values where all have three. */
kn_status kn_cv_settle_kinds(kn_ctx *ctx, kn_cv_work *w);
bool kn_cv_is_batch(const kn_cv_work *w, const kn_covariate *c); /* batch column of the fits? */

/* Reads all data, assigns folds, and checks memory, sites and output files. Collective. */
kn_status kn_cv_prepare(kn_ctx *ctx, kn_cv_work *w);
/* KN_ERR_DATA if a fold has a site or level about which its model knows nothing. Call after
 * kn_cv_find_ids. */
kn_status kn_cv_check_sites(kn_ctx *ctx, kn_cv_work *w);
/* Sets w->id; with several sessions each row has its own id. */
kn_status kn_cv_find_ids(kn_ctx *ctx, kn_cv_work *w);
/* Creates the folders and checks all output files. Call after kn_cv_find_ids. */
kn_status kn_cv_check_outputs(kn_ctx *ctx, kn_cv_work *w);

#endif
