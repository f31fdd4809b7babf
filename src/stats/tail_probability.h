/* How rare a value is among those of the reference                                    [METHOD 8]
 *
 *     from 30 independent reference people on   p = 1 - F(value), F the extreme value law
 *     fewer, or no law                          p = (1 + #{reference >= value}) / (n + 1)
 *     p >= 1 / (2 (units + 1))                  no cohort of so many can tell of less: `bound`
 *     p < .02 of fewer than 80                  `rough`: the law's tail is not known so well
 *
 * A training sample is compared with the others: without its own value, n - 1. Of somebody at a
 * site that training did not have, p >= 1/(S + 1): its site is one of S + 1 that are alike
 * beforehand, and what it does to a whole map cannot be told from what the person is. */
#ifndef KN_STATS_TAIL_PROBABILITY_H
#define KN_STATS_TAIL_PROBABILITY_H

#include "stats/gev.h"

enum { KN_GEV_FROM = 30, KN_FINE_FROM = 80, KN_SAY_BELOW = 100 }; /* independent people */

typedef enum kn_tail_p_note { KN_TAIL_P_PLAIN, KN_TAIL_P_BOUND, KN_TAIL_P_ROUGH } kn_tail_p_note;

typedef struct kn_tail_p_reference {
    const double *sorted; /* n reference values, ascending; NaN are not among them */
    ptrdiff_t n;
    ptrdiff_t units; /* how many of them are independent: people, or groups */
    bool has_gev;
    kn_gev gev;
} kn_tail_p_reference;

typedef struct kn_tail_p {
    double p; /* NaN: no value, or nobody to compare with */
    kn_tail_p_note note;
} kn_tail_p;

double kn_tail_p_least(ptrdiff_t units);                   /* p below is not said */
double kn_tail_p_smallest(const kn_tail_p_reference *law); /* that somebody new can get */
double kn_tail_p_least_unseen(int S);                      /* of a person at none of the S sites */

/* member: the value is one of the sorted ones */
kn_tail_p kn_tail_p_of(const kn_tail_p_reference *law, double value, bool member);
kn_tail_p kn_tail_p_bounded(kn_tail_p r, double least); /* to what is not below */

/* (1 + #{ref >= value}) / (n + 1) among n reference values in ascending order, without the value
 * itself where it is a member; NaN for NaN. */
double kn_rank_p(const double *sorted, ptrdiff_t n, double value, bool member);

#endif
