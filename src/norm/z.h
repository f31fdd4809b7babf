/* The normative probability map, a z-score per sample and response [METHOD 8]. */
#ifndef KN_NORM_Z_H
#define KN_NORM_Z_H

#include "base/mat.h"

/* z_ij = (y_ij - mean_ij) / sqrt(v_ij + noise_j), all N* x count; z may be y itself.
 * v = kn_mat_none(): noise alone in the denominator (the z of deviance_noise, METHOD 8b).
 * z is NaN, and only there, where y is missing (not finite), where the response was left out
 * (mean, v or noise NaN), or where the variance is not positive. */
void kn_npm(kn_mat y, kn_mat mean, kn_mat v, const double *noise, kn_mat z);

/* Both at once, in place: z with v in y, z without v in mean. */
void kn_npm_both(kn_mat y, kn_mat mean, kn_mat v, const double *noise);

#endif
