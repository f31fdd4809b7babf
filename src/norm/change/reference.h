/* Reference for change between visits: the distribution of z in stable participants, and the
 * sorted statistics of their pairs, from which p-values of other pairs follow [METHOD 8g].
 *
 *     of a pair:  extreme_z    trimmed mean of the 5 % largest |z|, as extreme_statistic.h
 *                 mean_z, n_low, n_high    as burden.h
 *                 mean_z2      mean_j z_j^2
 *     p = (1 + #{reference value >= value})/(n + 1), of mean_z by |mean_z|; at least as
 *         stats/p_values.h has it
 *
 * The z of the reference's own pairs come from a distribution without all pairs of that
 * participant, so no participant is compared with itself. Each statistic is sorted by itself, so
 * that no row of values belongs to one participant. */
#ifndef KN_NORM_CHANGE_REFERENCE_H
#define KN_NORM_CHANGE_REFERENCE_H

#include "norm/change/change_distribution.h"

typedef enum kn_change_value {
    KN_CHANGE_EXTREME_Z,
    KN_CHANGE_MEAN_Z,
    KN_CHANGE_N_LOW,
    KN_CHANGE_N_HIGH,
    KN_CHANGE_MEAN_Z2,
    KN_CHANGE_VALUES
} kn_change_value;

#define KN_CHANGE_FLAG KN_CHANGE_MEAN_Z2 /* its p is KN_FLAG_CHANGE_COLUMN (stats/flag.h) */

/* Names of the statistics in change.tsv, and after "change_" in the model file. */
extern const char *const kn_change_column[KN_CHANGE_VALUES];

/* Pairs of visits: two rows of R, which has T floats per row (standardised residuals). */
typedef struct kn_change_pairs {
    const float *R;
    ptrdiff_t T, n;
    const ptrdiff_t *first, *second; /* n: rows of R */
    const ptrdiff_t *participant;    /* n: 0 ..; pairs of one participant are contiguous */
    /* n: true if the pair is scored but is no part of the reference, such as a whole course
     * beside its steps; not true for all pairs of a participant. NULL: none */
    const bool *excluded;
} kn_change_pairs;

typedef struct kn_change_sink { /* receives the z of pair i, in order; T floats, borrowed */
    void *self;
    kn_status (*take)(void *self, kn_ctx *ctx, ptrdiff_t i, const float *z);
} kn_change_sink;

typedef struct kn_change_reference {
    kn_change_distribution distribution; /* T = 0: no reference */
    ptrdiff_t participants, pairs;       /* number in the reference */
    /* pairs whose first visit was at a site that the model did not know */
    ptrdiff_t unknown;
    double threshold, top;            /* |z| limit of the counts, fraction of the statistic */
    double *sorted[KN_CHANGE_VALUES]; /* ascending; of mean_z the absolute value */
    ptrdiff_t n[KN_CHANGE_VALUES];    /* number of finite values */
    double interval[2];               /* smallest and largest time between visits; NaN: not known */
    char *interval_name;              /* column of the interval; NULL: not known */
} kn_change_reference;

/* Free the arrays; {0} is allowed. */
void kn_change_reference_clear(kn_change_reference *r);

/* Statistics of the change of one pair of visits from its z (T floats; NaN: missing): extreme z,
 * mean, counts and mean square. work: T doubles; of r only threshold and top are used. Returns the
 * number of finite z. */
ptrdiff_t kn_change_describe(const float *z, ptrdiff_t T, const kn_change_reference *r,
                             double *work, double value[KN_CHANGE_VALUES]);

/* Fit the reference for change to pairs of visits of stable participants; r->threshold and r->top
 * must be set. noise: T, standardised. Each pair is scored under a fit without its participant:
 * value (n x KN_CHANGE_VALUES), and z to the sink (may be NULL). One fit per participant. Can be
 * cancelled. */
kn_status kn_change_reference_make(kn_ctx *ctx, const kn_change_pairs *pairs, const double *noise,
                                   kn_mat value, const kn_change_sink *sink,
                                   kn_change_reference *r);

/* z (T floats) of a pair of visits with standardised residuals r1 and r2 (T floats each); work: 3 T
 * doubles. NaN where a visit has no value. */
void kn_change_pair_z(const kn_change_distribution *distribution, const double *noise,
                      const float *r1, const float *r2, double *work, float *z);

/* Smallest p-value of one statistic that a new participant can get, from the number of reference
 * participants. */
double kn_change_smallest_p(const kn_change_reference *r, kn_change_value which);

/* De-identify in place: the values of each statistic are recomputed from their quantiles, as many
 * as before [METHOD 8h]. KN_ERR_MEMORY. */
kn_status kn_change_reference_deidentify(kn_ctx *ctx, kn_change_reference *r);

/* p-value of one statistic of a pair, by its rank in the reference. own: the n_own values of the
 * same participant among the reference's, which are left out; NULL: a new participant. NaN if value
 * is not finite or no other pair is left. */
double kn_change_p(const kn_change_reference *r, kn_change_value which, double value,
                   const double *own, ptrdiff_t n_own);

#endif
