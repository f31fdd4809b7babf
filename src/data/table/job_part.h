/* Part i of n of the people of a list: the i-th, and every n-th after it. */
#ifndef KN_DATA_TABLE_JOB_PART_H
#define KN_DATA_TABLE_JOB_PART_H

#include "base/context.h"

typedef struct kn_job_part {
    ptrdiff_t i, n; /* from 1; n 0: all people, and no part of them */
} kn_job_part;

enum { KN_PARTS_MOST = 100000 };

/* "3/10", or NULL: all. */
kn_status kn_job_part_parse(kn_ctx *ctx, const char *text, kn_job_part *out);

/* Of n_people; and which of them the k-th of the part is. */
ptrdiff_t kn_job_part_size(kn_job_part p, ptrdiff_t n_people);
static inline ptrdiff_t kn_job_part_participant(kn_job_part p, ptrdiff_t k)
{
    return p.n > 0 ? p.i - 1 + k * p.n : k;
}

#endif
