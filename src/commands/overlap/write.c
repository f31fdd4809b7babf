/* Writes the results of kn_overlap: tables for tables, maps for images, and summary.json. Both
 * groups and their difference are written if there are two. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options/command_line.h"
#include "commands/common/map_writer.h"
#include "commands/common/output_folder.h"
#include "commands/overlap/internal.h"
#include "commands/score/scores.h"
#include "io/file/path.h"
#include "io/table/sidecar.h"
#include "model/fit_info_json.h"

enum { PATH = 4096, NAME = KN_LEVEL_SIZE + 64 };

/* True if there are exactly two groups, so that they are compared. */
static bool has_two(const kn_overlaps *o)
{
    return o->members->levels.n == 2;
}

/* True if the responses are images. */
static bool in_images(const kn_overlaps *o)
{
    return o->scored->space.kind == KN_SPACE_IMAGE;
}

/* ---- maps ---- */

typedef struct map {
    char name[NAME];
    const double *values; /* NULL before the computation */
    float outside; /* value outside the mask: 1 for p-values, since 0 would mean significant */
} map;

/* Describe map k in the order of writing (per group n and proportions, then differences); false if
 * there are no more. */
static bool map_at(const kn_overlaps *o, ptrdiff_t k, map *out)
{
    enum { OF_GROUP = 1 + KN_SIGNS, OF_SIGN = 3 };
    static const char *const of_sign[OF_SIGN] = {"difference_%s", "difference_%s_p",
                                                 "difference_%s_p_fdr"};
    ptrdiff_t g = k / OF_GROUP, what = k % OF_GROUP;
    *out = (map){.outside = 0};
    if (g < o->members->levels.n) {
        snprintf(out->name, NAME, "overlap_%s_%s", o->members->levels.text[g],
                 what == 0 ? "n" : kn_sign_name[what - 1]);
        if (o->proportions)
            out->values = what == 0 ? o->proportions[g].n : o->proportions[g].proportion[what - 1];
        return true;
    }
    k -= o->members->levels.n * OF_GROUP;
    if (!has_two(o) || k >= KN_SIGNS * OF_SIGN)
        return false;
    const kn_permutation_result *r = &o->compare[k / OF_SIGN];
    snprintf(out->name, NAME, of_sign[k % OF_SIGN], kn_sign_name[k / OF_SIGN]);
    out->values = k % OF_SIGN == 0 ? r->difference : k % OF_SIGN == 1 ? r->p : r->p_fdr;
    out->outside = k % OF_SIGN == 0 ? 0 : 1;
    return true;
}

/* How maps are written: in the folder of this run, in format and space of the scored folder. */
static kn_maplayout layout_of(const kn_overlaps *o, const kn_write_options *options)
{
    return (kn_maplayout){.dir = o->s->folder,
                          .format = KN_FORMAT_TRAINED,
                          .space = &o->scored->space,
                          .T = o->scored->space.T,
                          .options = options};
}

/* Write one map on the grid of the z-maps, with m->outside at the voxels outside the mask. */
static kn_status write_map(kn_ctx *ctx, const kn_overlaps *o, const map *m,
                           const kn_maplayout *layout)
{
    kn_status status;
    kn_mapfile *file = NULL;
    float *row = NULL;
    KN_TRY(kn_alloc_f(ctx, layout->T, &row));
    for (ptrdiff_t v = 0; v < layout->T; v++)
        row[v] = m->outside;
    for (ptrdiff_t j = 0; j < o->T; j++)
        row[o->kept[j]] = (float)m->values[j];
    KN_TRY(kn_mapfile_new(ctx, layout, m->name, 1, true, &file));
    KN_TRY(kn_mapfile_rows(ctx, file, row, 1));
    KN_TRY(kn_mapfile_commit(ctx, file, &o->info->files));
out:
    kn_mapfile_free(file);
    kn_free(row);
    return status;
}

/* Write every map that the groups have. */
static kn_status write_maps(kn_ctx *ctx, const kn_overlaps *o, const kn_write_options *options)
{
    kn_status status = KN_OK;
    kn_maplayout layout = layout_of(o, options);
    map m;
    for (ptrdiff_t k = 0; map_at(o, k, &m); k++)
        KN_TRY(write_map(ctx, o, &m, &layout));
out:
    return status;
}

/* ---- tables ---- */

