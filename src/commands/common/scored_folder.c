/* Implements scored_folder.h for maps in images, CSV tables and NPY arrays. Maps are opened one at
 * a time. */
#include "commands/common/scored_folder.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

enum { PATH = 4096 };

const kn_scored_kind kn_scored_by_score = {
    "score", "scored_participants.tsv", "z", {"participant_id", NULL, NULL}, true};
const kn_scored_kind kn_scored_by_change = {
    "change", "change.tsv", "change_z", {"participant_id", "visit1", "visit2"}, false};

/* ---- which files ---- */

/* True for the name of a z-map: "z.EXT", or for a hemisphere "z_lh.EXT". */
static bool is_z(const kn_scored *s, const char *name)
{
    static const char *const sides[] = {".", "_lh.", "_rh.", "_1.", "_2."};
    size_t n = strlen(s->kind->map);
    bool head = false;
    for (size_t k = 0; k < sizeof sides / sizeof *sides; k++)
        head = head || (strncmp(name, s->kind->map, n) == 0 &&
                        strncmp(name + n, sides[k], strlen(sides[k])) == 0);
    return head &&
           (kn_path_ends(name, ".csv") || kn_path_ends(name, ".npy") || kn_image_is_name(name));
}

/* If the text of `length` bytes is the name of a z-map, count it in *found, list it for messages,
 * and keep the first KN_PARTS names, sorted, in s->tail. */
