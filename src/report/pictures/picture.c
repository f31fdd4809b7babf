/* Colours maps: a picture is a table of pixels, each with the colour of its response. The kinds of
 * pictures are the rows of KINDS. */
#include "report/pictures/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/formats/png.h"
#include "report/pictures/colormaps.h"
#include "report/pictures/internal.h"

enum { BAR_WIDTH = 256, BAR_HEIGHT = 12, BAR_GREY = 128 }; /* over middle grey */
/* Greys of a thumbnail background: with every level of z they fit into 256 colours. */
enum { GREYS = 5 };
enum { GROUND_GREYS = 64 };

struct kn_pictures {
    kn_picture_tables tables;
    ptrdiff_t T;
};

/* One row per kind of space; a kind without a function has no pictures. */
static const kn_picture_kind KINDS[] = {
    [KN_REPORT_VOLUME] = kn_mosaic_build,
    [KN_REPORT_SURFACE] = kn_raster_build,
};

void kn_picture_clear(kn_picture *p)
{
    kn_free(p->bytes);
    *p = (kn_picture){0};
}

kn_status kn_pictures_new(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T, kn_pictures **out)
{
    kn_status status = KN_OK;
    kn_pictures *p = NULL;
    void *memory;
    *out = NULL;
    if ((size_t)space->kind >= sizeof KINDS / sizeof *KINDS || !KINDS[space->kind])
        return status;
    KN_TRY(kn_alloc(ctx, 1, sizeof *p, &memory));
    p = memory;
    p->T = T;
    KN_TRY(KINDS[space->kind](ctx, space, T, &p->tables));
    if (p->tables.whole.width > 0) {
        *out = p;
        p = NULL;
    }
out:
    kn_pictures_free(p);
    return status;
}

void kn_pictures_free(kn_pictures *p)
{
    if (p)
        kn_arena_clear(&p->tables.arena);
    kn_free(p);
}

const char *kn_pictures_description(const kn_pictures *p)
{
    return p->tables.words;
}

ptrdiff_t kn_pictures_labels(const kn_pictures *p, const kn_picture_label **out)
{
    *out = p->tables.label;
    return p->tables.labels;
}

void kn_picture_label_add(kn_picture_tables *tables, const kn_picture_label *label)
{
    if (tables->labels < KN_PICTURE_LABELS)
        tables->label[tables->labels++] = *label;
}

/* Allocates one byte per pixel of the table, the palette index for kn_png_indexed; freed with
 * kn_free. */
static kn_status pixels_new(kn_ctx *ctx, const kn_picture_table *t, uint8_t **out)
{
    void *memory;
    kn_status status = kn_alloc(ctx, t->width * t->height, 1, &memory);
    *out = memory;
    return status;
}

/* Encodes a picture of palette indices and their colours as PNG; out->bytes is owned by the caller
 * (kn_free). */
static kn_status write_png(kn_ctx *ctx, ptrdiff_t width, ptrdiff_t height, const uint8_t *pixel,
                           const kn_png_colour *colour, kn_picture *out)
{
    kn_status status = kn_png_indexed(ctx, width, height, pixel, colour, &out->bytes, &out->n);
    out->width = width;
    out->height = height;
    return status;
}

/* Draws grey in 64 steps, which is visually lossless, transparent where there is nothing. */
kn_status kn_pictures_background(kn_ctx *ctx, kn_pictures *p, kn_picture *out)
{
    const kn_picture_table *t = &p->tables.whole;
    kn_png_colour colour[KN_PNG_COLOURS] = {{0}};
    uint8_t *pixel = NULL;
    kn_status status;
    *out = (kn_picture){0};
    for (int k = 0; k < GROUND_GREYS; k++) {
        uint8_t grey = (uint8_t)(k * 255 / (GROUND_GREYS - 1));
        colour[k + 1] = (kn_png_colour){grey, grey, grey, 255};
    }
    KN_TRY(pixels_new(ctx, t, &pixel));
    for (ptrdiff_t i = 0; i < t->width * t->height; i++)
        pixel[i] =
            (uint8_t)(t->background[i] ? 1 + t->background[i] * (GROUND_GREYS - 1) / 255 : 0);
    KN_TRY(write_png(ctx, t->width, t->height, pixel, colour, out));
out:
    kn_free(pixel);
    return status;
}

/* Sets *out to the colour level of each cell, that of the largest |z| in it; the middle level if it
 * is empty. Without cells each response is its own. z: T values in steps of KN_REPORT_ZSTEP. Freed
 * with kn_free. */
static kn_status levels_of_cells(kn_ctx *ctx, const kn_picture_table *t, ptrdiff_t T,
                                 const int8_t *z, uint8_t **out)
{
    const int middle = KN_ZLEVELS / 2;
    void *memory;
    kn_status status;
    ptrdiff_t n = t->cell ? t->cells : T;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, n, 1, &memory));
    *out = memory;
    memset(*out, middle, (size_t)n);
    for (ptrdiff_t k = 0; k < T; k++) {
        ptrdiff_t cell = t->cell ? t->cell[k] : k;
        int level = kn_zlevel(z[k]);
        if (cell >= 0 && abs(level - middle) > abs((*out)[cell] - middle))
            (*out)[cell] = (uint8_t)level;
    }
