/* Writes CIFTI-2 (internal.h). In the file all maps of a place are contiguous, but maps arrive one
 * after the other: as many as fit into the buffer are collected and then written, transposed. */
#include "io/formats/internal.h"

#include <string.h>

#include "base/memory/alloc.h"
#include "io/file/byte_order.h"
#include "io/file/path.h"
#include "io/formats/cifti.h"

static const ptrdiff_t BUFFER = (ptrdiff_t)1 << 26; /* default of target->memory, bytes */

typedef struct cifti_writer {
    kn_writer *file;
    ptrdiff_t places, maps, done; /* done: maps received */
    ptrdiff_t start;              /* offset of the data in the file */
    unsigned char *rows;          /* capacity x places floats: maps not written yet */
    ptrdiff_t capacity, waiting;  /* capacity and number of these maps */
    unsigned char *run;           /* capacity floats: values of one place */
} cifti_writer;

/* Frees the writer of a CIFTI file (kn_image_format.free); an uncommitted file is removed. NULL is
 * allowed. */
static void free_cifti_writer(void *state)
{
    cifti_writer *w = state;
    if (!w)
        return;
    kn_writer_free(w->file);
    kn_free(w->rows);
    kn_free(w->run);
    kn_free(w);
}

/* A growing text. */
typedef struct text {
    void *bytes;
    ptrdiff_t n, capacity;
} text;

/* Appends `more` to a growing text, which has no NUL. Fails only without memory. */
static kn_status append_text(kn_ctx *ctx, text *t, const char *more)
{
    ptrdiff_t n = (ptrdiff_t)strlen(more);
    kn_status status = kn_grow(ctx, t->n + n, 1, &t->bytes, &t->capacity);
    if (status == KN_OK) {
        memcpy((char *)t->bytes + t->n, more, (size_t)n);
        t->n += n;
    }
    return status;
}

/* Builds the CIFTI header extension for `maps` named maps as text t (the caller frees t->bytes):
 * size and code, XML with the brain models of the target, and zeros that align the data to 16
 * bytes. KN_ERR_SHAPE above 2 GB. */
static kn_status make_extension(kn_ctx *ctx, const kn_image_target *target, ptrdiff_t maps, text *t)
{
    enum { ALIGN = 16 };
    char *name = NULL;
    kn_status status;
    KN_TRY(append_text(ctx, t,
                       "12345678<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<CIFTI Version=\"2\"><Matrix>"
                       "<MatrixIndicesMap AppliesToMatrixDimension=\"0\" "
                       "IndicesMapToDataType=\"CIFTI_INDEX_TYPE_SCALARS\">"));
    for (ptrdiff_t i = 0; i < maps; i++) {
        KN_TRY(kn_xml_text(ctx, target->names ? target->names[i] : target->description, &name));
        KN_TRY(append_text(ctx, t, "<NamedMap><MapName>"));
        KN_TRY(append_text(ctx, t, name));
        KN_TRY(append_text(ctx, t, "</MapName></NamedMap>"));
        kn_free(name);
        name = NULL;
    }
    KN_TRY(append_text(ctx, t, "</MatrixIndicesMap>"));
    KN_TRY(append_text(ctx, t, target->brain));
    KN_TRY(append_text(ctx, t, "</Matrix></CIFTI>"));
    ptrdiff_t before = KN_NIFTI2_SIZE + KN_EXTENDER_SIZE;
    ptrdiff_t padded = (before + t->n + ALIGN - 1) / ALIGN * ALIGN - before;
    KN_TRY(kn_grow(ctx, padded, 1, &t->bytes, &t->capacity));
    memset((char *)t->bytes + t->n, 0, (size_t)(padded - t->n));
    t->n = padded;
    if (padded > INT32_MAX) {
        status = kn_fail(ctx, KN_ERR_SHAPE, "%td maps have more names than CIFTI can hold", maps);
        goto out;
    }
    kn_store32(t->bytes, (uint32_t)padded, KN_BIG_ENDIAN);
    kn_store32((unsigned char *)t->bytes + 4, KN_CIFTI_CODE, KN_BIG_ENDIAN);
out:
    kn_free(name);
    return status;
}

