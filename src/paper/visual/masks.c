/* Implements masks.h. */
#include "paper/visual/masks.h"

#include <stdio.h>

#include "cohort/image.h"
#include "cohort/random_field.h"

/* Writes the mask of one hemisphere's area (band -1) or eccentricity band (area -1). */
static kn_status write_part(kn_ctx *ctx, const kn_miyawaki_places *e, const char *name,
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

static kn_status write_masks(kn_ctx *ctx, const kn_miyawaki_places *e)
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

/* Writes a background head, darker towards its surface. */
static kn_status write_background(kn_ctx *ctx, const kn_miyawaki_places *e)
{
    const double centre[3] = {0, -25, 0}, radii[3] = {72, 92, 62}, bright = 1000;
    ptrdiff_t all = kn_nifti_voxels(e->grid), n = 0, *index = NULL;
    double *values = NULL, p[3];
    kn_status status;

    KN_TRY(kn_alloc_i(ctx, all, &index));
    KN_TRY(kn_alloc_d(ctx, all, &values));
    for (ptrdiff_t v = 0; v < all; v++) {
        double r = 0;
        kn_place(e->grid, v, p);
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

kn_status kn_miyawaki_write_places(kn_ctx *ctx, const kn_miyawaki_places *e)
{
    kn_status status = write_masks(ctx, e);
    return status == KN_OK ? write_background(ctx, e) : status;
}
