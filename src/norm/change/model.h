/* What a change between two visits is compared with [METHOD 8g].
 *
 *     d = r2 - r1                     r: residual of a visit, standardised, of each response j
 *     difference, gamma = 0           q_j = mean d^2/noise_j,                         df_j = n_j
 *     conditional                     x = r1 - mean r1 of the people of the reference
 *         gamma = sum_ij x (d - mean d)/noise_j / sum_ij x^2/noise_j, held to [-1, 0]
 *         q_j   = sum_i (d - gamma x)^2 / ((n_j - 1/2) noise_j),                      df_j = n_j -
 * 1 d0, s0 of a scaled inverse chi-square over responses (Smyth 2004): with e_j = ln q_j -
 * psi(df_j/2) + ln(df_j/2) psi'(d0/2) = var_j e_j - mean_j psi'(df_j/2)     (not above 0: d0
 * infinite, s0 = exp mean e) s0 = exp(mean e + psi(d0/2) - ln(d0/2)) moderated  q_j <- (d0 s0 +
 * df_j q_j)/(d0 + df_j) t = (d - gamma x)/sqrt(noise_j q_j (1 + gamma^2/n_j)),   z = Student's t of
 * d0 + df_j to normal
 *
 * A person with k pairs has weight 1/k in each: n_j counts people. All comes from six sums a
 * response, so that a person leaves them again in O(T). Rows are T doubles, NaN where a visit has
 * no value. */
#ifndef KN_NORM_CHANGE_MODEL_H
#define KN_NORM_CHANGE_MODEL_H

#include "base/matrix.h"
#include "stats/student_t.h"

enum {
    KN_CHANGE_LEAST = 5,      /* people, and of each response those who have it at both visits */
    KN_CHANGE_CONDITIONAL = 8 /* people from whom on gamma is estimated */
};

typedef struct kn_change_sums {
    kn_mat of; /* T x 6, sums of w, w r1, w d, w r1^2, w r1 d, w d^2 */
} kn_change_sums;

kn_status kn_change_sums_new(kn_ctx *ctx, ptrdiff_t T, kn_change_sums *out);
void kn_change_sums_clear(kn_change_sums *s); /* {0} is fine */
/* A pair with weight w; a negative one takes it out again. */
void kn_change_sums_add(kn_change_sums *s, const double *r1, const double *r2, double w);

typedef struct kn_change_distribution {
    ptrdiff_t T; /* 0: there is none */
    bool conditional;
    double gamma;
    double d0,
        s0;     /* d0: infinite where all responses have one variance; NaN s0: nothing is known */
    double *q;  /* T  moderated; 0: too few people, or no change at all: no z */
    double *m1; /* T  mean r1 */
    double *n;  /* T  people */
    kn_student_map
        *map; /* of the degrees of freedom that most responses have; NULL: not worth it */
    double map_df;
} kn_change_distribution;

/* least: n_j of a response. The law is all zero where nothing can be said. */
kn_status kn_change_fit(kn_ctx *ctx, const kn_change_sums *s, const double *noise, bool conditional,
                        double least, kn_change_distribution *out);
void kn_change_distribution_clear(kn_change_distribution *law); /* {0} is fine */
/* Of a law whose arrays were read: the map. */
kn_status kn_change_prepare(kn_ctx *ctx, kn_change_distribution *law);

double kn_change_df(const kn_change_distribution *law,
                    ptrdiff_t j); /* d0 + df_j, may be infinite */

/* z (T) of a pair; NaN where a visit has no value or the law says nothing. */
void kn_change_z(const kn_change_distribution *law, const double *noise, const double *r1,
                 const double *r2, double *z);

#endif
