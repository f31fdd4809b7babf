/* Implements gather_responses.h. An all-gather is one broadcast per rank, with strided data
 * packed into a buffer. */
#include "data/mpi/gather_responses.h"

#include <math.h>
#include <string.h>

#include "base/mpi/comm.h"

/* Copies the responses `at` of vectors vector .. vector + n - 1 of x to `buffer`, one vector after
 * the other, or with in = false back from it. */
static void copy_vectors(kn_of_responses x, ptrdiff_t vector, ptrdiff_t n, kn_index_range at,
                         char *buffer, bool in)
{
    ptrdiff_t bytes = (at.last - at.first) * x.bytes;
    for (ptrdiff_t v = 0; v < n; v++) {
        char *own = (char *)x.data + (vector + v) * x.stride + at.first * x.bytes;
        char *there = buffer + v * bytes;
        memcpy(in ? there : own, in ? own : there, (size_t)bytes);
    }
}

/* Broadcasts the responses `at` of all vectors of x from rank `root`, at most BUFFER bytes at a
 * time. Collective. */
static kn_status broadcast_range(kn_ctx *ctx, kn_of_responses x, kn_index_range at, int root)
{
    enum { BUFFER = 1 << 23 };
    kn_status status = KN_OK;
    void *buffer = NULL;
    ptrdiff_t bytes = (at.last - at.first) * x.bytes, some;
    bool mine = kn_ctx_comm(ctx)->rank == root;
    if (bytes == 0 || x.vectors == 0)
        return KN_OK;
    if (x.vectors == 1)
        return kn_comm_broadcast(ctx, (char *)x.data + at.first * x.bytes, bytes, root);
    some = bytes < BUFFER ? BUFFER / bytes : 1;
    some = some < x.vectors ? some : x.vectors;
    KN_TRY(kn_alloc(ctx, some, (size_t)bytes, &buffer));
    for (ptrdiff_t v = 0; v < x.vectors; v += some) {
        ptrdiff_t n = x.vectors - v < some ? x.vectors - v : some;
        if (mine)
            copy_vectors(x, v, n, at, buffer, true);
        KN_TRY(kn_comm_broadcast(ctx, buffer, n * bytes, root));
        if (!mine)
            copy_vectors(x, v, n, at, buffer, false);
    }
out:
    kn_free(buffer);
    return status;
}

kn_status kn_allgather_responses(kn_ctx *ctx, const kn_responses *Y, kn_of_responses x)
{
    kn_status status = KN_OK;
    int ranks = kn_ctx_comm(ctx)->size;
    for (int r = 0; ranks > 1 && x.data && r < ranks && status == KN_OK; r++)
        status = broadcast_range(ctx, x, kn_response_range_of(Y, r, ranks), r);
    return status;
}

kn_status kn_allgather_responses_d(kn_ctx *ctx, const kn_responses *Y, double *x)
{
    return kn_allgather_responses(ctx, Y, (kn_of_responses){x, 1, 0, sizeof(double)});
}

kn_status kn_allgather_response_rows(kn_ctx *ctx, const kn_responses *Y, kn_mat x)
{
    ptrdiff_t element = sizeof(double);
    return kn_allgather_responses(ctx, Y,
                                  (kn_of_responses){x.data, x.cols, x.ld * element, element});
}

kn_status kn_allgather_response_cols(kn_ctx *ctx, const kn_responses *Y, kn_mat x)
{
    ptrdiff_t element = sizeof(double);
    return kn_allgather_responses(ctx, Y, (kn_of_responses){x.data, 1, 0, x.ld * element});
}

kn_status kn_allreduce_largest(kn_ctx *ctx, double *top, ptrdiff_t n)
{
    kn_status status = KN_OK;
    const kn_comm *c = kn_ctx_comm(ctx);
    double *all = NULL;
    if (c->size == 1)
        return KN_OK;
    KN_TRY(kn_alloc_d(ctx, c->size * n, &all));
    for (ptrdiff_t i = 0; i < n; i++)
        all[c->rank * n + i] = top[i];
    KN_TRY(kn_comm_sum(ctx, all, c->size * n)); /* sum of one number and zeros: exact */
    for (ptrdiff_t i = 0; i < n; i++)
        top[i] = all[i];
    for (ptrdiff_t k = n; k < c->size * n; k++)
        if (fabs(all[k]) > fabs(top[k % n]))
            top[k % n] = all[k];
out:
    kn_free(all);
    return status;
}

kn_status kn_allreduce_any(kn_ctx *ctx, bool *yes, ptrdiff_t n)
{
    kn_status status = KN_OK;
    double *any = NULL;
    if (kn_ctx_comm(ctx)->size == 1)
        return KN_OK;
    KN_TRY(kn_alloc_d(ctx, n, &any));
    for (ptrdiff_t i = 0; i < n; i++)
        any[i] = yes[i];
    KN_TRY(kn_comm_max(ctx, any, n));
    for (ptrdiff_t i = 0; i < n; i++)
        yes[i] = any[i] > 0;
out:
    kn_free(any);
    return status;
}
