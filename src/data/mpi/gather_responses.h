/* All-gather and reduction of per-response results over MPI ranks.
 *
 * Every rank holds per-response results completely; it computes them for its own responses
 * (kn_response_range), and kn_allgather_responses adds those of the other ranks.
 *
 *     cost: R broadcasts, together of the whole */
#ifndef KN_DATA_MPI_GATHER_RESPONSES_H
#define KN_DATA_MPI_GATHER_RESPONSES_H

#include "data/responses/responses.h"

/* `vectors` arrays, `stride` bytes apart, with `bytes` bytes for each response. */
typedef struct kn_of_responses {
    void *data;
    ptrdiff_t vectors, stride, bytes;
} kn_of_responses;

/* All-gather: every rank sends its own responses (kn_response_range) of the arrays x to all others,
 * so that all have them completely. Does nothing if x.data is NULL. Collective. */
kn_status kn_allgather_responses(kn_ctx *ctx, const kn_responses *Y, kn_of_responses x);

/* All-gather of x, one double per response (Y->T), as kn_allgather_responses. Collective. */
kn_status kn_allgather_responses_d(kn_ctx *ctx, const kn_responses *Y, double *x);
/* All-gather of matrix x with one row per response (T x k), as kn_allgather_responses. Collective.
 */
kn_status kn_allgather_response_rows(kn_ctx *ctx, const kn_responses *Y, kn_mat x);
/* All-gather of matrix x with one column per response (k x T), as kn_allgather_responses.
 * Collective. */
kn_status kn_allgather_response_cols(kn_ctx *ctx, const kn_responses *Y, kn_mat x);

/* Replaces top[i], i < n, by the value with the largest |value| over all ranks; of equal ones that
 * of the lowest rank. Collective. */
kn_status kn_allreduce_largest(kn_ctx *ctx, double *top, ptrdiff_t n);

/* Replaces yes[i], i < n, by its logical or over all ranks. Collective. */
kn_status kn_allreduce_any(kn_ctx *ctx, bool *yes, ptrdiff_t n);

#endif
