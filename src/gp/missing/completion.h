/* The table that a fit learns from where responses are missing                      [METHOD 0b]
 *
 *     fill at R0 where a search begins -> R0 by a few components -> fill again at that R0
 *
 * each time about the mean of the completed table, which is then the mean of training. */
#ifndef KN_GP_MISSING_COMPLETION_H
#define KN_GP_MISSING_COMPLETION_H

#include "gp/method.h"
#include "gp/missing/imputer.h"

typedef struct kn_completion {
    kn_missing_mask holes;
    double *filled; /* holes.cells, of all samples; NULL: nothing is missing */
    kn_imputer filler;
    kn_impute_info info;
    kn_search_result pilot; /* R0 as it was found */
} kn_completion;

/* Completes p->Y, whose scaling it moves to the mean of the completed table (`centre`: unless the
 * responses are to be taken as they are); leaves p->gram of it where samples are not very many, and
 * p->completion. Nothing happens where no cell is missing. */
kn_status kn_completion_new(kn_ctx *ctx, kn_fit_problem *p, kn_scaling *scaling, bool centre,
                            kn_fit_info *info, kn_completion *out);
void kn_completion_clear(kn_completion *c); /* {0} is fine */

/* Y with the n rows filled in afresh, by themselves; the others have NaN. Free Y->filled, which is
 * *filled. */
kn_status kn_completion_fold(kn_ctx *ctx, const kn_completion *c, const ptrdiff_t *rows,
                             ptrdiff_t n, double **filled, kn_responses *Y);

/* value_j becomes NaN where fewer than KN_IMPUTE_LEAST of the rows have response j: such a fold
 * says nothing of it. */
void kn_completion_judge(const kn_completion *c, const ptrdiff_t *rows, ptrdiff_t n, double *value);

#endif
