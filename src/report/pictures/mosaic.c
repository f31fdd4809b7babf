/* Slices of a volume as tables from pixels to responses (kn_picture_table), laid out by
 * mosaic_layout.c. The same table serves every map of the report. */
#include "report/pictures/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLAIN = 150, DARKEST = 24, LIGHTEST = 192 }; /* grey levels of the background */
enum { THUMB = 90 };                                /* approximate px of the longer side */
static const double OBLIQUE = 5;                    /* degrees */

/* Returns the background grey of a voxel, 0 (transparent) to 255: from the background image,
 * limited to middle greys so that colours contrast with it; without an image, PLAIN where there is
 * a response. */
static uint8_t grey_of(const kn_report_space *space, ptrdiff_t voxel, bool response)
{
    if (!space->background)
        return response ? PLAIN : 0;
    int b = space->background[voxel];
    return (uint8_t)(b || response ? DARKEST + b * (LIGHTEST - DARKEST) / 255 : 0);
}

/* Allocates a table of width x height pixels in the arena, without responses (-1) and transparent.
 */
static kn_status table_new(kn_ctx *ctx, kn_arena *arena, ptrdiff_t width, ptrdiff_t height,
                           kn_picture_table *out)
{
    void *memory;
    kn_status status;
    KN_TRY(kn_arena_i(ctx, arena, width * height, &out->response));
    KN_TRY(kn_arena_alloc(ctx, arena, width * height, 1, &memory));
    out->background = memory;
    out->width = width;
    out->height = height;
    for (ptrdiff_t i = 0; i < width * height; i++)
        out->response[i] = -1;
out:
    return status;
}

/* Returns a true minus sign for a negative number, else "". */
static const char *minus_sign(long x)
{
    return x < 0 ? "\u2212" : "";
}

/* Adds the label "z −40" (mm) under slice k, shortened or omitted if the slice is narrow, and "L"
 * and "R" at the first slice of a row if sides are known. */
static void add_label(const kn_mosaic *m, int k, kn_picture_tables *out)
{
    enum { WIDE = KN_PICTURE_LETTER * 5 / 8 }; /* approximate width of a letter */
    const kn_mosaic_tile *t = &m->tile[k];
    const int axis = kn_mosaic_plane_of[t->plane].through;
    const long mm = lround(fmax(-9999, fmin(9999, t->mm)));
    const bool first = k == 0 || m->tile[k - 1].y != t->y;
    const bool sides = m->o.known && t->plane != KN_SAGITTAL && first;
    kn_picture_label l = {t->x + t->width / 2, t->y + t->height + KN_PICTURE_LETTER, "middle", ""};
    const ptrdiff_t n = snprintf(l.text, sizeof l.text, "%ld", labs(mm)) + (mm < 0) + 2;
    const bool letter = n * WIDE <= t->width - (sides ? 4 * WIDE : 0);
    if ((n - 2) * WIDE > t->width + 2)
        return;
    if (letter)
        snprintf(l.text, sizeof l.text, "%c %s%ld", "xyz"[axis], minus_sign(mm), labs(mm));
    else
        snprintf(l.text, sizeof l.text, "%s%ld", minus_sign(mm), labs(mm));
    kn_picture_label_add(out, &l);
    if (sides && letter) {
        kn_picture_label_add(out, &(kn_picture_label){t->x, l.y, "start", "L"});
        kn_picture_label_add(out, &(kn_picture_label){t->x + t->width, l.y, "end", "R"});
    }
}

/* Sets the response and the grey of each pixel of all slices, and adds their labels. response: of
 * each voxel of the volume, -1: none. */
