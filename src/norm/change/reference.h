/* The people whose changes are normal: the law of z, and their own values to rank others among
 * [METHOD 8g].
 *
 *     of a pair:  statistic    trimmed mean of the 5 % largest |z|, as top.h
 *                 mean_z, negative, positive    as burden.h
 *                 deviance     mean_j z_j^2
 *     p = (1 + #{reference value >= value})/(n + 1), of mean_z by |mean_z|; at least as rarity.h
 * has it
 *
 * The z of the reference's own pairs are made without anything of that person: nobody is compared
 * with themselves. Values are sorted each on its own: no row of them is a person. */
#ifndef KN_NORM_CHANGE_REFERENCE_H
#define KN_NORM_CHANGE_REFERENCE_H

#include "norm/change/model.h"

typedef enum kn_change_value {
    KN_CHANGE_STATISTIC,
    KN_CHANGE_MEAN_Z,
    KN_CHANGE_NEGATIVE,
    KN_CHANGE_POSITIVE,
    KN_CHANGE_DEVIANCE,
    KN_CHANGE_VALUES
} kn_change_value;

extern const char *const kn_change_value_name[KN_CHANGE_VALUES];

/* Pairs of visits: rows of R, which has T floats a row. */
typedef struct kn_change_pairs {
    const float *R;
    ptrdiff_t T, n;
    const ptrdiff_t *first, *second; /* n  rows of R */
    const ptrdiff_t *person;         /* n  0 ..; pairs of one person lie together */
    const bool *apart; /* n  compared, but no part of the reference, such as a whole course beside
                        * its steps; not all of a person's. NULL: none */
} kn_change_pairs;

typedef struct kn_change_sink { /* takes the z of pair i, in order; T floats, lent */
    void *self;
    kn_status (*take)(void *self, kn_ctx *ctx, ptrdiff_t i, const float *z);
} kn_change_sink;

typedef struct kn_change_reference {
    kn_change_distribution law; /* T = 0: there is no reference */
    ptrdiff_t people, pairs;    /* it was made of */
    ptrdiff_t
        unknown; /* of these pairs, whose first visit was at a site that the model did not know */
    double threshold, top;            /* of counts and statistic */
    double *sorted[KN_CHANGE_VALUES]; /* ascending, of mean_z |mean_z| */
    ptrdiff_t n[KN_CHANGE_VALUES];    /* finite ones */
    double interval[2];               /* least and largest; NaN: not known */
    char *interval_name;              /* the column; NULL: not known */
} kn_change_reference;

void kn_change_reference_clear(kn_change_reference *r); /* {0} is fine */

/* z: T floats, NaN where missing; work: T doubles. How many are finite. */
ptrdiff_t kn_change_describe(const float *z, ptrdiff_t T, const kn_change_reference *r,
                             double *work, double value[KN_CHANGE_VALUES]);

/* Law and ranks; threshold and top are set. value (pairs->n x KN_CHANGE_VALUES), and z to the sink
 * (or NULL), of each pair without its person. A fit for each person, O(pairs T) in all but those.
 */
kn_status kn_change_reference_make(kn_ctx *ctx, const kn_change_pairs *pairs, const double *noise,
                                   kn_mat value, const kn_change_sink *sink,
                                   kn_change_reference *r);

/* The z of a pair of rows, as floats; work: 3 T doubles. */
void kn_change_pair_z(const kn_change_distribution *law, const double *noise, const float *r1,
                      const float *r2, double *work, float *z);

/* The least that a new person's can be. */
double kn_change_smallest_p(const kn_change_reference *r, kn_change_value which);

/* In place: values become quantiles, spread out again, as many as there were [METHOD 8h]. */
kn_status kn_change_reference_share(kn_ctx *ctx, kn_change_reference *r);

/* own: n_own values of the same person that are among the reference's; NULL: a new person. */
double kn_change_p(const kn_change_reference *r, kn_change_value which, double value,
                   const double *own, ptrdiff_t n_own);

#endif
