/* Implements orientation.h: chooses the axis permutation with the largest sum of |cosines|. Slices
 * are drawn in the orientation of the brain, whatever the order of the voxels. */
#include "report/pictures/orientation.h"

#include <assert.h>
#include <math.h>

static const int ORDERS[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
static const double DEGREES = 57.29577951308232;

/* Sets cosine[i][j] of the angle between axis i of the head and axis j of the file, and size[j],
 * the voxel size in mm. Returns false if they are undefined: an axis of length 0, values that are
 * not finite, or axes in one plane. */
static bool compute_cosines(const kn_report_space *space, double cosine[3][3], double size[3])
{
    double(*c)[3] = cosine;
    for (int j = 0; j < 3; j++) {
        double sum = 0;
        for (int i = 0; i < 3; i++)
            sum += space->affine[i][j] * space->affine[i][j];
        size[j] = sqrt(sum);
        if (!(size[j] > 0) || !isfinite(size[j]))
            return false;
        for (int i = 0; i < 3; i++)
            c[i][j] = space->affine[i][j] / size[j];
    }
    double det = c[0][0] * (c[1][1] * c[2][2] - c[1][2] * c[2][1]) -
                 c[0][1] * (c[1][0] * c[2][2] - c[1][2] * c[2][0]) +
                 c[0][2] * (c[1][0] * c[2][1] - c[1][1] * c[2][0]);
    return fabs(det) > 1e-6 &&
           isfinite(space->affine[0][3] + space->affine[1][3] + space->affine[2][3]);
}

/* Returns the permutation of the file's axes nearest to left-right, back-front, feet-head: the
 * largest sum of |cosines|; of ties the first. */
static const int *nearest_order(double cosine[3][3])
{
    const int *best = ORDERS[0];
    double limit = -1;
    for (int k = 0; k < 6; k++) {
        double sum = 0;
        for (int i = 0; i < 3; i++)
            sum += fabs(cosine[i][ORDERS[k][i]]);
        if (sum > limit + 1e-9) { /* ties: the earlier */
            limit = sum;
            best = ORDERS[k];
        }
    }
    return best;
}

void kn_orientation_of(const kn_report_space *space, kn_orientation *out)
{
    static const double identity[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const ptrdiff_t stride[3] = {1, space->dim[0], space->dim[0] * space->dim[1]};
    double cosine[3][3], size[3], lowest = 1;
    *out = (kn_orientation){.known = compute_cosines(space, cosine, size)};
    const int *order = out->known ? nearest_order(cosine) : ORDERS[0];
    for (int i = 0; i < 3; i++) {
        int j = order[i];
        double towards = out->known ? cosine[i][j] : 1;
        bool flipped = towards < 0;
        out->dim[i] = space->dim[j];
        out->size[i] = out->known ? size[j] : 1;
        out->stride[i] = flipped ? -stride[j] : stride[j];
        out->start += flipped ? (space->dim[j] - 1) * stride[j] : 0;
        lowest = fmin(lowest, fabs(towards));
        for (int k = 0; k < 3; k++) {
            double step = out->known ? space->affine[k][j] : identity[k][j];
            out->affine[k][i] = flipped ? -step : step;
            out->affine[k][3] += flipped ? step * (double)(space->dim[j] - 1) : 0;
        }
    }
    for (int k = 0; k < 3; k++)
        out->affine[k][3] += out->known ? space->affine[k][3] : 0;
    out->tilt = acos(lowest) * DEGREES;
}

void kn_orientation_box(const kn_orientation *o, const kn_report_space *space, ptrdiff_t T,
                        kn_head_box *out)
{
    /* The stride of a head axis gives the coordinate along it from the voxel index. */
    assert(T > 0);
    for (int i = 0; i < 3; i++) {
        ptrdiff_t width = o->stride[i] < 0 ? -o->stride[i] : o->stride[i];
        ptrdiff_t low = o->dim[i], high = -1;
        for (ptrdiff_t t = 0; t < T; t++) {
            ptrdiff_t at = space->voxel[t] / width % o->dim[i];
            low = at < low ? at : low;
            high = at > high ? at : high;
        }
        out->low[i] = o->stride[i] < 0 ? o->dim[i] - 1 - high : low;
        out->high[i] = o->stride[i] < 0 ? o->dim[i] - 1 - low : high;
    }
}

kn_status kn_response_of_voxel(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                               kn_arena *arena, int32_t **out)
{
    const ptrdiff_t voxels = space->dim[0] * space->dim[1] * space->dim[2];
    void *memory;
    kn_status status;
    assert(T <= INT32_MAX);
    KN_TRY(kn_arena_alloc(ctx, arena, voxels, sizeof **out, &memory));
    *out = memory;
    for (ptrdiff_t i = 0; i < voxels; i++)
        (*out)[i] = -1;
    for (ptrdiff_t t = 0; t < T; t++)
        (*out)[space->voxel[t]] = (int32_t)t;
out:
    return status;
}
