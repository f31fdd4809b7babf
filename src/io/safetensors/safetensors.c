/* Reader of safetensors files (safetensors.h): parses the JSON header with jansson, checks types,
 * shapes and offsets, and reads ranges of the file. The file is believed in nothing: every offset
 * is checked before a tensor can be used. */
#include "io/safetensors/safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash/xxh64.h"
#include "base/memory/plan.h"
#include "io/file/byte_source.h"
#include "io/file/path.h"
#include "io/safetensors/internal.h"

struct kn_st_file {
    char *name;
    kn_byte_source source; /* owned */
    json_t *header;        /* owns the names and the metadata */
    kn_st_tensor *tensors;
    ptrdiff_t count;
    const char **keys, **values;
    ptrdiff_t metadata_count;
};

/* Byte range of a tensor, relative to the start of the data. */
typedef struct span {
    ptrdiff_t begin, end;
    ptrdiff_t tensor;
} span;

static const struct {
    const char *name;
    ptrdiff_t size;
} types[KN_ST_TYPES] = {[KN_ST_F64] = {"F64", 8},
                        [KN_ST_I64] = {"I64", 8},
                        [KN_ST_F32] = {"F32", 4},
                        [KN_ST_I32] = {"I32", 4},
                        [KN_ST_U8] = {"U8", 1}};

const char *kn_st_type_name(kn_st_type type)
{
    return types[type].name;
}

ptrdiff_t kn_st_type_size(kn_st_type type)
{
    return types[type].size;
}

bool kn_st_size_of(kn_st_type type, int ndim, const ptrdiff_t *shape, ptrdiff_t *count,
                   ptrdiff_t *bytes)
{
    *count = 1;
    *bytes = 0;
    for (int i = 0; i < ndim; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(*count, shape[i], count))
            return false;
    return !__builtin_mul_overflow(*count, types[type].size, bytes);
}

/* Returns a text from a file for a message; replaced if it is long or has control characters,
 * because messages go to a terminal. */
static const char *printable_name(const char *text)
{
    enum { LONGEST = 100 };
    size_t n = 0;
    for (; text[n]; n++)
        if (n == LONGEST || (unsigned char)text[n] < ' ' || text[n] == 127)
            return "(not printable)";
    return text;
}

/* Fails with KN_ERR_FORMAT: "FILE: tensor 'NAME' WHAT". */
static kn_status fail_entry(kn_ctx *ctx, const kn_st_file *file, const char *name, const char *what)
{
    return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' %s", file->name, printable_name(name),
                   what);
}

/* Sets the type of tensor t from "dtype". KN_ERR_FORMAT unless it is one of the five of kn_st_type.
 */
static kn_status read_type(kn_ctx *ctx, const kn_st_file *file, const json_t *entry,
                           kn_st_tensor *t)
{
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    if (!dtype)
        return fail_entry(ctx, file, t->name, "has no dtype");
    for (int i = 0; i < KN_ST_TYPES; i++)
        if (strcmp(dtype, types[i].name) == 0) {
            t->type = (kn_st_type)i;
            return KN_OK;
        }
    return kn_fail(ctx, KN_ERR_FORMAT,
                   "%s: tensor '%s' has dtype '%s', expected F64, F32, I64, I32 or U8", file->name,
                   printable_name(t->name), printable_name(dtype));
}

/* Sets the shape of tensor t from "shape"; *bytes is its size. KN_ERR_FORMAT if it is no shape or
 * overflows. */
static kn_status read_shape(kn_ctx *ctx, const kn_st_file *file, const json_t *entry,
                            kn_st_tensor *t, ptrdiff_t *bytes)
{
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape))
        return fail_entry(ctx, file, t->name, "has no shape");
    if (json_array_size(shape) > KN_ST_DIMS)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' has %zu dimensions, expected 0 to %d",
                       file->name, printable_name(t->name), json_array_size(shape), KN_ST_DIMS);
    t->ndim = (int)json_array_size(shape);
    for (int i = 0; i < t->ndim; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        if (!json_is_integer(size))
            return fail_entry(ctx, file, t->name, "has a shape that is not whole numbers");
        t->shape[i] = (ptrdiff_t)json_integer_value(size);
    }
    if (!kn_st_size_of(t->type, t->ndim, t->shape, &t->count, bytes))
        return fail_entry(ctx, file, t->name, "has a shape that cannot exist");
    return KN_OK;
}

/* Reads "data_offsets" of tensor t into *out and compares them with `bytes`, the size by its shape;
 * else KN_ERR_FORMAT. capacity: largest offset that does not overflow when added to the start of
 * the data. */
