/* The completed responses that a fit uses where cells are missing [METHOD 0b]
 *
 *     impute at the start R0 -> R0 by the pilot search -> impute again at that R0
 *
 * each time about the mean of the completed responses, which becomes the training mean. */
#ifndef KN_GP_MISSING_COMPLETION_H
#define KN_GP_MISSING_COMPLETION_H

#include "gp/method.h"
#include "gp/missing/imputer.h"

/* The imputed cells and what folds need to impute their own. */
typedef struct kn_completion {
    kn_missing_mask holes;
    double *filled; /* holes.cells, standardised, of all participants; NULL: no cell is missing */
    kn_imputer filler;
    kn_impute_info info;
    kn_search_result pilot; /* R0 as the pilot search found it */
} kn_completion;

/* Imputes the missing cells of p->Y and sets p->Y.holes, p->Y.filled and p->completion, which
 * borrow *out. centre: moves scaling->mean to the mean of the completed responses. Does nothing if
 * no cell is missing. KN_ERR_MEMORY if the work space exceeds the budget. Collective. */
kn_status kn_completion_new(kn_ctx *ctx, kn_fit_problem *p, kn_scaling *scaling, bool centre,
                            kn_fit_info *info, kn_completion *out);
void kn_completion_clear(kn_completion *c); /* {0} is allowed */

/* Imputes the n rows afresh from these rows only. *Y are the responses with these cells imputed
 * and NaN in other rows; Y->filled is *filled, owned by the caller. Collective. */
kn_status kn_completion_fold(kn_ctx *ctx, const kn_completion *c, const ptrdiff_t *rows,
                             ptrdiff_t n, double **filled, kn_responses *Y);

/* Sets value[j] to NaN if fewer than KN_IMPUTE_LEAST of the n rows have response j: such a fold
 * does not predict it. */
void kn_completion_judge(const kn_completion *c, const ptrdiff_t *rows, ptrdiff_t n, double *value);

#endif
