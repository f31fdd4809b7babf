/* Implements atlas.h. An atlas gives a basis with one column per label. */
#include "data/basis/atlas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/path.h"
#include "io/formats/gifti.h"
#include "io/image/image_set.h"

void kn_atlas_clear(kn_atlas *l)
{
    kn_space_clear(&l->space);
    kn_free(l->value);
    kn_free(l->label);
    *l = (kn_atlas){0};
}

/* Returns the index of the first voxel of image k (0 or 1, a hemisphere) among the voxels of all
 * images of the space. */
static ptrdiff_t first_voxel_of_image(const kn_space *s, int k)
{
    ptrdiff_t first = 0;
    for (int i = 0; i < k; i++)
        first += kn_geometry_voxels(&s->part[i].geometry);
    return first;
}

/* Returns which hemisphere's image a voxel belongs to, 0 or 1; 0 for one image. */
static int image_of_voxel(const kn_space *s, ptrdiff_t voxel)
{
    return s->parts > 1 && voxel >= first_voxel_of_image(s, 1) ? 1 : 0;
}

/* Comparison for qsort and bsearch of atlas labels: by image, then by number. */
static int by_number(const void *a, const void *b)
{
    const kn_atlas_label *x = a, *y = b;
    return x->part != y->part ? x->part - y->part
                              : (x->number > y->number) - (x->number < y->number);
}

/* Sets the values of image k that have the label '???' in the table of the GIFTI file to 0, which
 * means no label. Does nothing for other formats. Fails if the file cannot be read. */
static kn_status drop_unknown(kn_ctx *ctx, const char *file, int k, kn_atlas *l)
{
    kn_gifti gifti = {0};
    kn_status status;
    if (!kn_path_ends(file, ".gii") && !kn_path_ends(file, ".gii.gz"))
        return KN_OK;
    KN_TRY(kn_gifti_read(ctx, file, &gifti));
    ptrdiff_t first = first_voxel_of_image(&l->space, k);
    ptrdiff_t n = kn_geometry_voxels(&l->space.part[k].geometry);
    for (ptrdiff_t i = first; i < first + n && gifti.has_unknown; i++)
        if (l->value[i] == (float)gifti.unknown)
            l->value[i] = 0;
out:
    kn_gifti_clear(&gifti);
    return status;
}

/* Sets l->label (l->n; owned) to the distinct values of l->value (voxels) except 0, in order.
 * KN_ERR_DATA if one is not a whole number up to 2^24, or all are 0. */
static kn_status collect_labels(kn_ctx *ctx, ptrdiff_t voxels, kn_atlas *l)
{
    enum { EXACT = 1 << 24 }; /* whole numbers up to this are exact in float */
    kn_status status;
    void *memory = NULL;
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < voxels; i++) {
        double x = l->value[i];
        if (!(fabs(x) <= EXACT) || x != floor(x))
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s has the value %g, but labels must be whole numbers up to %d",
                           l->path, x, EXACT);
        n += x != 0 &&
             (i == 0 || l->value[i - 1] != l->value[i] || i == first_voxel_of_image(&l->space, 1));
    }
    KN_TRY(kn_alloc(ctx, n, sizeof *l->label, &memory));
    l->label = memory;
    n = 0;
    for (ptrdiff_t i = 0; i < voxels; i++) /* the first of a run of equal labels */
        if (l->value[i] != 0 &&
            (i == 0 || l->value[i - 1] != l->value[i] || i == first_voxel_of_image(&l->space, 1)))
            l->label[n++] = (kn_atlas_label){image_of_voxel(&l->space, i), (double)l->value[i]};
    if (n == 0)
        return kn_fail(ctx, KN_ERR_DATA, "%s has no labels; every value is 0", l->path);
    qsort(l->label, (size_t)n, sizeof *l->label, by_number);
    l->n = 1;
    for (ptrdiff_t i = 1; i < n; i++)
        if (by_number(&l->label[l->n - 1], &l->label[i]) != 0)
            l->label[l->n++] = l->label[i];
out:
    return status;
}

