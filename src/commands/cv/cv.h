/* Output of kn_cv: every participant scored by a model that has not seen them [METHOD 8i]. kn_cv is
 * collective: ranks make each fit together, distribute the scored participants, and root writes.
 * write.c and remove_stale.c implement this header. */
#ifndef KN_COMMANDS_CV_CV_H
#define KN_COMMANDS_CV_CV_H

#include "commands/cv/plan.h"
#include "commands/score/join/join.h"

/* Facts about the fit of one fold, for folds.tsv and the log. */
typedef struct kn_fold_fact {
    ptrdiff_t n_train, components; /* components -1: the method has none */
    ptrdiff_t warned; /* number of warnings from the first fold to the end of this one */
    bool alone;       /* root alone made the fit, since cells were imputed */
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

/* Checks and writes folds.tsv and metrics_by_site.tsv; with {split} folds.tsv, train.txt and
 * test.txt. Adds to *n_files. */
kn_status kn_crossval_check(kn_ctx *ctx, const kn_crossval *c);
kn_status kn_crossval_write(kn_ctx *ctx, const kn_crossval *c, ptrdiff_t *n_files);

/* With {force}: removes metrics_by_site.tsv and adapted/ of an earlier run if this one has none,
 * after the new files are committed. Files that cannot be removed stay, with a warning. */
void kn_crossval_sweep(kn_ctx *ctx, const kn_crossval *c);

#endif
