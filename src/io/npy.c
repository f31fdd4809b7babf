#include "io/npy.h"

#include "io/path.h"
#include "io/voxels.h"

static kn_npy_file file_of(kn_source source, const kn_npy_header *h)
{
    return (kn_npy_file){source, *h, h->type->code == KN_VOXEL_FLOAT32 ? KN_F32 : KN_F64};
}

static size_t element(kn_type type)
{
    return type == KN_F32 ? sizeof(float) : sizeof(double);
}

kn_status kn_npy_elements(kn_ctx *ctx, const kn_npy_file *file, ptrdiff_t first, ptrdiff_t n,
                          void *out)
{
    enum { CHUNK = 1 << 20 }; /* bytes; a multiple of every element size */
    const kn_npy_header *h = &file->header;
    ptrdiff_t bytes = h->type->bytes, step = CHUNK / bytes;
    void *chunk = NULL;
    kn_status status = KN_OK;

    KN_TRY(kn_alloc(ctx, (n < step ? n : step) * bytes, 1, &chunk));
    for (ptrdiff_t i = 0; i < n; i += step) {
        ptrdiff_t m = n - i < step ? n - i : step;
        KN_TRY(kn_source_read(ctx, &file->source, h->data_offset + (first + i) * bytes, m * bytes,
                              chunk));
        if (file->type == KN_F32)
            h->type->floats[h->swapped](chunk, 0, 1, m, 1, -0.0, (float *)out + i);
        else
            h->type->doubles[h->swapped](chunk, m, (double *)out + i);
    }
out:
    kn_free(chunk);
    return status;
}

static kn_status read_source(kn_ctx *ctx, const kn_source *source, kn_npy *out)
{
    kn_npy_header h;
    kn_status status;

    *out = (kn_npy){0};
    KN_TRY(kn_npy_header_read(ctx, source, &h));
    kn_npy_file file = file_of(*source, &h);
    KN_TRY(kn_alloc(ctx, h.rows * h.cols, element(file.type), &out->data));
    out->dims = h.dims;
    out->view = (kn_view){
        out->data, file.type, h.rows, h.cols, h.fortran ? 1 : h.cols, h.fortran ? h.rows : 1};
    KN_TRY(kn_npy_elements(ctx, &file, 0, h.rows * h.cols, out->data));
out:
    if (status != KN_OK)
        kn_npy_clear(out);
    return status;
}

kn_status kn_npy_open(kn_ctx *ctx, const char *path, kn_npy_file *out)
{
    kn_source source;
    kn_npy_header h;
    *out = (kn_npy_file){0};
    kn_status status = kn_source_open(ctx, path, &source);
    if (status == KN_OK)
        status = kn_npy_header_read(ctx, &source, &h);
    if (status == KN_OK)
        *out = file_of(source, &h);
    else
        kn_source_close(&source);
    return status;
}

void kn_npy_close(kn_npy_file *file)
{
    kn_source_close(&file->source);
    *file = (kn_npy_file){0};
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
