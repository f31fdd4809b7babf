/* Selects job part i of n of a list of participants: the i-th and every n-th after it (--part
 * i/n). */
#ifndef KN_DATA_TABLE_JOB_PART_H
#define KN_DATA_TABLE_JOB_PART_H

#include "base/context.h"

typedef struct kn_job_part {
    ptrdiff_t i, n; /* i from 1; n 0: no parts, all participants */
} kn_job_part;

enum { KN_PARTS_MOST = 100000 };

/* Parses "3/10"; NULL: no parts. KN_ERR_ARGUMENT for anything else. */
kn_status kn_job_part_parse(kn_ctx *ctx, const char *text, kn_job_part *out);

/* Returns the number of participants in the part, of n_people. */
ptrdiff_t kn_job_part_size(kn_job_part p, ptrdiff_t n_people);
/* Returns the index in the whole list of participant k of the part. */
static inline ptrdiff_t kn_job_part_participant(kn_job_part p, ptrdiff_t k)
{
    return p.n > 0 ? p.i - 1 + k * p.n : k;
}

#endif
