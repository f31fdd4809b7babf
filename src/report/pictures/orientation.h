/* Access to a volume along the axes of the head, for any storage order: axis 0 from left to
 * right, 1 from back to front, 2 from the feet up. Axes are permuted and flipped to the nearest,
 * never resampled. */
#ifndef KN_REPORT_PICTURES_ORIENTATION_H
#define KN_REPORT_PICTURES_ORIENTATION_H

#include "report/report.h"

typedef struct kn_orientation {
    bool known; /* false: no usable affine; axes as stored, left and right unknown */
    ptrdiff_t dim[3];
    ptrdiff_t start, stride[3]; /* index of voxel (a, b, c): start + a, b, c times stride */
    double affine[3][4];        /* (a, b, c) to mm */
    double size[3];             /* mm per step */
    double tilt;                /* degrees, largest angle between an axis and that of the head */
} kn_orientation;

/* Determines from the affine of the space how the stored axes lie in the head. Without a usable
 * affine axes are taken as stored, and out->known is false. */
void kn_orientation_of(const kn_report_space *space, kn_orientation *out);

/* Returns the index of voxel (a, b, c) in the volume as stored. */
static inline ptrdiff_t kn_orientation_at(const kn_orientation *o, ptrdiff_t a, ptrdiff_t b,
                                          ptrdiff_t c)
{
    return o->start + a * o->stride[0] + b * o->stride[1] + c * o->stride[2];
}

/* Bounding box of the responses in head axes, both ends included; T >= 1. */
typedef struct kn_head_box {
    ptrdiff_t low[3], high[3];
} kn_head_box;
/* Computes the bounding box of T >= 1 responses along the axes of the head. O(T). */
void kn_orientation_box(const kn_orientation *o, const kn_report_space *space, ptrdiff_t T,
                        kn_head_box *out);

/* Fills *out, in the arena: the response of each voxel of the volume, -1: none. */
kn_status kn_response_of_voxel(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                               kn_arena *arena, int32_t **out);

#endif
