/* Decodes the values of GIFTI (internal.h): text, base64, zlib and external files; then byte order
 * and transposition. Every size is checked against the bytes that exist. */
#include "io/formats/internal.h"

#include <libdeflate.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "io/file/byte_order.h"
#include "io/file/path.h"
#include "io/gzip/gzip.h"
#include "io/table/number.h"

/* One array that is being decoded. */
typedef struct job {
    kn_ctx *ctx;
    const char *file;
    ptrdiff_t number;
    const kn_gifti_form *form;
    kn_gifti_array *array;
    ptrdiff_t count, bytes; /* numbers of the array, and their size */
} job;

/* Fails with KN_ERR_FORMAT: "FILE: data array N WHAT". */
static kn_status fail_array(const job *j, const char *what)
{
    return kn_fail(j->ctx, KN_ERR_FORMAT, "%s: data array %td %s", j->file, j->number, what);
}

/* Fails with KN_ERR_FORMAT because the array needs more bytes than `has`, which its data hold at
 * most. */
static kn_status fail_too_short(const job *j, double has)
{
    return kn_fail(j->ctx, KN_ERR_FORMAT,
                   "%s: data array %td declares %s, but its data have at most %s", j->file,
                   j->number, kn_format_size((double)j->bytes).text, kn_format_size(has).text);
}

/* Allocates array->data, j->bytes. Called only after the text is known to be long enough. */
static kn_status alloc_values(const job *j)
{
    return kn_alloc(j->ctx, j->bytes, 1, &j->array->data);
}

/* ---- text --------------------------------------------------------------------------------- */

/* Returns whether c is white space of XML. */
static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns whether a word is inf or infinity with an optional sign, which kn_number_parse does not
 * accept; *out is the value. */
static bool is_infinite(const char *word, double *out)
{
    bool minus = word[0] == '-';
    word += minus || word[0] == '+';
    *out = minus ? -INFINITY : INFINITY;
    return strcasecmp(word, "inf") == 0 || strcasecmp(word, "infinity") == 0;
}

/* Parses a word and stores it as a number of `type` at `to`. Returns false if it is no number of
 * that type. */
static bool put_word(const kn_voxel_type *type, const char *word, unsigned char *to)
{
    double x;
    kn_cell cell = kn_number_parse(word, &x);
    if (type->code == KN_VOXEL_FLOAT32) {
        if (cell == KN_CELL_TEXT && !is_infinite(word, &x))
            return false;
        kn_store_f32(to, (float)x, false);
        return true;
    }
    bool byte = type->code == KN_VOXEL_UINT8;
    double low = byte ? 0 : INT32_MIN, high = byte ? UINT8_MAX : INT32_MAX;
    if (cell != KN_CELL_NUMBER || !(x >= low && x <= high) || x != floor(x))
        return false;
    if (byte)
        *to = (unsigned char)x;
    else
        kn_store32(to, (uint32_t)(int32_t)x, false);
    return true;
}

/* Decodes n characters of numbers separated by white space, which it overwrites, into array->data.
 * KN_ERR_FORMAT unless they are exactly as many as the dimensions say. */
static kn_status decode_ascii(const job *j, char *text, ptrdiff_t n)
{
    const kn_voxel_type *type = j->array->type;
    ptrdiff_t found = 0;
    if (j->count > n / 2 + 1) /* a number takes a digit and a space */
        return kn_fail(j->ctx, KN_ERR_FORMAT,
                       "%s: data array %td declares %td numbers, but its text has %td characters",
                       j->file, j->number, j->count, n);
    kn_status status = alloc_values(j);
    if (status != KN_OK)
        return status;
    unsigned char *to = j->array->data;
    for (char *p = text, *end = text + n; p < end;) {
        if (is_space(*p)) {
            p++;
            continue;
        }
        char *word = p;
        while (p < end && !is_space(*p))
            p++;
        *p++ = '\0';
        if (found < j->count && !put_word(type, word, to + found * type->bytes))
            return kn_fail(j->ctx, KN_ERR_FORMAT,
                           "%s: data array %td: number %td is \"%.20s\", but must be %s", j->file,
                           j->number, found + 1, word, type->name);
        found++;
    }
    if (found != j->count)
        return kn_fail(j->ctx, KN_ERR_FORMAT, "%s: data array %td has %td numbers instead of %td",
                       j->file, j->number, found, j->count);
    return KN_OK;
}

/* ---- base64 ------------------------------------------------------------------------------- */

/* Returns the value of a base64 digit, 0 to 63; -1 for another character. */
static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes n characters of base64 in place; *got is the number of bytes. Returns false if the text
 * is not base64. */
static bool from_base64(char *text, ptrdiff_t n, ptrdiff_t *got)
{
    uint32_t bits = 0;
    int n_bits = 0;
    ptrdiff_t i = 0, out = 0;
    for (; i < n && text[i] != '='; i++) {
        if (is_space(text[i]))
            continue;
        int d = digit_of(text[i]);
        if (d < 0)
            return false;
        bits = (bits << 6 | (uint32_t)d) & 0xffff;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            text[out++] = (char)(unsigned char)(bits >> n_bits & 0xff);
        }
    }
    for (; i < n; i++)
        if (text[i] != '=' && !is_space(text[i]))
            return false;
    *got = out;
    return true;
}

