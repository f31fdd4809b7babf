/* Implements long_tables.h. Each file is parsed once per wide table; its rows of one hemisphere and
 * atlas become cells of the row of their ID. */
#include "io/freesurfer/long_tables.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/path.h"
#include "io/freesurfer/measures.h"
#include "io/table/table.h"

enum { NAME = 512, PATH = 8192 };

bool kn_long_is_name(const char *path)
{
    return kn_path_ends(path, "surfacestats.tsv");
}

typedef struct wanted { /* rows that a wide table has */
    const char *hemi, *atlas;
    const kn_stats_measure *measure;
    bool atlas_found;
} wanted;

typedef struct place { /* columns of a long table; -1: none */
    ptrdiff_t id, session, atlas, hemi, region, value;
} place;

/* Returns the column named a, else the one named b; -1 if there is neither. */
static ptrdiff_t find_either(const kn_table *t, const char *a, const char *b)
{
    ptrdiff_t col = kn_table_find(t, a);
    return col >= 0 ? col : kn_table_find(t, b);
}

static kn_status find_columns(kn_ctx *ctx, const kn_table *t, const wanted *what, place *p)
{
    *p = (place){.id = find_either(t, "subject_id", "participant_id"),
                 .session = find_either(t, "session_id", "session"),
                 .atlas = kn_table_find(t, "atlas"),
                 .hemi = find_either(t, "hemisphere", "hemi"),
                 .region = kn_table_find(t, "StructName"),
                 .value = kn_table_find(t, what->measure->column)};
    const char *missing = p->hemi < 0     ? "hemisphere"
                          : p->region < 0 ? "StructName"
                          : p->value < 0  ? what->measure->column
                                          : NULL;
    return missing ? kn_fail(ctx, KN_ERR_FORMAT,
                             "%s has no column %s, expected a long table of regions",
                             kn_table_path(t), missing)
                   : KN_OK;
}

/* Writes the ID of a row: the participant, or participant and session. */
static void id_of(const kn_table *t, const place *p, ptrdiff_t row, char out[NAME])
{
    const char *path = kn_table_path(t), *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path, *end = strstr(name, "_regionsurfacestats");
    end = end ? end : strstr(name, "_surfacestats");
    const char *session = p->session >= 0 ? kn_table_cell(t, row, p->session) : "";
    if (p->id >= 0)
        snprintf(out, NAME, "%s", kn_table_cell(t, row, p->id));
    else
        snprintf(out, NAME, "%.*s", end ? (int)(end - name) : (int)strcspn(name, "."), name);
    size_t n = strlen(out);
    if (!kn_text_is_missing(session) && !strstr(out, "_ses-"))
        snprintf(out + n, NAME - n, "_%s%s", strncmp(session, "ses-", 4) == 0 ? "" : "ses-",
                 session);
}

/* Adds the cell of one row to the wide table. */
static kn_status add_row(kn_ctx *ctx, const kn_table *t, const place *p, ptrdiff_t row,
                         const wanted *what, kn_wide *w)
{
    char id[NAME], column[2 * NAME];
    const char *value = kn_table_cell(t, row, p->value), *region = kn_table_cell(t, row, p->region);
    double x;
    kn_status status = KN_OK;
    id_of(t, p, row, id);
    if (kn_number_parse(value, &x) == KN_CELL_TEXT)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s line %td: %s of %.60s is '%.60s', but must be a number",
                       kn_table_path(t), kn_table_line(t, row), what->measure->column, region,
                       value);
    if (w->rows == 0 || strcmp(w->row[w->rows - 1], id) != 0)
        KN_TRY(kn_wide_row(ctx, w, id));
    snprintf(column, sizeof column, "%s_%.500s_%s", what->hemi, region, what->measure->name);
    if (kn_wide_has(w, column))
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s line %td: %.60s of %s occurs a second time; it must have one row per "
                       "atlas",
                       kn_table_path(t), kn_table_line(t, row), region, id);
    KN_TRY(kn_wide_cell_add(ctx, w, column, value));
out:
    return status;
}

