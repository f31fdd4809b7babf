/* Writes maps by one set of functions per format (image, CSV table, NPY array), selected by the
 * table FORMATS; and removes maps that an earlier run left in the folder. A new format is one row
 * of FORMATS. */
#include "commands/common/map_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/alloc.h"
#include "commands/common/output_folder.h"
#include "data/table/text_list.h"
#include "io/file/path.h"
#include "io/image/image.h"
#include "io/npy/npy.h"
#include "io/table/sidecar.h"
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
    char table[64];          /* table in columns.def */
    void *writer;            /* writer of the open file, of the type of the format */
    kn_image_writer *second; /* writer of the second hemisphere */
    ptrdiff_t cut, *shifted; /* cut: responses of hemisphere 1; voxels of hemisphere 2 */
};

/* ---- formats ---- */

/* Open one image per hemisphere of the space for n volumes (flat: a single 3D volume each). */
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

/* Write the values of one participant (T floats) as the next volume of each hemisphere. */
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

/* Finish the image files of a map. */
static kn_status commit_image(kn_ctx *ctx, kn_mapfile *f)
{
    kn_status status = kn_image_writer_commit(ctx, f->writer);
    return status == KN_OK && f->second ? kn_image_writer_commit(ctx, f->second) : status;
}

/* Close the image writers of a map; files that were not committed are removed. */
static void free_image(kn_mapfile *f)
{
    kn_image_writer_free(f->writer);
    kn_image_writer_free(f->second);
    f->second = NULL;
}

/* Set f->cut, the first response of the second hemisphere, and its voxels relative to that image;
 * voxels are in ascending order. */
static kn_status find_hemisphere_cut(kn_ctx *ctx, kn_mapfile *f)
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

/* Write the column name of response j: its own name, voxel_INDEX or response_NUMBER. */
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

/* Name of a map in columns.def, such as "z.csv", written to out. */
static const char *table_name(const char *map, char out[64])
{
    snprintf(out, 64, "%s.csv", map);
    return out;
}

/* True if the map is one table with a sidecar: files of single participants ({split}) have none. */
static bool has_sidecar(const kn_maplayout *l, const char *map, bool single)
{
    char table[64];
    return l->format == KN_FORMAT_CSV && (single || !l->split) &&
           kn_sidecar_known(table_name(map, table));
}

/* Open a CSV file and write its header: an id column unless the map is single, and one column per
 * response. */
