/* Implements response_space.h. The space says which response is where: column of a table, voxel or
 * vertex. */
#include "data/response_space.h"

#include <stdio.h>
#include <string.h>

void kn_names_free(char **names, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; names && i < n; i++)
        kn_free(names[i]);
    kn_free(names);
}

kn_status kn_names_copy(kn_ctx *ctx, const char *const *from, ptrdiff_t n, char ***out)
{
    kn_status status;
    void *memory;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, n, sizeof **out, &memory));
    *out = memory;
    for (ptrdiff_t i = 0; i < n; i++) {
        size_t size = strlen(from[i]) + 1;
        KN_TRY(kn_alloc(ctx, (ptrdiff_t)size, 1, &memory));
        (*out)[i] = memcpy(memory, from[i], size);
    }
out:
    if (status != KN_OK) {
        kn_names_free(*out, n);
        *out = NULL;
    }
    return status;
}

const char *kn_space_noun(const kn_space *s)
{
    if (s->kind != KN_SPACE_IMAGE || s->part[0].brain.hash != 0)
        return "response";
    const ptrdiff_t *dim = s->part[0].geometry.dim; /* a surface is a row of vertices */
    return dim[1] == 1 && dim[2] == 1 ? "vertex" : "voxel";
}

void kn_response_name(const kn_space *space, ptrdiff_t j, char *out, size_t size)
{
    if (space->kind == KN_SPACE_TABLE) {
        snprintf(out, size, "%s", space->name[j]);
    } else if (space->kind == KN_SPACE_IMAGE) { /* voxel indices, from 0 */
        ptrdiff_t v = space->voxel[j], nx = space->geometry.dim[0], ny = space->geometry.dim[1];
        snprintf(out, size, "%td,%td,%td", v % nx, v / nx % ny, v / (nx * ny));
    } else {
        snprintf(out, size, "%td", j + 1);
    }
}

kn_status kn_space_copy(kn_ctx *ctx, const kn_space *from, kn_space *out)
{
    kn_status status = KN_OK;
    *out = (kn_space){.kind = from->kind,
                      .T = from->T,
                      .geometry = from->geometry,
                      .parts = from->parts};
    if (from->name)
        KN_TRY(kn_names_copy(ctx, (const char *const *)from->name, from->T, &out->name));
    if (from->voxel) {
        KN_TRY(kn_alloc_i(ctx, from->T, &out->voxel));
        memcpy(out->voxel, from->voxel, (size_t)from->T * sizeof *from->voxel);
    }
    for (int k = 0; k < from->parts; k++)
        KN_TRY(kn_image_part_copy(ctx, &from->part[k], &out->part[k]));
out:
    if (status != KN_OK)
        kn_space_clear(out);
    return status;
}

void kn_space_clear(kn_space *s)
{
    kn_names_free(s->name, s->T);
    kn_free(s->voxel);
    for (int k = 0; k < KN_PARTS; k++)
        kn_image_part_clear(&s->part[k]);
    *s = (kn_space){0};
}

/* Returns "an array", "a table" or "images", for messages. */
static const char *kind_name(kn_space_kind kind)
{
    static const char *const names[] = {"an array", "a table", "images"};
    return names[kind];
}

/* Returns whether a text names a hemisphere, "lh" or "rh". */
static bool is_side(const char *side)
{
    return strcmp(side, "lh") == 0 || strcmp(side, "rh") == 0;
}

/* Fails with KN_ERR_SHAPE unless images s have the number per participant, geometry and brain
 * models of `expected`, those of a model. Hemispheres are compared only if both are known. name:
 * the file, for messages. */
static kn_status compare_images(kn_ctx *ctx, const char *name, const kn_space *s,
                                const kn_space *expected)
{
    kn_status status = KN_OK;
    if (s->parts != expected->parts)
        return kn_fail(ctx, KN_ERR_SHAPE,
                       "%s has %s per participant, but the model was trained on %s", name,
                       s->parts > 1 ? "two images" : "one image",
                       expected->parts > 1 ? "two, such as left and right hemisphere; give both"
                                           : "one");
    for (int k = 0; k < s->parts; k++) {
        const kn_image_part *p = &s->part[k], *e = &expected->part[k];
        KN_TRY(kn_geometry_compare(ctx, name, &p->geometry, "the model", &e->geometry));
        KN_TRY(kn_brain_compare(ctx, name, &p->brain, "the model", &e->brain));
        if (s->parts > 1 && is_side(p->side) && is_side(e->side) && strcmp(p->side, e->side) != 0)
            return kn_fail(ctx, KN_ERR_SHAPE, "%s has %s where the model has %s", name, p->side,
                           e->side);
    }
out:
    return status;
}

kn_status kn_space_compare(kn_ctx *ctx, const char *name, const kn_space *s,
                           const kn_space *expected)
{
    if (s->kind != expected->kind)
        return kn_fail(ctx, KN_ERR_SHAPE, "%s is %s, but the model was trained on %s", name,
                       kind_name(s->kind), kind_name(expected->kind));
    if (s->kind == KN_SPACE_IMAGE)
        return compare_images(ctx, name, s, expected);
    if (s->T != expected->T)
        return kn_fail(ctx, KN_ERR_SHAPE, "%s has %td responses, but the model has %td", name, s->T,
                       expected->T);
    return KN_OK;
}