static kn_status read_offsets(kn_ctx *ctx, const kn_st_file *file, const json_t *entry,
                              const kn_st_tensor *t, ptrdiff_t capacity, ptrdiff_t bytes, span *out)
{
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return fail_entry(ctx, file, t->name, "has no data_offsets [begin, end]");
    out->begin = (ptrdiff_t)json_integer_value(begin);
    out->end = (ptrdiff_t)json_integer_value(end);
    if (out->begin < 0 || out->end < out->begin || out->end > capacity)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' has impossible offsets %td to %td",
                       file->name, printable_name(t->name), out->begin, out->end);
    if (out->end - out->begin != bytes)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s: tensor '%s' has %td bytes, its shape and dtype need %td", file->name,
                       printable_name(t->name), out->end - out->begin, bytes);
    return KN_OK;
}

/* Reads the metadata into file->keys and values, whose texts stay owned by the JSON header.
 * KN_ERR_FORMAT if one is not a text. */
static kn_status read_metadata(kn_ctx *ctx, kn_st_file *file, json_t *map)
{
    void *p;
    const char *key;
    json_t *value;
    kn_status status = KN_OK;
    if (!json_is_object(map))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: the metadata are not an object", file->name);
    ptrdiff_t n = (ptrdiff_t)json_object_size(map);
    KN_TRY(kn_alloc(ctx, n, sizeof *file->keys, &p));
    file->keys = p;
    KN_TRY(kn_alloc(ctx, n, sizeof *file->values, &p));
    file->values = p;
    json_object_foreach(map, key, value)
    {
        if (!json_is_string(value))
            return kn_fail(ctx, KN_ERR_FORMAT, "%s: metadata '%s' is not a text", file->name,
                           printable_name(key));
        file->keys[file->metadata_count] = key;
        file->values[file->metadata_count++] = json_string_value(value);
    }
out:
    return status;
}

/* Fills the tensors (except their position), the metadata, and one span per tensor from the JSON
 * header. KN_ERR_FORMAT for anything invalid. */
static kn_status read_entries(kn_ctx *ctx, kn_st_file *file, ptrdiff_t capacity, span *spans)
{
    const char *name;
    json_t *entry;
    kn_status status = KN_OK;
    json_object_foreach(file->header, name, entry)
    {
        ptrdiff_t bytes = 0;
        if (strcmp(name, KN_ST_METADATA_KEY) == 0) {
            KN_TRY(read_metadata(ctx, file, entry));
            continue;
        }
        kn_st_tensor *t = &file->tensors[file->count];
        span *s = &spans[file->count];
        t->name = name;
        s->tensor = file->count++;
        if (!json_is_object(entry))
            return fail_entry(ctx, file, name, "is not an object");
        KN_TRY(read_type(ctx, file, entry, t));
        KN_TRY(read_shape(ctx, file, entry, t, &bytes));
        KN_TRY(read_offsets(ctx, file, entry, t, capacity, bytes, s));
    }
out:
    return status;
}

/* Returns -1, 0 or 1 as a is smaller than, equal to or larger than b. */
static int compare_sizes(ptrdiff_t a, ptrdiff_t b)
{
    return (a > b) - (a < b);
}

/* Comparison for qsort of spans: by begin, then end, so that empty tensors come first. */
static int by_place(const void *a, const void *b)
{
    const span *x = a, *y = b;
    int order = compare_sizes(x->begin, y->begin);
    if (order == 0)
        order = compare_sizes(x->end, y->end);
    return order ? order : compare_sizes(x->tensor, y->tensor);
}

/* Sorts the spans and fails with KN_ERR_FORMAT unless they cover the `size` bytes after `start`
 * without gap or overlap. */
static kn_status check_places(kn_ctx *ctx, const kn_st_file *file, span *spans, ptrdiff_t start,
                              ptrdiff_t size)
{
    ptrdiff_t end = 0;
    if (file->count > 0)
        qsort(spans, (size_t)file->count, sizeof *spans, by_place);
    for (ptrdiff_t i = 0; i < file->count; end = spans[i++].end) {
        const char *name = printable_name(file->tensors[spans[i].tensor].name);
        if (spans[i].begin < end)
            return kn_fail(ctx, KN_ERR_FORMAT, "%s: tensor '%s' overlaps '%s'", file->name, name,
                           printable_name(file->tensors[spans[i - 1].tensor].name));
        if (spans[i].begin > end)
            return kn_fail(ctx, KN_ERR_FORMAT, "%s: %td bytes before tensor '%s' belong to none",
                           file->name, spans[i].begin - end, name);
    }
    if (end > size)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: the file ends after %td of %td bytes", file->name,
                       start + size, start + end);
    if (end < size)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: %td bytes after the last tensor belong to none",
                       file->name, size - end);
    return KN_OK;
}

/* Sets *length to the bytes of the JSON header. KN_ERR_FORMAT unless the file begins as a
 * safetensors file. */
