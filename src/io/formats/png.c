/* Implements png.h: each picture is compressed with and without the Sub filter, and the smaller
 * file is returned. The report embeds its maps in this format. */
#include "io/formats/png.h"

#include <assert.h>
#include <libdeflate.h>
#include <string.h>

#include "io/file/byte_order.h"

enum { LEVEL = 9 };   /* of libdeflate: higher ones save 1 % on maps in three times the time */
enum { INDEXED = 3 }; /* colour type of a PNG */
enum { NONE = 0, SUB = 1 };                      /* filters of a row */
enum { HEADER = 13, CHUNK = 12, SIGNATURE = 8 }; /* bytes; CHUNK: overhead of a chunk */

typedef struct picture {
    ptrdiff_t width, height, row; /* row: bytes per row, without the filter byte */
    int depth;                    /* bits per pixel */
    unsigned char palette[3 * KN_PNG_COLOURS], alpha[KN_PNG_COLOURS];
    ptrdiff_t colours, transparent;       /* the first `transparent` colours are not opaque */
    unsigned char number[KN_PNG_COLOURS]; /* index into the palette, per colour of the caller */
} picture;

/* Writes a PNG chunk at `to`: length, name, n bytes, CRC. Returns the position behind it. `bytes`
 * may already be in place, at to + 8. */
static unsigned char *put_chunk(unsigned char *to, const char *name, const void *bytes, ptrdiff_t n)
{
    kn_store32(to, (uint32_t)n, !KN_BIG_ENDIAN);
    memcpy(to + 4, name, 4);
    if (n > 0 && bytes != to + 8)
        memcpy(to + 8, bytes, (size_t)n);
    kn_store32(to + 8 + n, libdeflate_crc32(0, to + 4, (size_t)n + 4), !KN_BIG_ENDIAN);
    return to + CHUNK + n;
}

/* Makes the palette of the colours that n pixels use, those with alpha < 255 first, since only they
 * need an entry in tRNS. Sets the bits per pixel, p->depth. */
static void choose_colours(const uint8_t *pixel, ptrdiff_t n, const kn_png_colour *colour,
                           picture *p)
{
    bool used[KN_PNG_COLOURS] = {false};
    for (ptrdiff_t i = 0; i < n; i++)
        used[pixel[i]] = true;
    for (int opaque = 0; opaque < 2; opaque++)
        for (int c = 0; c < KN_PNG_COLOURS; c++) {
            if (!used[c] || (colour[c].alpha == 255) != (opaque == 1))
                continue;
            p->number[c] = (unsigned char)p->colours;
            p->palette[3 * p->colours] = colour[c].red;
            p->palette[3 * p->colours + 1] = colour[c].green;
            p->palette[3 * p->colours + 2] = colour[c].blue;
            p->alpha[p->colours++] = colour[c].alpha;
            p->transparent += !opaque;
        }
    p->depth = p->colours <= 2 ? 1 : p->colours <= 4 ? 2 : p->colours <= 16 ? 4 : 8;
}

/* Packs a row of p->width pixels into `row`, several per byte, the first in the highest bits.
 */
static void pack_row(const picture *p, const uint8_t *pixel, unsigned char *row)
{
    const int each = 8 / p->depth;
    memset(row, 0, (size_t)p->row);
    for (ptrdiff_t x = 0; x < p->width; x++) {
        int shift = 8 - p->depth * (int)(x % each + 1);
        row[x / each] = (unsigned char)(row[x / each] | p->number[pixel[x]] << shift);
    }
}

/* Applies the filter Sub to all rows in place: subtracts the previous byte from each byte, from the
 * end on. */
static void filter_rows(const picture *p, unsigned char *rows)
{
    for (ptrdiff_t y = 0; y < p->height; y++) {
        unsigned char *row = rows + y * (p->row + 1);
        row[0] = SUB;
        for (ptrdiff_t x = p->row; x > 1; x--)
            row[x] = (unsigned char)(row[x] - row[x - 1]);
    }
}

