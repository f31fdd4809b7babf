/* Reads .npy arrays (npy.h). Values that need a conversion go through chunks of 1 MB, one per
 * thread; others are read straight into place. */
#include "io/npy/npy.h"

#include <stdatomic.h>

#include "base/parallel/parallel_for.h"
#include "io/file/path.h"
#include "io/image/voxel_types.h"

/* Returns an open .npy file of this source and parsed header; the source is moved. */
static kn_npy_file file_of(kn_byte_source source, const kn_npy_header *h)
{
    return (kn_npy_file){source, *h, h->type->code == KN_VOXEL_FLOAT32 ? KN_F32 : KN_F64};
}

/* Returns the bytes of one value of this type, 4 or 8. */
static size_t element_size(kn_type type)
{
    return type == KN_F32 ? sizeof(float) : sizeof(double);
}

/* ---- elements that need a conversion of type or byte order -------------------------------- */

typedef struct conversion {
    const kn_npy_file *file;
    ptrdiff_t first, n, step; /* first element, number of elements, elements per chunk */
    unsigned char *chunks;    /* one buffer of a chunk per worker */
    void *out;
    atomic_bool failed;
} conversion;

typedef struct chunk {
    ptrdiff_t from, n; /* first element, relative to conversion.first, and number of elements */
    ptrdiff_t offset;  /* bytes from the start of the file */
} chunk;

/* Returns the position and size of chunk k of a conversion. */
static chunk chunk_of(const conversion *c, ptrdiff_t k)
{
    const kn_npy_header *h = &c->file->header;
    ptrdiff_t from = k * c->step, left = c->n - from;
    return (chunk){from, left < c->step ? left : c->step,
                   h->data_offset + (c->first + from) * h->type->bytes};
}

/* Converts the raw elements of a chunk and writes them to their position in c->out. */
static void convert_chunk(const conversion *c, chunk at, const unsigned char *raw)
{
    const kn_npy_header *h = &c->file->header;
    if (c->file->type == KN_F32)
        h->type->floats[h->swapped](raw, 0, 1, at.n, 1, -0.0, (float *)c->out + at.from);
    else
        h->type->doubles[h->swapped](raw, at.n, (double *)c->out + at.from);
}

/* Thread task (self: conversion): reads and converts chunks first .. last - 1 with the buffer of
 * this worker. A failure only sets c->failed, because a worker has no context. */
static void read_chunks(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    conversion *c = self;
    ptrdiff_t bytes = c->file->header.type->bytes;
    unsigned char *raw = c->chunks + (ptrdiff_t)worker * c->step * bytes;
    for (ptrdiff_t k = first; k < last; k++) {
        chunk at = chunk_of(c, k);
        if (kn_byte_source_try(&c->file->source, at.offset, at.n * bytes, raw))
            convert_chunk(c, at, raw);
        else
            atomic_store(&c->failed, true);
    }
}

/* Reads n elements from `first` on into `out`, with conversion of type or byte order, in parallel.
 */
static kn_status read_converted(kn_ctx *ctx, const kn_npy_file *file, ptrdiff_t first, ptrdiff_t n,
                                void *out)
{
    enum { CHUNK = 1 << 20 }; /* bytes; a multiple of every element size */
    ptrdiff_t bytes = file->header.type->bytes, limit = CHUNK / bytes;
    conversion c = {
        .file = file, .first = first, .n = n, .step = n < limit ? n : limit, .out = out};
    ptrdiff_t chunks = n > 0 ? (n - 1) / c.step + 1 : 0;
    void *memory = NULL;
    kn_status status;

    KN_TRY(kn_alloc_raw(ctx, kn_workers(ctx, chunks, 1) * c.step * bytes, 1, &memory));
    c.chunks = memory;
    kn_parallel_workers(ctx, chunks, 1, read_chunks, &c);
    /* If a thread failed, read again here: this sets the message, or succeeds after all. */
    for (ptrdiff_t k = 0; atomic_load(&c.failed) && k < chunks; k++) {
        chunk at = chunk_of(&c, k);
        KN_TRY(kn_byte_source_read(ctx, &file->source, at.offset, at.n * bytes, c.chunks));
        convert_chunk(&c, at, c.chunks);
    }
out:
    kn_free(memory);
    return status;
}

kn_status kn_npy_elements(kn_ctx *ctx, const kn_npy_file *file, ptrdiff_t first, ptrdiff_t n,
                          void *out)
{
    const kn_npy_header *h = &file->header;
    int as_stored = file->type == KN_F32 ? KN_VOXEL_FLOAT32 : KN_VOXEL_FLOAT64;
    if (h->type->code != as_stored || h->swapped)
        return read_converted(ctx, file, first, n, out);
    return kn_byte_source_read_wide(ctx, &file->source, h->data_offset + first * h->type->bytes,
                                    n * h->type->bytes, out);
}

/* Reads a whole array from an open source as *out (kn_npy_clear). Fails as kn_npy_header_read does,
 * or with KN_ERR_IO. */
static kn_status read_source(kn_ctx *ctx, const kn_byte_source *source, kn_npy *out)
{
    kn_npy_header h;
    kn_status status;

    *out = (kn_npy){0};
    KN_TRY(kn_npy_header_read(ctx, source, &h));
    kn_npy_file file = file_of(*source, &h);
    KN_TRY(kn_alloc_raw(ctx, h.rows * h.cols, element_size(file.type), &out->data));
    out->dims = h.dims;
    out->view = (kn_view){
        out->data, file.type, h.rows, h.cols, h.fortran ? 1 : h.cols, h.fortran ? h.rows : 1};
    KN_TRY(kn_npy_elements(ctx, &file, 0, h.rows * h.cols, out->data));
    KN_TRY(kn_byte_source_check(ctx, source));
out:
    if (status != KN_OK)
        kn_npy_clear(out);
    return status;
}

kn_status kn_npy_open(kn_ctx *ctx, const char *path, kn_npy_file *out)
{
    kn_byte_source source;
    kn_npy_header h;
    *out = (kn_npy_file){0};
    kn_status status = kn_byte_source_open(ctx, path, &source);
    if (status == KN_OK)
        status = kn_npy_header_read(ctx, &source, &h);
    if (status == KN_OK)
        *out = file_of(source, &h);
    else
        kn_byte_source_close(&source);
    return status;
}

void kn_npy_close(kn_npy_file *file)
{
    kn_byte_source_close(&file->source);
    *file = (kn_npy_file){0};
}

kn_status kn_npy_read(kn_ctx *ctx, const char *path, kn_npy *out)
{
    kn_byte_source source;
    *out = (kn_npy){0};
    kn_status status = kn_byte_source_open(ctx, path, &source);
    if (status == KN_OK)
        status = read_source(ctx, &source, out);
    kn_byte_source_close(&source);
    return status;
}

kn_status kn_npy_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n, kn_npy *out)
{
    kn_byte_source source = kn_byte_source_of(name, bytes, n);
    return read_source(ctx, &source, out);
}

void kn_npy_clear(kn_npy *npy)
{
    kn_free(npy->data);
    *npy = (kn_npy){0};
}
