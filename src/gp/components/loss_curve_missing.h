/* Variances and losses of the loss curve over observed cells, where responses have missing cells
 * [METHOD 0b, components auto] */
#ifndef KN_GP_COMPONENTS_LOSS_CURVE_MISSING_H
#define KN_GP_COMPONENTS_LOSS_CURVE_MISSING_H

#include "base/matrix.h"
#include "data/responses/missing_mask.h"

/* variance[j] = mean square of the observed cells of column j of train (n x count, centred); 0 if
 * fewer than KN_IMPUTE_LEAST. Column j is response first + j, row i is row[i] of the data;
 * responses without missing cells are not changed. */
void kn_observed_variance(const kn_missing_mask *h, const ptrdiff_t *row, ptrdiff_t first,
                          kn_mat train, double *variance);

/* Variance about mu of the training cells of a response, from the mean square `all` of its
 * `values` observed cells less those of the held-out rows y. 0 if mu is not finite or too few
 * cells remain. */
double kn_observed_rest(const double *y, ptrdiff_t rows, double all, ptrdiff_t values, double mu);

/* As kn_sample_losses, over observed (finite) cells only. work is not used. */
void kn_observed_losses(kn_mat e, kn_mat v, const double *noise, double *work, double *loss);
/* Adds to count (n) the number of observed cells of each row, over the responses with noise > 0. */
void kn_observed_count(kn_mat e, const double *noise, double *count);

#endif
