/* Smooth Gaussian random fields, and a parallel loop over items that may fail. Effects, noise and
 * lesions of the simulations are such fields. */
#ifndef KN_COHORT_RANDOM_FIELD_H
#define KN_COHORT_RANDOM_FIELD_H

#include "base/context.h"
#include "io/formats/nifti_header.h"

/* Random Fourier features: f(p) = sqrt(2/M) sum_m cos(w_m . p + phi_m), w_m normal with sd
 * 1/length: mean 0, variance 1 and covariance exp(-|p - q|^2 / (2 length^2)) over the draws
 * (Rahimi & Recht 2007). f depends on the position in mm only, so that coarse and fine grids
 * sample the same field. */
enum { KN_FIELD_WAVES = 32 };

typedef struct kn_field {
    double wave[KN_FIELD_WAVES][3], phase[KN_FIELD_WAVES];
} kn_field;

/* Draws the waves of a random field from a stream of the seed; length: correlation length in mm. */
void kn_field_init(kn_field *field, uint64_t seed, uint64_t stream, double length);

/* Evaluates `count` fields at the n voxels `index`; maps is count x n, row-major. Runs on all
 * threads, with the same result for any number of them. */
void kn_field_maps(kn_ctx *ctx, const kn_field *fields, ptrdiff_t count,
                   const kn_nifti_header *grid, const ptrdiff_t *index, ptrdiff_t n, double *maps);

/* Computes the position in mm of a voxel (index, x fastest) by the sform of the header. */
void kn_voxel_position(const kn_nifti_header *grid, ptrdiff_t voxel, double place[3]);

/* Calls fn for items 0 .. n-1 on all threads, each with its own context, and reports progress.
 * Stops after a failure or cancellation; returns the error of the smallest failed item. */
typedef kn_status (*kn_each_item_fn)(kn_ctx *ctx, void *self, ptrdiff_t item);
/* Calls fn for items 0 .. n-1 on all threads, each with its own context, and reports progress under
 * the name `stage`. Stops after a failure or cancellation; returns the error of the smallest failed
 * item. */
kn_status kn_for_each_item(kn_ctx *ctx, const char *stage, ptrdiff_t n, kn_each_item_fn fn,
                           void *self);

#endif