static kn_status add_z_map(kn_ctx *ctx, kn_scored *s, const char *name, size_t length, int *found,
                           kn_listing *list)
{
    char *copy;
    kn_status status = kn_text_copy(ctx, name, length, &copy);
    if (status != KN_OK)
        return status;
    if (!is_z(s, copy) || ++*found > KN_PARTS) {
        if (is_z(s, copy))
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

/* True if the files found are one without a side, or two with a side and the same extension. */
static bool is_whole(const kn_scored *s, int found)
{
    const char *a = strchr(s->tail[0], '.'), *b = found == 2 ? strchr(s->tail[1], '.') : NULL;
    size_t n = strlen(s->kind->map); /* a side begins here */
    bool side = s->tail[0][n] == '_';
    return found == 1 ? !side : found == 2 && side && s->tail[1][n] == '_' && strcmp(a, b) == 0;
}

/* Find the z-maps of the folder by their names; `list` collects those found, for the error message.
 * KN_ERR_IO if the folder cannot be opened. */
static kn_status find_map_files(kn_ctx *ctx, kn_scored *s, int *found, kn_listing *list)
{
    kn_status status = KN_OK;
    DIR *folder = opendir(s->dir);
    if (!folder)
        return kn_fail_errno(ctx, s->dir, "cannot be opened", errno);
    for (struct dirent *d; (d = readdir(folder));)
        KN_TRY(add_z_map(ctx, s, d->d_name, strlen(d->d_name), found, list));
out:
    closedir(folder);
    return status;
}

/* Find the names of the z-map files: with split from column `maps` of the table, else by looking
 * into the folder. KN_ERR_DATA unless they are one map, or two hemispheres. */
static kn_status find_files(kn_ctx *ctx, kn_scored *s)
{
    kn_status status = KN_OK;
    ptrdiff_t maps = kn_table_find(s->participants, "maps");
    kn_listing list = {.limit = KN_NAMES_LISTED};
    int found = 0;
    s->split = s->kind->attended && maps >= 0;
    if (s->split)
        for (const char *m = kn_table_cell(s->participants, s->row[0], maps); *m;) {
            size_t length = strcspn(m, ",");
            KN_TRY(add_z_map(ctx, s, m, length, &found, &list));
            m += length + (m[length] == ',');
        }
    else
        KN_TRY(find_map_files(ctx, s, &found, &list));
    if (found == 0)
        status = kn_fail(ctx, KN_ERR_DATA, "%s has no z maps; run %s with {write=z}", s->dir,
                         s->kind->command);
    else if (!is_whole(s, found))
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s has the z maps %s; there must be one file, or one per hemisphere",
                         s->dir, list.text);
out:
    return status;
}

/* path = DIR/TAIL, or with split DIR/ID_TAIL of row i; part: hemisphere. KN_ERR_IO if it is too
 * long. */
static kn_status map_path(kn_ctx *ctx, const kn_scored *s, ptrdiff_t i, int part, char path[PATH])
{
    const char *id = s->split ? kn_scored_id(s, i) : "";
    int n = snprintf(path, PATH, "%s/%s%s%s", s->dir, id, s->split ? "_" : "", s->tail[part]);
    return n < PATH ? KN_OK : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", s->dir);
}

/* ---- one file ---- */

/* Close whatever of f is open; {0} is allowed. */
static void close_file(kn_zfile *f)
{
    kn_images_free(f->images);
    kn_npy_close(&f->array);
    kn_table_free(f->table);
    *f = (kn_zfile){0};
}

/* Open the map file of row i: a CSV table, a NumPy array in C order, or images of one or two
 * hemispheres. f owns it. */
static kn_status open_file(kn_ctx *ctx, const kn_scored *s, ptrdiff_t i, kn_zfile *f)
{
    kn_status status;
    char path[PATH], second[PATH], both[2 * PATH];
    KN_TRY(map_path(ctx, s, i, 0, path));
    if (kn_path_ends(path, ".csv")) {
        KN_TRY(kn_table_read(ctx, path, &f->table));
        f->first = 1; /* column 0 is the id */
    } else if (kn_path_ends(path, ".npy")) {
        KN_TRY(kn_npy_open(ctx, path, &f->array));
        if (f->array.header.fortran && f->array.header.rows > 1)
            status =
                kn_fail(ctx, KN_ERR_FORMAT,
                        "%s is in Fortran order, but must be in C order, as score writes it", path);
    } else {
        if (s->parts > 1)
            KN_TRY(map_path(ctx, s, i, 1, second));
        snprintf(both, sizeof both, "%s%s%s", path, s->parts > 1 ? "," : "",
                 s->parts > 1 ? second : "");
        KN_TRY(kn_images_open(ctx, both, 0, &f->images));
    }
out:
    return status;
}

/* Number of maps in the open file. */
static ptrdiff_t count_rows(const kn_zfile *f)
{
    return f->images  ? kn_images_count(f->images)
           : f->table ? kn_table_rows(f->table)
                      : f->array.header.rows;
}

/* Number of responses of each map in the open file; for images all voxels. */
static ptrdiff_t width_of(const kn_zfile *f)
{
    return f->images  ? kn_geometry_voxels(kn_images_geometry(f->images))
           : f->table ? kn_table_cols(f->table) - f->first
                      : f->array.header.cols;
}

/* Read row `row` of a CSV map into z (T floats); an empty cell is NaN, a text KN_ERR_DATA. */
static kn_status read_table_row(kn_ctx *ctx, const kn_zfile *f, ptrdiff_t row, ptrdiff_t T,
                                float *z)
{
    double x;
    for (ptrdiff_t j = 0; j < T; j++) {
        if (kn_table_number(f->table, row, f->first + j, &x) == KN_CELL_TEXT)
            return kn_cell_refused(ctx, f->table, row, f->first + j, "but must be a number");
        z[j] = (float)x;
    }
    return KN_OK;
}

/* Read row `row` of a NumPy map of single or double precision into z (T floats). */
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

/* ---- the folder ---- */

/* Join the id columns of a table row: "c01", for a pair of visits "c01_ses-1_ses-2". *out is owned
 * by the caller. */
static kn_status make_id(kn_ctx *ctx, const kn_scored *s, ptrdiff_t row, char **out)
{
    const char *text[3] = {"", "", ""};
    size_t n = 0, at = 0;
    int parts = 0;
    void *memory;
    for (; parts < 3 && s->kind->part[parts]; parts++) {
        ptrdiff_t col = kn_table_find(s->participants, s->kind->part[parts]);
        text[parts] = kn_table_cell(s->participants, row, col);
        n += strlen(text[parts]) + 1;
    }
    kn_status status = kn_alloc(ctx, (ptrdiff_t)n, 1, &memory);
    *out = memory;
    for (int k = 0; k < parts && status == KN_OK; k++)
        at += (size_t)snprintf(*out + at, n - at, "%s%s", k ? "_" : "", text[k]);
    return status;
}

/* Read the table of the folder, and keep the rows that were used with their ids. KN_ERR_DATA if a
 * column is absent or no row was used. */
static kn_status read_participants(kn_ctx *ctx, kn_scored *s)
{
    kn_status status;
    char path[PATH], why[64];
    ptrdiff_t use = -1;
    void *memory;
    KN_TRY(kn_path_in_folder(ctx, s->dir, s->kind->table, path, PATH));
    snprintf(why, sizeof why, "written by %s", s->kind->command);
    KN_TRY(kn_table_read(ctx, path, &s->participants));
    for (int k = 0; k < 3 && s->kind->part[k]; k++)
        if (kn_table_find(s->participants, s->kind->part[k]) < 0)
            return kn_column_unknown(ctx, s->participants, s->kind->part[k], why);
    if (s->kind->attended && (use = kn_table_find(s->participants, "status")) < 0)
        return kn_column_unknown(ctx, s->participants, "status", why);
    ptrdiff_t rows = kn_table_rows(s->participants);
    KN_TRY(kn_alloc_i(ctx, rows, &s->row));
    KN_TRY(kn_alloc(ctx, rows, sizeof(char *), &memory));
    s->id = memory;
    for (ptrdiff_t i = 0; i < rows; i++) {
        if (use >= 0 && strcmp(kn_table_cell(s->participants, i, use), "used") != 0)
            continue;
        KN_TRY(make_id(ctx, s, i, &s->id[s->n]));
        s->row[s->n++] = i;
    }
    if (s->n == 0)
        status = kn_fail(ctx, KN_ERR_DATA, "%s: no participant was used", path);
out:
    return status;
}

/* Set the space of the responses from the open file; for images every voxel is a response. */
static kn_status read_space(kn_ctx *ctx, kn_scored *s)
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

/* KN_ERR_DATA unless the open file of row i has the expected number of maps, responses as in the
 * first file, and ids as in the table. */
static kn_status check_file(kn_ctx *ctx, const kn_scored *s, ptrdiff_t i)
{
    kn_status status;
    char path[PATH];
    const kn_zfile *f = &s->file;
    ptrdiff_t maps = s->split ? 1 : s->n;
    KN_TRY(map_path(ctx, s, i, 0, path));
    if (count_rows(f) != maps)
        return kn_fail(
            ctx, KN_ERR_DATA,
            "%s has %td maps, but there are %td participants in %s; score again into a new folder",
            path, count_rows(f), maps, s->kind->table);
    if (width_of(f) < 1)
        return kn_fail(ctx, KN_ERR_DATA, "%s has no responses", path);
    if (i > 0 && f->images)
        return kn_geometry_compare(ctx, path, kn_images_geometry(f->images), s->dir,
                                   &s->space.geometry);
    if (i > 0 && width_of(f) != s->space.T)
        return kn_fail(ctx, KN_ERR_DATA, "%s has %td responses, but the first participant has %td",
                       path, width_of(f), s->space.T);
    for (ptrdiff_t k = 0; f->table && k < maps; k++) {
        const char *id = kn_table_cell(f->table, k, 0), *expected = kn_scored_id(s, i + k);
        if (strcmp(id, expected) != 0)
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s line %td: %s is '%s', but '%s' in %s; score again into a new folder",
                           path, kn_table_line(f->table, k),
                           kn_clipped(kn_table_name(f->table, 0)).text, kn_clipped(id).text,
                           kn_clipped(expected).text, s->kind->table);
    }
out:
    return status;
}