/* Adds the rows of one file. */
static kn_status add_file(kn_ctx *ctx, const char *path, wanted *what, kn_wide *w)
{
    kn_table *t = NULL;
    place p;
    kn_status status;
    KN_TRY(kn_table_read(ctx, path, &t));
    KN_TRY(find_columns(ctx, t, what, &p));
    for (ptrdiff_t i = 0; i < kn_table_rows(t); i++) {
        bool atlas = p.atlas < 0 || strcmp(kn_table_cell(t, i, p.atlas), what->atlas) == 0;
        what->atlas_found = what->atlas_found || atlas;
        if (atlas && strcmp(kn_table_cell(t, i, p.hemi), what->hemi) == 0)
            KN_TRY(add_row(ctx, t, &p, i, what, w));
    }
out:
    kn_table_free(t);
    return status;
}

/* Makes one wide table of all files. */
static kn_status add_table(kn_ctx *ctx, const char *path, const glob_t *found, wanted *what,
                           kn_stats_tables *out)
{
    kn_wide w = {0};
    char corner[NAME];
    kn_status status = KN_OK;
    for (size_t k = 0; k < found->gl_pathc; k++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(add_file(ctx, found->gl_pathv[k], what, &w));
    }
    if (!what->atlas_found || w.rows == 0) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT,
                         "%s: no row has the hemisphere %s and the atlas %.60s "
                         "(named in {atlas})",
                         path, what->hemi, what->atlas);
        goto out;
    }
    snprintf(corner, sizeof corner, "%s.%.200s.%s", what->hemi, what->atlas, what->measure->name);
    KN_TRY(kn_text_copy(ctx, path, strlen(path), &out->name[out->n]));
    out->n++;
    KN_TRY(kn_wide_text(ctx, &w, corner, &out->text[out->n - 1]));
out:
    kn_wide_clear(&w);
    return status;
}

/* Copies the paths that a pattern has found to out->file, which out owns. Fails only without
 * memory. */
static kn_status keep_files(kn_ctx *ctx, const glob_t *found, kn_stats_tables *out)
{
    void *memory;
    kn_status status = kn_alloc(ctx, (ptrdiff_t)found->gl_pathc, sizeof *out->file, &memory);
    out->file = memory;
    for (size_t k = 0; status == KN_OK && k < found->gl_pathc; k++) {
        status = kn_text_copy(ctx, found->gl_pathv[k], strlen(found->gl_pathv[k]), &out->file[k]);
        out->n_files += status == KN_OK;
    }
    return status;
}

/* Copies part k of a list with commas; false: there is none. */
static bool list_part(const char *list, int k, char out[NAME])
{
    for (; k > 0 && list; k--) {
        list = strchr(list, ',');
        list += list != NULL;
    }
    if (!list)
        return false;
    list += strspn(list, " ");
    snprintf(out, NAME, "%.*s", (int)strcspn(list, ","), list);
    return true;
}

kn_status kn_long_read(kn_ctx *ctx, const char *path, const char *measures, const char *atlases,
                       kn_stats_tables *out)
{
    static const char *const HEMI[] = {"lh", "rh"};
    char atlas[NAME], measure[NAME], literal[PATH];
    glob_t found = {0};
    kn_status status = KN_OK;
    *out = (kn_stats_tables){0};
    bool exists = access(path, F_OK) == 0 && kn_path_escape(path, literal, sizeof literal);
    if (glob(exists ? literal : path, 0, NULL, &found) != 0) {
        status = kn_fail(ctx, KN_ERR_IO, "%s cannot be opened: no such file", path);
        goto out;
    }
    KN_TRY(keep_files(ctx, &found, out));
    for (int a = 0; list_part(atlases, a, atlas); a++)
        for (int m = 0; list_part(measures, m, measure); m++)
            for (int h = 0; h < 2; h++) {
                wanted what = {HEMI[h], atlas, kn_stats_measure_find(measure, true), false};
                if (!what.measure || out->n == KN_STATS_TABLES) {
                    status = kn_fail(ctx, KN_ERR_ARGUMENT,
                                     "{measure}: '%.60s' is no measure of a surface, or there are "
                                     "too many tables; expected %s",
                                     measure, KN_STATS_MEASURES);
                    goto out;
                }
                KN_TRY(add_table(ctx, path, &found, &what, out));
            }
out:
    globfree(&found);
    if (status != KN_OK)
        kn_stats_tables_clear(out);
    return status;
}
