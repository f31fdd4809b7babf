/* Implements map_writer.h: one set of functions per format (image, CSV table, NPY array), selected
 * by the table FORMATS. */
#include "commands/common/map_writer.h"

#include <stdio.h>
#include <unistd.h>

#include "io/image/write.h"
#include "io/npy/npy.h"
#include "io/table/table.h"

enum { PATH = 4096 };

kn_status kn_mapfile_format(kn_ctx *ctx, const kn_space *space, kn_format asked, kn_format *out)
{
    static const kn_format own[] = {KN_FORMAT_NPY, KN_FORMAT_CSV, KN_FORMAT_TRAINED};
    *out = asked == KN_FORMAT_TRAINED ? own[space->kind] : asked;
    if (*out == KN_FORMAT_NII && space->kind != KN_SPACE_IMAGE)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{format=nii} needs a model trained on images; this one has no geometry");
    return KN_OK;
}

struct kn_mapfile {
    const kn_maplayout *layout;
    const char *name;
    ptrdiff_t n, done; /* rows */
    bool single;
    void *writer;            /* writer of the open file, of the type of the format */
    kn_image_writer *second; /* writer of the second hemisphere */
    ptrdiff_t cut, *shifted; /* cut: responses of hemisphere 1; voxels of hemisphere 2 */
};

/* ---- formats ---- */

static kn_status open_image(kn_ctx *ctx, kn_mapfile *f, const char *const *path, ptrdiff_t n,
                            bool flat)
{
    const kn_maplayout *l = f->layout;
    char description[64];
    kn_status status = KN_OK;
    snprintf(description, sizeof description, "kronorm %s", f->name);
    for (int k = 0; k < l->space->parts; k++) {
        const kn_image_part *part = &l->space->part[k];
        kn_image_target target = {.geometry = &part->geometry,
                                  .volumes = flat ? 0 : n,
                                  .description = f->single ? f->name : description,
                                  .names = f->single ? NULL : l->id + f->done,
                                  .brain = part->brain.xml,
                                  .side = part->side};
        kn_image_writer *w = NULL;
        KN_TRY(kn_image_writer_new(ctx, path[k], &target, l->options, &w));
        *(k == 0 ? (kn_image_writer **)&f->writer : &f->second) = w;
    }
out:
    return status;
}

static kn_status put_image(kn_ctx *ctx, kn_mapfile *f, const char *id, const float *values)
{
    (void)id;
    const kn_maplayout *l = f->layout;
    kn_status status;
    KN_TRY(kn_image_writer_volume(ctx, f->writer,
                                  &(kn_volume){values, 1, l->space->voxel, f->cut, 0}));
    if (f->second)
        KN_TRY(
            kn_image_writer_volume(ctx, f->second,
                                   &(kn_volume){values + f->cut, 1, f->shifted, l->T - f->cut, 0}));
out:
    return status;
}

static kn_status commit_image(kn_ctx *ctx, kn_mapfile *f)
{
    kn_status status = kn_image_writer_commit(ctx, f->writer);
    return status == KN_OK && f->second ? kn_image_writer_commit(ctx, f->second) : status;
}

static void free_image(kn_mapfile *f)
{
    kn_image_writer_free(f->writer);
    kn_image_writer_free(f->second);
    f->second = NULL;
}

/* Finds where the second hemisphere begins; voxels are in ascending order. */
static kn_status divide(kn_ctx *ctx, kn_mapfile *f)
{
    const kn_space *s = f->layout->space;
    ptrdiff_t T = f->layout->T;
    f->cut = T;
    if (s->kind != KN_SPACE_IMAGE || s->parts < 2)
        return KN_OK;
    ptrdiff_t first = kn_geometry_voxels(&s->part[0].geometry);
    for (f->cut = 0; f->cut < T && s->voxel[f->cut] < first;)
        f->cut++;
    kn_status status = kn_alloc_i(ctx, T - f->cut, &f->shifted);
    for (ptrdiff_t i = f->cut; status == KN_OK && i < T; i++)
        f->shifted[i - f->cut] = s->voxel[i] - first;
    return status;
}

static kn_status column_name(kn_ctx *ctx, const kn_maplayout *l, kn_table_writer *w, ptrdiff_t j)
{
    char name[64];
    if (l->space->kind == KN_SPACE_TABLE)
        return kn_table_writer_text(ctx, w, l->space->name[j]);
    if (l->space->kind == KN_SPACE_IMAGE)
        snprintf(name, sizeof name, "voxel_%td", l->space->voxel[j]);
    else
        snprintf(name, sizeof name, "response_%td", j + 1);
    return kn_table_writer_text(ctx, w, name);
}

