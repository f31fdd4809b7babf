/* p-values: the tail probability of a value in a reference sample, and the false discovery rate of
 * many p-values. A p-value is never smaller than the reference sample supports. */
#ifndef KN_STATS_P_VALUES_H
#define KN_STATS_P_VALUES_H

#include <stddef.h>

#include "base/context.h"
#include "stats/gev.h"

/* ---- tail probability ------------------------------------------------------------------------ */

/* Upper tail probability (p-value) of a statistic against the reference sample        [METHOD 8]
 *
 *     30 or more independent participants   p = 1 - F(value), F the fitted GEV distribution
 *     fewer, or no GEV                      p = (1 + #{reference >= value}) / (n + 1)
 *     p >= 1 / (2 (units + 1))              note `bound`: so few participants support no smaller p
 *     p < .02 from fewer than 80            note `rough`: the tail of the GEV is uncertain
 *
 * A training participant is not compared with itself: ranks are among the n - 1 others and the
 * bound is that of units - 1; the GEV, which includes the participant, is not refitted. At a site
 * that is not in the training sample, p >= 1/(S + 1): that site is one of S + 1 that are
 * exchangeable a priori, and its effect on a whole map cannot be separated from that of the
 * participant. */

/* Numbers of independent participants: the GEV is fitted from KN_GEV_FROM on, its p is `rough`
 * below KN_FINE_FROM, and below KN_LOG_MIN_P_BELOW the log states the smallest p. */
enum { KN_GEV_FROM = 30, KN_FINE_FROM = 80, KN_LOG_MIN_P_BELOW = 100 };

typedef enum kn_tail_p_note {
    KN_TAIL_P_PLAIN,
    KN_TAIL_P_BOUND,
    KN_TAIL_P_ROUGH,
    KN_TAIL_P_MISSING /* p is NaN because the participant lacks too many responses */
} kn_tail_p_note;

typedef struct kn_tail_p_reference {
    const double *sorted; /* n reference values, ascending, without NaN; borrowed */
    ptrdiff_t n;
    ptrdiff_t units; /* number of independent units: participants, or groups */
    bool has_gev;
    kn_gev gev;
} kn_tail_p_reference;

typedef struct kn_tail_p {
    double p; /* NaN if the value is NaN or the reference sample is empty */
    kn_tail_p_note note;
} kn_tail_p;

/* Returns the smallest p that a reference sample of so many units (participants or groups)
 * supports: 1/(2 (units + 1)). */
double kn_tail_p_min(ptrdiff_t units);
/* Returns the smallest p that a new participant can get with this reference sample. */
double kn_tail_p_smallest(const kn_tail_p_reference *reference);
/* Returns the smallest p of a participant at none of the S training sites: 1/(S + 1). */
double kn_tail_p_min_unseen(int S);

/* Returns the p-value of a value in the reference sample, by its GEV distribution or by rank,
 * with a note on its accuracy; member: it is one of the sorted values and is not compared with
 * itself. NaN for NaN. */
kn_tail_p kn_tail_p_of(const kn_tail_p_reference *reference, double value, bool member);
/* Raises p to `lowest`, with note `bound`, if it is below. */
kn_tail_p kn_tail_p_bounded(kn_tail_p r, double lowest);

/* Rank p-value (1 + #{ref >= value}) / (n + 1) among n reference values in ascending order; a
 * member is not compared with itself. NaN for NaN. */
double kn_rank_p(const double *sorted, ptrdiff_t n, double value, bool member);

/* ---- false discovery rate -------------------------------------------------------------------- */

/* False discovery rate of the z-map of one participant, Benjamini & Hochberg 1995 [METHOD 8d].
 *
 *     p_j = 2 Phi(-|z_j|),  m of them finite
 *     rejected: the k smallest, k the largest number with p_(k) <= k q/m
 *
 * k is the largest fixed point of k -> #{p <= k q/m}. Iteration from k = m decreases to it, and
 * each round looks only at the values that the previous one kept, so that the map need not be
 * sorted. O(T) with two or three erfc for every |z| above the normal quantile of q/2. */

#define KN_FDR_Q 0.05

typedef struct kn_fdr {
    ptrdiff_t n;                  /* finite z */
    ptrdiff_t negative, positive; /* rejected responses by the sign of z */
    double bar;                   /* threshold: |z| >= bar is rejected; INFINITY if none is */
} kn_fdr;

/* Returns threshold and numbers of rejections, negative and positive, at FDR level q of one map
 * z[T], in which missing cells are not finite; work: T doubles. */
kn_fdr kn_fdr_row(const float *z, ptrdiff_t T, double q, double *work);

/* Computes adjusted[n], the adjusted p-values of p[n] (Benjamini & Hochberg 1995): min over k >=
 * rank of p_(k) m/k, at most 1, over the m values that are not NaN. NaN stays NaN. The arrays
 * may be the same. O(n log n). */
kn_status kn_fdr_adjust(kn_ctx *ctx, ptrdiff_t n, const double *p, double *adjusted);

#endif