static kn_status read_header_length(kn_ctx *ctx, const kn_st_file *file, ptrdiff_t *length)
{
    unsigned char start[KN_ST_START + 1] = {0};
    ptrdiff_t n = file->source.size;
    if (n < KN_ST_START)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s is not a safetensors file; %td bytes are too few for one", file->name,
                       n);
    kn_status status =
        kn_byte_source_read(ctx, &file->source, 0, kn_min_size(n, sizeof start), start);
    if (status != KN_OK)
        return status;
    uint64_t bytes = kn_load64(start, KN_BIG_ENDIAN);
    if (bytes < 2 || bytes > KN_ST_MAX_HEADER || (n > KN_ST_START && start[KN_ST_START] != '{'))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s is not a safetensors file", file->name);
    *length = (ptrdiff_t)bytes;
    if (*length > n - KN_ST_START)
        return kn_fail(
            ctx, KN_ERR_FORMAT,
            "%s: the file ends after %td bytes, within a header of %td bytes; get the file again",
            file->name, n, *length);
    return KN_OK;
}

/* Parses `length` bytes of JSON into file->header. KN_ERR_FORMAT, with the position, if it is
 * invalid. */
static kn_status parse_header(kn_ctx *ctx, kn_st_file *file, const char *text, ptrdiff_t length)
{
    json_error_t error;
    file->header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    if (file->header)
        return KN_OK;
    if (json_error_code(&error) == json_error_out_of_memory)
        return kn_fail(ctx, KN_ERR_MEMORY, "%s: out of memory for the header", file->name);
    if (json_error_code(&error) == json_error_duplicate_key)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: the header has a duplicate key near byte %d",
                       file->name, KN_ST_START + error.position);
    return kn_fail(ctx, KN_ERR_FORMAT, "%s: the header is not valid JSON, near byte %d", file->name,
                   KN_ST_START + error.position);
}

/* Reads the header length and the JSON into file->header; *start is the offset of the data. */
static kn_status read_header(kn_ctx *ctx, kn_st_file *file, ptrdiff_t *start)
{
    kn_status status;
    ptrdiff_t length = 0;
    void *text = NULL;
    KN_TRY(read_header_length(ctx, file, &length));
    *start = KN_ST_START + length;
    KN_TRY(kn_alloc(ctx, length, 1, &text));
    KN_TRY(kn_byte_source_read(ctx, &file->source, KN_ST_START, length, text));
    KN_TRY(parse_header(ctx, file, text, length));
out:
    kn_free(text);
    return status;
}

/* Reads the header of file->source and checks the positions of all tensors. KN_ERR_FORMAT if the
 * file is not valid. */
static kn_status parse_file(kn_ctx *ctx, kn_st_file *file)
{
    span *spans = NULL;
    ptrdiff_t start;
    void *p;
    kn_status status;

    KN_TRY(read_header(ctx, file, &start));
    ptrdiff_t entries = (ptrdiff_t)json_object_size(file->header);
    KN_TRY(kn_alloc(ctx, entries, sizeof *file->tensors, &p));
    file->tensors = p;
    KN_TRY(kn_alloc(ctx, entries, sizeof *spans, &p));
    spans = p;
    KN_TRY(read_entries(ctx, file, PTRDIFF_MAX - start, spans));
    KN_TRY(check_places(ctx, file, spans, start, file->source.size - start));
    for (ptrdiff_t i = 0; i < file->count; i++)
        file->tensors[spans[i].tensor].at = start + spans[i].begin;
out:
    kn_free(spans);
    return status;
}

/* Allocates an empty file with a copy of its name for messages; the caller frees it with
 * kn_st_close, also after failure. */
static kn_status new_file(kn_ctx *ctx, const char *name, kn_st_file **out)
{
    void *p;
    kn_status status = kn_alloc(ctx, 1, sizeof **out, &p);
    *out = p;
    return status == KN_OK ? kn_text_copy(ctx, name, strlen(name), &(*out)->name) : status;
}

/* Makes *out (kn_st_close) from an open source. Ownership of the source passes to it, also on
 * failure. */
static kn_status open_source(kn_ctx *ctx, const char *name, kn_byte_source source, kn_st_file **out)
{
    kn_st_file *file = NULL;
    kn_status status = new_file(ctx, name, &file);
    if (status != KN_OK) {
        kn_byte_source_close(&source);
        goto out;
    }
    file->source = source;
    file->source.name = file->name;
    KN_TRY(parse_file(ctx, file));
    *out = file;
    file = NULL;
out:
    kn_st_close(file);
    return status;
}

kn_status kn_st_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                      kn_st_file **out)
{
    *out = NULL;
    return open_source(ctx, name, kn_byte_source_of(name, bytes, n), out);
}

