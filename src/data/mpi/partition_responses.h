/* Responses dealt to ranks, and what was made of them known to all.
 *
 * With b = ceil(T_all / KN_BLOCK) blocks of the caller's numbering, the mask's, rank r of R walks
 * over blocks b r/R .. b (r+1)/R - 1: whole ones, whatever R is, and none where ranks are more than
 * blocks. By the mask and not by the responses in use, so that one left out shifts no cut.
 *
 * What has a part for every response is held whole by every rank; a walk fills in the rank's own
 * part, and kn_allgather_responses the others'.
 *
 *     cost: R broadcasts, together of the whole */
#ifndef KN_DATA_MPI_PARTITION_RESPONSES_H
#define KN_DATA_MPI_PARTITION_RESPONSES_H

#include "base/matrix.h"
#include "data/responses/responses.h"

typedef struct kn_range {
    ptrdiff_t first, last; /* among the responses in use; last is not in it */
} kn_range;

/* Of these responses, the first at or beyond `limit` of the caller's numbering; if there is none,
 * among.last. */
ptrdiff_t kn_first_from(const kn_responses *Y, kn_range among, ptrdiff_t limit);

kn_range kn_response_range_of(const kn_responses *Y, int rank, int ranks);
kn_range kn_response_range(const kn_ctx *ctx, const kn_responses *Y); /* to this rank */

/* The same of n people, for what goes by people: n r/R .. n (r+1)/R - 1. */
kn_range kn_sample_range_of(ptrdiff_t n, int rank, int ranks);

/* Some vectors, `stride` bytes apart, of `bytes` bytes for each response. */
typedef struct kn_of_responses {
    void *data;
    ptrdiff_t vectors, stride, bytes;
} kn_of_responses;

/* Every rank's own part of x to all others. Collective. */
kn_status kn_allgather_responses(kn_ctx *ctx, const kn_responses *Y, kn_of_responses x);

/* The same of T numbers; of a matrix with a row, or a column, for each response. Nothing of one
 * without data. Collective. */
kn_status kn_allgather_responses_d(kn_ctx *ctx, const kn_responses *Y, double *x);
kn_status kn_allgather_response_rows(kn_ctx *ctx, const kn_responses *Y, kn_mat x);
kn_status kn_allgather_response_cols(kn_ctx *ctx, const kn_responses *Y, kn_mat x);

/* top[n] = in each place that of all ranks' which is largest in size, of equals the lowest rank's.
 * Collective. */
kn_status kn_allreduce_largest(kn_ctx *ctx, double *top, ptrdiff_t n);

#endif
