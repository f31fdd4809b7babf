/* The columns that the noise scale is a line in [METHOD 8c].
 *
 *     D = [1 | t, t^2 of each numeric covariate | (second level) - 1/2 of each two-level category]
 *
 * t: standardised by training (divisor N), clipped to training's range; t^2 where asked for and
 * training has 5 different values or more. Every column but the first less its training mean. What
 * is constant in training, or a sum of columns before it, has no column. A missing number or level
 * counts as the training mean. */
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
    ptrdiff_t source; /* column of the numeric or of the level matrix; of ONE -1 */
    double mean, sd;  /* t = (x - mean)/sd; 0 and 1 of a level */
    double low, high; /* x is clipped to */
    double centre;    /* training mean of the column, taken away */
} kn_noise_scale_column;

typedef struct kn_noise_scale_columns {
    ptrdiff_t F;
    kn_noise_scale_column *column;
} kn_noise_scale_columns;

typedef struct kn_noise_scale_covariates { /* of the same people; either may have no columns */
    kn_mat numeric;                        /* n x C, in any units */
    kn_mat level;                          /* n x L: 0 the first level, 1 the second */
} kn_noise_scale_covariates;

kn_status kn_noise_scale_columns_new(kn_ctx *ctx, const kn_noise_scale_covariates *training,
                                     bool quadratic, kn_noise_scale_columns *out);
void kn_noise_scale_columns_clear(kn_noise_scale_columns *columns);
void kn_noise_scale_columns_apply(const kn_noise_scale_columns *columns,
                                  const kn_noise_scale_covariates *people, kn_mat D); /* n x F */

#endif
