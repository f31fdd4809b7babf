/* What a held-out response says: z, its log loss, whether it was covered            [METHOD 8]
 *
 *     e = y - mean     s2 = v + noise     z = e / sqrt(s2)
 *     loss = 1/2 (ln s2 + e^2/s2)         the negative log density less ln(2 pi)/2
 *     standardised loss = loss - that of the trivial model, N(mean0, var0) of training
 *     covered at 95 %: z^2 <= 1.96^2
 *
 * Everything that is said of predictions is made here, in one system of units: those in which the
 * responses were fitted, mean 0 and sd 1 unless asked otherwise. */
#ifndef KN_GP_ZSCORE_H
#define KN_GP_ZSCORE_H

#include <math.h>

#include "base/matrix.h"
#include "gp/fit_info.h"

/* z_ij = (y_ij - mean_ij) / sqrt(v_ij + noise_j), all N* x count; z may be y itself.
 * v = kn_mat_none(): noise alone in the denominator (the z of deviance_noise, METHOD 8b).
 * z is NaN, and only there, where y is missing (not finite), where the response was left out
 * (mean, v or noise NaN), or where the variance is not positive. */
void kn_npm(kn_mat y, kn_mat mean, kn_mat v, const double *noise, kn_mat z);

static inline double kn_z2(double e, double s2)
{
    return e * e / s2;
}

/* |z| at which 50, 90, 95 and 99 % of a standard normal are covered */
enum { KN_COVERAGES = 4, KN_COVERAGE95 = 2 };
extern const double kn_coverage_z[KN_COVERAGES];

static inline bool kn_covered(double z2, int level)
{
    return z2 <= kn_coverage_z[level] * kn_coverage_z[level];
}

/* Of one response over n samples: sums of z^2, of the standardised loss, of those covered at 95 %.
 */
typedef struct kn_losses {
    double n, z2, loss, covered;
} kn_losses;
enum { KN_N_LOSSES = sizeof(kn_losses) / sizeof(double) };
typedef struct kn_null_model {
    double mean, var;
} kn_null_model;
/* From each sample's z and loss; who has no z does not count. */
kn_losses kn_losses_of(ptrdiff_t n, const double *y, const double *z, const double *loss,
                       kn_null_model trivial);
void kn_losses_add(double sum[KN_N_LOSSES], const kn_losses *some); /* in their order */
kn_cv_summary kn_losses_summary(const double sum[KN_N_LOSSES], int folds);

/* loss[i] = sum_j of sample i's losses, e and v n x count (v none: noise alone); responses whose
 * noise is 0 are passed over. work: n. */
void kn_sample_losses(kn_mat e, kn_mat v, const double *noise, double *work, double *loss);

#endif