static void fill_table(const kn_report_space *space, const kn_mosaic *m, const int32_t *response,
                       kn_picture_tables *out)
{
    kn_picture_table *table = &out->whole;
    for (int k = 0; k < m->tiles; k++) {
        const kn_mosaic_tile *t = &m->tile[k];
        for (ptrdiff_t v = 0; v < t->height; v++)
            for (ptrdiff_t u = 0; u < t->width; u++) {
                ptrdiff_t voxel = kn_mosaic_voxel(m, t, u, v);
                ptrdiff_t at = (t->y + v) * table->width + t->x + u;
                table->response[at] = response[voxel];
                table->background[at] = grey_of(space, voxel, response[voxel] >= 0);
            }
        add_label(m, k, out);
    }
}

/* ---- thumbnail: projection along the main plane's axis ---- */

typedef struct shadow { /* projection plane: across and up */
    ptrdiff_t voxels[2], step[2], cells[2], pixels[2];
} shadow;

/* Computes the sizes of the thumbnail: voxels across and up in the plane of projection, how many of
 * them share a cell, numbers of cells, and pixels (about 90 along the longer side). */
static shadow shadow_of(const kn_mosaic *m, const kn_mosaic_plane *p)
{
    const int axis[2] = {p->across, p->up};
    double mm[2], longest, smallest, pixel;
    shadow s;
    for (int i = 0; i < 2; i++) {
        s.voxels[i] = m->box.high[axis[i]] - m->box.low[axis[i]] + 1;
        mm[i] = (double)s.voxels[i] * m->o.size[axis[i]];
    }
    longest = fmax(mm[0], mm[1]);
    smallest = fmin(m->o.size[axis[0]], m->o.size[axis[1]]);
    pixel = longest / smallest > THUMB ? smallest * round(longest / smallest / THUMB)
                                       : smallest / round(THUMB * smallest / longest);
    for (int i = 0; i < 2; i++) {
        double merged = floor(pixel / m->o.size[axis[i]] + 1e-6);
        s.step[i] = merged > 1 ? (ptrdiff_t)fmin(merged, (double)s.voxels[i]) : 1;
        s.cells[i] = (s.voxels[i] + s.step[i] - 1) / s.step[i];
        s.pixels[i] = lround(fmax(1, mm[i] / pixel));
    }
    return s;
}

/* Returns the cell of a voxel along one axis of the projection; each cell spans `step` voxels. */
static ptrdiff_t cell_along(const kn_mosaic *m, int axis, ptrdiff_t voxel, ptrdiff_t step)
{
    ptrdiff_t stride = m->o.stride[axis], width = stride < 0 ? -stride : stride;
    ptrdiff_t at = voxel / width % m->o.dim[axis];
    at = stride < 0 ? m->o.dim[axis] - 1 - at : at;
    return (at - m->box.low[axis]) / step;
}

/* Builds the table of the thumbnail, a projection of the volume onto a plane: the responses along a
 * line of sight share a cell. out owns the table in its arena. */
static kn_status make_thumb(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                            const kn_mosaic *m, kn_picture_tables *out)
{
    /* Darker where less than a quarter of the largest depth is behind it. */
    enum { EDGE = 96, MIDDLE = 140, THIN = 4 };
    const kn_mosaic_plane *p = &kn_mosaic_plane_of[m->tile[0].plane];
    const shadow s = shadow_of(m, p);
    kn_picture_table *table = &out->thumb;
    ptrdiff_t *depth = NULL, deepest = 1;
    kn_status status;
    KN_TRY(table_new(ctx, &out->arena, s.pixels[0], s.pixels[1], table));
    KN_TRY(kn_arena_i(ctx, &out->arena, T, &table->cell));
    table->cells = s.cells[0] * s.cells[1];
    KN_TRY(kn_alloc_i(ctx, table->cells, &depth));
    for (ptrdiff_t t = 0; t < T; t++) {
        table->cell[t] = cell_along(m, p->across, space->voxel[t], s.step[0]) +
                         cell_along(m, p->up, space->voxel[t], s.step[1]) * s.cells[0];
        ptrdiff_t now = ++depth[table->cell[t]];
        deepest = now > deepest ? now : deepest;
    }
    for (ptrdiff_t v = 0; v < table->height; v++)
        for (ptrdiff_t u = 0; u < table->width; u++) {
            ptrdiff_t up = (2 * (table->height - 1 - v) + 1) * s.cells[1] / (2 * table->height);
            ptrdiff_t cell = up * s.cells[0] + (2 * u + 1) * s.cells[0] / (2 * table->width);
            ptrdiff_t at = v * table->width + u;
            if (depth[cell] == 0)
                continue;
            table->response[at] = cell;
            table->background[at] = THIN * depth[cell] < deepest ? EDGE : MIDDLE;
        }
out:
    kn_free(depth);
    return status;
}

