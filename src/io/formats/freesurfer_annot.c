/* Reads FreeSurfer annotations (internal.h). The vertices are decoded last, when the colour table
 * is known. */
#include "io/formats/internal.h"

#include <stdint.h>
#include <string.h>

#include "io/file/byte_order.h"
#include "io/file/path.h"

/* Bytes of a vertex entry, a colour and a table entry without name; version of the table. */
enum { PAIR = 8, COLOUR = 16, MIN_ENTRY = 4 + COLOUR, VERSION = 2 };

typedef struct reader {
    kn_ctx *ctx;
    const char *name;
    const unsigned char *bytes;
    ptrdiff_t size, at;
    const char *part; /* of the file that is being read, for messages */
    bool second;      /* the table is of version 2 */
    ptrdiff_t count;
    kn_label_key *keys;
    kn_vertex_labels *out;
} reader;

/* Fails with KN_ERR_FORMAT because the file ends within the part that is being read. */
static kn_status fail_truncated(const reader *r)
{
    return kn_fail(r->ctx, KN_ERR_FORMAT,
                   "%s ends within its %s; the file is incomplete, or is not an annotation",
                   r->name, r->part);
}

/* Reads the next 32-bit big-endian integer and moves behind it. KN_ERR_FORMAT at the end of the
 * file. */
static kn_status read_int(reader *r, int32_t *out)
{
    *out = 0;
    if (r->size - r->at < 4)
        return fail_truncated(r);
    *out = (int32_t)kn_load32(r->bytes + r->at, !KN_BIG_ENDIAN);
    r->at += 4;
    return KN_OK;
}

/* Reads a length and so many bytes: *text points into the file, *n is its length up to a NUL.
 * KN_ERR_FORMAT at the end of the file. */
static kn_status take_text(reader *r, const char **text, size_t *n)
{
    int32_t length;
    kn_status status = read_int(r, &length);
    if (status != KN_OK)
        return status;
    if (length < 0 || length > r->size - r->at)
        return fail_truncated(r);
    *text = (const char *)r->bytes + r->at;
    const void *end = length > 0 ? memchr(*text, 0, (size_t)length) : NULL;
    *n = end ? (size_t)((const char *)end - *text) : (size_t)length;
    r->at += length;
    return KN_OK;
}

/* Reads the head of the colour table: sets r->second (version 2) and r->count (entries).
 * KN_ERR_FORMAT for another version, no table, or more entries than the file can hold. */
static kn_status take_head(reader *r)
{
    kn_status status;
    int32_t has, count, limit;
    const char *from;
    size_t n;
    KN_TRY(read_int(r, &has));
    if (!has) {
        status = kn_fail(r->ctx, KN_ERR_FORMAT,
                         "%s has no colour table, which contains the names of regions", r->name);
        goto out;
    }
    KN_TRY(read_int(r, &count));
    r->second = count < 0;
    if (r->second && count != -VERSION) {
        status = kn_fail(r->ctx, KN_ERR_FORMAT,
                         "%s: the colour table has version %ld, but must have version 1 or 2",
                         r->name, -(long)count);
        goto out;
    }
    if (r->second)
        KN_TRY(read_int(r, &limit));
    KN_TRY(take_text(r, &from, &n));
    if (r->second)
        KN_TRY(read_int(r, &count));
    if (count < 0 || count > (r->size - r->at) / (MIN_ENTRY + (r->second ? 4 : 0)))
        status = fail_truncated(r);
    r->count = count;
out:
    return status;
}

/* Reads entry i of the colour table of a FreeSurfer annotation: the name of a label and its key,
 * which is its colour. KN_ERR_FORMAT if the file ends or the entry is malformed. */
static kn_status take_entry(reader *r, ptrdiff_t i)
{
    kn_status status;
    int32_t place, red, green, blue, flag;
    const char *text;
    size_t n;
    if (r->second)
        KN_TRY(read_int(r, &place));
    KN_TRY(take_text(r, &text, &n));
    KN_TRY(read_int(r, &red));
    KN_TRY(read_int(r, &green));
    KN_TRY(read_int(r, &blue));
    KN_TRY(read_int(r, &flag));
    KN_TRY(kn_text_copy(r->ctx, text, n, &r->out->name[i]));
    const uint32_t colour =
        ((uint32_t)red & 255) | ((uint32_t)green & 255) << 8 | ((uint32_t)blue & 255) << 16;
    r->keys[i] = (kn_label_key){.key = (long)colour, .place = i};
out:
    return status;
}

/* Sets the region of each vertex from its colour, -1 if the table does not have it. KN_ERR_FORMAT
 * for a vertex that does not exist. */
static kn_status take_vertices(reader *r)
{
    for (ptrdiff_t i = 0; i < r->out->vertices; i++) {
        const unsigned char *p = r->bytes + 4 + PAIR * i;
        const int32_t v = (int32_t)kn_load32(p, !KN_BIG_ENDIAN);
        const uint32_t colour = kn_load32(p + 4, !KN_BIG_ENDIAN) & 0xffffff;
        if (v < 0 || v >= r->out->vertices)
            return kn_fail(r->ctx, KN_ERR_FORMAT,
                           "%s refers to vertex %ld, but the vertices are 0 to %td", r->name,
                           (long)v, r->out->vertices - 1);
        r->out->region[v] = kn_label_keys_find(r->keys, r->count, (long)colour);
    }
    return KN_OK;
}

/* Parses the bytes of an annotation into r->out: skips the vertices, reads the colour table, then
 * decodes the vertices. KN_ERR_FORMAT if it is damaged. */
static kn_status parse_annotation(reader *r)
{
    kn_status status;
    int32_t n;
    void *memory = NULL;
    KN_TRY(read_int(r, &n));
    if (n < 1 || n > (r->size - r->at) / PAIR) {
        status = fail_truncated(r);
        goto out;
    }
    r->at += (ptrdiff_t)n * PAIR;
    r->part = "colour table";
    KN_TRY(take_head(r));
    KN_TRY(kn_vertex_labels_new(r->ctx, n, r->count, r->out));
    KN_TRY(kn_alloc(r->ctx, r->count, sizeof *r->keys, &memory));
    r->keys = memory;
    for (ptrdiff_t i = 0; i < r->count; i++)
        KN_TRY(take_entry(r, i));
    kn_label_keys_sort(r->keys, r->count);
    status = take_vertices(r);
out:
    kn_free(memory);
    return status;
}

kn_status kn_annot_read_source(kn_ctx *ctx, const kn_byte_source *source, kn_vertex_labels *out)
{
    kn_status status;
    void *bytes = NULL;
    *out = (kn_vertex_labels){0};
    KN_TRY(kn_alloc(ctx, source->size, 1, &bytes));
    KN_TRY(kn_byte_source_read(ctx, source, 0, source->size, bytes));
    reader r = {.ctx = ctx,
                .name = source->name,
                .bytes = bytes,
                .size = source->size,
                .part = "list of vertices",
                .out = out};
    status = parse_annotation(&r);
out:
    kn_free(bytes);
    if (status != KN_OK)
        kn_vertex_labels_clear(out);
    return status;
}