static kn_status open_table(kn_ctx *ctx, kn_mapfile *f, const char *const *path, ptrdiff_t n,
                            bool flat)
{
    (void)n, (void)flat;
    kn_status status;
    kn_table_writer *w;
    KN_TRY(kn_table_writer_new(ctx, path[0], f->layout->options, &w));
    f->writer = w;
    if (has_sidecar(f->layout, f->name, f->single))
        KN_TRY(kn_table_writer_describe(ctx, w, table_name(f->name, f->table)));
    if (!f->single)
        KN_TRY(kn_table_writer_text(ctx, w, "participant_id"));
    for (ptrdiff_t j = 0; j < f->layout->T; j++)
        KN_TRY(column_name(ctx, f->layout, w, j));
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

/* Write one row of T values; id is NULL for single maps. */
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

/* Finish the CSV file of a map. */
static kn_status commit_table(kn_ctx *ctx, kn_mapfile *f)
{
    return kn_table_writer_commit(ctx, f->writer);
}

static void free_table(kn_mapfile *f)
{
    kn_table_writer_free(f->writer);
}

/* Open a NumPy file of n x T floats. */
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

/* Append one row of T floats to the NumPy file. */
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

int kn_mapfile_count(const kn_maplayout *l)
{
    return FORMATS[l->format].images ? l->space->parts : 1;
}

void kn_mapfile_tail(const kn_maplayout *l, const char *name, int k, char *tail, size_t size)
{
    const struct format *format = &FORMATS[l->format];
    bool two = kn_mapfile_count(l) > 1;
    snprintf(tail, size, "%s%s%s%s", name, two ? "_" : "", two ? l->space->part[k].side : "",
             format->extension ? format->extension : l->space->part[k].ending);
}

/* path = DIR/ID_NAME_SIDE.EXT of row i and hemisphere k, or as the layout places it; without ID_ if
 * i is -1, without _SIDE if there is one image. KN_ERR_DATA for an id with a slash, KN_ERR_IO for a
 * path that is too long. */
static kn_status map_path(kn_ctx *ctx, const kn_maplayout *l, const char *name, ptrdiff_t i, int k,
                          char path[PATH])
{
    char tail[PATH];
    const char *id = i < 0 ? NULL : l->id[i];
    if (l->place)
        return l->place(ctx, l, name, i, k, path, PATH);
    kn_mapfile_tail(l, name, k, tail, sizeof tail);
    int n = snprintf(path, PATH, "%s/%s%s%s", l->dir, id ? id : "", id ? "_" : "", tail);
    for (const char *c = id; c && *c; c++)
        if (*c == '/')
            return kn_fail(ctx, KN_ERR_DATA,
                           "ID '%s' cannot be a file name, because it contains a slash", id);
    return n < PATH ? KN_OK : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", l->dir);
}

kn_status kn_mapfile_check(kn_ctx *ctx, const kn_maplayout *l, const char *name, ptrdiff_t n,
                           bool single)
{
    char path[PATH];
    kn_status status = KN_OK;
    for (ptrdiff_t i = 0; i < (single || !l->split ? 1 : n); i++)
        for (int k = 0; k < kn_mapfile_count(l); k++) {
            KN_TRY(map_path(ctx, l, name, single || !l->split ? -1 : i, k, path));
            KN_TRY(kn_writer_check(ctx, path, l->options));
        }
    if (has_sidecar(l, name, single))
        KN_TRY(kn_sidecar_check(ctx, path, l->options));
out:
    return status;
}

kn_status kn_mapfile_exists(kn_ctx *ctx, const kn_maplayout *l, const char *name, ptrdiff_t i)
{
    char path[PATH];
    kn_status status = KN_OK;
    for (int k = 0; k < kn_mapfile_count(l); k++) {
        KN_TRY(map_path(ctx, l, name, i, k, path));
        if (access(path, F_OK) != 0)
            return kn_fail(ctx, KN_ERR_DATA, "%s is missing, although its part is complete", path);
    }
out:
    return status;
}

/* Open the map file of all rows, or with one file per participant ({split}) that of the next
 * row. */
static kn_status open_next(kn_ctx *ctx, kn_mapfile *f)
{
    const kn_maplayout *l = f->layout;
    char path[KN_PARTS][PATH];
    const char *paths[KN_PARTS] = {path[0], path[1]};
    bool split = l->split && !f->single;
    kn_status status = KN_OK;
    for (int k = 0; k < kn_mapfile_count(l); k++)
        KN_TRY(map_path(ctx, l, f->name, split ? f->done : -1, k, path[k]));
    KN_TRY(FORMATS[l->format].open(ctx, f, paths, split ? 1 : f->n, split || f->single));
out:
    return status;
}

/* Free the writer of the open file; removes the file unless it was committed. */
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
    KN_TRY(find_hemisphere_cut(ctx, f));
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
        *n_files += (f->layout->split && !f->single ? f->done : 1) * kn_mapfile_count(f->layout) +
                    has_sidecar(f->layout, f->name, f->single);
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

/* ---- stale maps of an earlier run; only regular files directly in the folder are candidates ----
 */

void kn_stale_files_clear(kn_stale_files *l)
{
    for (ptrdiff_t i = 0; i < l->n; i++)
        kn_free(l->path[i]);
    kn_free(l->path);
    *l = (kn_stale_files){0};
}

/* True if a comma-separated list such as "z.nii.gz,yhat.nii.gz" has the name of n bytes; a NULL
 * list is empty. */
static bool list_has(const char *list, const char *name, size_t n)
{
    for (const char *m = list; m && *m;) {
        size_t length = strcspn(m, ",");
        if (length == n && strncmp(m, name, n) == 0)
            return true;
        m += length + (m[length] == ',');
    }
    return false;
}

/* Add to out the existing files DIR/ID_NAME for every NAME of the list `maps` that is not in the
 * list `kept`. KN_ERR_MEMORY. */
static kn_status add_maps(kn_ctx *ctx, const kn_maplayout *layout, const char *id, const char *maps,
                          const char *kept, kn_stale_files *out)
{
    kn_status status = KN_OK;
    char path[PATH];
    for (const char *m = maps; *m;) {
        size_t length = strcspn(m, ",");
        int n = snprintf(path, PATH, "%s/%s_%.*s", layout->dir, id, (int)length, m);
        bool keep = list_has(kept, m, length);
        m += length + (m[length] == ',');
        if (keep || n >= PATH || strchr(path + strlen(layout->dir) + 1, '/') ||
            !kn_may_delete(layout->options, path))
            continue;
        void *memory = out->path;
        KN_TRY(kn_grow(ctx, out->n + 1, sizeof *out->path, &memory, &out->capacity));
        out->path = memory;
        KN_TRY(kn_text_copy(ctx, path, strlen(path), &out->path[out->n]));
        out->n++;
    }
out:
    return status;
}

/* List the maps of participants in the earlier table t whose id is not among the n of the layout,
 * or whose name is not in `now`. Nothing if t is not a table of kronorm. */
static kn_status find_stale_files(kn_ctx *ctx, const kn_maplayout *layout, const kn_table *t,
                                  ptrdiff_t n, const char *now, kn_stale_files *out)
{
    kn_status status;
    void *memory = NULL;
    ptrdiff_t id = kn_table_find(t, "participant_id"), maps = kn_table_find(t, "maps");
    if (id < 0 || maps < 0 || kn_table_find(t, "status") < 0)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, n, sizeof *layout->id, &memory));
    if (n > 0)
        memcpy(memory, layout->id, (size_t)n * sizeof *layout->id);
    if (n > 0)
        qsort(memory, (size_t)n, sizeof *layout->id, kn_by_text);
    for (ptrdiff_t i = 0; i < kn_table_rows(t); i++) {
        const char *name = kn_table_cell(t, i, id), *list = kn_table_cell(t, i, maps);
        bool stays = n > 0 && bsearch(&name, memory, (size_t)n, sizeof *layout->id, kn_by_text);
        if (!kn_text_is_missing(list))
            KN_TRY(add_maps(ctx, layout, name, list, stays ? now : NULL, out));
    }
