/* A slow, obvious reader of PNG files as kronorm writes them, and numbers by chance. */
#ifndef KN_TEST_PNGS_H
#define KN_TEST_PNGS_H

#include <zlib.h>

#include "support/test.h"

typedef struct png_read {
    int width, height, depth, type, colours;
    int filter; /* of all rows; -1: they differ */
    unsigned char *rgba;
} png_read;

static inline unsigned png_number(const unsigned char *p)
{
    return (unsigned)p[0] << 24 | (unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3];
}

/* Contents of the chunk of this name, the first one; its CRC is checked, and so are those before
 * it. */
static inline const unsigned char *png_chunk(const unsigned char *file, ptrdiff_t n,
                                             const char *name, unsigned *size)
{
    for (ptrdiff_t at = 8; at + 12 <= n; at += 12 + (ptrdiff_t)png_number(file + at)) {
        *size = png_number(file + at);
        assert_true(at + 12 + (ptrdiff_t)*size <= n);
        assert_int_equal(crc32(0, file + at + 4, *size + 4), png_number(file + at + 8 + *size));
        if (memcmp(file + at + 4, name, 4) == 0)
            return file + at + 8;
    }
    *size = 0;
    return NULL;
}

static inline png_read png_of(const void *bytes, ptrdiff_t n)
{
    static const unsigned char signature[] = {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a};
    const unsigned char *file = bytes;
    unsigned size, palette_size, alpha_size;
    assert_memory_equal(file, signature, 8);
    const unsigned char *head = png_chunk(file, n, "IHDR", &size);
    assert_int_equal(size, 13);
    png_read p = {.width = (int)png_number(head),
                  .height = (int)png_number(head + 4),
                  .depth = head[8],
                  .type = head[9]};
    const unsigned char *palette = png_chunk(file, n, "PLTE", &palette_size);
    const unsigned char *alpha = png_chunk(file, n, "tRNS", &alpha_size);
    assert_non_null(png_chunk(file, n, "IEND", &size));
    const unsigned char *data = png_chunk(file, n, "IDAT", &size);
    size_t row = ((size_t)p.width * (size_t)p.depth + 7) / 8;
    uLongf room = (uLongf)(row + 1) * (uLongf)p.height;
    unsigned char *rows = malloc(room);
    assert_int_equal(uncompress(rows, &room, data, size), Z_OK);
    assert_int_equal(room, (row + 1) * (size_t)p.height);
    p.colours = (int)palette_size / 3;
    p.rgba = malloc(4 * (size_t)p.width * (size_t)p.height);
    p.filter = rows[0];
    for (int y = 0; y < p.height; y++) {
        unsigned char *r = rows + (size_t)y * (row + 1);
        assert_true(r[0] <= 1);
        p.filter = p.filter == r[0] ? p.filter : -1;
        for (size_t i = 1; r[0] == 1 && i < row; i++)
            r[i + 1] = (unsigned char)(r[i + 1] + r[i]);
        for (int x = 0; x < p.width; x++) {
            unsigned v = 0;
            for (int bit = 0; bit < p.depth; bit++) {
                int at = x * p.depth + bit;
                v = v << 1 | (r[1 + at / 8] >> (7 - at % 8) & 1u);
            }
            unsigned char *to = p.rgba + 4 * ((size_t)y * (size_t)p.width + (size_t)x);
            for (unsigned c = 0; c < 3; c++)
                to[c] = (unsigned char)(p.type == 3 ? palette[3 * v + c] : v);
            to[3] = p.type == 3 && v < alpha_size ? alpha[v] : 255;
            assert_true(p.type == 0 || v < palette_size / 3);
        }
    }
    free(rows);
    return p;
}

static inline unsigned chance(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (unsigned)((uint64_t)(*seed >> 8) * below >> 24);
}

#endif
