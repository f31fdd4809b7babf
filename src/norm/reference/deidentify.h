/* A reference that knows nobody: quantiles instead of people's values                 [METHOD 8h]
 */
#ifndef KN_NORM_REFERENCE_DEIDENTIFY_H
#define KN_NORM_REFERENCE_DEIDENTIFY_H

#include "norm/reference/reference.h"

typedef struct kn_reference_kind { /* of value, in the order of the file */
    const char *name;              /* of its array */
    bool whole;                    /* counts */
} kn_reference_kind;
extern const kn_reference_kind kn_reference_kinds[KN_REFERENCE_KINDS];

/* Where the n values are; NULL there: the reference has none. */
double **kn_reference_values(kn_reference *r, int kind);

/* In place: values become quantiles, spread out again; of mean_z without its sign, which no p sees;
 * who they were, their z and sums of responses are forgotten. */
kn_status kn_reference_share(kn_ctx *ctx, kn_reference *r);

/* The values of one kind from its quantiles, r->n of them: those whom it is not known of are NaN.
 */
kn_status kn_reference_spread(kn_ctx *ctx, kn_reference *r, int kind);

#endif
