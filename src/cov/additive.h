/* Builds the default covariance R0 of the additive model from a design          [METHOD 1b]
 *
 *     R0 = w_lin XX'/Fc + w_quad QQ'/Fq + w_se SE(l) + sum_m w_m [same level of category m]
 *          + slopes per level, one term for each requested interaction
 *
 * Terms whose columns the design lacks are absent. The diagonal of every term averages 1 over the
 * training sample, so the weights are shares of the signal variance. commands/fit/fit_arrays.c is
 * the caller. */
#ifndef KN_COV_ADDITIVE_H
#define KN_COV_ADDITIVE_H

#include "cov/kernel_sum.h"
#include "data/covariates/design.h"

/* Sets *out to the terms that any additive design of F columns has, linear and se, for checks
 * before the data are read. */
kn_status kn_cov_before_design(kn_ctx *ctx, ptrdiff_t F, kn_cov *out);

/* Sets *out to the covariance of the additive model: one term per block of the design, in the
 * order linear, square, se, then categories and interactions. KN_ERR_DATA if the design has more
 * than KN_COV_TERMS - 1 blocks. */
kn_status kn_cov_of_design(kn_ctx *ctx, const kn_design *design, kn_cov *out);

/* Where a term comes from, for messages. */
typedef struct kn_term_origin {
    const char *what; /* "linear", "quadratic", "smooth" (se), "category" or "slope"; NULL: no
                         block of the design has this term */
    /* Raw columns of the covariates: the category, and the numeric column of a slope; -1: none. */
    ptrdiff_t column, second;
} kn_term_origin;
/* Returns the origin of term k of cov in the design it was made of: its word ("linear",
 * "smooth", ...) and the covariates (-1: none). */
kn_term_origin kn_cov_origin(const kn_cov *cov, const kn_design *design, int k);

#endif
