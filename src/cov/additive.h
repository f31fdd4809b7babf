/* The additive sum of terms over a design of covariates                             [METHOD 1b]
 *
 *     R0 = w_lin XX'/Fc + w_quad QQ'/Fq + w_se SE(l) + sum_m w_m [same level of category m]
 *          + slopes of each level's own, where asked for
 *
 * absent ones left out. Every term's diagonal averages 1 over training, so weights are shares of
 * the signal's variance. */
#ifndef KN_COV_ADDITIVE_H
#define KN_COV_ADDITIVE_H

#include "cov/terms.h"
#include "data/covariates/design.h"

/* What it has of F columns whatever they are: linear and se. */
kn_status kn_cov_before_design(kn_ctx *ctx, ptrdiff_t F, kn_cov *out);

kn_status kn_cov_of_design(kn_ctx *ctx, const kn_design *design, kn_cov *out);

/* "linear", "curved", "smooth", or the raw column of a category, -1 without one; of a slope both.
 */
typedef struct kn_term_origin {
    const char *what; /* NULL: of no design */
    ptrdiff_t column, second;
} kn_term_origin;
kn_term_origin kn_cov_origin(const kn_cov *cov, const kn_design *design, int k);

#endif
