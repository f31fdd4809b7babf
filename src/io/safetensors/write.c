/* Writer of safetensors files (safetensors.h): collects entries, then writes header and data in
 * blocks while hashing them; the checksum of a sealed file is patched in at the end. The same
 * tensors give the same bytes. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash/xxh64.h"
#include "base/memory/alloc.h"
#include "io/file/byte_order.h"
#include "io/file/path.h"
#include "io/safetensors/internal.h"
#include "io/safetensors/safetensors.h"

typedef struct entry {
    char *name;
    kn_st_type type;
    int ndim;
    ptrdiff_t shape[KN_ST_DIMS];
    ptrdiff_t count, bytes;
    /* The values come from one of three, all borrowed: */
    const void *data; /* an array in C order, */
    kn_st_fill fill;  /* a function, */
    void *user;
    kn_view view; /* or a matrix view (view.data not NULL) */
} entry;

struct kn_st_writer {
    entry *entries;
    ptrdiff_t count, capacity;
    json_t *metadata;
    json_t *names; /* set of names {name: null}, to find duplicates */
    bool sealed;
};

/* Destination of the bytes: a file and a running hash. */
typedef struct putting {
    kn_writer *file;    /* NULL: only the hash is wanted */
    kn_hashing hash;    /* of the bytes so far */
    const char *digits; /* checksum to write if it is known; NULL: zeros */
} putting;

/* Returns the path of the output for messages; "memory" without a file. */
static const char *output_path(const putting *to)
{
    return to->file ? kn_writer_path(to->file) : "memory";
}

/* Writes n bytes to the file, if there is one, and adds them to the hash. */
static kn_status put_bytes(kn_ctx *ctx, putting *to, const void *bytes, ptrdiff_t n)
{
    kn_hashing_add(&to->hash, bytes, (size_t)n);
    return to->file ? kn_writer_write(ctx, to->file, bytes, n) : KN_OK;
}

kn_status kn_st_writer_new(kn_ctx *ctx, kn_st_writer **out)
{
    void *p;
    *out = NULL;
    kn_status status = kn_alloc(ctx, 1, sizeof(kn_st_writer), &p);
    if (status != KN_OK)
        return status;
    kn_st_writer *w = p;
    w->metadata = json_object();
    w->names = json_object();
    if (!w->metadata || !w->names) {
        kn_st_writer_free(w);
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory for a model file's header");
    }
    *out = w;
    return KN_OK;
}

void kn_st_writer_free(kn_st_writer *w)
{
    if (!w)
        return;
    for (ptrdiff_t i = 0; i < w->count; i++)
        kn_free(w->entries[i].name);
    kn_free(w->entries);
    json_decref(w->metadata);
    json_decref(w->names);
    kn_free(w);
}

kn_status kn_st_set_metadata(kn_ctx *ctx, kn_st_writer *w, const char *key, const char *value)
{
    if (json_object_get(w->metadata, key))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "metadata '%s' is given twice", key);
    if (json_object_set_new(w->metadata, key, json_string(value)) != 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "metadata '%s' is not UTF-8", key);
    return KN_OK;
}

kn_status kn_st_seal(kn_ctx *ctx, kn_st_writer *w)
{
    assert(json_object_size(w->metadata) == 0);
    w->sealed = true;
    return kn_st_set_metadata(ctx, w, KN_ST_CHECKSUM, KN_ST_NO_DIGITS);
}

/* Checks name and shape of entry e and appends it to the writer. KN_ERR_ARGUMENT if the name exists
 * or is not UTF-8, KN_ERR_SHAPE if the size overflows. */
static kn_status add_entry(kn_ctx *ctx, kn_st_writer *w, const char *name, entry e)
{
    if (e.ndim < 0 || e.ndim > KN_ST_DIMS)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "tensor '%s' has %d dimensions, expected 0 to %d",
                       name, e.ndim, KN_ST_DIMS);
    if (!kn_st_size_of(e.type, e.ndim, e.shape, &e.count, &e.bytes))
        return kn_fail(ctx, KN_ERR_SHAPE, "tensor '%s' has a shape that cannot exist", name);
    assert(e.count == 0 || e.data || e.fill || e.view.data);
    if (strcmp(name, KN_ST_METADATA_KEY) == 0 || json_object_get(w->names, name))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "the tensor name '%s' is taken", name);
    if (json_object_set_new(w->names, name, json_null()) != 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "the tensor name '%s' is not UTF-8", name);
    void *p = w->entries;
    kn_status status = kn_grow(ctx, w->count + 1, sizeof e, &p, &w->capacity);
    w->entries = p;
    if (status == KN_OK)
        status = kn_text_copy(ctx, name, strlen(name), &e.name);
    if (status == KN_OK)
        w->entries[w->count++] = e;
    else
        json_object_del(w->names, name);
    return status;
}

