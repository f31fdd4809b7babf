/* Implements surface_mesh.h. Indices of triangles are checked against the number of vertices. */
#include "io/formats/surface_mesh.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

void kn_surface_clear(kn_surface *s)
{
    kn_free(s->xyz);
    kn_free(s->corner);
    *s = (kn_surface){0};
}

/* Sets *out to the only array of this intent in a GIFTI file; it must have three columns and this
 * type. KN_ERR_FORMAT otherwise. */
static kn_status find_array(kn_ctx *ctx, const char *name, const kn_gifti *gifti,
                            const char *intent, int type, const kn_gifti_array **out)
{
    *out = NULL;
    for (ptrdiff_t i = 0; i < gifti->count; i++) {
        const kn_gifti_array *a = &gifti->array[i];
        if (strcmp(a->intent, intent) != 0)
            continue;
        if (*out)
            return kn_fail(ctx, KN_ERR_FORMAT,
                           "%s has two arrays of %s; it must contain one surface", name, intent);
        if (a->dim[1] != 3 || a->type->code != type)
            return kn_fail(ctx, KN_ERR_FORMAT,
                           "%s: data array %td is %td x %td of %s, but must be 3 %s", name, i + 1,
                           a->dim[0], a->dim[1], a->type->name,
                           type == KN_VOXEL_INT32 ? "vertices per triangle (int32)"
                                                  : "coordinates per vertex (float32)");
        *out = a;
    }
    return *out ? KN_OK
                : kn_fail(
                      ctx, KN_ERR_FORMAT,
                      "%s has no data array of %s, but a surface needs coordinates and triangles",
                      name, intent);
}

/* Copies the coordinates (array a, n x 3) to s->xyz in mm. KN_ERR_DATA if one is not finite. */
static kn_status take_points(kn_ctx *ctx, const char *name, const kn_gifti_array *a, kn_surface *s)
{
    kn_status status = kn_alloc_d(ctx, 3 * a->dim[0], &s->xyz);
    if (status != KN_OK)
        return status;
    s->vertices = a->dim[0];
    for (ptrdiff_t i = 0; i < 3 * s->vertices; i++) {
        float x;
        memcpy(&x, (const char *)a->data + i * (ptrdiff_t)sizeof x, sizeof x);
        if (!isfinite(x))
            return kn_fail(ctx, KN_ERR_DATA, "%s: a coordinate of vertex %td is not finite", name,
                           i / 3);
        s->xyz[i] = x;
    }
    return KN_OK;
}

/* Copies the triangles (array a, m x 3 vertices) to s->corner. KN_ERR_DATA if a vertex does not
 * exist. */
static kn_status take_triangles(kn_ctx *ctx, const char *name, const kn_gifti_array *a,
                                kn_surface *s)
{
    kn_status status = kn_alloc_i(ctx, 3 * a->dim[0], &s->corner);
    if (status != KN_OK)
        return status;
    s->triangles = a->dim[0];
    for (ptrdiff_t i = 0; i < 3 * s->triangles; i++) {
        int32_t v;
        memcpy(&v, (const char *)a->data + i * (ptrdiff_t)sizeof v, sizeof v);
        if (v < 0 || v >= s->vertices)
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s: triangle %td refers to vertex %ld, but the vertices are 0 to %td",
                           name, i / 3 + 1, (long)v, s->vertices - 1);
        s->corner[i] = v;
    }
    return KN_OK;
}

kn_status kn_surface_of(kn_ctx *ctx, const char *name, const kn_gifti *gifti, kn_surface *out)
{
    kn_status status;
    const kn_gifti_array *points, *triangles;
    *out = (kn_surface){0};
    KN_TRY(find_array(ctx, name, gifti, "NIFTI_INTENT_POINTSET", KN_VOXEL_FLOAT32, &points));
    KN_TRY(find_array(ctx, name, gifti, "NIFTI_INTENT_TRIANGLE", KN_VOXEL_INT32, &triangles));
    KN_TRY(take_points(ctx, name, points, out));
    KN_TRY(take_triangles(ctx, name, triangles, out));
out:
    if (status != KN_OK)
        kn_surface_clear(out);
    return status;
}

kn_status kn_surface_read(kn_ctx *ctx, const char *path, kn_surface *out)
{
    kn_gifti gifti = {0};
    kn_status status;
    *out = (kn_surface){0};
    KN_TRY(kn_gifti_read(ctx, path, &gifti));
    KN_TRY(kn_surface_of(ctx, path, &gifti, out));
out:
    kn_gifti_clear(&gifti);
    return status;
}
