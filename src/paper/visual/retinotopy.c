/* A simulated visual cortex: voxels with areas and receptive fields, and the mask images of them.
 * Areas and bands are assigned by the rank of a voxel's position. */
#include "paper/visual/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/alloc.h"
#include "cohort/output_folder.h"
#include "cohort/random_field.h"

/* Centre and radii of the ellipsoid of a hemisphere, mm; x is mirrored for the left one. */
static const double CENTRE[3] = {24, -75, 0}, RADII[3] = {22, 34, 26};
static const double SCREEN_CENTRE = 4.5, ECCENTRICITY_MIN = 0.3,
                    ECCENTRICITY_MAX = 6.3;              /* pixels */
static const double WIDTH_MIN = 0.5, WIDTH_SLOPE = 0.12; /* pixels; pixels per pixel */
static const double DEGREE = 0.017453292519943295;

const char *const kn_area_name[KN_AREAS] = {"V4v", "VP", "V2v", "V1v", "V1d", "V2d", "V3", "V3A"};
const double kn_area_signal[KN_AREAS] = {0.25, 0.4, 0.6, 0.75, 0.75, 0.6, 0.4, 0.25};

static const struct {
    double from,
        to;       /* polar angle at the ventral and the dorsal border, degrees; 90: straight up */
    double width; /* of receptive fields, relative to V1 */
} AREA[KN_AREAS] = {{-90, 90, 2.2}, {90, 0, 1.6},  {0, 90, 1.3},  {90, 0, 1},
                    {0, -90, 1},    {-90, 0, 1.3}, {0, -90, 1.6}, {-90, 90, 2.2}};

typedef struct ranked {
    double key;
    ptrdiff_t item;
} ranked;

/* Comparison for qsort: by key, then by item. */
static int by_key(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

/* Comparison for qsort of voxels: by index in the image. */
static int by_index(const void *a, const void *b)
{
    const kn_visual_voxel *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Returns the squared distance of p (mm) from the centre of the nearer occipital pole's ellipsoid,
 * in squared radii; rounded, so that mirror images are equally far. */
static double pole_distance(const double p[3])
{
    const double digits = 1e6;
    double r = 0, q[3] = {fabs(p[0]), p[1], p[2]};
    for (int d = 0; d < 3; d++)
        r += (q[d] - CENTRE[d]) * (q[d] - CENTRE[d]) / (RADII[d] * RADII[d]);
    return floor(r * digits + 0.5) / digits;
}

/* Sets the area of a voxel and, in v->row, its polar angle in degrees from its rank in the
 * hemisphere, 0 <= proportion < 1. */
static void set_area(kn_visual_voxel *v, double proportion)
{
    double x = proportion * KN_AREAS;
    v->area = (int)x;
    v->row = AREA[v->area].from + (x - v->area) * (AREA[v->area].to - AREA[v->area].from);
}

/* Sets the eccentricity band of a voxel and, in v->col, its eccentricity in pixels from its rank in
 * the hemisphere, 0 <= proportion < 1. */
static void set_band(kn_visual_voxel *v, double proportion)
{
    v->band = (int)(proportion * KN_BANDS);
    v->col = ECCENTRICITY_MIN + proportion * (ECCENTRICITY_MAX - ECCENTRICITY_MIN);
}

/* Converts polar angle (degrees, in row) and eccentricity (pixels, in col) of a voxel to the centre
 * of its receptive field on the screen, and sets its width. */
static void set_field(kn_visual_voxel *v)
{
    double angle = v->row * DEGREE, e = v->col, side = v->hemisphere == 0 ? 1 : -1;
    v->row = SCREEN_CENTRE - e * sin(angle);
    v->col = SCREEN_CENTRE + side * e * cos(angle);
    v->width = AREA[v->area].width * (WIDTH_MIN + WIDTH_SLOPE * e);
}

/* Assigns areas (by angle), or bands (by distance from the pole), to the voxels of hemisphere
 * `side` by their rank. order: work space of `count`. */
static void rank_hemisphere(int side, kn_visual_voxel *voxel, ptrdiff_t count, ranked *order,
                            bool areas)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        const double *p = voxel[i].place;
        if (voxel[i].hemisphere == side)
            order[n++] =
                (ranked){areas ? atan2(p[2] - CENTRE[2], fabs(p[0]) - CENTRE[0]) : p[1], i};
    }
    qsort(order, (size_t)n, sizeof *order, by_key);
    for (ptrdiff_t k = 0; k < n; k++) {
        kn_visual_voxel *v = &voxel[order[k].item];
        (areas ? set_area : set_band)(v, (double)k / (double)n);
    }
}

