/* Implements eig_broadcast.h: kn_eig on root, then a broadcast of w and S. */
#include "gp/likelihood/eig_broadcast.h"

#include "base/mpi/comm.h"
#include "la/la.h"

kn_status kn_eig_shared(kn_ctx *ctx, kn_mat S, double *w)
{
    kn_status status = KN_OK;
    ptrdiff_t n = S.rows, bytes = sizeof *w;
    if (kn_ctx_comm(ctx)->rank == 0)
        KN_TRY(kn_eig(ctx, S, w));
    KN_TRY(kn_comm_broadcast(ctx, w, n * bytes, 0));
    KN_TRY(kn_comm_broadcast(ctx, S.data, n > 0 ? ((n - 1) * S.ld + n) * bytes : 0, 0));
out:
    return status;
}
