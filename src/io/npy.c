#include "io/npy.h"

#include <string.h>

#include "io/npy_header.h"
#include "io/path.h"
#include "io/voxels.h"

/* Elements first .. first + n of the file, from their bytes, into the array. */
static void convert(const kn_npy_header *h, const unsigned char *raw, ptrdiff_t first, ptrdiff_t n,
                    kn_npy *out)
{
    if (out->view.type == KN_F32)
        h->type->floats[h->swapped](raw, 0, 1, n, 1, -0.0, (float *)out->data + first);
    else
        h->type->doubles[h->swapped](raw, n, (double *)out->data + first);
}

static kn_status read_source(kn_ctx *ctx, const kn_source *source, kn_npy *out)
{
    enum { CHUNK = 1 << 20 }; /* bytes; a multiple of every element size */
    void *chunk = NULL, *memory;
    kn_npy_header h;
    kn_status status;

    *out = (kn_npy){0};
    KN_TRY(kn_npy_header_read(ctx, source, &h));
    ptrdiff_t total = h.rows * h.cols;
    kn_type type = h.type->code == KN_VOXEL_FLOAT32 ? KN_F32 : KN_F64;
    KN_TRY(kn_alloc(ctx, total, type == KN_F32 ? sizeof(float) : sizeof(double), &memory));
    out->data = memory;
    out->dims = h.dims;
    out->view =
        (kn_view){memory, type, h.rows, h.cols, h.fortran ? 1 : h.cols, h.fortran ? h.rows : 1};
    KN_TRY(kn_alloc(ctx, CHUNK, 1, &chunk));
    for (ptrdiff_t i = 0, step = CHUNK / h.type->bytes; i < total; i += step) {
        ptrdiff_t n = total - i < step ? total - i : step;
        KN_TRY(kn_source_read(ctx, source, h.data_offset + i * h.type->bytes, n * h.type->bytes,
                              chunk));
        convert(&h, chunk, i, n, out);
    }
out:
    kn_free(chunk);
    if (status != KN_OK)
        kn_npy_clear(out);
    return status;
}

kn_status kn_npy_read(kn_ctx *ctx, const char *path, kn_npy *out)
{
    kn_source source;
    *out = (kn_npy){0};
    kn_status status = kn_source_open(ctx, path, &source);
    if (status == KN_OK)
        status = read_source(ctx, &source, out);
    kn_source_close(&source);
    return status;
}

kn_status kn_npy_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n, kn_npy *out)
{
    kn_source source = kn_source_of(name, bytes, n);
    return read_source(ctx, &source, out);
}

void kn_npy_clear(kn_npy *npy)
{
    kn_free(npy->data);
    *npy = (kn_npy){0};
}
