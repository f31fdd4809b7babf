/* Who was in the files and takes no part, and why. */
#ifndef KN_COMMANDS_COMMON_EXCLUSIONS_H
#define KN_COMMANDS_COMMON_EXCLUSIONS_H

#include <jansson.h>

#include "data/sample.h"

typedef struct kn_absent {
    char *id, *why; /* "no image", "missing age, sex", "another session" */
    ptrdiff_t row;  /* of the covariates; -1: only the responses have this id */
} kn_absent;

typedef struct kn_attendance {
    ptrdiff_t n, capacity;
    kn_absent *absent; /* n: rows of the covariates in their order, then ids of the responses */
} kn_attendance;

/* By what `people`, made of these data with this recipe, left. */
kn_status kn_attendance_new(kn_ctx *ctx, const kn_data *data, const kn_recipe *recipe,
                            const kn_people *people, kn_attendance *out);
void kn_attendance_clear(kn_attendance *a); /* {0} is fine */

json_t *kn_attendance_json(const kn_attendance *a); /* {why: how many}; NULL: out of memory */

/* What a person without an id is called, by the row of the covariates. */
enum { KN_ROW_NAME = 32 };
void kn_row_name(ptrdiff_t row, char out[KN_ROW_NAME]);

#endif