kn_status kn_st_open(kn_ctx *ctx, const char *path, kn_st_file **out)
{
    kn_byte_source source;
    *out = NULL;
    kn_status status = kn_byte_source_open(ctx, path, &source);
    return status == KN_OK ? open_source(ctx, path, source, out) : status;
}

void kn_st_close(kn_st_file *file)
{
    if (!file)
        return;
    kn_byte_source_close(&file->source);
    kn_free(file->tensors);
    kn_free(file->keys);
    kn_free(file->values);
    json_decref(file->header);
    kn_free(file->name);
    kn_free(file);
}

/* Adds the bytes from offset `at` to the end of the file to a hash. KN_ERR_IO if reading fails. */
static kn_status hash_from(kn_ctx *ctx, const kn_st_file *file, ptrdiff_t at, kn_hashing *h)
{
    enum { PIECE = 1 << 20 }; /* bytes between two checks for cancellation */
    void *piece;
    kn_status status = kn_alloc(ctx, PIECE, 1, &piece);
    for (ptrdiff_t n; status == KN_OK && at < file->source.size; at += n) {
        n = kn_min_size(file->source.size - at, PIECE);
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_byte_source_read(ctx, &file->source, at, n, piece));
        kn_hashing_add(h, piece, (size_t)n);
    }
out:
    kn_free(piece);
    return status;
}

/* Adds the bytes of a sealed file, with zeros in place of its checksum, to a hash. */
static kn_status hash_sealed(kn_ctx *ctx, const kn_st_file *file, kn_hashing *h)
{
    unsigned char start[KN_ST_SEAL];
    if (file->source.size < KN_ST_SEAL + KN_ST_DIGITS)
        return KN_OK;
    kn_status status = kn_byte_source_read(ctx, &file->source, 0, KN_ST_SEAL, start);
    if (status != KN_OK)
        return status;
    kn_hashing_add(h, start, KN_ST_SEAL);
    kn_hashing_add(h, KN_ST_NO_DIGITS, KN_ST_DIGITS);
    return hash_from(ctx, file, KN_ST_SEAL + KN_ST_DIGITS, h);
}

kn_status kn_st_verify(kn_ctx *ctx, const kn_st_file *file, bool *sealed)
{
    const char *digits = kn_st_metadata(file, KN_ST_CHECKSUM);
    char found[KN_ST_DIGITS + 1];
    kn_hashing h = kn_hashing_begin(0);
    *sealed = digits != NULL;
    kn_status status = digits ? hash_sealed(ctx, file, &h) : KN_OK;
    if (!digits || status != KN_OK)
        return status;
    snprintf(found, sizeof found, "%016" PRIx64, kn_hashing_end(&h));
    if (strcmp(digits, found) != 0)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s: the checksum of the file is %s, but %s was written; the file was "
                       "changed or damaged",
                       file->name, found, printable_name(digits));
    return KN_OK;
}

kn_status kn_st_hash(kn_ctx *ctx, const kn_st_file *file, uint64_t *out)
{
    kn_hashing h = kn_hashing_begin(0);
    kn_status status = hash_from(ctx, file, 0, &h);
    *out = status == KN_OK ? kn_hashing_end(&h) : 0;
    return status;
}

kn_status kn_st_check_unchanged(kn_ctx *ctx, const kn_st_file *file)
{
    return kn_byte_source_check(ctx, &file->source);
}

kn_status kn_st_values(kn_ctx *ctx, const kn_st_file *file, const kn_st_tensor *t, ptrdiff_t first,
                       ptrdiff_t n, void *out)
{
    ptrdiff_t size = types[t->type].size;
    return kn_byte_source_read_wide(ctx, &file->source, t->at + first * size, n * size, out);
}

const char *kn_st_name(const kn_st_file *file)
{
    return file->name;
}

ptrdiff_t kn_st_count(const kn_st_file *file)
{
    return file->count;
}

const kn_st_tensor *kn_st_at(const kn_st_file *file, ptrdiff_t i)
{
    return &file->tensors[i];
}

const kn_st_tensor *kn_st_find(const kn_st_file *file, const char *name)
{
    for (ptrdiff_t i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

ptrdiff_t kn_st_metadata_count(const kn_st_file *file)
{
    return file->metadata_count;
}

void kn_st_metadata_at(const kn_st_file *file, ptrdiff_t i, const char **key, const char **value)
{
    *key = file->keys[i];
    *value = file->values[i];
}

const char *kn_st_metadata(const kn_st_file *file, const char *key)
{
    for (ptrdiff_t i = 0; i < file->metadata_count; i++)
        if (strcmp(file->keys[i], key) == 0)
            return file->values[i];
    return NULL;
}
