/* Implements volume_writer.h. Holds one volume in memory. */
#include "io/image/volume_writer.h"

#include "io/gzip/maybe_gzip_file.h"

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
    KN_TRY(kn_maybe_gzip_put(ctx, &f->file, layout->header, layout->header_size));
out:
    if (status == KN_OK)
        *state = f;
    else
        kn_volume_file_free(f);
    return status;
}

kn_status kn_volume_file_put(kn_ctx *ctx, void *state, const kn_volume *volume)
{
    volume_file *f = state;
    kn_volume_store(volume, f->voxels, f->swap, f->volume);
    return kn_maybe_gzip_put(ctx, &f->file, f->volume, 4 * f->voxels);
}

kn_status kn_volume_file_commit(kn_ctx *ctx, void *state)
{
    volume_file *f = state;
    return kn_maybe_gzip_commit(ctx, &f->file);
}
