/* Who was in the files and takes no part, and why. */
#ifndef KN_COMMANDS_COMMON_EXCLUSIONS_H
#define KN_COMMANDS_COMMON_EXCLUSIONS_H

#include <jansson.h>

#include "data/sample.h"

typedef struct kn_exclusion {
    char *id, *why; /* "no image", "missing age, sex", "another session" */
    ptrdiff_t row;  /* of the covariates; -1: only the responses have this id */
} kn_exclusion;

typedef struct kn_exclusions {
    ptrdiff_t n, capacity;
    kn_exclusion *absent; /* n: rows of the covariates in their order, then ids of the responses */
} kn_exclusions;

/* By what `people`, made of these data with this recipe, left. */
kn_status kn_exclusions_new(kn_ctx *ctx, const kn_data *data, const kn_encoding *recipe,
                            const kn_sample *people, kn_exclusions *out);
void kn_exclusions_clear(kn_exclusions *a); /* {0} is fine */

json_t *kn_exclusions_json(const kn_exclusions *a); /* {why: how many}; NULL: out of memory */

/* What a person without an id is called, by the row of the covariates. */
enum { KN_ROW_NAME = 32 };
void kn_row_name(ptrdiff_t row, char out[KN_ROW_NAME]);

#endif
