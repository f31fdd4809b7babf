/* The images of a cohort, all of one geometry: a 4D file, a .txt list of 3D files, one a line,
 * `path` or `id<TAB>path`, relative to the list, or a shell pattern that 3D files match. Where a
 * person has two images (hemispheres), a line has two paths, or two 4D files are named with a comma
 * between them; their voxels are one row, those of the first before those of the second. */
#ifndef KN_IO_IMAGE_IMAGE_SET_H
#define KN_IO_IMAGE_IMAGE_SET_H

#include "io/image/hemispheres.h"

typedef struct kn_images kn_images;

/* Reads every header and compares it with the first. `memory`: bytes for decompressing a 4D file
 * whole, 0 for KN_IMAGE_MEMORY. */
kn_status kn_images_open(kn_ctx *ctx, const char *path, ptrdiff_t memory, kn_images **out);
/* The same, but of a list only the first header: the others are for kn_images_read_these to read.
 */
kn_status kn_images_open_later(kn_ctx *ctx, const char *path, ptrdiff_t memory, kn_images **out);
void kn_images_free(kn_images *images);

bool kn_images_is_name(const char *path); /* an image or a .txt list */

ptrdiff_t kn_images_count(const kn_images *images);             /* N */
const kn_geometry *kn_images_geometry(const kn_images *images); /* of all parts together */
int kn_images_parts(const kn_images *images);                   /* images a person: 1 or 2 */
const kn_image_part *kn_images_part(const kn_images *images, int k);
bool kn_images_is_list(const kn_images *images);

/* From the list, or sub-XXX where every line has exactly one such label; NULL: there are none.
 * Ids may repeat. */
const char *kn_images_id(const kn_images *images, ptrdiff_t i);
/* ses-XXX of the path, where every line has exactly one such label; NULL: there are none. */
const char *kn_images_session(const kn_images *images, ptrdiff_t i);
ptrdiff_t kn_images_line(const kn_images *images, ptrdiff_t i); /* of the list; 0: there is none */
const char *kn_images_path(const kn_images *images, ptrdiff_t i); /* of image i, for messages */
ptrdiff_t kn_images_files(const kn_images *images); /* that are read, and their paths */
const char *kn_images_file(const kn_images *images, ptrdiff_t i);

/* out (count x n, rows one after the other) = voxels index[0..n-1] of images first .. first +
 * count - 1, on the context's threads. The values do not depend on their number. index NULL: the
 * first n voxels. A compressed 4D file keeps its place, and up to `memory` bytes, from call to
 * call: ascending rows cost one decompression in all. */
kn_status kn_images_read_rows(kn_ctx *ctx, kn_images *images, ptrdiff_t first, ptrdiff_t count,
                              const ptrdiff_t *index, ptrdiff_t n, float *out);
kn_status kn_images_read(kn_ctx *ctx, kn_images *images, const ptrdiff_t *index, ptrdiff_t n,
                         float *out); /* all of them */

/* The same of some images of a list, in any order. */
typedef struct kn_image_rows {
    const ptrdiff_t *row;
    ptrdiff_t count;
} kn_image_rows;
kn_status kn_images_read_these(kn_ctx *ctx, kn_images *images, const kn_image_rows *these,
                               const ptrdiff_t *index, ptrdiff_t n, float *out);

/* No more will be read for now: lets go of what a compressed 4D file has kept. */
void kn_images_rest(kn_images *images);

/* ---- what the mask makers need ------------------------------------------------------------ */

/* Each worker has a state of its own, `size` bytes at states + w * size; `take` sees every image
 * once, in no particular order, as all its voxels. */
typedef void (*kn_image_fn)(void *state, const float *voxels, ptrdiff_t n);
int kn_images_workers(kn_ctx *ctx, const kn_images *images);
int kn_images_readers(kn_ctx *ctx, const kn_images *images); /* who hold an image as it is stored */
kn_status kn_images_visit(kn_ctx *ctx, kn_images *images, kn_image_fn take, void *states,
                          size_t size);

#endif
