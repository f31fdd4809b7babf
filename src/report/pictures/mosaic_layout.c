/* Layout of a mosaic of slices: chooses planes, slices and pixel size, and maps a pixel to its
 * voxel. All maps of a report have the same layout. */
#include <math.h>

#include "report/pictures/internal.h"

const kn_mosaic_plane kn_mosaic_plane_of[KN_MOSAIC_PLANES] = {
    [KN_AXIAL] = {0, 2, 1, "axial"},
    [KN_CORONAL] = {0, 1, 2, "coronal"},
    [KN_SAGITTAL] = {1, 0, 2, "sagittal"},
};

/* Sizes in px: small pictures are enlarged to about WIDTH, large ones thinned to MAX_WIDE and
 * MAX_HIGH. */
enum { WIDTH = 900, HEIGHT = 500, MAX_WIDE = 1000, MAX_HIGH = 1000, GAP = 4 };
enum { LABEL = KN_PICTURE_LETTER + 6 }; /* under each slice */
enum { MIN = 8 }; /* least voxels across and up for a further plane to be useful */

/* Returns the number of voxels of the mask's bounding box along an axis of the head. */
static ptrdiff_t box_extent(const kn_mosaic *m, int axis)
{
    return m->box.high[axis] - m->box.low[axis] + 1;
}

/* Returns whether the bounding box has at least `lowest` voxels across and up in this plane. */
static bool is_extended(const kn_mosaic *m, int plane, ptrdiff_t lowest)
{
    const kn_mosaic_plane *p = &kn_mosaic_plane_of[plane];
    return box_extent(m, p->across) >= lowest && box_extent(m, p->up) >= lowest;
}

/* Returns the plane of the main rows: axial, unless the mask is a single slice of another plane. */
static int main_plane(const kn_mosaic *m)
{
    for (int plane = 0; plane < KN_MOSAIC_PLANES; plane++)
        if (is_extended(m, plane, 2))
            return plane;
    return KN_AXIAL;
}

/* Returns the position in mm of a slice along an axis of the head, at the middle of the bounding
 * box. */
static double middle_mm(const kn_mosaic *m, int axis, ptrdiff_t slice)
{
    double mm = m->o.affine[axis][3];
    for (int i = 0; i < 3; i++)
        mm += m->o.affine[axis][i] *
              (i == axis ? (double)slice : (double)(m->box.low[i] + m->box.high[i]) / 2);
    return mm;
}

/* Appends to m->tile at most `limit` slices of a plane, evenly among those with at least a
 * twentieth of the responses of the fullest slice: others show almost nothing. */
static kn_status choose_slices(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T, int plane,
                               int limit, kn_mosaic *m)
{
    const int axis = kn_mosaic_plane_of[plane].through;
    const ptrdiff_t stride = m->o.stride[axis], width = stride < 0 ? -stride : stride;
    ptrdiff_t *filled = NULL, n = 0, fullest = 0;
    kn_status status;
    KN_TRY(kn_alloc_i(ctx, m->o.dim[axis], &filled));
    for (ptrdiff_t t = 0; t < T; t++) {
        ptrdiff_t at = space->voxel[t] / width % m->o.dim[axis];
        ptrdiff_t now = ++filled[stride < 0 ? m->o.dim[axis] - 1 - at : at];
        fullest = now > fullest ? now : fullest;
    }
    for (ptrdiff_t s = 0; s < m->o.dim[axis]; s++)
        if (20 * filled[s] >= fullest)
            filled[n++] = s; /* n never exceeds s */
    int count = n < limit ? (int)n : limit;
    for (int k = 0; k < count; k++) {
        ptrdiff_t slice = filled[(2 * k + 1) * n / (2 * count)];
        m->tile[m->tiles++] =
            (kn_mosaic_tile){.plane = plane, .slice = slice, .mm = middle_mm(m, axis, slice)};
    }
out:
    kn_free(filled);
    return status;
}

/* Sets position and size of each slice for pixels of `pixel` mm: the main plane in rows of
 * KN_MOSAIC_ROW slices, the other planes in a row of their own. Also sets the size of the picture.
 */