/* Writes the whole PNG file to `out`, which is large enough for any content; *n is its size.
 * capacity: bytes for the compressed rows. */
static void put_file(const picture *p, struct libdeflate_compressor *c, const unsigned char *rows,
                     ptrdiff_t capacity, unsigned char *out, ptrdiff_t *n)
{
    static const unsigned char signature[] = {137, 'P', 'N', 'G', '\r', '\n', 26, '\n'};
    unsigned char header[HEADER] = {0}, *at = out + SIGNATURE;
    memcpy(out, signature, SIGNATURE);
    kn_store32(header, (uint32_t)p->width, !KN_BIG_ENDIAN);
    kn_store32(header + 4, (uint32_t)p->height, !KN_BIG_ENDIAN);
    header[8] = (unsigned char)p->depth;
    header[9] = INDEXED;
    at = put_chunk(at, "IHDR", header, HEADER);
    at = put_chunk(at, "PLTE", p->palette, 3 * p->colours);
    if (p->transparent > 0)
        at = put_chunk(at, "tRNS", p->alpha, p->transparent);
    size_t packed = libdeflate_zlib_compress(c, rows, (size_t)(p->height * (p->row + 1)), at + 8,
                                             (size_t)capacity);
    assert(packed > 0);
    at = put_chunk(at, "IDAT", at + 8, (ptrdiff_t)packed);
    at = put_chunk(at, "IEND", NULL, 0);
    *n = at - out;
}

/* Encodes the picture without and with filter; *bytes (*n of them; kn_free) is the smaller file.
 * Fails only without memory. */
static kn_status write_picture(kn_ctx *ctx, const picture *p, const uint8_t *pixel, void **bytes,
                               ptrdiff_t *n)
{
    /* bytes of the file without the compressed rows, at most */
    enum { BEFORE = SIGNATURE + 5 * CHUNK + HEADER + 4 * KN_PNG_COLOURS };
    kn_status status;
    void *rows = NULL, *file[2] = {NULL, NULL};
    ptrdiff_t size[2];
    struct libdeflate_compressor *c = NULL;
    KN_TRY(kn_alloc(ctx, p->height, (size_t)p->row + 1, &rows));
    for (ptrdiff_t y = 0; y < p->height; y++)
        pack_row(p, pixel + y * p->width, (unsigned char *)rows + y * (p->row + 1) + 1);
    c = libdeflate_alloc_compressor(LEVEL);
    if (!c) {
        status = kn_fail(ctx, KN_ERR_MEMORY, "out of memory for compression");
        goto out;
    }
    ptrdiff_t capacity =
        (ptrdiff_t)libdeflate_zlib_compress_bound(c, (size_t)(p->height * (p->row + 1)));
    for (int filter = NONE; filter <= SUB; filter++) {
        if (filter == SUB)
            filter_rows(p, rows);
        KN_TRY(kn_alloc(ctx, BEFORE + capacity, 1, &file[filter]));
        put_file(p, c, rows, capacity, file[filter], &size[filter]);
    }
    int best = size[SUB] < size[NONE];
    KN_TRY(kn_alloc(ctx, size[best], 1, bytes));
    memcpy(*bytes, file[best], (size_t)size[best]);
    *n = size[best];
out:
    if (c)
        libdeflate_free_compressor(c);
    kn_free(rows);
    kn_free(file[0]);
    kn_free(file[1]);
    return status;
}

kn_status kn_png_indexed(kn_ctx *ctx, ptrdiff_t width, ptrdiff_t height, const uint8_t *pixel,
                         const kn_png_colour *colour, void **bytes, ptrdiff_t *n)
{
    picture p = {.width = width, .height = height};
    assert(width > 0 && height > 0 && width <= INT32_MAX && height <= INT32_MAX);
    *bytes = NULL;
    choose_colours(pixel, width * height, colour, &p);
    p.row = (width * p.depth + 7) / 8;
    return write_picture(ctx, &p, pixel, bytes, n);
}