/* Decodes n characters of base64 into array->data, and decompresses the bytes if the encoding is
 * KN_GIFTI_ZLIB. KN_ERR_FORMAT if the data are damaged or have another size. */
static kn_status decode_base64(const job *j, char *text, ptrdiff_t n)
{
    ptrdiff_t got;
    if (!from_base64(text, n, &got))
        return fail_array(j, "is not base64");
    if (j->form->encoding == KN_GIFTI_BASE64) {
        if (got < j->bytes)
            return fail_too_short(j, (double)got);
        if (got > j->bytes)
            return fail_array(j, "has more data than its dimensions allow");
        kn_status status = alloc_values(j);
        if (status == KN_OK)
            memcpy(j->array->data, text, (size_t)got);
        return status;
    }
    if (j->bytes / KN_GZIP_MAX_RATIO > got)
        return fail_too_short(j, (double)got * KN_GZIP_MAX_RATIO);
    kn_status status = alloc_values(j);
    if (status != KN_OK)
        return status;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d)
        return kn_fail(j->ctx, KN_ERR_MEMORY, "out of memory for decompressing");
    size_t size = 0;
    enum libdeflate_result result =
        libdeflate_zlib_decompress(d, text, (size_t)got, j->array->data, (size_t)j->bytes, &size);
    libdeflate_free_decompressor(d);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
        return fail_array(j, "has more data than its dimensions allow");
    if (result != LIBDEFLATE_SUCCESS)
        return fail_array(j, "is damaged: it cannot be decompressed");
    return (ptrdiff_t)size < j->bytes ? fail_too_short(j, (double)size) : KN_OK;
}

/* ---- another file ------------------------------------------------------------------------- */

/* Reads the values from an external file. Only a name without folder is allowed, so that a GIFTI
 * file cannot make the program read files elsewhere; others = false allows none. KN_ERR_FORMAT or
 * KN_ERR_IO. */
static kn_status decode_external(const job *j, bool others)
{
    kn_byte_source source = {.fd = -1};
    char *path = NULL;
    const char *name = j->form->external;
    kn_status status;

    if (!others)
        return fail_array(j, "is in another file");
    if (!name || !*name || strchr(name, '/'))
        return fail_array(j, "is in another file, which must be in the same folder");
    KN_TRY(kn_path_relative_to(j->ctx, j->file, name, &path));
    KN_TRY(kn_byte_source_open(j->ctx, path, &source));
    if (j->form->offset > source.size || j->bytes > source.size - j->form->offset) {
        status = kn_fail(j->ctx, KN_ERR_FORMAT,
                         "%s: data array %td of %s needs %s, the file has %s", path, j->number,
                         j->file, kn_format_size((double)j->form->offset + (double)j->bytes).text,
                         kn_format_size((double)source.size).text);
        goto out;
    }
    KN_TRY(alloc_values(j));
    KN_TRY(kn_byte_source_read(j->ctx, &source, j->form->offset, j->bytes, j->array->data));
out:
    kn_byte_source_close(&source);
    kn_free(path);
    return status;
}

/* ---- order -------------------------------------------------------------------------------- */

/* Swaps the bytes of the array's 4-byte numbers in place. */
static void swap_bytes(const job *j)
{
    unsigned char *p = j->array->data;
    if (j->array->type->bytes == 4)
        for (ptrdiff_t i = 0; i < j->count; i++)
            kn_store32(p + 4 * i, kn_load32(p + 4 * i, true), false);
}

/* Replaces the array's column-major values by row-major ones. Fails only without memory. */
static kn_status transpose_values(const job *j)
{
    ptrdiff_t rows = j->array->dim[0], cols = j->array->dim[1], size = j->array->type->bytes;
    unsigned char *from = j->array->data;
    void *to;
    kn_status status = kn_alloc(j->ctx, j->bytes, 1, &to);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t c = 0; c < cols; c++)
            memcpy((unsigned char *)to + (r * cols + c) * size, from + (c * rows + r) * size,
                   (size_t)size);
    kn_free(from);
    j->array->data = to;
    return KN_OK;
}

kn_status kn_gifti_decode(kn_ctx *ctx, const char *file, ptrdiff_t number, bool others,
                          const kn_gifti_form *form, char *text, ptrdiff_t n, kn_gifti_array *array)
{
    job j = {.ctx = ctx, .file = file, .number = number, .form = form, .array = array};
    kn_status status;
    j.count = array->dim[0] * array->dim[1];
    j.bytes = j.count * array->type->bytes;
    if (form->encoding == KN_GIFTI_ASCII)
        KN_TRY(decode_ascii(&j, text, n));
    else if (form->encoding == KN_GIFTI_EXTERNAL)
        KN_TRY(decode_external(&j, others));
    else
        KN_TRY(decode_base64(&j, text, n));
    if (form->swapped && form->encoding != KN_GIFTI_ASCII)
        swap_bytes(&j);
    if (form->columns && array->dim[0] > 1 && array->dim[1] > 1)
        KN_TRY(transpose_values(&j));
out:
    return status;
}
