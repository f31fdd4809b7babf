/* Smooth random fields, and a loop over items that may fail. */
#ifndef KN_COHORT_RANDOM_FIELD_H
#define KN_COHORT_RANDOM_FIELD_H

#include "base/context.h"
#include "io/formats/nifti_header.h"

/* f(p) = sqrt(2/M) sum_m cos(w_m . p + phi_m), w_m normal with sd 1/length: mean 0, variance 1 and
 * covariance exp(-|p - q|^2 / (2 length^2)) over the draws (Rahimi & Recht 2007). A function of the
 * place in mm alone, so that coarse and fine grids see the same field. */
enum { KN_FIELD_WAVES = 32 };

typedef struct kn_field {
    double wave[KN_FIELD_WAVES][3], phase[KN_FIELD_WAVES];
} kn_field;

void kn_field_init(kn_field *field, uint64_t seed, uint64_t stream, double length);

/* maps[k] (n values each, one map after the other) = field k at the voxels `index`; on all threads,
 * the same for any number of them. */
void kn_field_maps(kn_ctx *ctx, const kn_field *fields, ptrdiff_t count,
                   const kn_nifti_header *grid, const ptrdiff_t *index, ptrdiff_t n, double *maps);

/* Millimetres of a voxel, by the header's sform. */
void kn_place(const kn_nifti_header *grid, ptrdiff_t voxel, double place[3]);

/* Calls fn for 0 .. n-1 on all threads, each time with a context of its own; tells progress; stops
 * after a failure, which is that of the smallest item that failed, or when cancelled. */
typedef kn_status (*kn_each_fn)(kn_ctx *ctx, void *self, ptrdiff_t item);
kn_status kn_each(kn_ctx *ctx, const char *stage, ptrdiff_t n, kn_each_fn fn, void *self);

#endif
