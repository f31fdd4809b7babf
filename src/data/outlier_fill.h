/* Values that take the place of outlying cells in a training sample without other missing cells.
 * They are computed once, so that a few outlying cells among millions do not make a fit impute. */
#ifndef KN_DATA_OUTLIER_FILL_H
#define KN_DATA_OUTLIER_FILL_H

#include "data/covariates/encoding.h"
#include "data/outliers.h"

/* The covariates of a training sample; borrowed. */
typedef struct kn_fill_covariates {
    kn_mat X;                    /* n x F, as kn_encoding_apply makes it; may have NaN */
    const kn_encoding *encoding; /* its columns, with or without codes */
} kn_fill_covariates;

/* Writes to each listed cell of own.first .. own.last - 1 its prediction from the covariates by the
 * other cells of the response [METHOD 0c]:
 *
 *     mean + sum over columns of X of a slope times the covariate, or of the offset of a level
 *
 * Slopes and offsets are a ridge regression of penalty 1 on standardised numbers and on indicators
 * of levels, by at most 20 rounds of coordinate descent. The storage of Y must be writable. A cell
 * depends on its own response only, so that MPI ranks write the cells of a single process.
 * O(20 n F) for each response in the list. */
kn_status kn_outliers_fill(kn_ctx *ctx, const kn_outliers *o, const kn_fill_covariates *x,
                           kn_view Y, kn_index_range own);

#endif
