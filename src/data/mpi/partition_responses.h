/* Block distribution of responses over MPI ranks, and all-gather of per-response results.
 *
 * With b = ceil(T_all / KN_BLOCK) blocks in the numbering of the mask, rank r of R processes
 * blocks b r/R .. b (r+1)/R - 1: whole blocks for any R, and none if there are more ranks than
 * blocks. The numbering is that of the mask and not of the responses in use, so that excluding a
 * response does not move the boundaries.
 *
 * Every rank holds per-response results completely; it computes its own part, and
 * kn_allgather_responses adds the others.
 *
 *     cost: R broadcasts, together of the whole */
#ifndef KN_DATA_MPI_PARTITION_RESPONSES_H
#define KN_DATA_MPI_PARTITION_RESPONSES_H

#include "base/matrix.h"
#include "data/responses/responses.h"

typedef struct kn_range {
    ptrdiff_t first, last; /* among the responses in use; last is exclusive */
} kn_range;

/* Returns the first response in the range `among` whose number in the mask is at least `limit`;
 * among.last if there is none. Y->scaling NULL: all responses are in use. */
ptrdiff_t kn_first_from(const kn_responses *Y, kn_range among, ptrdiff_t limit);

/* Returns the responses in use of a rank; all of them if ranks is 1. */
kn_range kn_response_range_of(const kn_responses *Y, int rank, int ranks);
/* Returns the responses in use of this rank. */
kn_range kn_response_range(const kn_ctx *ctx, const kn_responses *Y);

/* Returns the participants of a rank, for work that is distributed by participants: n r/R .. n
 * (r+1)/R - 1. */
kn_range kn_sample_range_of(ptrdiff_t n, int rank, int ranks);

/* `vectors` arrays, `stride` bytes apart, with `bytes` bytes for each response. */
typedef struct kn_of_responses {
    void *data;
    ptrdiff_t vectors, stride, bytes;
} kn_of_responses;

/* All-gather: every rank's part of x to all others. Does nothing if x.data is NULL. Collective. */
kn_status kn_allgather_responses(kn_ctx *ctx, const kn_responses *Y, kn_of_responses x);

/* The same for T numbers. Collective. */
kn_status kn_allgather_responses_d(kn_ctx *ctx, const kn_responses *Y, double *x);
/* The same for a matrix with a row per response. Collective. */
kn_status kn_allgather_response_rows(kn_ctx *ctx, const kn_responses *Y, kn_mat x);
/* The same for a matrix with a column per response. Collective. */
kn_status kn_allgather_response_cols(kn_ctx *ctx, const kn_responses *Y, kn_mat x);

/* For each of n places, the value with the largest |value| over all ranks; of equal ones that of
 * the lowest rank. Collective. */
kn_status kn_allreduce_largest(kn_ctx *ctx, double *top, ptrdiff_t n);

#endif
