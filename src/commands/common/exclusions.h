/* Participants of the input files that a command excludes, each with the reason.
 * scored_participants.tsv and summary.json list them. */
#ifndef KN_COMMANDS_COMMON_EXCLUSIONS_H
#define KN_COMMANDS_COMMON_EXCLUSIONS_H

#include <jansson.h>

#include "data/sample.h"

/* One excluded row. */
typedef struct kn_exclusion {
    char *id, *why; /* owned; why: "no image", "missing age, sex", "another session" */
    ptrdiff_t row;  /* row of the covariate table; -1: the id is in the responses only */
} kn_exclusion;

typedef struct kn_exclusions {
    ptrdiff_t n, capacity;
    kn_exclusion *absent; /* n entries: covariate rows in table order, then response ids */
} kn_exclusions;

/* Lists the rows of `data` that are not in `participants`, and response ids without covariates.
 * `participants` must have been made from these data with this encoding. Free with
 * kn_exclusions_clear. */
kn_status kn_exclusions_new(kn_ctx *ctx, const kn_data *data, const kn_encoding *encoding,
                            const kn_sample *participants, kn_exclusions *out);
void kn_exclusions_clear(kn_exclusions *a); /* accepts {0} */

/* New JSON object {reason: number of participants}, owned by the caller; NULL: out of memory. */
json_t *kn_exclusions_json(const kn_exclusions *a);

/* Name of a participant without id: "row-0001" for row 0 of the covariate table. */
enum { KN_ROW_NAME = 32 };

/* out = name of a participant without id: "row-0001" for row 0 of the covariate table. */
void kn_row_name(ptrdiff_t row, char out[KN_ROW_NAME]);

#endif