static void place_tiles(kn_mosaic *m, double pixel)
{
    ptrdiff_t x = GAP, y = GAP, highest = 0;
    m->pixel = pixel;
    m->width = 0;
    for (int k = 0; k < m->tiles; k++) {
        kn_mosaic_tile *t = &m->tile[k];
        const kn_mosaic_plane *p = &kn_mosaic_plane_of[t->plane];
        bool further = k > 0 && t->plane != m->tile[0].plane;
        if (k > 0 && ((further && m->tile[k - 1].plane == m->tile[0].plane) ||
                      (!further && k % KN_MOSAIC_ROW == 0))) {
            y += highest + LABEL + GAP;
            x = GAP;
            highest = 0;
        }
        t->x = x;
        t->y = y;
        t->width = lround(fmax(1, (double)box_extent(m, p->across) * m->o.size[p->across] / pixel));
        t->height = lround(fmax(1, (double)box_extent(m, p->up) * m->o.size[p->up] / pixel));
        x += t->width + GAP;
        highest = t->height > highest ? t->height : highest;
        m->width = x > m->width ? x : m->width;
    }
    m->height = y + highest + LABEL + GAP;
}

/* Spreads the slices of each row evenly over the width of the picture. */
static void spread_tiles(kn_mosaic *m)
{
    for (int from = 0, to; from < m->tiles; from = to) {
        for (to = from; to < m->tiles && m->tile[to].y == m->tile[from].y; to++)
            ;
        const kn_mosaic_tile *last = &m->tile[to - 1];
        const ptrdiff_t left = m->width - GAP - (last->x + last->width), n = to - from;
        for (int k = from; k < to; k++)
            m->tile[k].x += left * (2 * (k - from) + 1) / (2 * n);
    }
}

/* Chooses the pixel size in mm, the smallest voxel size of the visible axes times or divided by an
 * integer, so that the picture has about WIDTH x HEIGHT px, and places the slices. */
static void choose_pixel(kn_mosaic *m)
{
    double step = INFINITY, enlarge, thin;
    for (int i = 0; i < 3; i++)
        if (box_extent(m, i) > 1)
            step = fmin(step, m->o.size[i]);
    step = isfinite(step) ? step : 1;
    /* Extremely unequal voxel sizes are thinned first, so that the picture size is bounded. */
    for (int i = 0; i < 3; i++)
        step = fmax(step, (double)box_extent(m, i) * m->o.size[i] / 1e6);
    place_tiles(m, step);
    thin = ceil(fmax((double)m->width / MAX_WIDE, (double)m->height / MAX_HIGH));
    enlarge =
        floor(fmin((double)WIDTH / (double)m->width + .5, (double)HEIGHT / (double)m->height + .5));
    place_tiles(m, thin > 1 ? step * thin : enlarge > 1 ? step / enlarge : step);
    for (int k = 0; k < 20 && (m->width > MAX_WIDE || m->height > MAX_HIGH); k++)
        place_tiles(m, 2 * m->pixel); /* strips cannot become thinner than a pixel; gaps stay */
    spread_tiles(m);
}

kn_status kn_mosaic_layout(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T, kn_mosaic *out)
{
    kn_status status;
    *out = (kn_mosaic){0};
    kn_orientation_of(space, &out->o);
    kn_orientation_box(&out->o, space, T, &out->box);
    const int first = main_plane(out);
    KN_TRY(choose_slices(ctx, space, T, first, 2 * KN_MOSAIC_ROW, out));
    for (int plane = 0; plane < KN_MOSAIC_PLANES; plane++)
        if (plane != first && is_extended(out, plane, MIN))
            KN_TRY(choose_slices(ctx, space, T, plane, KN_MOSAIC_ROW / 2, out));
    choose_pixel(out);
out:
    return status;
}

/* Returns the voxel index along a head axis under the centre of pixel u of a slice. */
static ptrdiff_t voxel_along(const kn_mosaic *m, int axis, ptrdiff_t u)
{
    ptrdiff_t at = (ptrdiff_t)(((double)u + .5) * m->pixel / m->o.size[axis]);
    return m->box.low[axis] + (at < box_extent(m, axis) ? at : box_extent(m, axis) - 1);
}

ptrdiff_t kn_mosaic_voxel(const kn_mosaic *m, const kn_mosaic_tile *t, ptrdiff_t u, ptrdiff_t v)
{
    const kn_mosaic_plane *p = &kn_mosaic_plane_of[t->plane];
    ptrdiff_t at[3];
    at[p->through] = t->slice;
    at[p->across] = voxel_along(m, p->across, u);
    at[p->up] = voxel_along(m, p->up, t->height - 1 - v);
    return kn_orientation_at(&m->o, at[0], at[1], at[2]);
}