kn_status kn_atlas_read(kn_ctx *ctx, const char *path, kn_atlas *out)
{
    kn_status status;
    kn_images *images = NULL;
    *out = (kn_atlas){.path = path};
    KN_TRY(kn_images_open(ctx, path, 0, &images));
    if (kn_images_count(images) > 1) {
        status =
            kn_fail(ctx, KN_ERR_SHAPE, "%s has %td volumes; an atlas must have one, with labels",
                    path, kn_images_count(images));
        goto out;
    }
    out->space.kind = KN_SPACE_IMAGE;
    out->space.geometry = *kn_images_geometry(images);
    ptrdiff_t n = kn_geometry_voxels(&out->space.geometry);
    for (int k = 0; k < kn_images_parts(images); k++) {
        KN_TRY(kn_image_part_copy(ctx, kn_images_part(images, k), &out->space.part[k]));
        out->space.parts++;
    }
    KN_TRY(kn_alloc_f(ctx, n, &out->value));
    KN_TRY(kn_images_read(ctx, images, NULL, n, out->value));
    for (int k = 0; k < out->space.parts; k++)
        KN_TRY(drop_unknown(ctx, kn_images_file(images, k), k, out));
    KN_TRY(collect_labels(ctx, n, out));
out:
    kn_images_free(images);
    if (status != KN_OK)
        kn_atlas_clear(out);
    return status;
}

/* Checks that responses in `space` have the images, geometry and brain models of atlas l.
 * KN_ERR_ARGUMENT if they are no images, KN_ERR_SHAPE if they differ. name: file of the responses,
 * for messages. */
static kn_status compare_geometry(kn_ctx *ctx, const kn_atlas *l, const char *name,
                                  const kn_space *space)
{
    kn_status status = KN_OK;
    if (space->kind != KN_SPACE_IMAGE)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{basis}: %s needs images as responses, but %s is %s",
                       l->path, name, space->kind == KN_SPACE_TABLE ? "a table" : "an array");
    if (l->space.parts != space->parts)
        return kn_fail(ctx, KN_ERR_SHAPE, "%s has labels for %s, but %s has %s per participant",
                       l->path, l->space.parts > 1 ? "two images" : "one image", name,
                       space->parts > 1 ? "two images" : "one image");
    for (int k = 0; k < space->parts; k++) {
        const kn_image_part *own = &l->space.part[k], *expected = &space->part[k];
        KN_TRY(kn_geometry_compare(ctx, l->path, &own->geometry, name, &expected->geometry));
        if (own->brain.hash && own->brain.hash != expected->brain.hash)
            return kn_fail(ctx, KN_ERR_SHAPE,
                           "%s: the brain models differ from those of %s; resample the files to "
                           "the same grayordinates",
                           l->path, name);
    }
out:
    return status;
}

kn_status kn_atlas_basis(kn_ctx *ctx, const kn_atlas *l, const char *name, const kn_space *space,
                         kn_mat *B)
{
    kn_status status;
    *B = kn_mat_none();
    KN_TRY(compare_geometry(ctx, l, name, space));
    KN_TRY(kn_mat_new(ctx, space->T, l->n, B));
    for (ptrdiff_t j = 0; j < space->T; j++) {
        ptrdiff_t v = space->voxel[j];
        kn_atlas_label key = {image_of_voxel(&l->space, v), (double)l->value[v]};
        const kn_atlas_label *at = bsearch(&key, l->label, (size_t)l->n, sizeof key, by_number);
        if (at)
            kn_col(*B, at - l->label)[j] = 1;
    }
    for (ptrdiff_t p = 0; p < l->n; p++) {
        double size = kn_sumsq(kn_cols(*B, p, 1));
        const char *side = space->parts > 1 ? space->part[l->label[p].part].side : "";
        if (size == 0) {
            status = kn_fail(ctx, KN_ERR_DATA,
                             "label %.0f%s%s of %s has no voxel inside the mask; set it to 0, or "
                             "use a larger mask",
                             l->label[p].number, *side ? " of " : "", side, l->path);
            goto out;
        }
        for (ptrdiff_t j = 0; j < space->T; j++)
            kn_col(*B, p)[j] /= sqrt(size);
    }
out:
    if (status != KN_OK)
        kn_mat_clear(B);
    return status;
}
