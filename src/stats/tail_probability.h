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
#ifndef KN_STATS_TAIL_PROBABILITY_H
#define KN_STATS_TAIL_PROBABILITY_H

#include "stats/gev.h"

/* Numbers of independent participants: the GEV is fitted from KN_GEV_FROM on, its p is `rough`
 * below KN_FINE_FROM, and below KN_SAY_BELOW the log states the smallest p. */
enum { KN_GEV_FROM = 30, KN_FINE_FROM = 80, KN_SAY_BELOW = 100 };

typedef enum kn_tail_p_note { KN_TAIL_P_PLAIN, KN_TAIL_P_BOUND, KN_TAIL_P_ROUGH } kn_tail_p_note;

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

/* Smallest p that a reference sample of so many units supports: 1/(2 (units + 1)). */
double kn_tail_p_least(ptrdiff_t units);
/* Smallest p that a new participant can get with this reference sample. */
double kn_tail_p_smallest(const kn_tail_p_reference *law);
/* Smallest p of a participant at none of the S training sites: 1/(S + 1). */
double kn_tail_p_least_unseen(int S);

/* p-value of a value; member: it is one of the sorted values and is not compared with itself. */
kn_tail_p kn_tail_p_of(const kn_tail_p_reference *law, double value, bool member);
/* Raises p to `least`, with note `bound`, if it is below. */
kn_tail_p kn_tail_p_bounded(kn_tail_p r, double least);

/* Rank p-value (1 + #{ref >= value}) / (n + 1) among n reference values in ascending order; a
 * member is not compared with itself. NaN for NaN. */
double kn_rank_p(const double *sorted, ptrdiff_t n, double value, bool member);

#endif
