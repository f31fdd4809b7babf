/* Columns of the noise-scale design: the logarithm of the noise variance is linear in them
 * [METHOD 8c].
 *
 *     D = [1 | t, t^2 of each numeric covariate | (second level) - 1/2 of each two-level category]
 *
 * t is standardised by the training sample (divisor N) and clipped to the training range; t^2 is
 * included on request if training has 5 different values or more. The training mean is
 * subtracted from every column but the first. A column that is constant in training, or a linear
 * combination of columns before it, is not included. A missing number or level counts as the
 * training mean. */
#ifndef KN_NORM_CALIBRATION_NOISE_SCALE_COLUMNS_H
#define KN_NORM_CALIBRATION_NOISE_SCALE_COLUMNS_H

#include <stdbool.h>

#include "base/matrix.h"

typedef enum kn_noise_scale_kind { /* stored in model files: never renumbered */
                                   KN_SCALE_ONE = 0,
                                   KN_SCALE_LINE = 1,
                                   KN_SCALE_SQUARE = 2,
                                   KN_SCALE_LEVEL = 3
} kn_noise_scale_kind;

typedef struct kn_noise_scale_column {
    kn_noise_scale_kind kind;
    ptrdiff_t source; /* column of the numeric or of the level matrix; -1 for ONE */
    double mean, sd;  /* t = (x - mean)/sd; 0 and 1 for a level */
    double low, high; /* training range, to which x is clipped */
    double centre;    /* training mean of the column, which is subtracted */
} kn_noise_scale_column;

typedef struct kn_noise_scale_columns {
    ptrdiff_t F;
    kn_noise_scale_column *column;
} kn_noise_scale_columns;

/* same participants in both; either may have no columns */
typedef struct kn_noise_scale_covariates {
    kn_mat numeric; /* n x C, original units; NaN: missing */
    kn_mat level;   /* n x L: 0 the first level, 1 the second, NaN: missing */
} kn_noise_scale_covariates;

/* Choose the columns from the covariates of the training sample; `quadratic`: with t^2. */
kn_status kn_noise_scale_columns_new(kn_ctx *ctx, const kn_noise_scale_covariates *training,
                                     bool quadratic, kn_noise_scale_columns *out);
void kn_noise_scale_columns_clear(kn_noise_scale_columns *columns);
/* Fill D (n x F) for n participants. */
void kn_noise_scale_columns_apply(const kn_noise_scale_columns *columns,
                                  const kn_noise_scale_covariates *people, kn_mat D);

#endif
