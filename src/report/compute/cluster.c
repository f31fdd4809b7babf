/* Clusters of a z-map: builds neighbourhoods from the grid or the meshes, joins responses by
 * union-find, and sorts the clusters [METHOD 11c]. Responses are joined if they are neighbours
 * beyond the threshold with the same sign. */
#include "report/compute/internal.h"

#include <math.h>
#include <stdlib.h>

struct kn_clusters {
    const kn_report_space *space; /* borrowed */
    ptrdiff_t T;
    ptrdiff_t *response; /* volume: response of each voxel; -1 none */
    ptrdiff_t *vertex;   /* surface: vertex of each response; -1 none */
    int *side;           /* ... and its mesh */
    ptrdiff_t *parent;   /* T  union-find; -1: below the threshold */
    ptrdiff_t *slot;     /* T  cluster number of a root */
    double voxel_ml;
};

void kn_clusters_free(kn_clusters *c)
{
    if (!c)
        return;
    kn_free(c->response);
    kn_free(c->vertex);
    kn_free(c->side);
    kn_free(c->parent);
    kn_free(c->slot);
    kn_free(c);
}

/* ---- positions of the responses ---- */

/* Returns whether responses are voxels of a volume. An image of one row is not one: it stores
 * vertices whose mesh was not given. */
static bool is_volume(const kn_report_space *s)
{
    return s->kind == KN_REPORT_VOLUME && s->voxel &&
           (s->dim[0] > 1) + (s->dim[1] > 1) + (s->dim[2] > 1) >= 2;
}

/* Sets c->response, the response of each voxel of the grid (-1: none), and c->voxel_ml = |det A| /
 * 1000. */
static kn_status place_voxels(kn_ctx *ctx, kn_clusters *c)
{
    const kn_report_space *s = c->space;
    ptrdiff_t voxels = s->dim[0] * s->dim[1] * s->dim[2];
    kn_status status = kn_alloc_i(ctx, voxels, &c->response);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t v = 0; v < voxels; v++)
        c->response[v] = -1;
    for (ptrdiff_t t = 0; t < c->T; t++)
        c->response[s->voxel[t]] = t;
    const double(*A)[4] = s->affine;
    c->voxel_ml = fabs(A[0][0] * (A[1][1] * A[2][2] - A[1][2] * A[2][1]) -
                       A[0][1] * (A[1][0] * A[2][2] - A[1][2] * A[2][0]) +
                       A[0][2] * (A[1][0] * A[2][1] - A[1][1] * A[2][0])) /
                  1000;
    return KN_OK;
}

/* Sets c->vertex and c->side, the vertex and mesh of each response (-1: none). *own: each response
 * has one vertex only; a region has many. */
static kn_status place_vertices(kn_ctx *ctx, kn_clusters *c, bool *own)
{
    kn_status status;
    void *memory;
    *own = true;
    KN_TRY(kn_alloc_i(ctx, c->T, &c->vertex));
    KN_TRY(kn_alloc(ctx, c->T, sizeof *c->side, &memory));
    c->side = memory;
    for (ptrdiff_t t = 0; t < c->T; t++)
        c->vertex[t] = -1;
    for (int k = 0; k < c->space->meshes; k++) {
        const kn_report_mesh *mesh = &c->space->mesh[k];
        for (ptrdiff_t v = 0; v < mesh->surface.vertices; v++) {
            ptrdiff_t t = mesh->response ? mesh->response[v] : -1;
            if (t < 0)
                continue;
            *own = *own && c->vertex[t] < 0;
            c->vertex[t] = v;
            c->side[t] = k;
        }
    }
out:
    return status;
}

kn_status kn_clusters_new(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T, kn_clusters **out)
{
    kn_status status = KN_OK;
    void *memory;
    kn_clusters *c = NULL;
    bool own = true;
    *out = NULL;
    if (T == 0 || (!is_volume(space) && !(space->kind == KN_REPORT_SURFACE && space->meshes > 0)))
        return KN_OK;
    KN_TRY(kn_alloc(ctx, 1, sizeof *c, &memory));
    c = memory;
    *c = (kn_clusters){.space = space, .T = T, .voxel_ml = NAN};
    KN_TRY(is_volume(space) ? place_voxels(ctx, c) : place_vertices(ctx, c, &own));
    KN_TRY(kn_alloc_i(ctx, T, &c->parent));
    KN_TRY(kn_alloc_i(ctx, T, &c->slot));
    if (own) {
        *out = c;
        c = NULL;
    }
out:
    kn_clusters_free(c);
    return status;
}

/* ---- union-find ---- */

/* Returns the root of response t in the union-find forest, and shortens the path to it. */
static ptrdiff_t root_of(ptrdiff_t *parent, ptrdiff_t t)
{
    while (parent[t] != t) {
        parent[t] = parent[parent[t]]; /* path halving */
        t = parent[t];
    }
    return t;
}

/* Joins the clusters of responses s and t if both are beyond the threshold with the same sign of z;
 * -1 is no response. The smaller index becomes the root, so the forest does not depend on the order
 * of unions. */
