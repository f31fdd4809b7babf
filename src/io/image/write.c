/* Implements the writers of image.h and image_format.h: finds the format by extension and counts
 * volumes. Images are written volume by volume, since all of them may not fit into memory. */
#include "io/image/image_format.h"

#include <string.h>

#include "io/file/byte_order.h"
#include "io/file/path.h"
#include "io/gzip/gzip.h"
#include "io/image/image.h"

void kn_volume_store(const kn_volume *v, ptrdiff_t voxels, bool swap, unsigned char *out)
{
    if (v->index || v->n < voxels)
        for (ptrdiff_t i = 0; i < voxels; i++)
            kn_store_f32(out + 4 * i, v->outside, swap);
    for (ptrdiff_t i = 0; i < v->n; i++)
        kn_store_f32(out + 4 * (v->index ? v->index[i] : i), v->values[i * v->stride], swap);
}

struct kn_image_writer {
    const kn_image_writing *how;
    void *state;
    char *path;
    ptrdiff_t left; /* volumes still to be written */
};

ptrdiff_t kn_image_volumes(const kn_image_target *target)
{
    return target->volumes > 0 ? target->volumes : 1;
}

kn_status kn_image_writer_new(kn_ctx *ctx, const char *path, const kn_image_target *target,
                              const kn_write_options *options, kn_image_writer **out)
{
    kn_status status;
    kn_image_writer *w = NULL;
    const kn_image_writing *how = kn_image_writing_of(path);
    void *memory;
    *out = NULL;
    if (!how)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s cannot be an image; name it .nii, .nii.gz, .mgh, .mgz or .gii", path);
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &memory));
    w = memory;
    w->how = how;
    w->left = kn_image_volumes(target);
    KN_TRY(kn_text_copy(ctx, path, strlen(path), &w->path));
    KN_TRY(how->begin(ctx, path, target, options, &w->state));
    *out = w;
out:
    if (status != KN_OK)
        kn_image_writer_free(w);
    return status;
}

kn_status kn_image_writer_volume(kn_ctx *ctx, kn_image_writer *w, const kn_volume *volume)
{
    if (w->left == 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: more volumes than were announced", w->path);
    w->left--;
    return w->how->volume(ctx, w->state, volume);
}

kn_status kn_image_writer_commit(kn_ctx *ctx, kn_image_writer *w)
{
    if (w->left > 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: %td volumes are missing", w->path, w->left);
    return w->how->commit(ctx, w->state);
}

void kn_image_writer_free(kn_image_writer *w)
{
    if (!w)
        return;
    w->how->free(w->state);
    kn_free(w->path);
    kn_free(w);
}

/* ---- writer of volumes one after the other --------------------------------------------------- */

typedef struct volume_file {
    kn_maybe_gzip_file file;
    unsigned char *volume; /* 4 voxels bytes: the encoded volume */
    ptrdiff_t voxels;
    bool swap;
} volume_file;

void kn_volume_file_free(void *state)
{
    volume_file *f = state;
    if (!f)
        return;
    kn_maybe_gzip_clear(&f->file);
    kn_free(f->volume);
    kn_free(f);
}

kn_status kn_volume_file_begin(kn_ctx *ctx, const char *path, const kn_volume_layout *layout,
                               const kn_write_options *options, void **state)
{
    volume_file *f = NULL;
    void *p;
    kn_status status;
    *state = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *f, &p));
    f = p;
    f->voxels = layout->voxels;
    f->swap = layout->swap;
    KN_TRY(kn_alloc(ctx, f->voxels, sizeof(float), &p));
    f->volume = p;
    KN_TRY(kn_maybe_gzip_open(ctx, path, options, &f->file));
    KN_TRY(kn_maybe_gzip_write(ctx, &f->file, layout->header, layout->header_size));
out:
    if (status == KN_OK)
        *state = f;
    else
        kn_volume_file_free(f);
    return status;
}

kn_status kn_volume_file_write(kn_ctx *ctx, void *state, const kn_volume *volume)
{
    volume_file *f = state;
    kn_volume_store(volume, f->voxels, f->swap, f->volume);
    return kn_maybe_gzip_write(ctx, &f->file, f->volume, 4 * f->voxels);
}

kn_status kn_volume_file_commit(kn_ctx *ctx, void *state)
{
    volume_file *f = state;
    return kn_maybe_gzip_commit(ctx, &f->file);
}