/* Writes the NIfTI-2 header and the CIFTI extension to w->file, and sets w->start, the offset of
 * the data. */
static kn_status put_start(kn_ctx *ctx, cifti_writer *w, const kn_image_target *target)
{
    unsigned char header[KN_NIFTI2_SIZE + KN_EXTENDER_SIZE];
    text extension = {0};
    kn_status status;
    KN_TRY(make_extension(ctx, target, w->maps, &extension));
    w->start = (ptrdiff_t)sizeof header + extension.n;
    kn_nifti_header_cifti(w->places, w->maps, w->start, target->description, header);
    KN_TRY(kn_writer_write(ctx, w->file, header, sizeof header));
    KN_TRY(kn_writer_write(ctx, w->file, extension.bytes, extension.n));
out:
    kn_free(extension.bytes);
    return status;
}

/* Opens a CIFTI file for writing, with a buffer of as many maps as fit target->memory, at least
 * one. *state is owned by the caller; NULL on failure. KN_ERR_ARGUMENT without brain models. */
static kn_status begin_cifti(kn_ctx *ctx, const char *path, const kn_image_target *target,
                             const kn_write_options *options, void **state)
{
    const ptrdiff_t *dim = target->geometry->dim;
    cifti_writer *w = NULL;
    void *p;
    kn_status status;

    *state = NULL;
    if (!target->brain)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s cannot be written without brain models", path);
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->places = dim[0] * dim[1] * dim[2];
    w->maps = kn_image_volumes(target);
    ptrdiff_t fit = (target->memory > 0 ? target->memory : BUFFER) / 4 / w->places;
    w->capacity = fit < 1 ? 1 : fit < w->maps ? fit : w->maps;
    KN_TRY(kn_alloc(ctx, w->places * w->capacity, sizeof(float), &p));
    w->rows = p;
    KN_TRY(kn_alloc(ctx, w->capacity, sizeof(float), &p));
    w->run = p;
    KN_TRY(kn_writer_new(ctx, path, options, &w->file));
    KN_TRY(put_start(ctx, w, target));
out:
    if (status == KN_OK)
        *state = w;
    else
        free_cifti_writer(w);
    return status;
}

/* Writes the buffered maps to the file, transposed: sequentially if they are all maps, else as one
 * patch per place. */
static kn_status write_waiting(kn_ctx *ctx, cifti_writer *w)
{
    kn_status status = KN_OK;
    ptrdiff_t n = w->waiting, first = w->done - n;
    for (ptrdiff_t place = 0; place < w->places && n > 0; place++) {
        for (ptrdiff_t i = 0; i < n; i++)
            memcpy(w->run + 4 * i, w->rows + 4 * (i * w->places + place), 4);
        if (n == w->maps)
            KN_TRY(kn_writer_write(ctx, w->file, w->run, 4 * n));
        else
            KN_TRY(kn_writer_patch(ctx, w->file, w->start + 4 * (place * w->maps + first), w->run,
                                   4 * n));
    }
    w->waiting = 0;
out:
    return status;
}

/* Adds the next map of a CIFTI file to the buffer (state: cifti_writer); writes the buffer when it
 * is full. */
static kn_status put_volume(kn_ctx *ctx, void *state, const kn_volume *v)
{
    cifti_writer *w = state;
    kn_volume_store(v, w->places, KN_BIG_ENDIAN, w->rows + 4 * w->waiting * w->places);
    w->done++;
    return ++w->waiting == w->capacity ? write_waiting(ctx, w) : KN_OK;
}

/* Writes the buffered maps and completes the file (state: cifti_writer). */
static kn_status commit_cifti(kn_ctx *ctx, void *state)
{
    cifti_writer *w = state;
    kn_status status = write_waiting(ctx, w);
    return status == KN_OK ? kn_writer_commit(ctx, w->file) : status;
}

static const char *const ENDINGS[] = {".dscalar.nii", NULL};

const kn_image_writing kn_cifti_writing = {.begin = begin_cifti,
                                           .volume = put_volume,
                                           .commit = commit_cifti,
                                           .free = free_cifti_writer,
                                           .endings = ENDINGS,
                                           .keeps = false};
