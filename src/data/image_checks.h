/* Checks of the images of a training sample: constant maps, maps of another scale, equal maps of
 * two rows, and paths that name another participant. The statistics are taken while the
 * images are read, so that no image is read once more. */
#ifndef KN_DATA_IMAGE_CHECKS_H
#define KN_DATA_IMAGE_CHECKS_H

#include "data/sample.h"

/* Statistics of one image, over its finite voxels in the mask. All are doubles, so that ranks can
 * add up theirs. */
typedef struct kn_image_statistics {
    double n, zeros;  /* number of finite voxels, and of those that are 0 */
    double low, high; /* least and greatest value */
    double size;      /* square of the mean of sqrt(|x|): a single voxel hardly changes it */
    double hash[2];   /* of all values: two numbers of 32 bits */
} kn_image_statistics;

/* Computes the statistics of `rows` images of T voxels each (row-major). O(rows T). */
void kn_image_statistics_of(kn_ctx *ctx, const float *values, ptrdiff_t rows, ptrdiff_t T,
                            kn_image_statistics *out);

/* Judges the images of p by their statistics (p->n) and the paths of d: KN_ERR_DATA for maps of one
 * value where the other maps are not mostly that value; else warnings. row: of each participant, in
 * d->images. */
kn_status kn_images_check(kn_ctx *ctx, const kn_data *d, const kn_sample *p, const ptrdiff_t *row,
                          const kn_image_statistics *of);

#endif
