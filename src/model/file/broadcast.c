/* Implements broadcast.h. */
#include "model/file/broadcast.h"

#include "base/mpi/comm.h"
#include "model/file/file.h"

kn_status kn_model_broadcast(kn_ctx *ctx, kn_model **model)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    double lacks = !*model;
    void *bytes = NULL;
    ptrdiff_t n = 0;
    KN_TRY(kn_comm_max(ctx, &lacks, 1));
    if (lacks == 0)
        return KN_OK;
    if (c->rank == 0)
        KN_TRY(kn_model_write_bytes(ctx, *model, &bytes, &n));
    KN_TRY(kn_comm_broadcast(ctx, &n, sizeof n, 0));
    if (c->rank > 0)
        KN_TRY(kn_alloc_raw(ctx, n, 1, &bytes));
    KN_TRY(kn_comm_broadcast(ctx, bytes, n, 0));
    if (!*model)
        KN_TRY(kn_model_parse(ctx, "the model of rank 0", bytes, n, model));
out:
    kn_free(bytes);
    return status;
}