out:
    kn_free(memory);
    return status;
}

kn_status kn_stale_files_find(kn_ctx *ctx, const kn_maplayout *layout, ptrdiff_t n,
                              const char *maps, kn_stale_files *out)
{
    char path[PATH];
    kn_table *before = NULL;
    *out = (kn_stale_files){0};
    if (snprintf(path, PATH, "%s/scored_participants.tsv", layout->dir) >= PATH ||
        access(path, R_OK) != 0)
        return KN_OK;
    kn_status status = kn_table_read(ctx, path, &before);
    if (status != KN_OK) /* not a table of ours; {force} replaces it */
        return status == KN_ERR_MEMORY ? status : KN_OK;
    status = find_stale_files(ctx, layout, before, n, maps, out);
    kn_table_free(before);
    if (status != KN_OK)
        kn_stale_files_clear(out);
    return status;
}

void kn_stale_files_remove(kn_ctx *ctx, const kn_stale_files *l)
{
    ptrdiff_t stayed = 0, last = 0;
    for (ptrdiff_t i = 0; i < l->n; i++)
        if (unlink(l->path[i]) != 0 && errno != ENOENT) {
            last = i;
            stayed++;
        }
    if (l->n > stayed)
        kn_log(ctx, KN_LOG_INFO, "%td maps of an earlier run were removed", l->n - stayed);
    if (stayed > 0)
        kn_log(ctx, KN_LOG_WARNING, "%td maps of an earlier run could not be removed, such as %s",
               stayed, l->path[last]);
}
