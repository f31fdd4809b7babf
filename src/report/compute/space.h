/* The two kinds of response location that kn_compute_space dispatches to. */
#ifndef KN_REPORT_COMPUTE_SPACE_H
#define KN_REPORT_COMPUTE_SPACE_H

#include "report/compute/compute.h"

/* Voxels of an image: grid, affine, background. */
kn_status kn_space_volume(kn_ctx *ctx, const kn_report_job *job);
/* Vertices or regions on surfaces: meshes, sulcal depth, labels. */
kn_status kn_space_surface(kn_ctx *ctx, const kn_report_job *job);

#endif
