/* Who is held out with whom, and who may be seen by the model that judges them: seeded folds, one
 * level of a column after the other, or a test set. People and groups of them stay whole
 * [METHOD 8i]. */
#ifndef KN_COMMANDS_CV_PLAN_H
#define KN_COMMANDS_CV_PLAN_H

#include "commands/common/strata.h"
#include "data/sample.h"

typedef struct kn_holdout {
    ptrdiff_t n;
    ptrdiff_t *row;  /* n  of the covariates, ascending: the order of the table */
    int *unit;       /* n  rows that stay together have the same */
    ptrdiff_t units; /* how many there are */
    int folds;
    int *fold;           /* n  in which it is judged; of a test set 1, else 0 */
    kn_strata level;     /* of {leave} or stratify; n = 0: none */
    bool *control;       /* n  of {leave}: whom the model of the fold is adapted on; NULL: none */
    ptrdiff_t *controls; /* folds: how many; 0: too few people for it */
} kn_holdout;

/* Rows and units: ids that repeat, the column {group}, and `more` where people say it, by the row
 * of the covariates (NULL: they do not). */
kn_status kn_holdout_new(kn_ctx *ctx, const kn_data *data, const kn_settings *s,
                         const kn_sample *people, kn_holdout *out);
void kn_holdout_clear(kn_holdout *h); /* {0} is fine */

/* {folds}, or {leave}. abnormal (n, or NULL): labelled, and never controls. */
kn_status kn_holdout_folds(kn_ctx *ctx, const kn_settings *s, kn_holdout *h);
kn_status kn_holdout_leave(kn_ctx *ctx, const kn_data *data, const kn_settings *s,
                           const bool *abnormal, kn_holdout *h);
/* {split=test=.2,stratify=site} */
kn_status kn_holdout_test(kn_ctx *ctx, const kn_data *data, const kn_settings *s, kn_holdout *h);

/* use[row of the covariates] of those that the model of a fold learns from: nobody of a unit that
 * it judges, and nobody labelled. How many there are. */
ptrdiff_t kn_holdout_training(const kn_holdout *h, int fold, const bool *abnormal, bool *use);

#endif
