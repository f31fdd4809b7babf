/* Distribution of the change between two visits in stable participants [METHOD 8g].
 *
 *     d = r2 - r1                     r: residual of a visit, standardised, of each response j
 *     difference, gamma = 0           q_j = mean d^2/noise_j,                   df_j = n_j
 *     conditional                     x = r1 - mean r1 of the participants of the reference
 *         gamma = sum_ij x (d - mean d)/noise_j / sum_ij x^2/noise_j, clamped to [-1, 0]
 *         q_j   = sum_i (d - gamma x)^2 / ((n_j - 1/2) noise_j),                df_j = n_j - 1
 *     d0, s0 of a scaled inverse chi-square over responses (Smyth 2004):
 *         e_j = ln q_j - psi(df_j/2) + ln(df_j/2)
 *         psi'(d0/2) = var_j e_j - mean_j psi'(df_j/2)
 *         s0 = exp(mean e + psi(d0/2) - ln(d0/2))
 *         if psi'(d0/2) is not above 0: d0 infinite, s0 = exp mean e
 *     moderated  q_j <- (d0 s0 + df_j q_j)/(d0 + df_j)
 *     t = (d - gamma x)/sqrt(noise_j q_j (1 + gamma^2/n_j))
 *     z = Student's t of d0 + df_j to normal
 *
 * A participant with k pairs has weight 1/k in each, so n_j counts participants. Everything
 * follows from six sums per response, so that a participant is removed from them in O(T). Rows
 * are T doubles, NaN where a visit has no value. */
#ifndef KN_NORM_CHANGE_CHANGE_DISTRIBUTION_H
#define KN_NORM_CHANGE_CHANGE_DISTRIBUTION_H

#include "base/matrix.h"
#include "stats/student_t.h"

enum {
    KN_CHANGE_MIN = 5,        /* fewest participants, and fewest with both visits of a response */
    KN_CHANGE_CONDITIONAL = 8 /* fewest participants for which gamma is estimated */
};

typedef struct kn_change_sums {
    kn_mat of; /* T x 6, sums of w, w r1, w d, w r1^2, w r1 d, w d^2 */
} kn_change_sums;

/* Allocate empty sums over pairs of visits for T responses; release them with
 * kn_change_sums_clear(). */
kn_status kn_change_sums_new(kn_ctx *ctx, ptrdiff_t T, kn_change_sums *out);
void kn_change_sums_clear(kn_change_sums *s); /* {0} is allowed */

/* Add a pair of visits with standardised residuals r1 and r2 (T each; NaN: missing) with weight w;
 * a negative weight removes it. */
void kn_change_sums_add(kn_change_sums *s, const double *r1, const double *r2, double w);

typedef struct kn_change_distribution {
    ptrdiff_t T;      /* 0: no distribution */
    bool conditional; /* gamma is estimated */
    double gamma;     /* regression to the mean, -1 to 0 */
    /* d0: infinite if all responses have one variance; s0: NaN if nothing is known */
    double d0, s0;
    /* T: moderated q_j; 0: too few participants, or no change at all: no z */
    double *q;
    double *m1; /* T: mean r1 */
    double *n;  /* T: participants, n_j */
    /* table for map_df, the largest degrees of freedom (of most responses); NULL: not worth it */
    kn_student_map *map;
    double map_df;
} kn_change_distribution;

/* Fit the distribution to the sums s of all pairs. noise: T, standardised. min_n: fewest
 * participants n_j of a response. Responses without a usable q_j have q = 0. out is owned by the
 * caller, empty on failure. */
kn_status kn_change_fit(kn_ctx *ctx, const kn_change_sums *s, const double *noise, bool conditional,
                        double min_n, kn_change_distribution *out);
void kn_change_distribution_clear(kn_change_distribution *distribution); /* {0} is allowed */

/* Make `map`, the table of the Student step, for a distribution whose arrays were read from a file.
 * KN_ERR_MEMORY. */
kn_status kn_change_prepare(kn_ctx *ctx, kn_change_distribution *distribution);

/* Degrees of freedom of the change of response j, prior included; may be infinite. */
double kn_change_df(const kn_change_distribution *distribution, ptrdiff_t j);

/* z (T) of a pair of visits with standardised residuals r1 and r2 (T); NaN where a visit has no
 * value or q_j is 0. Cannot fail. */
void kn_change_z(const kn_change_distribution *distribution, const double *noise, const double *r1,
                 const double *r2, double *z);

#endif
