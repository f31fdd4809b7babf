/* Writes maps (rows x T floats in the space of the responses) as images, a table or an array, a few
 * rows at a time; and removes stale maps. Every command that writes maps uses it. */
#ifndef KN_COMMANDS_COMMON_MAP_WRITER_H
#define KN_COMMANDS_COMMON_MAP_WRITER_H

#include "base/options/options.h"
#include "data/response_space.h"
#include "io/file/atomic_writer.h"

/* Where and how maps are written; all pointers are borrowed. */
typedef struct kn_maplayout {
    const char *dir;  /* folder, exists */
    kn_format format; /* as kn_mapfile_format returns it; _TRAINED: same image format as training */
    const kn_space *space;
    ptrdiff_t T;           /* responses per row */
    const char *const *id; /* one per row */
    bool split;            /* one file per row, named by its id */
    const kn_write_options *options;
    /* Writes the path of part k of row i of a map (i is -1 unless split); NULL: DIR/ID_NAME.EXT. */
    kn_status (*place)(kn_ctx *ctx, const struct kn_maplayout *layout, const char *name,
                       ptrdiff_t i, int k, char *path, size_t size);
    const void *owner; /* for `place` */
} kn_maplayout;

/* Resolves KN_FORMAT_TRAINED to the format of the training responses (array: NPY, table: CSV,
 * images: stays _TRAINED). KN_ERR_ARGUMENT for images from a model without image geometry. */
kn_status kn_mapfile_format(kn_ctx *ctx, const kn_space *space, kn_format asked, kn_format *out);

/* Number of files per map: 2 if the space has two hemispheres and the format is an image. */
int kn_mapfile_count(const kn_maplayout *l);
/* File name of part (hemisphere) k without id, such as "z.nii.gz" or "z_lh.func.gii"; truncated to
 * `size`. */
void kn_mapfile_tail(const kn_maplayout *l, const char *name, int k, char *tail, size_t size);

/* Check before the computation that all n rows of map `name` can be written: path length, ids
 * without slash, existing files, inputs that would be overwritten. single: one row without id. */
kn_status kn_mapfile_check(kn_ctx *ctx, const kn_maplayout *layout, const char *name, ptrdiff_t n,
                           bool single);

/* With {split}: checks that the files of row i exist; KN_ERR_DATA names the missing one. */
kn_status kn_mapfile_exists(kn_ctx *ctx, const kn_maplayout *layout, const char *name, ptrdiff_t i);

/* Open map: dir/NAME.EXT, or with split dir/ID_NAME.EXT for each of the n rows; with two
 * hemispheres NAME_SIDE.EXT each. single: one row without id that is never split, such as the noise
 * map. Layout and name are borrowed until kn_mapfile_free. */
typedef struct kn_mapfile kn_mapfile;

/* Opens a map for n rows. *out is owned by the caller (kn_mapfile_free). */
kn_status kn_mapfile_new(kn_ctx *ctx, const kn_maplayout *layout, const char *name, ptrdiff_t n,
                         bool single, kn_mapfile **out);
/* Appends rows (rows x T, row-major). The bytes written do not depend on how rows are split over
 * calls. May return KN_ERR_CANCELLED. */
kn_status kn_mapfile_rows(kn_ctx *ctx, kn_mapfile *file, const float *values, ptrdiff_t rows);
/* Finishes the files after the last row and adds their number to *n_files. */
kn_status kn_mapfile_commit(kn_ctx *ctx, kn_mapfile *file, ptrdiff_t *n_files);

/* Free a map; NULL is allowed. Its files are removed unless they were committed. */
void kn_mapfile_free(kn_mapfile *file);

/* ---- stale maps ---- */

/* Removes the maps of single participants ({split}) that an earlier run in the same folder wrote
 * and this one does not, with {force}. Only files that its scored_participants.tsv lists are
 * touched; other files of an earlier run: output_folder.h. */

typedef struct kn_stale_files {
    char **path;
    ptrdiff_t n, capacity;
} kn_stale_files;

/* Lists files of the earlier scored_participants.tsv whose participant is not among the n ids of
 * the layout (0: this run has no maps of single participants), or whose map is not in `maps` of
 * this run, such as "z.nii.gz,yhat.nii.gz". Call before scored_participants.tsv is replaced. Empty
 * without scored_participants.tsv, or if it is not from kronorm. */
kn_status kn_stale_files_find(kn_ctx *ctx, const kn_maplayout *layout, ptrdiff_t n,
                              const char *maps, kn_stale_files *out);
/* Deletes the listed files after the new ones are committed. Files that cannot be deleted stay,
 * with a warning. */
void kn_stale_files_remove(kn_ctx *ctx, const kn_stale_files *l);
void kn_stale_files_clear(kn_stale_files *l); /* accepts {0} */

#endif
