/* Assigns participants to folds: seeded folds, one level of a column after the other ({leave}), or
 * a test set ({split}). A model never learns from a row of a participant or group that it scores
 * [METHOD 8i]. */
#ifndef KN_COMMANDS_CV_PLAN_H
#define KN_COMMANDS_CV_PLAN_H

#include "commands/common/strata.h"
#include "data/sample.h"

/* Folds of n rows. A unit is a set of rows that belong together, such as visits of a participant.
 * Seeded folds and test sets hold whole units; with {leave} a unit may have rows in several folds,
 * and is in no training sample of these. */
typedef struct kn_holdout {
    ptrdiff_t n;
    ptrdiff_t *row;  /* n: row of the covariates, ascending */
    int *unit;       /* n: index of the first row of the unit */
    ptrdiff_t units; /* number of units */
    int folds;
    int *fold;       /* n: fold in which the row is scored; {split}: 1 test, 0 training */
    kn_strata level; /* levels of {leave} or stratify; n = 0: none */
    bool *control;   /* n: {leave}: control for the adaptation of the fold's model; NULL: none */
    ptrdiff_t *controls; /* folds: number of controls; 0: too few participants */
} kn_holdout;

/* Sets rows and units: rows with the same id, the same value of {group}, or the same group of
 * `people` form a unit. people NULL: all matched rows of the data. */
kn_status kn_holdout_new(kn_ctx *ctx, const kn_data *data, const kn_settings *s,
                         const kn_sample *people, kn_holdout *out);
void kn_holdout_clear(kn_holdout *h); /* accepts {0} */

/* Assigns folds by {folds}, or by {leave}. abnormal (n, may be NULL): labelled rows, never
 * controls. KN_ERR_DATA if there are too few units, or too few or too many levels. */
kn_status kn_holdout_folds(kn_ctx *ctx, const kn_settings *s, kn_holdout *h);
kn_status kn_holdout_leave(kn_ctx *ctx, const kn_data *data, const kn_settings *s,
                           const bool *abnormal, kn_holdout *h);
/* Assigns a test set by {split=test=.2,stratify=site}. KN_ERR_ARGUMENT if it cannot be parsed,
 * KN_ERR_DATA if either set would be empty. */
kn_status kn_holdout_test(kn_ctx *ctx, const kn_data *data, const kn_settings *s, kn_holdout *h);

/* Sets use[row of the covariates] for the training sample of a fold: no row of a unit that is
 * scored in it, and no labelled row. Returns the number of rows. */
ptrdiff_t kn_holdout_training(const kn_holdout *h, int fold, const bool *abnormal, bool *use);

#endif
