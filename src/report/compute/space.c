/* Locations of the responses: voxels of a volume, vertices or regions on given surfaces
 * (space_surface.c), or names of a table, which may be regions of an atlas. For a volume, the grey
 * background of its maps is computed here   [METHOD 11e]
 *
 *     grey(v) = 255 (b(v) - low) / (high - low), within 1 .. 255; 0 where there is no b(v)
 *
 * b: the mean map of training, low and high its 2nd and 98th percentile; or {background}, at its
 * voxel nearest to the centre of v by both affines, low the 2nd percentile of all its visible
 * voxels, high the 98th of those under responses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/atlas/regions.h"
#include "report/compute/internal.h"

/* Returns whether responses are voxels of a volume. Surface formats are read as n x 1 x 1 images
 * and are none. */
static bool is_volume(const kn_space *s)
{
    return s->kind == KN_SPACE_IMAGE && s->parts == 1 && !s->part[0].brain.xml &&
           (s->geometry.dim[1] > 1 || s->geometry.dim[2] > 1);
}

/* Fails with KN_ERR_ARGUMENT for {surface}, {labels}, {sulc} or {background} that do not apply to
 * the kind of responses. */
static kn_status check_options(kn_ctx *ctx, const kn_report_job *job, bool volume)
{
    const kn_settings *s = job->s;
    const char *dependent = s->labels ? "labels" : s->sulc ? "sulc" : NULL;
    if (volume && s->surface)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{surface} is for responses that are vertices or a table of regions, and "
                       "these are voxels; omit it");
    if (!volume && s->background)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{background} is for responses that are voxels of a volume; omit it");
    if (dependent && !s->surface)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{%s} also needs {surface}, with the surfaces that it belongs to",
                       dependent);
    return KN_OK;
}

kn_status kn_compute_space(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    const kn_report_input *m = job->m;
    kn_report *r = job->r;
    const bool volume = is_volume(&m->space);
    KN_TRY(check_options(ctx, job, volume));
    if (m->space.kind == KN_SPACE_TABLE)
        KN_TRY(kn_regions_identify(ctx, &r->arena, m->name, m->T, &r->space));
    if (volume)
        KN_TRY(kn_space_volume(ctx, job));
    else if (job->s->surface)
        KN_TRY(kn_space_surface(ctx, job));
    else if (m->space.kind == KN_SPACE_IMAGE)
        r->space.surface_note = "No maps are drawn: the responses are vertices, and the model does "
                                "not know where these lie. 'kronorm report --surface "
                                "LEFT.gii,RIGHT.gii' draws them.";
out:
    return status;
}

/* ---- volumes ---- */

static const double LOW = 0.02, HIGH = 0.98;

/* Quickselect (Hoare 1961): reorders x (n) so that x[k] is the k-th smallest value, from 0, and
 * none before it is larger; linear on average. */
static void select_kth(float *x, ptrdiff_t n, ptrdiff_t k)
{
    for (ptrdiff_t first = 0, last = n - 1; first < last;) {
        const float middle = x[k];
        ptrdiff_t i = first, j = last;
        while (i <= j) {
            while (x[i] < middle)
                i++;
            while (middle < x[j])
                j--;
            if (i <= j) {
                const float swap = x[i];
                x[i++] = x[j];
                x[j--] = swap;
            }
        }
        if (j < k)
            first = i;
        if (k < i)
            last = j;
    }
}

/* Returns the quantile q of the finite values of x (n), which is reordered; NaN if there are none.
 */
static double compute_percentile(float *x, ptrdiff_t n, double q)
{
    ptrdiff_t finite = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            x[finite++] = x[i];
    if (finite == 0)
        return NAN;
    const ptrdiff_t k = (ptrdiff_t)(q * (double)(finite - 1));
    select_kth(x, finite, k);
    return x[k];
}

/* Returns a value as grey level 1 .. 255, linear from low to high; 0 if it is not finite. */
static uint8_t scale_grey(double x, double low, double high)
{
    if (!isfinite(x))
        return 0;
    return (uint8_t)fmax(1, fmin(255, high > low ? round(255 * (x - low) / (high - low)) : 128));
}

typedef struct grey_volume {
    float *value, *sorted; /* one per voxel of the grid */
    ptrdiff_t voxels;
    const ptrdiff_t *voxel; /* T  voxels of the responses */
    ptrdiff_t T;
} grey_volume;

/* Sets out (one byte per voxel) to the grey levels of g->value: white at a high percentile under
 * the responses, black at a low one of all voxels, or of those under the responses without `all`.
 */
static void paint_background(const grey_volume *g, bool all, uint8_t *out)
{
    for (ptrdiff_t t = 0; t < g->T; t++)
        g->sorted[t] = g->value[g->voxel[t]];
    const double high = compute_percentile(g->sorted, g->T, HIGH);
    memcpy(g->sorted, g->value, (size_t)g->voxels * sizeof *g->sorted);
    double low = compute_percentile(g->sorted, g->voxels, LOW);
    if (!all) {
        for (ptrdiff_t t = 0; t < g->T; t++)
            g->sorted[t] = g->value[g->voxel[t]];
        low = compute_percentile(g->sorted, g->T, LOW);
    }
    for (ptrdiff_t i = 0; i < g->voxels; i++)
        out[i] = scale_grey(g->value[i], low, high);
}

/* Sets out to the inverse of the upper 3 x 3 of A; returns false if that is singular. */
static bool invert_affine(const double A[4][4], double out[3][3])
{
    double scale = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            out[j][i] = A[a][c] * A[b][d] - A[a][d] * A[b][c];
            scale = fmax(scale, fabs(A[i][j]));
        }
    const double det = A[0][0] * out[0][0] + A[0][1] * out[1][0] + A[0][2] * out[2][0];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] /= det;
    return fabs(det) > 1e-12 * scale * scale * scale;
}

