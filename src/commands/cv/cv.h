/* Everybody judged by a model that has not seen them: fits of all but a part, and scores of that
 * part, joined [METHOD 8i]. kn_cv is collective: ranks make each fit together, share the people
 * that are scored, and the first writes. */
#ifndef KN_COMMANDS_CV_CV_H
#define KN_COMMANDS_CV_CV_H

#include "commands/cv/plan.h"
#include "commands/score/join/join.h"

typedef struct kn_fold_fact {
    ptrdiff_t n_train, components; /* -1: the method has none */
    ptrdiff_t warned;              /* up to the end of this fold, from the first on */
    bool alone;                    /* the first rank made the fit: cells were filled in */
} kn_fold_fact;

typedef struct kn_crossval { /* all lent, for files */
    const kn_settings *s;
    const kn_holdout *holdout;
    const char *const *id;         /* of the people of the holdout; NULL: without */
    const kn_fold_fact *fold;      /* folds */
    const kn_strata *site;         /* of the people of the holdout; n = 0: there is none */
    const kn_join *join, *adapted; /* adapted NULL: none */
    const char *dir;
    const kn_write_options *options;
} kn_crossval;

/* folds.tsv and metrics_by_site.tsv; with {split} folds.tsv, train.txt and test.txt. Counts files.
 */
kn_status kn_crossval_check(kn_ctx *ctx, const kn_crossval *c);
kn_status kn_crossval_write(kn_ctx *ctx, const kn_crossval *c, ptrdiff_t *n_files);

/* With {force}, after the new files have their names: metrics_by_site.tsv and adapted/ of an
 * earlier run, where this one has none. What cannot be removed stays, with a warning. */
void kn_crossval_sweep(kn_ctx *ctx, const kn_crossval *c);

#endif
