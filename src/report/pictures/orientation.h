/* A volume along the axes of the head, whatever its file has: axis 0 from left to right, 1 from
 * back to front, 2 from the feet up. Axes are reordered and turned round to the nearest, never
 * resampled. */
#ifndef KN_REPORT_PICTURES_ORIENTATION_H
#define KN_REPORT_PICTURES_ORIENTATION_H

#include "report/report.h"

typedef struct kn_orientation {
    bool known; /* false: the affine says nothing, axes are as stored, sides are not known */
    ptrdiff_t dim[3];
    ptrdiff_t start, stride[3]; /* voxel (a, b, c) has the index start + a, b, c times stride */
    double affine[3][4];        /* (a, b, c) to mm */
    double size[3];             /* mm of a step */
    double tilt;                /* degrees, the largest between an axis and that of the head */
} kn_orientation;

void kn_orientation_of(const kn_report_space *space, kn_orientation *out);

static inline ptrdiff_t kn_orientation_at(const kn_orientation *o, ptrdiff_t a, ptrdiff_t b,
                                          ptrdiff_t c)
{
    return o->start + a * o->stride[0] + b * o->stride[1] + c * o->stride[2];
}

/* Smallest box around the responses, both ends included; T is at least 1. */
typedef struct kn_head_box {
    ptrdiff_t low[3], high[3];
} kn_head_box;
void kn_orientation_box(const kn_orientation *o, const kn_report_space *space, ptrdiff_t T,
                        kn_head_box *out);

/* *out: for each voxel of the file its response, -1 where there is none. */
kn_status kn_response_of_voxel(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                               kn_arena *arena, int32_t **out);

#endif
