#include "api/mapfile.h"

#include <math.h>
#include <stdio.h>

#include "io/nifti_write.h"
#include "io/npy.h"
#include "io/table.h"

enum { PATH = 4096 };

kn_status kn_mapfile_format(kn_ctx *ctx, const kn_space *space, kn_format asked, kn_format *out)
{
    static const kn_format own[] = {KN_FORMAT_NPY, KN_FORMAT_CSV, KN_FORMAT_NII};
    *out = asked == KN_FORMAT_TRAINED ? own[space->kind] : asked;
    if (*out == KN_FORMAT_NII && space->kind != KN_SPACE_IMAGE)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "--format nii needs a model trained on images; this one has no geometry");
    return KN_OK;
}

static const char *extension(kn_format format)
{
    static const char *const names[] = {"", ".nii.gz", ".csv", ".npy"};
    return names[format];
}

static kn_status path_of(kn_ctx *ctx, const kn_mapfile *f, const char *name, const char *id,
                         char path[PATH])
{
    int n = snprintf(path, PATH, "%s/%s%s%s%s", f->dir, id ? id : "", id ? "_" : "", name,
                     extension(f->format));
    for (const char *c = id; c && *c; c++)
        if (*c == '/')
            return kn_fail(ctx, KN_ERR_DATA, "id '%s' cannot be a file name: it holds a slash", id);
    return n < PATH ? KN_OK : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", f->dir);
}

static kn_status write_image(kn_ctx *ctx, const kn_mapfile *f, const char *path, const char *name,
                             const float *values, ptrdiff_t n, bool flat)
{
    kn_status status;
    kn_nifti_writer *w = NULL;
    char description[64];
    snprintf(description, sizeof description, "kronorm %s", name);
    KN_TRY(kn_nifti_writer_new(ctx, path, &f->space->geometry, flat ? 0 : n, description,
                               f->options, &w));
    for (ptrdiff_t i = 0; i < n; i++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_nifti_writer_volume(ctx, w, values + i * f->T, 1, f->space->voxel, f->T, 0));
        if (!flat)
            kn_tell(ctx, "writing", i + 1, n, NAN);
    }
    KN_TRY(kn_nifti_writer_commit(ctx, w));
out:
    kn_nifti_writer_free(w);
    return status;
}

static kn_status column_name(kn_ctx *ctx, const kn_mapfile *f, kn_table_writer *w, ptrdiff_t j)
{
    char name[64];
    if (f->space->kind == KN_SPACE_TABLE)
        return kn_table_writer_text(ctx, w, f->space->name[j]);
    if (f->space->kind == KN_SPACE_IMAGE)
        snprintf(name, sizeof name, "voxel_%td", f->space->voxel[j]);
    else
        snprintf(name, sizeof name, "response_%td", j + 1);
    return kn_table_writer_text(ctx, w, name);
}

static kn_status write_table(kn_ctx *ctx, const kn_mapfile *f, const char *path,
                             const char *const *id, const float *values, ptrdiff_t n)
{
    kn_status status;
    kn_table_writer *w = NULL;
    KN_TRY(kn_table_writer_new(ctx, path, f->options, &w));
    if (id)
        KN_TRY(kn_table_writer_text(ctx, w, "participant_id"));
    for (ptrdiff_t j = 0; j < f->T; j++)
        KN_TRY(column_name(ctx, f, w, j));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t i = 0; i < n; i++) {
        KN_TRY(kn_check_cancel(ctx));
        if (id)
            KN_TRY(kn_table_writer_text(ctx, w, id[i]));
        for (ptrdiff_t j = 0; j < f->T; j++)
            KN_TRY(kn_table_writer_number(ctx, w, (double)values[i * f->T + j]));
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}

static kn_status write_one(kn_ctx *ctx, kn_mapfile *f, const char *path, const char *name,
                           const char *const *id, const float *values, ptrdiff_t n, bool flat)
{
    f->n_files++;
    switch (f->format) {
    case KN_FORMAT_NII: return write_image(ctx, f, path, name, values, n, flat);
    case KN_FORMAT_CSV: return write_table(ctx, f, path, id, values, n);
    default: return kn_npy_write(ctx, path, kn_view_rows_f32(values, n, f->T), KN_F32, f->options);
    }
}

kn_status kn_mapfile_write(kn_ctx *ctx, kn_mapfile *f, const char *name, const float *values,
                           ptrdiff_t n, bool single)
{
    kn_status status;
    char path[PATH];
    if (single || !f->split) {
        KN_TRY(path_of(ctx, f, name, NULL, path));
        KN_TRY(write_one(ctx, f, path, name, single ? NULL : f->id, values, n, single));
        return status;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        KN_TRY(path_of(ctx, f, name, f->id[i], path));
        KN_TRY(write_one(ctx, f, path, name, f->id + i, values + i * f->T, 1, true));
        kn_tell(ctx, "writing", i + 1, n, NAN);
    }
out:
    return status;
}

kn_status kn_mapfile_check(kn_ctx *ctx, const kn_mapfile *f, const char *name, ptrdiff_t n,
                           bool single)
{
    char path[PATH];
    kn_status status = KN_OK;
    for (ptrdiff_t i = 0; i < (single || !f->split ? 1 : n); i++) {
        KN_TRY(path_of(ctx, f, name, single || !f->split ? NULL : f->id[i], path));
        KN_TRY(kn_writer_check(ctx, path, f->options));
    }
out:
    return status;
}