/* Write the name of response j as a table cell. */
static kn_status write_name(kn_ctx *ctx, const kn_overlaps *o, ptrdiff_t j, kn_table_writer *w)
{
    char name[1100];
    kn_response_name(&o->scored->space, j, name, sizeof name);
    return kn_table_writer_text(ctx, w, name);
}

/* Writes the rows of response j. */
typedef kn_status (*rows_of)(kn_ctx *ctx, const kn_overlaps *o, ptrdiff_t j, kn_table_writer *w);

/* Write the rows of response j in overlap.tsv, one per group. */
static kn_status write_group_rows(kn_ctx *ctx, const kn_overlaps *o, ptrdiff_t j,
                                  kn_table_writer *w)
{
    kn_status status = KN_OK;
    for (ptrdiff_t g = 0; g < o->members->levels.n; g++) {
        KN_TRY(write_name(ctx, o, j, w));
        KN_TRY(kn_table_writer_text(ctx, w, o->members->levels.text[g]));
        KN_TRY(kn_table_writer_number(ctx, w, o->proportions[g].n[j]));
        for (int k = 0; k < KN_SIGNS; k++)
            KN_TRY(kn_table_writer_number(ctx, w, o->proportions[g].proportion[k][j]));
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
out:
    return status;
}

/* Write the row of response j in difference.tsv: difference and p-values of both signs. */
static kn_status difference_row(kn_ctx *ctx, const kn_overlaps *o, ptrdiff_t j, kn_table_writer *w)
{
    kn_status status;
    KN_TRY(write_name(ctx, o, j, w));
    for (int k = 0; k < KN_SIGNS; k++) {
        KN_TRY(kn_table_writer_number(ctx, w, o->compare[k].difference[j]));
        KN_TRY(kn_table_writer_number(ctx, w, o->compare[k].p[j]));
        KN_TRY(kn_table_writer_number(ctx, w, o->compare[k].p_fdr[j]));
    }
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

typedef struct table {
    const char *file;
    const char *const *names; /* NULL-terminated */
    rows_of rows;
} table;

/* Write one table with the rows of all responses; adds it and its sidecar to the number of
 * files. */
static kn_status write_table(kn_ctx *ctx, const kn_overlaps *o, const table *t,
                             const kn_write_options *options)
{
    kn_status status;
    char path[PATH];
    kn_table_writer *w = NULL;
    KN_TRY(kn_path_in_folder(ctx, o->s->folder, t->file, path, PATH));
    KN_TRY(kn_table_writer_new(ctx, path, options, &w));
    KN_TRY(kn_table_writer_describe(ctx, w, t->file));
    for (int k = 0; t->names[k]; k++)
        KN_TRY(kn_table_writer_text(ctx, w, t->names[k]));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t j = 0; j < o->T; j++)
        KN_TRY(t->rows(ctx, o, j, w));
    KN_TRY(kn_table_writer_commit(ctx, w));
    o->info->files += 2;
out:
    kn_table_writer_free(w);
    return status;
}

/* Write overlap.tsv and, with two groups, difference.tsv. */
static kn_status write_tables(kn_ctx *ctx, const kn_overlaps *o, const kn_write_options *options)
{
    static const char *const shares[] = {"response", "group", "n", "share_low", "share_high", NULL};
    static const char *const differences[] = {
        "response",        "difference_low",    "difference_low_p",      "difference_low_p_fdr",
        "difference_high", "difference_high_p", "difference_high_p_fdr", NULL};
    kn_status status =
        write_table(ctx, o, &(table){"overlap.tsv", shares, write_group_rows}, options);
    if (status == KN_OK && has_two(o))
        status =
            write_table(ctx, o, &(table){"difference.tsv", differences, difference_row}, options);
    return status;
}

/* ---- summary.json ---- */

/* The groups with their sizes as a new JSON array. */
static json_t *groups_json(const kn_membership *m)
{
    json_t *list = json_array();
    for (ptrdiff_t g = 0; g < m->levels.n; g++)
        json_array_append_new(list, json_pack("{s:o s:I}", "group", kn_json_text(m->levels.text[g]),
                                              "n", (json_int_t)m->size[g]));
    return list;
}

/* Smallest p-values and numbers of significant responses of one sign as a new JSON object. */
static json_t *sign_json(const kn_overlap_info *i, int k)
{
    return json_pack("{s:o s:I s:o s:I}", "smallest_p", kn_json_number(i->least_p[k]), "below_05",
                     (json_int_t)i->below[k], "smallest_p_fdr", kn_json_number(i->least_p_fdr[k]),
                     "below_05_fdr", (json_int_t)i->below_fdr[k]);
}

/* The comparison of the second group minus the first as a new JSON object; null unless there are
 * two groups. */
static json_t *difference_json(const kn_overlaps *o)
{
    const kn_levels *l = &o->members->levels;
    if (!has_two(o))
        return json_null();
    return json_pack("{s:o s:o s:o s:o s:I}", "of", kn_json_text(l->text[1]), "minus",
                     kn_json_text(l->text[0]), kn_sign_name[0], sign_json(o->info, 0),
                     kn_sign_name[1], sign_json(o->info, 1), "permutations",
                     (json_int_t)o->s->permutations);
}

/* The warnings as a new JSON array. */
static json_t *warnings_json(const kn_warnings *w)
{
    json_t *list = json_array();
    for (ptrdiff_t i = 0; i < w->n; i++)
        json_array_append_new(list, kn_json_text(w->text[i]));
    return list;
}

/* Write summary.json: options, counts, differences and warnings. */
static kn_status write_summary(kn_ctx *ctx, const kn_overlaps *o, const kn_write_options *options)
{
    kn_status status;
    char path[PATH], *line = NULL, *text = NULL;
    KN_TRY(kn_path_in_folder(ctx, o->s->folder, "summary.json", path, PATH));
    KN_TRY(kn_command_line(ctx, o->options, &line));
    json_t *j =
        json_pack("{s:o s:o s:I s:I s:I s:f s:o s:I s:o s:o s:s}", "by", kn_json_text(o->s->by),
                  "groups", groups_json(o->members), "participants",
                  (json_int_t)o->info->participants, "left_out", (json_int_t)o->info->excluded,
                  "responses", (json_int_t)o->info->responses, "threshold", o->s->threshold,
                  "difference", difference_json(o), "seed", (json_int_t)o->s->seed, "warnings",
                  warnings_json(o->warnings), "command", kn_json_text(line), "software",
                  kn_version());
    status = kn_folder_list_files(ctx, o->s->folder, options, j);
    text = status == KN_OK ? json_dumps(j, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : NULL;
    json_decref(j);
    status = text ? kn_write_text(ctx, path, text, options)
                  : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the summary");
    o->info->files += status == KN_OK;
out:
    kn_free(line);
    free(text);
    return status;
}

/* ---- check and write ---- */

/* KN_ERR_DATA if the name of a group, which becomes part of file names, has a slash. */
static kn_status check_names(kn_ctx *ctx, const kn_overlaps *o)
{
    const kn_levels *l = &o->members->levels;
    for (ptrdiff_t g = 0; g < l->n; g++)
        if (strchr(l->text[g], '/'))
            return kn_fail(ctx, KN_ERR_DATA,
                           "group '%s' cannot be part of a file name, because it contains a slash",
                           l->text[g]);
    return KN_OK;
}

kn_status kn_overlap_check(kn_ctx *ctx, const kn_overlaps *o, const kn_write_options *options)
{
    static const char *const files[] = {"summary.json", "overlap.tsv", "difference.tsv"};
    kn_status status = KN_OK;
    char path[PATH];
    map m;
    kn_maplayout layout = layout_of(o, options);
    for (int k = 0; k < (in_images(o) ? 1 : has_two(o) ? 3 : 2); k++) {
        KN_TRY(kn_path_in_folder(ctx, o->s->folder, files[k], path, PATH));
        KN_TRY(kn_writer_check(ctx, path, options));
        if (kn_sidecar_known(files[k]))
            KN_TRY(kn_sidecar_check(ctx, path, options));
    }
    if (!in_images(o))
        return KN_OK;
    KN_TRY(check_names(ctx, o));
    for (ptrdiff_t k = 0; map_at(o, k, &m); k++)
        KN_TRY(kn_mapfile_check(ctx, &layout, m.name, 1, true));
out:
    return status;
}

kn_status kn_overlap_write(kn_ctx *ctx, const kn_overlaps *o, const kn_write_options *options)
{
    kn_status status;
    KN_TRY(in_images(o) ? write_maps(ctx, o, options) : write_tables(ctx, o, options));
    KN_TRY(write_summary(ctx, o, options));
out:
    return status;
}
