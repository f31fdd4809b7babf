#include "io/nifti_write.h"

#include <string.h>

#include "io/bytes.h"
#include "io/gzip.h"
#include "io/path.h"

typedef struct nifti_writer {
    kn_writer *file;
    kn_gzip_writer *gzip; /* NULL: plain */
    unsigned char *volume;
    ptrdiff_t voxels, left; /* of a volume; volumes to come */
} nifti_writer;

static kn_status put(kn_ctx *ctx, nifti_writer *w, const void *bytes, ptrdiff_t n)
{
    return w->gzip ? kn_gzip_writer_write(ctx, w->gzip, bytes, n)
                   : kn_writer_write(ctx, w->file, bytes, n);
}

static void release(void *state)
{
    nifti_writer *w = state;
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
    unsigned char header[KN_NIFTI2_SIZE + 4];
    const kn_geometry *geometry = target->geometry;
    nifti_writer *w = NULL;
    kn_nifti_header h;
    void *p;
    kn_status status;

    *state = NULL;
    KN_TRY(kn_nifti_header_parse(ctx, path, geometry->header, geometry->header_size, &h));
    ptrdiff_t n = kn_nifti_header_encode(&h, target->volumes, target->description, header);
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->voxels = kn_nifti_voxels(&h);
    w->left = target->volumes > 0 ? target->volumes : 1;
    KN_TRY(kn_alloc(ctx, w->voxels, sizeof(float), &p));
    w->volume = p;
    KN_TRY(kn_writer_new(ctx, path, options, &w->file));
    if (kn_path_ends(path, ".gz"))
        KN_TRY(kn_gzip_writer_new(ctx, w->file, &w->gzip));
    KN_TRY(put(ctx, w, header, n));
out:
    if (status == KN_OK)
        *state = w;
    else
        release(w);
    return status;
}

static kn_status put_volume(kn_ctx *ctx, void *state, const kn_volume *v)
{
    nifti_writer *w = state;
    if (w->left == 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: more volumes than were announced",
                       kn_writer_path(w->file));
    kn_volume_store(v, w->voxels, KN_BIG_ENDIAN, w->volume);
    w->left--;
    return put(ctx, w, w->volume, 4 * w->voxels);
}

static kn_status commit(kn_ctx *ctx, void *state)
{
    nifti_writer *w = state;
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

static const char *const ENDINGS[] = {".nii.gz", ".nii", NULL};

const kn_image_writing kn_nifti_writing = {.begin = begin,
                                           .volume = put_volume,
                                           .commit = commit,
                                           .free = release,
                                           .endings = ENDINGS,
                                           .keeps = false};
