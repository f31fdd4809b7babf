/* Implements kn_npy_header_read of npy.h: a recursive-descent parser of the Python literal. An
 * array of more than two dimensions is refused with a sentence. */
#include "io/npy/npy.h"

#include <string.h>

#include "io/file/byte_order.h"
#include "io/file/path.h"

enum { PREFIX = 12, MAX_HEADER = 1 << 16, MAX_DESCR = 64 };

typedef struct cursor {
    const char *at, *end;
} cursor;

/* Advances the cursor behind white space. */
static void skip_spaces(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
}

/* Skips spaces, then consumes the character `wanted`. Returns false if another one follows. */
static bool take_character(cursor *c, char wanted)
{
    skip_spaces(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

/* Skips spaces and this word. Returns false, with only spaces skipped, if another text follows. */
static bool take_word(cursor *c, const char *word)
{
    size_t n = strlen(word);
    skip_spaces(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* Reads a string in single or double quotes, without escapes, which no key or type has. Returns
 * false for anything else. */
static bool take_string(cursor *c, char out[MAX_DESCR])
{
    skip_spaces(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    char quote = *c->at++;
    size_t n = 0;
    while (c->at < c->end && *c->at != quote && *c->at != '\\' && n + 1 < MAX_DESCR)
        out[n++] = *c->at++;
    out[n] = '\0';
    return take_character(c, quote);
}

/* Reads a non-negative integer. Returns false if there is none or it overflows. */
static bool take_size(cursor *c, ptrdiff_t *out)
{
    skip_spaces(c);
    const char *start = c->at;
    *out = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (*out > (PTRDIFF_MAX - 9) / 10)
            return false;
        *out = 10 * *out + (*c->at - '0');
    }
    if (c->at == start)
        return false;
    take_character(c, 'L'); /* Python 2 wrote 3L */
    return true;
}

/* Reads a shape such as (3,) or (3, 4). *dims counts further dimensions too, so that the message
 * can name them. Returns false for anything else. */
static bool take_shape(cursor *c, ptrdiff_t shape[2], int *dims)
{
    enum { MAX_DIMS = 32 };
    *dims = 0;
    if (!take_character(c, '('))
        return false;
    while (!take_character(c, ')')) {
        ptrdiff_t n;
        if (*dims == MAX_DIMS || !take_size(c, &n))
            return false;
        if (*dims < 2)
            shape[*dims] = n;
        ++*dims;
        if (!take_character(c, ',')) {
            if (*dims == 1) /* (3) is a number in Python, not a tuple */
                return false;
            return take_character(c, ')');
        }
    }
    return true;
}

static const struct {
    char kind;
    int bytes;
    int code;
} types[] = {
    {'f', 4, KN_VOXEL_FLOAT32}, {'f', 8, KN_VOXEL_FLOAT64}, {'i', 1, KN_VOXEL_INT8},
    {'i', 2, KN_VOXEL_INT16},   {'i', 4, KN_VOXEL_INT32},   {'i', 8, KN_VOXEL_INT64},
    {'u', 1, KN_VOXEL_UINT8},   {'u', 2, KN_VOXEL_UINT16},  {'u', 4, KN_VOXEL_UINT32},
    {'u', 8, KN_VOXEL_UINT64},  {'b', 1, KN_VOXEL_UINT8},
};

/* Sets type and byte order of the elements from a descr such as "<f8". KN_ERR_FORMAT if it is not
 * supported. */
static kn_status find_type(kn_ctx *ctx, const char *name, const char *descr, kn_npy_header *h)
{
    if (strlen(descr) == 3 && strchr("<>|=", descr[0])) {
        bool big = descr[0] == '>' || (descr[0] == '=' && KN_BIG_ENDIAN);
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
            if (types[i].kind == descr[1] && types[i].bytes == descr[2] - '0' &&
                (descr[0] != '|' || types[i].bytes == 1)) {
                h->type = kn_voxel_type_find(types[i].code);
                h->swapped = big != KN_BIG_ENDIAN;
                return KN_OK;
            }
    }
    return kn_fail(
        ctx, KN_ERR_FORMAT,
        "%s: the elements have type '%s', but must be float32, float64, integers or bool", name,
        descr);
}

/* Fails with KN_ERR_FORMAT because the header is not that of a plain array. */
static kn_status bad_header(kn_ctx *ctx, const char *name)
{
    return kn_fail(
        ctx, KN_ERR_FORMAT,
        "%s: the header is not that of a plain array ('descr', 'fortran_order', 'shape')", name);
}

/* Parses the Python literal, n characters, and fills the header except data_offset. KN_ERR_FORMAT
 * if it is malformed, KN_ERR_SHAPE for other than 1 or 2 dimensions. */
static kn_status parse_literal(kn_ctx *ctx, const char *name, const char *text, ptrdiff_t n,
                               kn_npy_header *h)
{
    cursor c = {text, text + n};
    char key[MAX_DESCR], descr[MAX_DESCR];
    ptrdiff_t shape[2] = {0, 1};
    bool seen[3] = {false, false, false};
    static const char *const keys[3] = {"descr", "fortran_order", "shape"};

    if (!take_character(&c, '{'))
        return bad_header(ctx, name);
    while (!take_character(&c, '}')) {
        size_t k = 0;
        if (!take_string(&c, key) || !take_character(&c, ':'))
            return bad_header(ctx, name);
        while (k < 3 && strcmp(key, keys[k]) != 0)
            k++;
        if (k == 3 || seen[k])
            return bad_header(ctx, name);
        seen[k] = true;
        bool fine = k == 0   ? take_string(&c, descr)
                    : k == 1 ? (h->fortran = take_word(&c, "True")) || take_word(&c, "False")
                             : take_shape(&c, shape, &h->dims);
        if (!fine)
            return bad_header(ctx, name);
        if (!take_character(&c, ',')) {
            if (!take_character(&c, '}'))
                return bad_header(ctx, name);
            break;
        }
    }
    skip_spaces(&c);
    if (c.at != c.end || !seen[0] || !seen[1] || !seen[2])
        return bad_header(ctx, name);
    if (h->dims < 1 || h->dims > 2)
        return kn_fail(ctx, KN_ERR_SHAPE, "%s: the array has %d dimensions, but must have 1 or 2",
                       name, h->dims);
    h->rows = shape[0];
    h->cols = h->dims == 2 ? shape[1] : 1;
    return find_type(ctx, name, descr, h);
}

/* Checks, before the data are allocated, that the file has exactly the bytes of the shape;
 * KN_ERR_FORMAT or, for an empty array, KN_ERR_SHAPE. */
static kn_status check_size(kn_ctx *ctx, const kn_byte_source *source, const kn_npy_header *h)
{
    if (h->rows == 0 || h->cols == 0)
        return kn_fail(ctx, KN_ERR_SHAPE, "%s: an array of %td x %td has no values", source->name,
                       h->rows, h->cols);
    ptrdiff_t has = source->size - h->data_offset, capacity = PTRDIFF_MAX / 16;
    bool huge = h->rows > capacity / h->cols;
    if (!huge && h->rows * h->cols * h->type->bytes == has)
        return KN_OK;
    double wanted = (double)h->rows * (double)h->cols * h->type->bytes;
    return kn_fail(ctx, KN_ERR_FORMAT, "%s: the header declares %s of data, but the file has %s",
                   source->name, kn_format_size(wanted).text, kn_format_size((double)has).text);
}

kn_status kn_npy_header_read(kn_ctx *ctx, const kn_byte_source *source, kn_npy_header *out)
{
    unsigned char prefix[PREFIX];
    void *text = NULL;
    kn_status status;

    *out = (kn_npy_header){0};
    if (source->size < PREFIX)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: %td bytes are too few for a .npy file",
                       source->name, source->size);
    KN_TRY(kn_byte_source_read(ctx, source, 0, PREFIX, prefix));
    if (memcmp(prefix, "\x93NUMPY", 6) != 0)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s does not start as a .npy file", source->name);
    int major = prefix[6], minor = prefix[7];
    if (major < 1 || major > 3 || minor != 0)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s has .npy version %d.%d, but must have 1.0, 2.0 or 3.0", source->name,
                       major, minor);
    ptrdiff_t start = major == 1 ? 10 : 12;
    ptrdiff_t n = major == 1 ? (ptrdiff_t)kn_load16(prefix + 8, KN_BIG_ENDIAN)
                             : (ptrdiff_t)kn_load32(prefix + 8, KN_BIG_ENDIAN);
    if (n > MAX_HEADER || n > source->size - start)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: the header's length of %td bytes is not plausible",
                       source->name, n);
    KN_TRY(kn_alloc(ctx, n + 1, 1, &text));
    KN_TRY(kn_byte_source_read(ctx, source, start, n, text));
    KN_TRY(parse_literal(ctx, source->name, text, n, out));
    out->data_offset = start + n;
    KN_TRY(check_size(ctx, source, out));
out:
    kn_free(text);
    return status;
}