static kn_status open_table(kn_ctx *ctx, kn_mapfile *f, const char *const *path, ptrdiff_t n,
                            bool flat)
{
    (void)n, (void)flat;
    kn_status status;
    kn_table_writer *w;
    KN_TRY(kn_table_writer_new(ctx, path[0], f->layout->options, &w));
    f->writer = w;
    if (!f->single)
        KN_TRY(kn_table_writer_text(ctx, w, "participant_id"));
    for (ptrdiff_t j = 0; j < f->layout->T; j++)
        KN_TRY(column_name(ctx, f->layout, w, j));
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

static kn_status put_table(kn_ctx *ctx, kn_mapfile *f, const char *id, const float *values)
{
    kn_status status = KN_OK;
    if (id)
        KN_TRY(kn_table_writer_text(ctx, f->writer, id));
    for (ptrdiff_t j = 0; j < f->layout->T; j++)
        KN_TRY(kn_table_writer_number(ctx, f->writer, (double)values[j]));
    KN_TRY(kn_table_writer_end_row(ctx, f->writer));
out:
    return status;
}

static kn_status commit_table(kn_ctx *ctx, kn_mapfile *f)
{
    return kn_table_writer_commit(ctx, f->writer);
}

static void free_table(kn_mapfile *f)
{
    kn_table_writer_free(f->writer);
}

static kn_status open_array(kn_ctx *ctx, kn_mapfile *f, const char *const *path, ptrdiff_t n,
                            bool flat)
{
    (void)flat;
    const kn_maplayout *l = f->layout;
    kn_npy_writer *w;
    kn_status status = kn_npy_writer_new(ctx, path[0], n, l->T, KN_F32, l->options, &w);
    f->writer = w;
    return status;
}

static kn_status put_array(kn_ctx *ctx, kn_mapfile *f, const char *id, const float *values)
{
    (void)id;
    return kn_npy_writer_rows(ctx, f->writer, kn_view_rows_f32(values, 1, f->layout->T));
}

static kn_status commit_array(kn_ctx *ctx, kn_mapfile *f)
{
    return kn_npy_writer_commit(ctx, f->writer);
}

static void free_array(kn_mapfile *f)
{
    kn_npy_writer_free(f->writer);
}

/* Functions of a format, by kn_format. */
static const struct format {
    const char *extension; /* NULL: as the training images */
    bool images;           /* one file per hemisphere */
    /* n: rows to come; flat: write a 3D image, not a 4D image with one volume */
    kn_status (*open)(kn_ctx *ctx, kn_mapfile *f, const char *const *path, ptrdiff_t n, bool flat);
    kn_status (*put)(kn_ctx *ctx, kn_mapfile *f, const char *id, const float *values);
    kn_status (*commit)(kn_ctx *ctx, kn_mapfile *f);
    void (*free)(kn_mapfile *f);
} FORMATS[] = {
    [KN_FORMAT_TRAINED] = {NULL, true, open_image, put_image, commit_image, free_image},
    [KN_FORMAT_NII] = {".nii.gz", true, open_image, put_image, commit_image, free_image},
    [KN_FORMAT_CSV] = {".csv", false, open_table, put_table, commit_table, free_table},
    [KN_FORMAT_NPY] = {".npy", false, open_array, put_array, commit_array, free_array},
};

/* ---- files ---- */

int kn_mapfile_parts(const kn_maplayout *l)
{
    return FORMATS[l->format].images ? l->space->parts : 1;
}

void kn_mapfile_tail(const kn_maplayout *l, const char *name, int k, char *tail, size_t size)
{
    const struct format *format = &FORMATS[l->format];
    bool two = kn_mapfile_parts(l) > 1;
    snprintf(tail, size, "%s%s%s%s", name, two ? "_" : "", two ? l->space->part[k].side : "",
             format->extension ? format->extension : l->space->part[k].ending);
}

/* Makes DIR/ID_NAME_SIDE.EXT of part k; without ID_ if id is NULL, without _SIDE if there is one
 * part. */
static kn_status path_of(kn_ctx *ctx, const kn_maplayout *l, const char *name, const char *id,
                         int k, char path[PATH])
{
    char tail[PATH];
    kn_mapfile_tail(l, name, k, tail, sizeof tail);
    int n = snprintf(path, PATH, "%s/%s%s%s", l->dir, id ? id : "", id ? "_" : "", tail);
    for (const char *c = id; c && *c; c++)
        if (*c == '/')
            return kn_fail(ctx, KN_ERR_DATA, "id '%s' cannot be a file name: it holds a slash", id);
    return n < PATH ? KN_OK : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", l->dir);
}

kn_status kn_mapfile_check(kn_ctx *ctx, const kn_maplayout *l, const char *name, ptrdiff_t n,
                           bool single)
{
    char path[PATH];
    kn_status status = KN_OK;
    for (ptrdiff_t i = 0; i < (single || !l->split ? 1 : n); i++)
        for (int k = 0; k < kn_mapfile_parts(l); k++) {
            KN_TRY(path_of(ctx, l, name, single || !l->split ? NULL : l->id[i], k, path));
            KN_TRY(kn_writer_check(ctx, path, l->options));
        }
out:
    return status;
}

kn_status kn_mapfile_there(kn_ctx *ctx, const kn_maplayout *l, const char *name, ptrdiff_t i)
{
    char path[PATH];
    kn_status status = KN_OK;
    for (int k = 0; k < kn_mapfile_parts(l); k++) {
        KN_TRY(path_of(ctx, l, name, l->id[i], k, path));
        if (access(path, F_OK) != 0)
            return kn_fail(ctx, KN_ERR_DATA, "%s: is not there, although its part was finished",
                           path);
    }
out:
    return status;
}

/* Opens the file of all rows, or with split the file of the next row. */
static kn_status open_next(kn_ctx *ctx, kn_mapfile *f)
{
    const kn_maplayout *l = f->layout;
    char path[KN_PARTS][PATH];
    const char *paths[KN_PARTS] = {path[0], path[1]};
    bool split = l->split && !f->single;
    kn_status status = KN_OK;
    for (int k = 0; k < kn_mapfile_parts(l); k++)
        KN_TRY(path_of(ctx, l, f->name, split ? l->id[f->done] : NULL, k, path[k]));
    KN_TRY(FORMATS[l->format].open(ctx, f, paths, split ? 1 : f->n, split || f->single));
out:
    return status;
}

static void close_file(kn_mapfile *f)
{
    if (f->writer)
        FORMATS[f->layout->format].free(f);
    f->writer = NULL;
}

kn_status kn_mapfile_new(kn_ctx *ctx, const kn_maplayout *layout, const char *name, ptrdiff_t n,
                         bool single, kn_mapfile **out)
{
    kn_status status;
    kn_mapfile *f = NULL;
    void *p;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *f, &p));
    f = p;
    *f = (kn_mapfile){.layout = layout, .name = name, .n = n, .single = single};
    KN_TRY(divide(ctx, f));
    if (single || !layout->split)
        KN_TRY(open_next(ctx, f));
