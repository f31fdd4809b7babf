#include "io/mgh_write.h"

#include <math.h>
#include <string.h>

#include "io/bytes.h"
#include "io/gzip.h"
#include "io/mgh.h"
#include "io/path.h"

typedef struct mgh_writer {
    kn_writer *file;
    kn_gzip_writer *gzip; /* NULL: plain */
    unsigned char *volume;
    ptrdiff_t voxels, left; /* of a volume; volumes to come */
} mgh_writer;

static kn_status put(kn_ctx *ctx, mgh_writer *w, const void *bytes, ptrdiff_t n)
{
    return w->gzip ? kn_gzip_writer_write(ctx, w->gzip, bytes, n)
                   : kn_writer_write(ctx, w->file, bytes, n);
}

static void release(void *state)
{
    mgh_writer *w = state;
    if (!w)
        return;
    kn_gzip_writer_free(w->gzip);
    kn_writer_free(w->file);
    kn_free(w->volume);
    kn_free(w);
}

static kn_status begin(kn_ctx *ctx, const char *path, const kn_image_target *target,
                       const kn_write_options *options, void **state)
{
    unsigned char header[KN_MGH_OFFSET];
    const ptrdiff_t *dim = target->geometry->dim,
                    frames = target->volumes > 0 ? target->volumes : 1;
    mgh_writer *w = NULL;
    void *p;
    kn_status status;

    *state = NULL;
    for (int i = 0; i < 4; i++)
        if ((i < 3 ? dim[i] : frames) > INT32_MAX)
            return kn_fail(ctx, KN_ERR_SHAPE, "%s: %td is more than MGH can count", path,
                           i < 3 ? dim[i] : frames);
    kn_mgh_header_encode(target->geometry, frames, header);
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->voxels = dim[0] * dim[1] * dim[2];
    w->left = frames;
    KN_TRY(kn_alloc(ctx, w->voxels, sizeof(float), &p));
    w->volume = p;
    KN_TRY(kn_writer_new(ctx, path, options, &w->file));
    if (kn_path_ends(path, ".mgz"))
        KN_TRY(kn_gzip_writer_new(ctx, w->file, &w->gzip));
    KN_TRY(put(ctx, w, header, sizeof header));
out:
    if (status == KN_OK)
        *state = w;
    else
        release(w);
    return status;
}

static kn_status put_volume(kn_ctx *ctx, void *state, const kn_volume *v)
{
    mgh_writer *w = state;
    if (w->left == 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: more volumes than were announced",
                       kn_writer_path(w->file));
    kn_volume_store(v, w->voxels, !KN_BIG_ENDIAN, w->volume);
    w->left--;
    return put(ctx, w, w->volume, 4 * w->voxels);
}

static kn_status commit(kn_ctx *ctx, void *state)
{
    mgh_writer *w = state;
    kn_status status;
    if (w->left > 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: %td volumes are missing", kn_writer_path(w->file),
                       w->left);
    if (w->gzip)
        KN_TRY(kn_gzip_writer_finish(ctx, w->gzip));
    KN_TRY(kn_writer_commit(ctx, w->file));
out:
    return status;
}

static const char *const ENDINGS[] = {".mgz", ".mgh", NULL};

const kn_image_writing kn_mgh_writing = {.begin = begin,
                                         .volume = put_volume,
                                         .commit = commit,
                                         .free = release,
                                         .endings = ENDINGS,
                                         .keeps = true};