/* Returns an entry with this type and shape, whose values are not set yet. */
static entry make_entry(kn_st_type type, int ndim, const ptrdiff_t *shape)
{
    entry e = {.type = type, .ndim = ndim};
    for (int i = 0; i < ndim && i < KN_ST_DIMS; i++)
        e.shape[i] = shape[i];
    return e;
}

kn_status kn_st_add(kn_ctx *ctx, kn_st_writer *w, const char *name, kn_st_type type, int ndim,
                    const ptrdiff_t *shape, const void *data)
{
    entry e = make_entry(type, ndim, shape);
    e.data = data;
    return add_entry(ctx, w, name, e);
}

kn_status kn_st_add_fill(kn_ctx *ctx, kn_st_writer *w, const char *name, kn_st_type type, int ndim,
                         const ptrdiff_t *shape, kn_st_fill fill, void *user)
{
    entry e = make_entry(type, ndim, shape);
    e.fill = fill;
    e.user = user;
    return add_entry(ctx, w, name, e);
}

kn_status kn_st_add_view(kn_ctx *ctx, kn_st_writer *w, const char *name, kn_view view,
                         kn_st_type type)
{
    if (type != KN_ST_F64 && type != KN_ST_F32)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "tensor '%s': a matrix is stored as F64 or F32", name);
    entry e = make_entry(type, 2, (ptrdiff_t[2]){view.rows, view.cols});
    e.view = view;
    return add_entry(ctx, w, name, e);
}

kn_status kn_st_add_mat(kn_ctx *ctx, kn_st_writer *w, const char *name, kn_mat m, kn_st_type type)
{
    return kn_st_add_view(ctx, w, name, (kn_view){m.data, KN_F64, m.rows, m.cols, 1, m.ld}, type);
}

kn_status kn_st_add_text(kn_ctx *ctx, kn_st_writer *w, const char *name, const char *text)
{
    return kn_st_add(ctx, w, name, KN_ST_U8, 1, (ptrdiff_t[1]){(ptrdiff_t)strlen(text)}, text);
}

/* Copies elements first .. first + n - 1 (whole rows, or a piece of one) of the matrix view of e to
 * `out`, row-major in its type. Tiles of 32 x 32 keep both sides of the transposition in cache.
 * KN_ERR_NUMERIC for a finite value beyond float32. */
static kn_status fill_view(kn_ctx *ctx, const char *path, const entry *e, ptrdiff_t first,
                           ptrdiff_t n, void *out)
{
    enum { TILE = 32 };
    ptrdiff_t width = e->view.cols;
    ptrdiff_t i0 = first / width, j0 = first % width;
    ptrdiff_t cols = n < width ? n : width, rows = n / cols;
    for (ptrdiff_t ti = 0; ti < rows; ti += TILE)
        for (ptrdiff_t tj = 0; tj < cols; tj += TILE)
            for (ptrdiff_t i = ti; i < rows && i < ti + TILE; i++)
                for (ptrdiff_t j = tj; j < cols && j < tj + TILE; j++) {
                    double x = kn_view_at(e->view, i0 + i, j0 + j);
                    if (e->type == KN_ST_F64) {
                        ((double *)out)[i * cols + j] = x;
                        continue;
                    }
                    float f = (float)x;
                    if (isinf(f) && !isinf(x))
                        return kn_fail(ctx, KN_ERR_NUMERIC,
                                       "%s: tensor '%s' row %td column %td: %g is beyond float32",
                                       path, e->name, i0 + i + 1, j0 + j + 1, x);
                    ((float *)out)[i * cols + j] = f;
                }
    return KN_OK;
}

/* Returns the elements per block: whole rows of about a megabyte, but at least 16 rows, so that
 * every cache line of a column serves several rows, as long as 16 rows stay below 32 MB. */
