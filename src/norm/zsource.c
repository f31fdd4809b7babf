#include "norm/zsource.h"

static kn_status copy_block(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z)
{
    (void)ctx;
    kn_mat *held = self;
    kn_mat_set(z, kn_cols(*held, first, count));
    return KN_OK;
}

kn_z_source kn_z_from_mat(kn_mat *z)
{
    return (kn_z_source){z, z->rows, z->cols, copy_block};
}

ptrdiff_t kn_z_block_size(const kn_z_source *z)
{
    enum { BLOCK_ELEMENTS = 1 << 21, LEAST = 64 };
    ptrdiff_t nb = BLOCK_ELEMENTS / (z->rows > 0 ? z->rows : 1);
    nb = nb > LEAST ? nb : LEAST;
    return nb < z->cols ? nb : z->cols;
}
