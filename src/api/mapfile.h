/* Maps on disk: samples x T values in the space of the responses, as images, a table or an array.
 */
#ifndef KN_API_MAPFILE_H
#define KN_API_MAPFILE_H

#include "io/writer.h"
#include "model/space.h"

typedef struct kn_mapfile {
    const char *dir;
    kn_format format; /* not KN_FORMAT_TRAINED */
    const kn_space *space;
    ptrdiff_t T;
    const char *const *id; /* of each row */
    bool split;            /* one file per row, named by its id */
    const kn_write_options *options;
    ptrdiff_t n_files; /* counted up */
} kn_mapfile;

/* KN_FORMAT_TRAINED resolved, or a refusal: images cannot come from a table. */
kn_status kn_mapfile_format(kn_ctx *ctx, const kn_space *space, kn_format asked, kn_format *out);

/* dir/NAME.EXT, or dir/ID_NAME.EXT for each row when split. values: n rows of T floats. `single`
 * is one row that belongs to nobody (the noise map): never split, no id. */
kn_status kn_mapfile_write(kn_ctx *ctx, kn_mapfile *f, const char *name, const float *values,
                           ptrdiff_t n, bool single);

/* What _write would refuse, asked before the work. */
kn_status kn_mapfile_check(kn_ctx *ctx, const kn_mapfile *f, const char *name, ptrdiff_t n,
                           bool single);

#endif