/* Sets index[v], for each voxel v of grid `to`, to the voxel of grid `from` nearest to its centre;
 * -1 outside. inverse: of the affine of `from`. */
static void find_nearest_voxels(const kn_geometry *to, const kn_geometry *from,
                                const double inverse[3][3], ptrdiff_t *index)
{
    ptrdiff_t v = 0, at[3], found[3];
    for (at[2] = 0; at[2] < to->dim[2]; at[2]++)
        for (at[1] = 0; at[1] < to->dim[1]; at[1]++)
            for (at[0] = 0; at[0] < to->dim[0]; at[0]++, v++) {
                double mm[3];
                bool inside = true;
                for (int i = 0; i < 3; i++)
                    mm[i] = to->affine[i][0] * (double)at[0] + to->affine[i][1] * (double)at[1] +
                            to->affine[i][2] * (double)at[2] + to->affine[i][3] -
                            from->affine[i][3];
                for (int i = 0; i < 3; i++) {
                    const double x = floor(inverse[i][0] * mm[0] + inverse[i][1] * mm[1] +
                                           inverse[i][2] * mm[2] + 0.5);
                    inside = inside && x >= 0 && x < (double)from->dim[i];
                    found[i] = inside ? (ptrdiff_t)x : 0;
                }
                index[v] =
                    inside ? found[0] + from->dim[0] * (found[1] + from->dim[1] * found[2]) : -1;
            }
}

/* Fails with KN_ERR_SHAPE if no voxel of the maps lies within the background image. */
static kn_status check_overlap(kn_ctx *ctx, const char *path, const grey_volume *g)
{
    for (ptrdiff_t t = 0; t < g->T; t++)
        if (isfinite(g->value[g->voxel[t]]))
            return KN_OK;
    return kn_fail(ctx, KN_ERR_SHAPE,
                   "%s does not overlap the maps: it contains none of their %td voxels; give an "
                   "image in the space of the responses",
                   path, g->T);
}

/* Sets g->value to {background} at the voxel nearest to each voxel of the grid, NaN outside. Fails
 * if its affine is singular, it has several volumes, or it does not overlap the responses. */
static kn_status read_background(kn_ctx *ctx, const char *path, const kn_geometry *to,
                                 const grey_volume *g)
{
    kn_status status;
    kn_image image = {0};
    kn_image_reader *reader = NULL;
    ptrdiff_t *index = NULL;
    float *voxels = NULL;
    double inverse[3][3];
    KN_TRY(kn_image_open(ctx, path, &image));
    const ptrdiff_t n = kn_nifti_voxels(&image.header);
    if (!invert_affine(image.geometry.affine, inverse)) {
        status = kn_fail(ctx, KN_ERR_FORMAT,
                         "%s: its affine is singular, so its voxels have no position", path);
        goto out;
    }
    if (image.header.volumes > 1) {
        status = kn_fail(ctx, KN_ERR_SHAPE,
                         "%s has %td volumes, but {background} must be a single image", path,
                         image.header.volumes);
        goto out;
    }
    KN_TRY(kn_alloc_i(ctx, g->voxels, &index));
    KN_TRY(kn_alloc_f(ctx, n, &voxels));
    KN_TRY(kn_image_reader_new(ctx, KN_IMAGE_MEMORY, &reader));
    KN_TRY(kn_image_read(ctx, reader, &image, 0, NULL, n, voxels));
    find_nearest_voxels(to, &image.geometry, inverse, index);
    for (ptrdiff_t v = 0; v < g->voxels; v++)
        g->value[v] = index[v] >= 0 ? voxels[index[v]] : NAN;
    status = check_overlap(ctx, path, g);
out:
    kn_image_reader_free(reader);
    kn_image_clear(&image);
    kn_free(index);
    kn_free(voxels);
    return status;
}

kn_status kn_space_volume(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    const kn_report_input *m = job->m;
    kn_report_space *space = &job->r->space;
    const kn_geometry *geometry = &m->space.geometry;
    void *memory;
    grey_volume g = {.voxels = kn_geometry_voxels(geometry), .T = m->T};
    space->kind = KN_REPORT_VOLUME;
    memcpy(space->dim, geometry->dim, sizeof space->dim);
    memcpy(space->affine, geometry->affine, sizeof space->affine);
    KN_TRY(kn_arena_i(ctx, &job->r->arena, m->T, &space->voxel));
    if (m->T > 0)
        memcpy(space->voxel, m->space.voxel, (size_t)m->T * sizeof *space->voxel);
    g.voxel = space->voxel;
    KN_TRY(kn_alloc_f(ctx, g.voxels, &g.value));
    KN_TRY(kn_alloc_f(ctx, g.voxels, &g.sorted));
    KN_TRY(kn_arena_alloc(ctx, &job->r->arena, g.voxels, 1, &memory));
    for (ptrdiff_t i = 0; i < g.voxels; i++)
        g.value[i] = NAN;
    for (ptrdiff_t t = 0; t < m->T; t++)
        g.value[g.voxel[t]] = m->y_mean ? (float)m->y_mean[t] : 0;
    if (job->s->background)
        KN_TRY(read_background(ctx, job->s->background, geometry, &g));
    paint_background(&g, job->s->background != NULL, memory);
    space->background = memory;
out:
    kn_free(g.value);
    kn_free(g.sorted);
    return status;
}