out:
    if (status == KN_OK)
        *out = f;
    else
        kn_mapfile_free(f);
    return status;
}

kn_status kn_mapfile_rows(kn_ctx *ctx, kn_mapfile *f, const float *values, ptrdiff_t rows)
{
    kn_status status = KN_OK;
    const kn_maplayout *l = f->layout;
    const struct format *format = &FORMATS[l->format];
    bool split = l->split && !f->single;
    for (ptrdiff_t i = 0; i < rows; i++) {
        KN_TRY(kn_check_cancel(ctx));
        if (split)
            KN_TRY(open_next(ctx, f));
        KN_TRY(format->put(ctx, f, f->single ? NULL : l->id[f->done], values + i * l->T));
        if (split) {
            KN_TRY(format->commit(ctx, f));
            close_file(f);
        }
        f->done++;
    }
out:
    return status;
}

kn_status kn_mapfile_commit(kn_ctx *ctx, kn_mapfile *f, ptrdiff_t *n_files)
{
    kn_status status = f->writer ? FORMATS[f->layout->format].commit(ctx, f) : KN_OK;
    if (status == KN_OK)
        *n_files += (f->layout->split && !f->single ? f->done : 1) * kn_mapfile_parts(f->layout);
    return status;
}

void kn_mapfile_free(kn_mapfile *f)
{
    if (!f)
        return;
    close_file(f);
    kn_free(f->shifted);
    kn_free(f);
}