static void unite_responses(kn_clusters *c, const float *z, ptrdiff_t s, ptrdiff_t t)
{
    if (s < 0 || t < 0 || c->parent[s] < 0 || c->parent[t] < 0 || (z[s] > 0) != (z[t] > 0))
        return;
    s = root_of(c->parent, s);
    t = root_of(c->parent, t);
    c->parent[s > t ? s : t] = s > t ? t : s;
}

/* Joins each voxel beyond the threshold with those of its 13 earlier neighbours (of 26) that have
 * the same sign. O(T). */
static void unite_voxels(kn_clusters *c, const float *z)
{
    const ptrdiff_t *dim = c->space->dim;
    for (ptrdiff_t t = 0; t < c->T; t++) {
        if (c->parent[t] < 0)
            continue;
        ptrdiff_t v = c->space->voxel[t], x = v % dim[0], y = v / dim[0] % dim[1];
        ptrdiff_t w = v / (dim[0] * dim[1]);
        for (int k = 0; k < 13; k++) {
            ptrdiff_t a = x + k % 3 - 1, b = y + k / 3 % 3 - 1, e = w + k / 9 - 1;
            if (a >= 0 && a < dim[0] && b >= 0 && b < dim[1] && e >= 0)
                unite_responses(c, z, t, c->response[a + dim[0] * (b + dim[1] * e)]);
        }
    }
}

/* Joins the responses at both ends of every mesh edge if both are beyond the threshold with the
 * same sign. */
static void unite_vertices(kn_clusters *c, const float *z)
{
    for (int k = 0; k < c->space->meshes; k++) {
        const kn_report_mesh *m = &c->space->mesh[k];
        for (ptrdiff_t i = 0; m->response && i < m->surface.triangles; i++) {
            const ptrdiff_t *v = m->surface.corner + 3 * i;
            for (int e = 0; e < 3; e++)
                unite_responses(c, z, m->response[v[e]], m->response[v[(e + 1) % 3]]);
        }
    }
}

/* ---- properties of clusters ---- */

/* Comparison for qsort: larger clusters first, then larger peaks, then the lower response. */
static int larger_first(const void *x, const void *y)
{
    const kn_report_cluster *a = x, *b = y;
    double za = fabs(a->z), zb = fabs(b->z);
    if (a->size != b->size)
        return (a->size < b->size) - (a->size > b->size);
    if (za != zb)
        return (za < zb) - (za > zb);
    return (a->peak > b->peak) - (a->peak < b->peak);
}

/* Sets position (mm), volume (ml) and region of a cluster from its peak. */
static void locate_cluster(const kn_clusters *c, kn_report_cluster *k)
{
    const kn_report_space *s = c->space;
    for (int d = 0; d < 3; d++) {
        if (c->response) {
            ptrdiff_t v = s->voxel[k->peak];
            ptrdiff_t x = v % s->dim[0], y = v / s->dim[0] % s->dim[1],
                      w = v / (s->dim[0] * s->dim[1]);
            const double *A = s->affine[d];
            k->mm[d] = A[0] * (double)x + A[1] * (double)y + A[2] * (double)w + A[3];
        } else {
            k->mm[d] = s->mesh[c->side[k->peak]].surface.xyz[3 * c->vertex[k->peak] + d];
        }
    }
    k->ml = c->response ? (double)k->size * c->voxel_ml : NAN;
    const kn_report_mesh *mesh = c->response ? NULL : &s->mesh[c->side[k->peak]];
    k->region = mesh && mesh->region ? mesh->region[c->vertex[k->peak]] : NULL;
}

/* Adds each response in a cluster to its size in all[], and sets the peak to the response with the
 * largest |z|. */
static void collect_clusters(kn_clusters *c, const float *z, kn_report_cluster *all)
{
    for (ptrdiff_t t = 0; t < c->T; t++) {
        if (c->parent[t] < 0)
            continue;
        kn_report_cluster *k = &all[c->slot[root_of(c->parent, t)]];
        if (k->size++ == 0 || fabsf(z[t]) > fabs(k->z)) {
            k->peak = t;
            k->z = z[t];
        }
    }
}

kn_status kn_clusters_find(kn_ctx *ctx, kn_clusters *c, const float *z, double threshold,
                           kn_cluster_list *out)
{
    void *memory = NULL;
    out->n = out->found = out->singles = 0;
    for (ptrdiff_t t = 0; t < c->T; t++)
        c->parent[t] = fabs(z[t]) > threshold && (c->response || c->vertex[t] >= 0) ? t : -1;
    if (c->response)
        unite_voxels(c, z);
    else
        unite_vertices(c, z);
    for (ptrdiff_t t = 0; t < c->T; t++)
        if (c->parent[t] == t)
            c->slot[t] = out->found++;
    if (out->found == 0)
        return KN_OK;
    kn_status status = kn_alloc(ctx, out->found, sizeof(kn_report_cluster), &memory);
    if (status != KN_OK)
        return status;
    kn_report_cluster *all = memory;
    collect_clusters(c, z, all);
    qsort(all, (size_t)out->found, sizeof *all, larger_first);
    for (ptrdiff_t k = 0; k < out->found; k++)
        out->singles += all[k].size == 1;
    out->n = out->found < out->limit ? out->found : out->limit;
    for (ptrdiff_t k = 0; k < out->n; k++) {
        locate_cluster(c, &all[k]);
        out->cluster[k] = all[k];
    }
    kn_free(all);
    return KN_OK;
}
