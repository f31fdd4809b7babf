/* Maps on disk: samples x T values in the space of the responses, as images, a table or an array,
 * written a few samples at a time. */
#ifndef KN_COMMANDS_COMMON_MAP_WRITER_H
#define KN_COMMANDS_COMMON_MAP_WRITER_H

#include "base/options/options.h"
#include "data/response_space.h"
#include "io/file/atomic_writer.h"

typedef struct kn_maplayout {
    const char *dir;
    kn_format format; /* as kn_mapfile_format says; _TRAINED: images as those of training */
    const kn_space *space;
    ptrdiff_t T;
    const char *const *id; /* of each row */
    bool split;            /* one file per row, named by its id */
    const kn_write_options *options;
} kn_maplayout;

/* KN_FORMAT_TRAINED resolved unless images were trained on, or a refusal: images cannot come from a
 * table. */
kn_status kn_mapfile_format(kn_ctx *ctx, const kn_space *space, kn_format asked, kn_format *out);

int kn_mapfile_parts(const kn_maplayout *l); /* files of one map: two of two hemispheres */
/* "z.nii.gz", "z_lh.func.gii": the name of part k without the id; cut at size. */
void kn_mapfile_tail(const kn_maplayout *l, const char *name, int k, char *tail, size_t size);

/* What the functions below would refuse, asked before the work. */
kn_status kn_mapfile_check(kn_ctx *ctx, const kn_maplayout *layout, const char *name, ptrdiff_t n,
                           bool single);

/* With {split}: the files of row i are there, or a sentence names the one that is not. */
kn_status kn_mapfile_there(kn_ctx *ctx, const kn_maplayout *layout, const char *name, ptrdiff_t i);

/* dir/NAME.EXT, or dir/ID_NAME.EXT for each of the n rows when split; of images of two parts both
 * NAME_SIDE.EXT. `single` is one row that
 * belongs to nobody (the noise map): never split, no id. Layout and name must outlive the file. */
typedef struct kn_mapfile kn_mapfile;

kn_status kn_mapfile_new(kn_ctx *ctx, const kn_maplayout *layout, const char *name, ptrdiff_t n,
                         bool single, kn_mapfile **out);
/* The next rows, T floats each. The bytes do not depend on how rows are cut into calls. */
kn_status kn_mapfile_rows(kn_ctx *ctx, kn_mapfile *file, const float *values, ptrdiff_t rows);
/* After the last row; adds to *n_files. */
kn_status kn_mapfile_commit(kn_ctx *ctx, kn_mapfile *file, ptrdiff_t *n_files);
void kn_mapfile_free(kn_mapfile *file); /* not committed: leaves no file */

#endif
