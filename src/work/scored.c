#include "work/scored.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/columns.h"
#include "data/words.h"
#include "io/path.h"

enum { PATH = 4096 };

/* ---- which files -------------------------------------------------------------------------------
 */

/* "z.EXT", or "z_lh.EXT" and so on of a hemisphere, as maps are named. */
static bool is_z(const char *name)
{
    static const char *const heads[] = {"z.", "z_lh.", "z_rh.", "z_1.", "z_2."};
    bool head = false;
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
        head = head || strncmp(name, heads[k], strlen(heads[k])) == 0;
    return head &&
           (kn_path_ends(name, ".csv") || kn_path_ends(name, ".npy") || kn_image_is_name(name));
}

/* Keeps the first KN_PARTS of the names that are of z, in their order; *found counts all. */
static kn_status consider(kn_ctx *ctx, kn_scored *s, const char *name, size_t length, int *found,
                          kn_listing *list)
{
    char *copy;
    kn_status status = kn_text_copy(ctx, name, length, &copy);
    if (status != KN_OK)
        return status;
    if (!is_z(copy) || ++*found > KN_PARTS) {
        if (is_z(copy))
            kn_listing_add(list, copy);
        kn_free(copy);
        return KN_OK;
    }
    kn_listing_add(list, copy);
    s->tail[s->parts++] = copy;
    if (s->parts == 2 && strcmp(s->tail[0], s->tail[1]) > 0) {
        s->tail[1] = s->tail[0];
        s->tail[0] = copy;
    }
    return KN_OK;
}

/* One file, or one for each hemisphere, which then end alike. */
static bool is_whole(const kn_scored *s, int found)
{
    const char *a = strchr(s->tail[0], '.'), *b = found == 2 ? strchr(s->tail[1], '.') : NULL;
    bool side = s->tail[0][1] == '_';
    return found == 1 ? !side : found == 2 && side && s->tail[1][1] == '_' && strcmp(a, b) == 0;
}

static kn_status look_into(kn_ctx *ctx, kn_scored *s, int *found, kn_listing *list)
{
    kn_status status = KN_OK;
    DIR *folder = opendir(s->dir);
    if (!folder)
        return kn_fail_errno(ctx, s->dir, "cannot be opened", errno);
    for (struct dirent *d; (d = readdir(folder));)
        KN_TRY(consider(ctx, s, d->d_name, strlen(d->d_name), found, list));
out:
    closedir(folder);
    return status;
}

static kn_status find_files(kn_ctx *ctx, kn_scored *s)
{
    kn_status status = KN_OK;
    ptrdiff_t maps = kn_table_find(s->people, "maps");
    kn_listing list = {.most = KN_NAMES_LISTED};
    int found = 0;
    s->split = maps >= 0;
    if (s->split)
        for (const char *m = kn_table_cell(s->people, s->row[0], maps); *m;) {
            size_t length = strcspn(m, ",");
            KN_TRY(consider(ctx, s, m, length, &found, &list));
            m += length + (m[length] == ',');
        }
    else
        KN_TRY(look_into(ctx, s, &found, &list));
    if (found == 0)
        status = kn_fail(ctx, KN_ERR_DATA, "%s: there are no z maps, expected a folder of score",
                         s->dir);
    else if (!is_whole(s, found))
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s: z maps are %s, expected one file, or one for each hemisphere", s->dir,
                         list.text);
out:
    return status;
}

/* DIR/TAIL, or DIR/ID_TAIL of person i. */
static kn_status path_of(kn_ctx *ctx, const kn_scored *s, ptrdiff_t i, int part, char path[PATH])
{
    const char *id = s->split ? kn_scored_id(s, i) : "";
    int n = snprintf(path, PATH, "%s/%s%s%s", s->dir, id, s->split ? "_" : "", s->tail[part]);
    return n < PATH ? KN_OK : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", s->dir);
}

/* ---- one file ----------------------------------------------------------------------------------
 */

static void close_file(kn_zfile *f)
{
    kn_images_free(f->images);
    kn_npy_close(&f->array);
    kn_table_free(f->table);
    *f = (kn_zfile){0};
}