/* ---- description ---- */

/* Writes ", coronal slices from y = −40 to 20 mm" to `to`; first: with a capital and without the
 * comma. Returns the number of bytes, 0 if the picture has no slice of this plane. */
static int describe_plane(const kn_mosaic *m, int plane, bool first, char *to, size_t size)
{
    const kn_mosaic_tile *from = NULL, *until = NULL;
    int n = 0;
    for (int k = 0; k < m->tiles; k++)
        if (m->tile[k].plane == plane) {
            from = n++ ? from : &m->tile[k];
            until = &m->tile[k];
        }
    if (n == 0)
        return 0;
    const kn_mosaic_plane *p = &kn_mosaic_plane_of[plane];
    const char *name = p->name, axis = "xyz"[p->through];
    char capital = (char)(name[0] - 'a' + 'A');
    int length =
        first ? snprintf(to, size, "%c%s", capital, name + 1) : snprintf(to, size, ", %s", name);
    to += length;
    size -= (size_t)length;
    const long low = lround(from->mm), high = lround(until->mm);
    return length +
           (n == 1 ? snprintf(to, size, " slice at %c = %s%ld mm", axis, minus_sign(low), labs(low))
                   : snprintf(to, size, " slices from %c = %s%ld to %s%ld mm", axis,
                              minus_sign(low), labs(low), minus_sign(high), labs(high)));
}

/* Describes the picture in a sentence: its slices, which side is left, and the tilt of the image.
 */
static void describe_slices(const kn_mosaic *m, char words[KN_PICTURE_DESCRIPTION])
{
    size_t n = 0;
    const int first = m->tile[0].plane;
    n += (size_t)describe_plane(m, first, true, words, KN_PICTURE_DESCRIPTION);
    for (int plane = 0; plane < KN_MOSAIC_PLANES; plane++)
        if (plane != first)
            n += (size_t)describe_plane(m, plane, false, words + n, KN_PICTURE_DESCRIPTION - n);
    const char *sides = !m->o.known ? "; which side is left is not known: the image does not say"
                        : first == KN_SAGITTAL && m->tiles == 1
                            ? "; the front of the head on the right"
                            : ", the left of the brain on the left";
    n += (size_t)snprintf(words + n, KN_PICTURE_DESCRIPTION - n, "%s", sides);
    if (m->o.tilt > OBLIQUE)
        n += (size_t)snprintf(words + n, KN_PICTURE_DESCRIPTION - n,
                              "; the image is tilted by %.0f degrees, and slices follow it",
                              m->o.tilt);
    snprintf(words + n, KN_PICTURE_DESCRIPTION - n, ".");
}

kn_status kn_mosaic_build(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                          kn_picture_tables *out)
{
    kn_status status = KN_OK;
    kn_arena scratch = {0};
    kn_mosaic m;
    int32_t *response;
    if (T == 0)
        return status;
    KN_TRY(kn_mosaic_layout(ctx, space, T, &m));
    KN_TRY(kn_response_of_voxel(ctx, space, T, &scratch, &response));
    KN_TRY(table_new(ctx, &out->arena, m.width, m.height, &out->whole));
    fill_table(space, &m, response, out);
    KN_TRY(make_thumb(ctx, space, T, &m, out));
    describe_slices(&m, out->words);
out:
    kn_arena_clear(&scratch);
    return status;
}
