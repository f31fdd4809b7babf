/* The curve of components where responses are missing: variances and losses of the cells that have
 * a value                                                              [METHOD 0b, components auto]
 */
#ifndef KN_GP_COMPONENTS_LOSS_CURVE_MISSING_H
#define KN_GP_COMPONENTS_LOSS_CURVE_MISSING_H

#include "base/matrix.h"
#include "data/responses/missing_mask.h"

/* variance[j] = mean square of the cells of train (n x count, centred) that have a value; of very
 * few, 0. Column j is response first + j, row i sample row[i]; complete responses keep theirs. */
void kn_observed_variance(const kn_missing_mask *h, const ptrdiff_t *row, ptrdiff_t first,
                          kn_mat train, double *variance);

/* Of `values` cells with mean square `all` those that the held-out y do not have, about mu. A mean
 * that is not known is that of too few. */
double kn_observed_rest(const double *y, ptrdiff_t rows, double all, ptrdiff_t values, double mu);

/* kn_sample_losses of the cells that have a value. */
void kn_observed_losses(kn_mat e, kn_mat v, const double *noise, double *work, double *loss);
/* How many cells that is of each sample, added. */
void kn_observed_count(kn_mat e, const double *noise, double *count);

#endif