kn_status kn_scored_open(kn_ctx *ctx, const char *dir, const kn_scored_kind *kind, kn_scored *out)
{
    kn_status status;
    *out = (kn_scored){.dir = dir, .kind = kind};
    KN_TRY(read_participants(ctx, out));
    KN_TRY(find_files(ctx, out));
    KN_TRY(open_file(ctx, out, 0, &out->file));
    KN_TRY(check_file(ctx, out, 0));
    KN_TRY(read_space(ctx, out));
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
    kn_names_free(s->id, s->n);
    kn_table_free(s->participants);
    *s = (kn_scored){0};
}

const char *kn_scored_id(const kn_scored *s, ptrdiff_t i)
{
    return s->id[i];
}

kn_status kn_scored_z(kn_ctx *ctx, kn_scored *s, ptrdiff_t i, float *z)
{
    kn_status status = KN_OK;
    kn_zfile *f = &s->file;
    ptrdiff_t row = s->split ? 0 : i, T = s->space.T;
    if (s->split && i != s->of) {
        close_file(f);
        s->of = -1;
        KN_TRY(open_file(ctx, s, i, f));
        KN_TRY(check_file(ctx, s, i));
        s->of = i;
    }
    if (f->images)
        KN_TRY(kn_images_read_rows(ctx, f->images, row, 1, NULL, T, z));
    else
        KN_TRY(f->table ? read_table_row(ctx, f, row, T, z) : read_array_row(ctx, f, row, T, z));
out:
    return status;
}

/* The file is DIR/NAME with the ending of the z-maps, such as ".nii.gz" or "_lh.func.gii". */
kn_status kn_scored_single(kn_ctx *ctx, const kn_scored *s, const char *name, bool *found,
                           float *values)
{
    kn_status status = KN_OK;
    char both[KN_PARTS * PATH];
    size_t at = 0;
    kn_images *images = NULL;
    *found = s->space.kind == KN_SPACE_IMAGE;
    for (int k = 0; *found && k < s->parts; k++) {
        const char *tail = s->tail[k] + strlen(s->kind->map);
        char *path = both + at + (k > 0);
        int n = snprintf(path, PATH, "%s/%s%s", s->dir, name, tail);
        if (n >= PATH - 1)
            return kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", s->dir);
        *found = access(path, F_OK) == 0;
        if (k > 0)
            both[at] = ',';
        at += (size_t)n + (k > 0);
    }
    if (!*found)
        return KN_OK;
    KN_TRY(kn_images_open(ctx, both, 0, &images));
    KN_TRY(kn_geometry_compare(ctx, both, kn_images_geometry(images), s->dir, &s->space.geometry));
    KN_TRY(kn_images_read_rows(ctx, images, 0, 1, NULL, s->space.T, values));
out:
    kn_images_free(images);
    return status;
}
