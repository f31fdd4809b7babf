/* z-scores, log loss and coverage of held-out responses [METHOD 8]
 *
 *     e = y - mean     s2 = v + noise     z = e / sqrt(s2)
 *     loss = 1/2 (ln s2 + e^2/s2)         the negative log density minus ln(2 pi)/2
 *     standardised loss = loss - that of the trivial model, N(mean0, var0) of training
 *     covered at 95 %: z^2 <= 1.96^2
 *
 * All of them are in the units of the fit: mean 0 and sd 1 unless standardisation is off.
 *
 * The reference sample, metrics and the choice of components use the same functions. */
#ifndef KN_GP_ZSCORE_H
#define KN_GP_ZSCORE_H

#include <math.h>

#include "base/matrix.h"
#include "gp/fit_info.h"

/* Computes z_ij = (y_ij - mean_ij) / sqrt(v_ij + noise_j), all N* x count; z may alias y. v =
 * kn_mat_none(): noise variance only (the z of deviance_noise, METHOD 8b). z is NaN exactly where
 * y is missing (not finite), where the response was excluded (mean, v or noise NaN), or where the
 * variance is not positive. */
void kn_zscores(kn_mat y, kn_mat mean, kn_mat v, const double *noise, kn_mat z);

/* z^2 of a residual e with variance s2. */
static inline double kn_z2(double e, double s2)
{
    return e * e / s2;
}

/* |z| that covers 50, 90, 95 and 99 % of a standard normal distribution. */
enum { KN_COVERAGES = 4, KN_COVERAGE95 = 2 };
extern const double kn_coverage_z[KN_COVERAGES];

/* True if z2 lies within coverage `level`, an index of kn_coverage_z. */
static inline bool kn_covered(double z2, int level)
{
    return z2 <= kn_coverage_z[level] * kn_coverage_z[level];
}

/* Sums over the participants of one response: their number, z^2, standardised loss, how many are
 * covered at 95 %, gain over the null model and the number of cells that have one; R2 of the
 * response, and 1 if it has one. */
typedef struct kn_losses {
    double n, z2, loss, covered, gain, gained, R2, responses;
} kn_losses;
enum { KN_N_LOSSES = sizeof(kn_losses) / sizeof(double) };
/* The trivial model: mean and variance of the response in the training sample. */
typedef struct kn_null_model {
    double mean, var;
} kn_null_model;
/* n participants of one response: y, residuals, z, loss; null: loss by the null model, NULL: not
 * known. */
typedef struct kn_loss_cells {
    ptrdiff_t n;
    const double *y, *e, *z, *loss, *null;
} kn_loss_cells;
/* Returns the sums over the participants of one response that have a finite z: number, z^2,
 * standardised loss (that of the trivial model subtracted), coverage at 95 %, gain, R2. */
kn_losses kn_losses_of(const kn_loss_cells *c, kn_null_model trivial);
/* Adds the sums of one response to the sums over responses, element by element. */
void kn_losses_add(double sum[KN_N_LOSSES], const kn_losses *some);
/* Mean gain from a sum over n cells; 0 where only rounding is left, since the predictions are those
 * of the null model; NaN for n = 0. */
static inline double kn_mean_gain(double sum, double n)
{
    const double ROUNDING = 1e-12;
    return fabs(sum) < ROUNDING * n ? 0 : sum / n;
}
/* Returns means of the sums: divided by the number of scored cells, R2 by the number of
 * responses. */
kn_cv_summary kn_losses_summary(const double sum[KN_N_LOSSES], int folds);

/* Computes loss[i] = sum_j 1/2 (ln s2_ij + e_ij^2/s2_ij), s2_ij = noise_j + v_ij, of n
 * participants. e and v are n x count (v none: noise variance only); responses with noise 0 are
 * skipped. work: n doubles. */
void kn_sample_losses(kn_mat e, kn_mat v, const double *noise, double *work, double *loss);

#endif
