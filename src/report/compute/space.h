/* The two kinds of places that responses have, for compute_space.c. */
#ifndef KN_REPORT_COMPUTE_SPACE_H
#define KN_REPORT_COMPUTE_SPACE_H

#include "report/compute/compute.h"

kn_status kn_space_volume(kn_ctx *ctx, const kn_report_job *job);  /* space_volume.c */
kn_status kn_space_surface(kn_ctx *ctx, const kn_report_job *job); /* space_surface.c */

#endif
