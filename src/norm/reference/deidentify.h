/* De-identification of the reference sample: quantiles replace the values of single participants
 * [METHOD 8h]. Used by `kronorm export` and when such a model is read. */
#ifndef KN_NORM_REFERENCE_DEIDENTIFY_H
#define KN_NORM_REFERENCE_DEIDENTIFY_H

#include "norm/reference/reference.h"

/* a statistic of the reference sample */
typedef struct kn_reference_kind {
    const char *name; /* name of its array in the model file */
    bool whole;       /* its values are counts */
} kn_reference_kind;
/* In the order of the file, indexed by KN_REFERENCE_... */
extern const kn_reference_kind kn_reference_kinds[KN_REFERENCE_KINDS];

/* Address of the array with the r->n values of a statistic (KN_REFERENCE_...); it holds NULL if the
 * reference has none. */
double **kn_reference_values(kn_reference *r, int kind);

/* De-identify r in place. Quantiles replace the values of each statistic, which are then recomputed
 * from them in ascending order; mean_z loses its sign, which no p-value uses. Participant indices,
 * z maps and response sums are freed. KN_ERR_MEMORY. */
kn_status kn_reference_deidentify(kn_ctx *ctx, kn_reference *r);

/* Replace the r->n values of one statistic by values that its quantiles imply, ascending;
 * participants without a value get NaN, at the end. Allocates the array if it is NULL.
 * KN_ERR_MEMORY. */
kn_status kn_reference_spread(kn_ctx *ctx, kn_reference *r, int kind);

#endif