kn_status kn_retinotopy_new(kn_ctx *ctx, const kn_nifti_header *grid, ptrdiff_t count,
                            kn_visual_voxel **out)
{
    ptrdiff_t all = kn_nifti_voxels(grid);
    ranked *order = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    if (count > all)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%td voxels of %td were requested", count, all);
    KN_TRY(kn_alloc(ctx, all, sizeof *order, &p));
    order = p;
    KN_TRY(kn_alloc(ctx, count, sizeof **out, &p));
    kn_visual_voxel *voxel = p;
    for (ptrdiff_t i = 0; i < all; i++) {
        double place[3];
        kn_voxel_position(grid, i, place);
        order[i] = (ranked){pole_distance(place), i};
    }
    qsort(order, (size_t)all, sizeof *order, by_key);
    for (ptrdiff_t i = 0; i < count; i++) {
        voxel[i].index = order[i].item;
        kn_voxel_position(grid, voxel[i].index, voxel[i].place);
        voxel[i].hemisphere = voxel[i].place[0] > 0; /* x grows to the right */
    }
    qsort(voxel, (size_t)count, sizeof *voxel, by_index);
    for (int side = 0; side < 2; side++) {
        rank_hemisphere(side, voxel, count, order, true);
        rank_hemisphere(side, voxel, count, order, false);
    }
    for (ptrdiff_t i = 0; i < count; i++)
        set_field(&voxel[i]);
    *out = voxel;
out:
    kn_free(order);
    return status;
}

/* ---- masks of areas and eccentricity bands ---- */

/* Writes the mask of one hemisphere's area (band -1) or eccentricity band (area -1) as an image. */
static kn_status write_part(kn_ctx *ctx, const kn_miyawaki_masks *e, const char *name,
                            int hemisphere, int area, int band)
{
    ptrdiff_t *index, n = 0;
    kn_status status = kn_alloc_i(ctx, e->T, &index);
    for (ptrdiff_t v = 0; status == KN_OK && v < e->T; v++) {
        const kn_visual_voxel *x = &e->voxel[v];
        if (x->hemisphere == hemisphere && (x->area == area || x->band == band))
            index[n++] = x->index;
    }
    if (status == KN_OK)
        status = kn_sim_image_write(ctx, e->folder, name, e->grid, KN_VOXEL_INT64, NULL, index, n);
    kn_free(index);
    return status;
}

/* Writes the mask of all voxels, and those of each area and band per hemisphere. */
static kn_status write_masks(kn_ctx *ctx, const kn_miyawaki_masks *e)
{
    static const char *const side[] = {"LH", "RH"};
    char name[64];
    kn_status status;
    KN_TRY(kn_sim_image_write(ctx, e->folder, "mask/mask.nii.gz", e->grid, KN_VOXEL_INT64, NULL,
                              e->index, e->T));
    for (int h = 0; h < 2; h++) {
        for (int a = 0; a < KN_AREAS; a++) {
            snprintf(name, sizeof name, "mask/%s%s.nii.gz", side[h], kn_area_name[a]);
            KN_TRY(write_part(ctx, e, name, h, a, -1));
        }
        for (int b = 0; b < KN_BANDS; b++) {
            snprintf(name, sizeof name, "mask/%slag%dto%d.nii.gz", side[h], b, b + 1);
            KN_TRY(write_part(ctx, e, name, h, -1, b));
        }
    }
out:
    return status;
}

/* Writes bg.nii.gz, an ellipsoidal head, darker towards its surface. */
static kn_status write_background(kn_ctx *ctx, const kn_miyawaki_masks *e)
{
    const double centre[3] = {0, -25, 0}, radii[3] = {72, 92, 62}, bright = 1000;
    ptrdiff_t all = kn_nifti_voxels(e->grid), n = 0, *index = NULL;
    double *values = NULL, p[3];
    kn_status status;

    KN_TRY(kn_alloc_i(ctx, all, &index));
    KN_TRY(kn_alloc_d(ctx, all, &values));
    for (ptrdiff_t v = 0; v < all; v++) {
        double r = 0;
        kn_voxel_position(e->grid, v, p);
        for (int d = 0; d < 3; d++)
            r += (p[d] - centre[d]) * (p[d] - centre[d]) / (radii[d] * radii[d]);
        if (r <= 1) {
            index[n] = v;
            values[n++] = bright * (1 - r / 2);
        }
    }
    KN_TRY(kn_sim_image_write(ctx, e->folder, "bg.nii.gz", e->grid, KN_VOXEL_FLOAT64, values, index,
                              n));
out:
    kn_free(values);
    kn_free(index);
    return status;
}

kn_status kn_miyawaki_write_masks(kn_ctx *ctx, const kn_miyawaki_masks *e)
{
    kn_status status = write_masks(ctx, e);
    return status == KN_OK ? write_background(ctx, e) : status;
}
