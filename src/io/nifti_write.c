#include "io/nifti_write.h"

#include <string.h>

#include "io/bytes.h"
#include "io/gzip.h"
#include "io/path.h"

struct kn_nifti_writer {
    kn_writer *file;
    kn_gzip_writer *gzip; /* NULL: plain */
    unsigned char *volume;
    ptrdiff_t voxels, left; /* of a volume; volumes to come */
};

static kn_status put(kn_ctx *ctx, kn_nifti_writer *w, const void *bytes, ptrdiff_t n)
{
    return w->gzip ? kn_gzip_writer_write(ctx, w->gzip, bytes, n)
                   : kn_writer_write(ctx, w->file, bytes, n);
}

kn_status kn_nifti_writer_new(kn_ctx *ctx, const char *path, const kn_geometry *geometry,
                              ptrdiff_t volumes, const char *description,
                              const kn_write_options *options, kn_nifti_writer **out)
{
    unsigned char header[KN_NIFTI2_SIZE + 4];
    kn_nifti_writer *w = NULL;
    kn_nifti_header h;
    void *p;
    kn_status status;

    *out = NULL;
    bool gzip = kn_path_ends(path, ".nii.gz");
    if (!gzip && !kn_path_ends(path, ".nii"))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: expected an image named .nii or .nii.gz", path);
    KN_TRY(kn_nifti_header_parse(ctx, path, geometry->header, geometry->header_size, &h));
    ptrdiff_t n = kn_nifti_header_encode(&h, volumes, description, header);
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->voxels = kn_nifti_voxels(&h);
    w->left = volumes > 0 ? volumes : 1;
    KN_TRY(kn_alloc(ctx, w->voxels, sizeof(float), &p));
    w->volume = p;
    KN_TRY(kn_writer_new(ctx, path, options, &w->file));
    if (gzip)
        KN_TRY(kn_gzip_writer_new(ctx, w->file, &w->gzip));
    KN_TRY(put(ctx, w, header, n));
out:
    if (status == KN_OK)
        *out = w;
    else
        kn_nifti_writer_free(w);
    return status;
}

kn_status kn_nifti_writer_volume(kn_ctx *ctx, kn_nifti_writer *w, const float *values,
                                 ptrdiff_t stride, const ptrdiff_t *index, ptrdiff_t n,
                                 float outside)
{
    if (w->left == 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: more volumes than were announced",
                       kn_writer_path(w->file));
    if (index || n < w->voxels)
        for (ptrdiff_t i = 0; i < w->voxels; i++)
            kn_store_f32(w->volume + 4 * i, outside, KN_BIG_ENDIAN);
    for (ptrdiff_t i = 0; i < n; i++)
        kn_store_f32(w->volume + 4 * (index ? index[i] : i), values[i * stride], KN_BIG_ENDIAN);
    w->left--;
    return put(ctx, w, w->volume, 4 * w->voxels);
}

kn_status kn_nifti_writer_commit(kn_ctx *ctx, kn_nifti_writer *w)
{
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

void kn_nifti_writer_free(kn_nifti_writer *w)
{
    if (!w)
        return;
    kn_gzip_writer_free(w->gzip);
    kn_writer_free(w->file);
    kn_free(w->volume);
    kn_free(w);
}
