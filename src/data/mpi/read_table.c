/* Implements read_table.h. */
#include "data/mpi/read_table.h"

#include <sys/stat.h>

#include "base/mpi/comm.h"

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

kn_status kn_comm_check_table(kn_ctx *ctx, const char *a, const char *b, bool *one)
{
    char yes = same_file(a, b);
    kn_status status = kn_comm_broadcast(ctx, &yes, 1, 0);
    *one = yes != 0;
    return status;
}

kn_status kn_table_read_together(kn_ctx *ctx, const char *path, kn_table **out)
{
    kn_status status;
    void *bytes = NULL;
    ptrdiff_t n = 0;
    bool reads = kn_ctx_comm(ctx)->rank == 0;
    *out = NULL;
    if (reads)
        KN_TRY(kn_table_bytes(ctx, path, &bytes, &n));
    KN_TRY(kn_comm_broadcast(ctx, &n, sizeof n, 0));
    if (!reads)
        KN_TRY(kn_alloc_raw(ctx, n, 1, &bytes));
    KN_TRY(kn_comm_broadcast(ctx, bytes, n, 0));
    KN_TRY(kn_table_of_bytes(ctx, path, bytes, n, out));
out:
    kn_free(bytes);
    return status;
}