static kn_status open_file(kn_ctx *ctx, const kn_scored *s, ptrdiff_t i, kn_zfile *f)
{
    kn_status status;
    char path[PATH], second[PATH], both[2 * PATH];
    KN_TRY(path_of(ctx, s, i, 0, path));
    if (kn_path_ends(path, ".csv")) {
        KN_TRY(kn_table_read(ctx, path, &f->table));
        f->first = 1; /* the id before them */
    } else if (kn_path_ends(path, ".npy")) {
        KN_TRY(kn_npy_open(ctx, path, &f->array));
        if (f->array.header.fortran && f->array.header.rows > 1)
            status = kn_fail(ctx, KN_ERR_FORMAT,
                             "%s: in Fortran order, expected C order as score "
                             "writes it",
                             path);
    } else {
        if (s->parts > 1)
            KN_TRY(path_of(ctx, s, i, 1, second));
        snprintf(both, sizeof both, "%s%s%s", path, s->parts > 1 ? "," : "",
                 s->parts > 1 ? second : "");
        KN_TRY(kn_images_open(ctx, both, 0, &f->images));
    }
out:
    return status;
}

static ptrdiff_t rows_of(const kn_zfile *f)
{
    return f->images  ? kn_images_count(f->images)
           : f->table ? kn_table_rows(f->table)
                      : f->array.header.rows;
}

static ptrdiff_t width_of(const kn_zfile *f)
{
    return f->images  ? kn_geometry_voxels(kn_images_geometry(f->images))
           : f->table ? kn_table_cols(f->table) - f->first
                      : f->array.header.cols;
}

static kn_status read_table_row(kn_ctx *ctx, const kn_zfile *f, ptrdiff_t row, ptrdiff_t T,
                                float *z)
{
    double x;
    for (ptrdiff_t j = 0; j < T; j++) {
        if (kn_table_number(f->table, row, f->first + j, &x) == KN_CELL_TEXT)
            return kn_cell_refused(ctx, f->table, row, f->first + j, "expected a number");
        z[j] = (float)x;
    }
    return KN_OK;
}

static kn_status read_array_row(kn_ctx *ctx, const kn_zfile *f, ptrdiff_t row, ptrdiff_t T,
                                float *z)
{
    kn_status status;
    double *wide = NULL;
    if (f->array.type == KN_F32)
        return kn_npy_elements(ctx, &f->array, row * T, T, z);
    KN_TRY(kn_alloc_d(ctx, T, &wide));
    KN_TRY(kn_npy_elements(ctx, &f->array, row * T, T, wide));
    for (ptrdiff_t j = 0; j < T; j++)
        z[j] = (float)wide[j];
out:
    kn_free(wide);
    return status;
}

/* ---- the folder --------------------------------------------------------------------------------
 */

static kn_status read_people(kn_ctx *ctx, kn_scored *s)
{
    static const char why[] = "which score writes";
    kn_status status;
    char path[PATH];
    if (snprintf(path, PATH, "%s/people.tsv", s->dir) >= PATH)
        return kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", s->dir);
    KN_TRY(kn_table_read(ctx, path, &s->people));
    ptrdiff_t use = kn_table_find(s->people, "status");
    s->id_col = kn_table_find(s->people, "participant_id");
    if (s->id_col < 0 || use < 0)
        return kn_column_unknown(ctx, s->people, use < 0 ? "status" : "participant_id", why);
    KN_TRY(kn_alloc_i(ctx, kn_table_rows(s->people), &s->row));
    for (ptrdiff_t i = 0; i < kn_table_rows(s->people); i++)
        if (strcmp(kn_table_cell(s->people, i, use), "used") == 0)
            s->row[s->n++] = i;
    if (s->n == 0)
        status = kn_fail(ctx, KN_ERR_DATA, "%s: nobody was used", path);
out:
    return status;
}