out:
    return status;
}

kn_status kn_pictures_z(kn_ctx *ctx, kn_pictures *p, const int8_t *z, kn_picture *out)
{
    const kn_picture_table *t = &p->tables.whole;
    const int middle = KN_ZLEVELS / 2;
    kn_png_colour colour[KN_PNG_COLOURS] = {{0}};
    uint8_t *pixel = NULL, *level = NULL;
    kn_status status;
    *out = (kn_picture){0};
    for (int k = 0; k < KN_ZLEVELS; k++)
        colour[k] = kn_zcolour(k);
    KN_TRY(pixels_new(ctx, t, &pixel));
    KN_TRY(levels_of_cells(ctx, t, p->T, z, &level));
    for (ptrdiff_t i = 0; i < t->width * t->height; i++) {
        int seen = t->response[i] >= 0 ? level[t->response[i]] : middle;
        pixel[i] = (uint8_t)(colour[seen].alpha ? seen : middle);
    }
    KN_TRY(write_png(ctx, t->width, t->height, pixel, colour, out));
out:
    kn_free(level);
    kn_free(pixel);
    return status;
}

kn_status kn_pictures_values(kn_ctx *ctx, kn_pictures *p, const double *value, double low,
                             double high, kn_picture *out)
{
    const kn_picture_table *t = &p->tables.whole;
    kn_png_colour colour[KN_PNG_COLOURS] = {{0}};
    uint8_t *pixel = NULL;
    kn_status status;
    *out = (kn_picture){0};
    for (int k = 0; k < KN_VLEVELS; k++)
        colour[k] = kn_vcolour(k);
    KN_TRY(pixels_new(ctx, t, &pixel));
    for (ptrdiff_t i = 0; i < t->width * t->height; i++)
        pixel[i] = t->response[i] >= 0 ? (uint8_t)kn_vlevel(value[t->response[i]], low, high) : 0;
    KN_TRY(write_png(ctx, t->width, t->height, pixel, colour, out));
out:
    kn_free(pixel);
    return status;
}

/* Returns the colour of a z level on a projection: opacity begins at |z| = 2 and is full from
 * KN_ZFULL + 2, because the maximum of many z is large in every participant. */
static kn_png_colour shadow_colour(int level)
{
    enum { BEHIND = 8 }; /* in levels: z of 2 */
    const int middle = KN_ZLEVELS / 2, away = abs(level - middle);
    int weaker = away <= BEHIND ? 0 : away - BEHIND;
    kn_png_colour c = kn_zcolour(level);
    c.alpha = kn_zcolour(middle + weaker).alpha;
    return c;
}

kn_status kn_pictures_thumb(kn_ctx *ctx, kn_pictures *p, const int8_t *z, kn_picture *out)
{
    const kn_picture_table *t = &p->tables.thumb;
    kn_png_colour colour[KN_PNG_COLOURS] = {{0}};
    uint8_t *pixel = NULL, *level = NULL;
    kn_status status;
    *out = (kn_picture){0};
    for (int k = 0; k < KN_ZLEVELS; k++)
        for (int g = 0; g < GREYS; g++)
            colour[1 + k * GREYS + g] = kn_colour_over(t->cell ? shadow_colour(k) : kn_zcolour(k),
                                                       (uint8_t)((2 * g + 1) * 255 / (2 * GREYS)));
    KN_TRY(pixels_new(ctx, t, &pixel));
    KN_TRY(levels_of_cells(ctx, t, p->T, z, &level));
    for (ptrdiff_t i = 0; i < t->width * t->height; i++) {
        int seen = t->response[i] >= 0 ? level[t->response[i]] : KN_ZLEVELS / 2;
        int grey = t->background[i] * GREYS / 256;
        pixel[i] = t->background[i] ? (uint8_t)(1 + seen * GREYS + grey) : 0;
    }
    KN_TRY(write_png(ctx, t->width, t->height, pixel, colour, out));
out:
    kn_free(level);
    kn_free(pixel);
    return status;
}

kn_status kn_pictures_bar(kn_ctx *ctx, bool z, kn_picture *out)
{
    const int levels = z ? KN_ZLEVELS : KN_VLEVELS;
    kn_png_colour colour[KN_PNG_COLOURS] = {{0}};
    uint8_t pixel[BAR_WIDTH * BAR_HEIGHT];
    *out = (kn_picture){0};
    for (int k = 0; k < levels; k++)
        colour[k] = kn_colour_over(z ? kn_zcolour(k) : kn_vcolour(k), BAR_GREY);
    for (int i = 0; i < BAR_WIDTH * BAR_HEIGHT; i++)
        pixel[i] = (uint8_t)(i % BAR_WIDTH * levels / BAR_WIDTH);
    return write_png(ctx, BAR_WIDTH, BAR_HEIGHT, pixel, colour, out);
}