static ptrdiff_t block_size(const entry *e)
{
    enum { USUAL = 1 << 17, MAX_COUNT = 1 << 22, ROWS = 16 };
    ptrdiff_t width = e->ndim > 0 ? e->shape[e->ndim - 1] : 1;
    if (width > MAX_COUNT)
        return MAX_COUNT;
    ptrdiff_t rows = USUAL / width;
    if (rows < ROWS)
        rows = MAX_COUNT / width < ROWS ? MAX_COUNT / width : ROWS;
    return e->count < rows * width ? e->count : rows * width;
}

/* Writes the values of one entry block by block; checks for cancellation between blocks. */
static kn_status put_entry(kn_ctx *ctx, putting *to, const entry *e)
{
    ptrdiff_t size = kn_st_type_size(e->type);
    bool in_place = !e->fill && !e->view.data;
    void *block = NULL;
    kn_status status = KN_OK;

    if (e->count == 0)
        return KN_OK;
    ptrdiff_t step = block_size(e), row = e->ndim > 0 ? e->shape[e->ndim - 1] : 1;
    if (!in_place)
        KN_TRY(kn_alloc(ctx, step, (size_t)size, &block));
    for (ptrdiff_t first = 0, n; first < e->count; first += n) {
        n = e->count - first < step ? e->count - first : step;
        if (step < row && row - first % row < n)
            n = row - first % row; /* a block of a long row ends with the row */
        KN_TRY(kn_check_cancel(ctx));
        if (e->fill)
            KN_TRY(e->fill(ctx, e->user, first, n, block));
        else if (e->view.data)
            KN_TRY(fill_view(ctx, output_path(to), e, first, n, block));
        const void *bytes = in_place ? (const unsigned char *)e->data + first * size : block;
        KN_TRY(put_bytes(ctx, to, bytes, n * size));
    }
out:
    kn_free(block);
    return status;
}

/* Returns the JSON of one entry: {"dtype":"F64","shape":[2,3],"data_offsets":[0,48]}. NULL: out of
 * memory. */
static json_t *describe_entry(const entry *e, ptrdiff_t offset)
{
    json_t *shape = json_array();
    for (int i = 0; i < e->ndim; i++)
        if (json_array_append_new(shape, json_integer(e->shape[i])) != 0) {
            json_decref(shape);
            return NULL;
        }
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", kn_st_type_name(e->type), "shape", shape,
                     "data_offsets", (json_int_t)offset, (json_int_t)(offset + e->bytes));
}

/* Returns the JSON header, keys in order of insertion; NULL: out of memory. Free with free. */
static char *make_header(const kn_st_writer *w, const ptrdiff_t *offsets)
{
    json_t *header = json_object();
    bool whole = header != NULL;
    if (json_object_size(w->metadata) > 0)
        whole = whole && json_object_set(header, KN_ST_METADATA_KEY, w->metadata) == 0;
    for (ptrdiff_t i = 0; whole && i < w->count; i++)
        whole = json_object_set_new(header, w->entries[i].name,
                                    describe_entry(&w->entries[i], offsets[i])) == 0;
    char *text = whole ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    return text;
}

/* Sets offsets[i], the start of entry i relative to the start of the data: widest types first.
 * KN_ERR_SHAPE if the file would be too large. */
static kn_status lay_out(kn_ctx *ctx, const kn_st_writer *w, const char *path, ptrdiff_t *offsets)
{
    ptrdiff_t end = 0;
    for (int type = 0; type < KN_ST_TYPES; type++)
        for (ptrdiff_t i = 0; i < w->count; i++) {
            if ((int)w->entries[i].type != type)
                continue;
            offsets[i] = end;
            if (w->entries[i].bytes > PTRDIFF_MAX / 2 - end)
                return kn_fail(ctx, KN_ERR_SHAPE, "%s: the tensors make a file that cannot exist",
                               path);
            end += w->entries[i].bytes;
        }
    return KN_OK;
}

/* Writes the header: length, JSON text, and spaces that align the data to a multiple of 64 bytes.
 */
static kn_status put_header(kn_ctx *ctx, putting *to, const char *text)
{
    enum { ALIGN = 64 };
    static const char spaces[ALIGN + 1] =
        "                                                                ";
    unsigned char start[KN_ST_START];
    size_t n = strlen(text), padding = (ALIGN - (KN_ST_START + n) % ALIGN) % ALIGN;
    kn_status status;
    if (n + padding > KN_ST_MAX_HEADER)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: a header of %zu bytes, allowed are %d",
                       output_path(to), n + padding, KN_ST_MAX_HEADER);
    kn_store64(start, n + padding, KN_BIG_ENDIAN);
    KN_TRY(put_bytes(ctx, to, start, KN_ST_START));
    KN_TRY(put_bytes(ctx, to, text, (ptrdiff_t)n));
    KN_TRY(put_bytes(ctx, to, spaces, (ptrdiff_t)padding));
