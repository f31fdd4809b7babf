/* The images of all participants, in one geometry. The input is a 4D file, a .txt list of 3D files
 * (lines `path` or `id<TAB>path`, relative to the list), or a shell pattern of 3D files. If a
 * participant has two images (hemispheres), a line has two paths, or two 4D files are given as
 * `a,b`; their voxels form one row, those of the first image before those of the second. */
#ifndef KN_IO_IMAGE_IMAGE_SET_H
#define KN_IO_IMAGE_IMAGE_SET_H

#include "io/image/image.h"

/* ---- hemispheres ----------------------------------------------------------------------------- */

/* The parts of a participant's data: one image, or two that form one row of responses, such as the
 * surfaces of both hemispheres; voxels of the first part come before those of the second. */

enum { KN_PARTS = 2, KN_SIDE_SIZE = 4 }; /* at most two parts */

/* One part, the same for all participants. */
typedef struct kn_image_part {
    kn_geometry geometry;
    const char *ending;      /* extension of output maps (kn_image_ending); static */
    char side[KN_SIDE_SIZE]; /* "lh" or "rh" from the file name; else "", or "1", "2" of two */
    kn_brain brain;          /* owned; CIFTI only */
} kn_image_part;

/* Hemisphere from a file name: "lh" or "rh" for lh.x, x.lh.y, x_lh.y, hemi-L, hemi-R, x.L.y, x.R.y;
 * "" if the name has neither or both. Returns a static string. */
const char *kn_image_side(const char *path);

/* Describes an image as a part. Free with kn_image_part_clear. */
kn_status kn_image_part_of(kn_ctx *ctx, const kn_image *image, kn_image_part *out);
/* Deep copy. Free with kn_image_part_clear. */
kn_status kn_image_part_copy(kn_ctx *ctx, const kn_image_part *from, kn_image_part *out);
/* Frees the part. {0} is allowed. */
void kn_image_part_clear(kn_image_part *part);
/* Renames the sides of two parts to "1" and "2" unless they are "lh" and "rh". */
void kn_image_parts_finalise(kn_image_part *part, int parts);

/* Geometry of a whole row: that of the part if there is one; of two, n x 1 x 1 with n the sum of
 * their voxels, without position in space. `name` is for messages. */
kn_status kn_image_parts_geometry(kn_ctx *ctx, const char *name, const kn_image_part *part,
                                  int parts, kn_geometry *out);
/* dim[0] dim[1] dim[2]. */
ptrdiff_t kn_geometry_voxels(const kn_geometry *geometry);

/* ---- image set ------------------------------------------------------------------------------- */

typedef struct kn_images kn_images;

/* Opens the images: reads every header and compares it with the first. `memory`: bytes that may be
 * used to decompress a 4D file as a whole; 0: KN_IMAGE_MEMORY. KN_ERR_SHAPE if geometries, brain
 * models or numbers of volumes differ, KN_ERR_DATA if hemispheres do. Free with kn_images_free. */
kn_status kn_images_open(kn_ctx *ctx, const char *path, ptrdiff_t memory, kn_images **out);
/* Like kn_images_open, but reads only the first header of a list; the read functions below open and
 * compare the others when their image is needed. */
kn_status kn_images_open_later(kn_ctx *ctx, const char *path, ptrdiff_t memory, kn_images **out);
/* Opens the images of the text of a list, whose paths are not relative to it; `name` is for
 * messages. later: as kn_images_open_later. */
kn_status kn_images_open_text(kn_ctx *ctx, const char *name, const char *text, bool later,
                              kn_images **out);
/* Frees the images. NULL is allowed. */
void kn_images_free(kn_images *images);

/* Finds the label of a path, a prefix such as "sub-" with the letters and digits after it; it may
 * occur several times. Returns its length, with its position in *start; 0 if there is none, or
 * different ones. A label does not start within a word: "group-sub-1" has one, "absub-1" has none.
 */
size_t kn_path_label(const char *path, const char *prefix, const char **start);

/* True if `path` has the extension of an image or .txt. */
bool kn_images_is_name(const char *path);

/* Number of images N: one per participant or visit. */
ptrdiff_t kn_images_count(const kn_images *images);
/* Geometry of a row: all parts together. */
const kn_geometry *kn_images_geometry(const kn_images *images);
/* Image files per row: 1 or 2. */
int kn_images_parts(const kn_images *images);
/* Part k, 0 <= k < kn_images_parts; borrowed. */
const kn_image_part *kn_images_part(const kn_images *images, int k);
/* True for a list or a pattern, false for a 4D file. */
bool kn_images_is_list(const kn_images *images);

/* Id of image i: from the list, else the label sub-XXX if every path (the first of two in a line)
 * has exactly one; NULL if there are no ids. Ids may repeat. */
const char *kn_images_id(const kn_images *images, ptrdiff_t i);
/* Label ses-XXX of image i if there are ids and every (first) path has exactly one; else NULL. */
const char *kn_images_session(const kn_images *images, ptrdiff_t i);
/* Line of image i in the list, from 1; 0 for a pattern or a 4D file. */
ptrdiff_t kn_images_line(const kn_images *images, ptrdiff_t i);
/* Path of the first part of image i, for messages. */
const char *kn_images_path(const kn_images *images, ptrdiff_t i);
/* Number of image files: N x parts of a list, parts of a 4D file. */
ptrdiff_t kn_images_files(const kn_images *images);
/* Path of image file i; borrowed. */
const char *kn_images_file(const kn_images *images, ptrdiff_t i);

/* Reads voxels index[0..n-1] of images first .. first + count - 1 into out (count x n, row-major),
 * on the context's threads; the result does not depend on their number. index is ascending; NULL:
 * the first n voxels. A compressed 4D file keeps its position, and up to `memory` bytes, between
 * calls, so that reading in ascending order decompresses it once. */
kn_status kn_images_read_rows(kn_ctx *ctx, kn_images *images, ptrdiff_t first, ptrdiff_t count,
                              const ptrdiff_t *index, ptrdiff_t n, float *out);
/* Reads all images: kn_images_read_rows with first 0 and count N. */
kn_status kn_images_read(kn_ctx *ctx, kn_images *images, const ptrdiff_t *index, ptrdiff_t n,
                         float *out);

typedef struct kn_image_rows {
    const ptrdiff_t *row; /* borrowed; indices of images, in any order */
    ptrdiff_t count;
} kn_image_rows;
/* Like kn_images_read_rows, for the images these->row; out is these->count x n. */
kn_status kn_images_read_these(kn_ctx *ctx, kn_images *images, const kn_image_rows *these,
                               const ptrdiff_t *index, ptrdiff_t n, float *out);

/* Frees the readers that a compressed 4D file keeps between calls. Later reads start again. */
void kn_images_rest(kn_images *images);

/* ---- for the functions that compute masks ------------------------------------------------- */

/* Visits one image: all its n voxels, with the state of the worker that read it. */
typedef void (*kn_image_fn)(void *state, const float *voxels, ptrdiff_t n);
/* Number of workers that kn_images_visit uses. */
int kn_images_workers(kn_ctx *ctx, const kn_images *images);
/* Number of workers that hold a raw image in memory, for the memory plan: 1 for a file that needs
 * a single reader, else one per thread, at most N. */
int kn_images_readers(kn_ctx *ctx, const kn_images *images);
/* Calls `take` once for every image, in no particular order and from several threads. Worker w gets
 * the state at states + w * size, w < kn_images_workers. */
kn_status kn_images_visit(kn_ctx *ctx, kn_images *images, kn_image_fn take, void *states,
                          size_t size);

#endif
