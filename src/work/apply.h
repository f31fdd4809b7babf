#ifndef KN_WORK_APPLY_H
#define KN_WORK_APPLY_H

#include "kronorm.h"

/* kn_apply_files with so many samples at a time; 0: as many as suit the size of a map. The bytes of
 * maps do not depend on it, tables only by rounding. */
kn_status kn_apply_in_batches(kn_ctx *ctx, const kn_apply_job *job, ptrdiff_t rows,
                              kn_apply_result *result);

#endif