out:
    return status;
}

/* Writes the checksum of the bytes so far as 16 hexadecimal digits. */
static void seal_of(const putting *to, char digits[KN_ST_DIGITS + 1])
{
    snprintf(digits, KN_ST_DIGITS + 1, "%016" PRIx64, kn_hashing_end(&to->hash));
}

/* Writes the header and all arrays in order to `to`, a file or a hash alone; to->hash is then the
 * hash of all bytes. KN_ERR_IO if the disk is full. */
static kn_status put_all(kn_ctx *ctx, const kn_st_writer *w, putting *to)
{
    ptrdiff_t *offsets = NULL;
    char *text = NULL;
    kn_status status;

    to->hash = kn_hashing_begin(0);
    KN_TRY(kn_alloc_i(ctx, w->count, &offsets));
    KN_TRY(lay_out(ctx, w, output_path(to), offsets));
    text = make_header(w, offsets);
    if (!text) {
        status = kn_fail(ctx, KN_ERR_MEMORY, "%s: out of memory for the header", output_path(to));
        goto out;
    }
    assert(!w->sealed || strncmp(text, KN_ST_SEALED, sizeof KN_ST_SEALED - 1) == 0);
    if (to->digits)
        memcpy(text + KN_ST_SEAL - KN_ST_START, to->digits, KN_ST_DIGITS);
    KN_TRY(put_header(ctx, to, text));
    for (int type = 0; type < KN_ST_TYPES; type++)
        for (ptrdiff_t i = 0; i < w->count; i++)
            if ((int)w->entries[i].type == type)
                KN_TRY(put_entry(ctx, to, &w->entries[i]));
out:
    free(text);
    kn_free(offsets);
    return status;
}

/* Writes header and arrays to the file; of a sealed file, then replaces the zeros of the checksum
 * by its digits. */
static kn_status put_sealed(kn_ctx *ctx, const kn_st_writer *w, kn_writer *file)
{
    char digits[KN_ST_DIGITS + 1];
    putting to = {.file = file};
    kn_status status = put_all(ctx, w, &to);
    if (status != KN_OK || !w->sealed)
        return status;
    seal_of(&to, digits);
    return kn_writer_patch(ctx, file, KN_ST_SEAL, digits, KN_ST_DIGITS);
}

/* A sealed file contains its own checksum, so its hash needs a second pass with the digits. */
kn_status kn_st_write_hash(kn_ctx *ctx, const kn_st_writer *w, uint64_t *out)
{
    char digits[KN_ST_DIGITS + 1];
    putting to = {.file = NULL};
    kn_status status;
    KN_TRY(put_all(ctx, w, &to));
    if (w->sealed) {
        seal_of(&to, digits);
        to.digits = digits;
        KN_TRY(put_all(ctx, w, &to));
    }
    *out = kn_hashing_end(&to.hash);
out:
    return status;
}

kn_status kn_st_write(kn_ctx *ctx, const kn_st_writer *w, const char *path,
                      const kn_write_options *options)
{
    kn_writer *file = NULL;
    kn_status status;

    KN_TRY(kn_writer_new(ctx, path, options, &file));
    KN_TRY(put_sealed(ctx, w, file));
    KN_TRY(kn_writer_commit(ctx, file));
out:
    kn_writer_free(file);
    return status;
}

kn_status kn_st_write_bytes(kn_ctx *ctx, const kn_st_writer *w, void **bytes, ptrdiff_t *n)
{
    kn_writer *file = NULL;
    kn_status status;

    *bytes = NULL;
    KN_TRY(kn_writer_new_memory(ctx, "memory", &file));
    KN_TRY(put_sealed(ctx, w, file));
    KN_TRY(kn_writer_take(ctx, file, bytes, n));
out:
    kn_writer_free(file);
    return status;
}

kn_status kn_st_add_doubles(kn_ctx *ctx, kn_st_writer *w, const char *name, const double *data,
                            ptrdiff_t n)
{
    return kn_st_add(ctx, w, name, KN_ST_F64, 1, &n, data);
}