/* What the values are of: of images every voxel. */
static kn_status describe(kn_ctx *ctx, kn_scored *s)
{
    kn_status status = KN_OK;
    const kn_zfile *f = &s->file;
    ptrdiff_t T = width_of(f);
    void *memory;
    s->space.T = T;
    if (f->table) {
        s->space.kind = KN_SPACE_TABLE;
        KN_TRY(kn_alloc(ctx, T, sizeof(char *), &memory));
        s->space.name = memory;
        for (ptrdiff_t j = 0; j < T; j++) {
            const char *name = kn_table_name(f->table, f->first + j);
            KN_TRY(kn_text_copy(ctx, name, strlen(name), &s->space.name[j]));
        }
    } else if (f->images) {
        s->space.kind = KN_SPACE_IMAGE;
        s->space.geometry = *kn_images_geometry(f->images);
        s->space.parts = kn_images_parts(f->images);
        for (int k = 0; k < s->space.parts; k++)
            KN_TRY(kn_image_part_copy(ctx, kn_images_part(f->images, k), &s->space.part[k]));
        KN_TRY(kn_alloc_i(ctx, T, &s->space.voxel));
        for (ptrdiff_t v = 0; v < T; v++)
            s->space.voxel[v] = v;
    }
out:
    return status;
}

/* The file of person i: as many maps as there should be, of the responses of the first. */
static kn_status check_file(kn_ctx *ctx, const kn_scored *s, ptrdiff_t i)
{
    kn_status status;
    char path[PATH];
    const kn_zfile *f = &s->file;
    ptrdiff_t maps = s->split ? 1 : s->n;
    KN_TRY(path_of(ctx, s, i, 0, path));
    if (rows_of(f) != maps)
        return kn_fail(ctx, KN_ERR_DATA, "%s: %td maps, expected %td as in people.tsv", path,
                       rows_of(f), maps);
    if (width_of(f) < 1)
        return kn_fail(ctx, KN_ERR_DATA, "%s: there are no responses", path);
    if (i > 0 && f->images)
        return kn_geometry_compare(ctx, path, kn_images_geometry(f->images), s->dir,
                                   &s->space.geometry);
    if (i > 0 && width_of(f) != s->space.T)
        return kn_fail(ctx, KN_ERR_DATA, "%s: %td responses, expected %td as the first person has",
                       path, width_of(f), s->space.T);
    for (ptrdiff_t k = 0; f->table && k < maps; k++) {
        const char *id = kn_table_cell(f->table, k, 0), *expected = kn_scored_id(s, i + k);
        if (strcmp(id, expected) != 0)
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s line %td: %s is '%s', expected '%s' as in people.tsv", path,
                           kn_table_line(f->table, k), kn_clipped(kn_table_name(f->table, 0)).text,
                           kn_clipped(id).text, kn_clipped(expected).text);
    }
out:
    return status;
}

kn_status kn_scored_open(kn_ctx *ctx, const char *dir, kn_scored *out)
{
    kn_status status;
    *out = (kn_scored){.dir = dir};
    KN_TRY(read_people(ctx, out));
    KN_TRY(find_files(ctx, out));
    KN_TRY(open_file(ctx, out, 0, &out->file));
    KN_TRY(check_file(ctx, out, 0));
    KN_TRY(describe(ctx, out));
out:
    if (status != KN_OK)
        kn_scored_clear(out);
    return status;
}

void kn_scored_clear(kn_scored *s)
{
    close_file(&s->file);
    kn_space_clear(&s->space);
    for (int k = 0; k < KN_PARTS; k++)
        kn_free(s->tail[k]);
    kn_free(s->row);
    kn_table_free(s->people);
    *s = (kn_scored){0};
}

const char *kn_scored_id(const kn_scored *s, ptrdiff_t i)
{
    return kn_table_cell(s->people, s->row[i], s->id_col);
}

kn_status kn_scored_z(kn_ctx *ctx, kn_scored *s, ptrdiff_t i, float *z)
{
    kn_status status = KN_OK;
    kn_zfile *f = &s->file;
    ptrdiff_t row = s->split ? 0 : i, T = s->space.T;
    if (s->split && i > 0) {
        close_file(f);
        KN_TRY(open_file(ctx, s, i, f));
        KN_TRY(check_file(ctx, s, i));
    }
    if (f->images)
        KN_TRY(kn_images_read_rows(ctx, f->images, row, 1, NULL, T, z));
    else
        KN_TRY(f->table ? read_table_row(ctx, f, row, T, z) : read_array_row(ctx, f, row, T, z));
out:
    return status;
}
