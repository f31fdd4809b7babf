/* Implements response_tables.h. Each table is prepared (IDs, failed segmentations, whole-brain
 * columns) before the tables are joined. */
#include "data/response_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mpi/comm.h"
#include "data/table/align_ids.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/path.h"
#include "io/freesurfer/long_tables.h"
#include "io/freesurfer/subjects_folder.h"

/* Sends n bytes of the root to all ranks, as *bytes. Owned. Collective. */
static kn_status send_bytes(kn_ctx *ctx, void **bytes, ptrdiff_t *n)
{
    kn_status status;
    KN_TRY(kn_comm_broadcast(ctx, n, sizeof *n, 0));
    if (*n == 0)
        goto out;
    if (kn_ctx_comm(ctx)->rank > 0)
        KN_TRY(kn_alloc_raw(ctx, *n, 1, bytes));
    KN_TRY(kn_comm_broadcast(ctx, *bytes, *n, 0));
out:
    return status;
}

kn_status kn_text_send(kn_ctx *ctx, char **text)
{
    void *bytes = *text;
    ptrdiff_t n = *text ? (ptrdiff_t)strlen(*text) + 1 : 0;
    kn_status status = send_bytes(ctx, &bytes, &n);
    *text = bytes;
    return status;
}

kn_status kn_table_read_together(kn_ctx *ctx, const char *path, kn_table **out)
{
    kn_status status;
    void *bytes = NULL;
    ptrdiff_t n = 0;
    *out = NULL;
    if (kn_ctx_comm(ctx)->rank == 0)
        KN_TRY(kn_table_bytes(ctx, path, &bytes, &n));
    KN_TRY(send_bytes(ctx, &bytes, &n));
    KN_TRY(kn_table_of_bytes(ctx, path, bytes, n, out));
out:
    kn_free(bytes);
    return status;
}

/* Returns whether two paths are one existing file (device and inode); false for NULL. */
static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* ---- tables of FreeSurfer -------------------------------------------------------------------- */

/* Returns whether a name is that of a region of a hemisphere: lh_bankssts_thickness, and its
 * measure is that of the table. */
static bool is_region(const char *name, const char *measure)
{
    size_t n = strlen(name), m = strlen(measure);
    return (strncmp(name, "lh_", 3) == 0 || strncmp(name, "rh_", 3) == 0) && n > m + 4 &&
           name[n - m - 1] == '_' && strcmp(name + n - m, measure) == 0;
}

/* Fails for a table of --transpose, whose rows are regions. */
static kn_status check_orientation(kn_ctx *ctx, const kn_table *t)
{
    const char *cell = kn_table_cell(t, 0, 0);
    if (!is_region(cell, kn_table_measure(t)) && strcmp(cell, "Left-Lateral-Ventricle") != 0)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_FORMAT,
                   "%s line %td: %s is a region, but must be an ID; make the table with one row "
                   "per participant",
                   kn_table_path(t), kn_table_line(t, 0), kn_clipped(cell).text);
}

typedef struct findings {
    kn_listing list;
    ptrdiff_t n;
} findings;

/* Appends "ID COLUMN" of a cell to the listing of a message, and counts it. */
static void add_finding(findings *f, const kn_table *t, ptrdiff_t row, ptrdiff_t col)
{
    char text[2 * sizeof(kn_clip) + 8];
    snprintf(text, sizeof text, "%s %s", kn_clipped(kn_table_cell(t, row, 0)).text,
             kn_clipped(kn_table_name(t, col)).text);
    kn_listing_add(&f->list, text);
    f->n++;
}

/* Empties cells of -1, which no area, volume or thickness has, and lists zeros in columns that are
 * mostly not 0: both are what failed segmentations leave. */
static void find_failed(kn_table *t, findings *negative, findings *zero)
{
    static const char *const SIZES[] = {"area", "volume", "thickness", "thicknessstd"};
    bool size = false;
    double x;
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++)
        size = size || strcmp(kn_table_measure(t), SIZES[k]) == 0;
    for (ptrdiff_t j = 1; size && j < kn_table_cols(t); j++) {
        ptrdiff_t zeros = 0, rows = kn_table_rows(t);
        for (ptrdiff_t i = 0; i < rows; i++) {
            if (kn_table_number(t, i, j, &x) != KN_CELL_NUMBER)
                continue;
            zeros += x == 0;
            if (x == -1) {
                add_finding(negative, t, i, j);
                kn_table_empty(t, i, j);
            }
        }
        for (ptrdiff_t i = 0; 2 * zeros < rows && zeros > 0 && i < rows; i++)
            if (kn_table_number(t, i, j, &x) == KN_CELL_NUMBER && x == 0)
                add_finding(zero, t, i, j);
    }
}

/* Prepares a table of FreeSurfer: IDs in the first column, failed segmentations, and whole-brain
 * columns among regions of a hemisphere. */
static kn_status prepare_freesurfer(kn_ctx *ctx, kn_table *t)
{
    enum { LISTED = 3 };
    findings negative = {.list.limit = LISTED}, zero = negative;
    kn_status status;
    bool regions = false;
    KN_TRY(check_orientation(ctx, t));
    find_failed(t, &negative, &zero);
    if (negative.n > 0)
        kn_log(ctx, KN_LOG_WARNING, "%s: %td %s -1, which is treated as missing: %s",
               kn_table_path(t), negative.n, negative.n == 1 ? "value is" : "values are",
               negative.list.text);
    if (zero.n > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: %td %s 0, which a failed segmentation may have left; if so, empty the cell: %s",
               kn_table_path(t), zero.n, zero.n == 1 ? "value is" : "values are", zero.list.text);
    for (ptrdiff_t j = 1; j < kn_table_cols(t); j++)
        regions = regions || is_region(kn_table_name(t, j), kn_table_measure(t));
    for (ptrdiff_t j = 1; regions && j < kn_table_cols(t); j++)
        if (!is_region(kn_table_name(t, j), kn_table_measure(t)))
            KN_TRY(kn_table_set_aside(ctx, t, j));
out:
    return status;
}

/* ---- several tables -------------------------------------------------------------------------- */

typedef struct tables {
    int n;
    kn_table *table[KN_RESPONSE_FILES];
    kn_join_part part[KN_RESPONSE_FILES];
    const char **id[KN_RESPONSE_FILES]; /* owned arrays of borrowed texts */
} tables;

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Fails if an ID of a table is missing or occurs twice. */
static kn_status check_ids(kn_ctx *ctx, const kn_table *t, const char *const *id)
{
    kn_status status;
    ptrdiff_t n = kn_table_rows(t);
    void *memory = NULL;
    KN_TRY(kn_alloc(ctx, n, sizeof *id, &memory));
    const char **sorted = memory;
    for (ptrdiff_t i = 0; i < n; i++) {
        sorted[i] = id[i];
        if (kn_text_is_missing(id[i])) {
            status = kn_fail(ctx, KN_ERR_DATA, "%s line %td: the ID is '%s', expected an ID",
                             kn_table_path(t), kn_table_line(t, i), kn_clipped(id[i]).text);
            goto out;
        }
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_text);
    for (ptrdiff_t i = 1; i < n; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            status = kn_fail(ctx, KN_ERR_DATA,
                             "%s: the ID %s occurs more than once; several tables are joined by "
                             "ID, so give each session its own ID or one table in {responses}",
                             kn_table_path(t), kn_clipped(sorted[i]).text);
            goto out;
        }
out:
    kn_free(memory);
    return status;
}

/* Sets the IDs of table k, in the spelling of the first table. */
static kn_status read_ids(kn_ctx *ctx, const kn_settings *s, const kn_table *covariates, int k,
                          tables *all)
{
    const kn_table *t = all->table[k];
    ptrdiff_t unused, col = kn_table_id_col(t), n = kn_table_rows(t);
    kn_status status = KN_OK;
    void *memory;
    if (col < 0 && covariates)
        KN_TRY(kn_match_id_columns(ctx, s->id, covariates, t, &unused, &col));
    else if (col < 0)
        KN_TRY(kn_match_id_columns(ctx, s->id, t, NULL, &col, &unused));
    if (col < 0) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s has no ID column, which joining several tables needs; name it in {id}",
                         kn_table_path(t));
        goto out;
    }
    KN_TRY(kn_alloc(ctx, n, sizeof *all->id[k], &memory));
    all->id[k] = memory;
    for (ptrdiff_t i = 0; i < n; i++)
        all->id[k][i] = kn_table_cell(t, i, col);
    if (k > 0) {
        kn_id_list first = {kn_table_path(all->table[0]), kn_table_rows(all->table[0]), all->id[0]};
        kn_id_list own = {kn_table_path(t), n, all->id[k]};
        KN_TRY(kn_ids_align(ctx, &first, &own));
    }
    KN_TRY(check_ids(ctx, t, all->id[k]));
    all->part[k] = (kn_join_part){t, all->id[k], col};
out:
    return status;
}

/* Logs what was joined, and the columns that several tables have. */
static void log_join(kn_ctx *ctx, const kn_table *t, int n)
{
    kn_listing twice = {.limit = KN_NAMES_LISTED};
    const char *name;
    kn_log(ctx, KN_LOG_INFO, "%s: %d tables are joined by ID: %td rows, %td columns",
           kn_table_path(t), n, kn_table_rows(t), kn_table_cols(t) - 1);
    for (ptrdiff_t k = 0; (name = kn_table_repeated(t, k)); k++)
        kn_listing_add(&twice, name);
    if (twice.n > 0)
        kn_log(ctx, KN_LOG_INFO, "%s: in several tables with the same values, kept once: %s",
               kn_table_path(t), twice.text);
}

/* Reads the ids of all tables of responses, joins the tables by them to d->responses, and logs the
 * result. KN_ERR_DATA if ids do not fit together. */
static kn_status join_tables(kn_ctx *ctx, const kn_settings *s, kn_data *d, tables *all)
{
    kn_status status = KN_OK;
    for (int k = 0; k < all->n; k++)
        KN_TRY(read_ids(ctx, s, d->covariates, k, all));
    KN_TRY(kn_table_join(ctx, d->responses_path, all->part, all->n, &d->responses));
    log_join(ctx, d->responses, all->n);
out:
    return status;
}

/* ---- folders of recon-all -------------------------------------------------------------------- */

/* Parses one table of a folder on all ranks, from the text that the root has. Collective. */
static kn_status open_stats(kn_ctx *ctx, kn_stats_tables *stats, int k, kn_table **out)
{
    kn_status status;
    KN_TRY(kn_text_send(ctx, &stats->name[k]));
    KN_TRY(kn_text_send(ctx, &stats->text[k]));
    KN_TRY(kn_table_of_bytes(ctx, stats->name[k], stats->text[k], (ptrdiff_t)strlen(stats->text[k]),
                             out));
    kn_table_count_rows(*out);
    KN_TRY(prepare_freesurfer(ctx, *out));
out:
    if (status != KN_OK) {
        kn_table_free(*out);
        *out = NULL;
    }
    return status;
}

/* Moves the names of the files that the root read to d. Collective. */
static kn_status send_files(kn_ctx *ctx, kn_stats_tables *stats, kn_data *d)
{
    kn_status status;
    void *memory;
    ptrdiff_t n = stats->n_files;
    KN_TRY(kn_comm_broadcast(ctx, &n, sizeof n, 0));
    KN_TRY(kn_alloc(ctx, n, sizeof *d->response_file, &memory));
    d->response_file = memory;
    d->n_response_files = n;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (stats->file) {
            d->response_file[i] = stats->file[i];
            stats->file[i] = NULL;
        }
        KN_TRY(kn_text_send(ctx, &d->response_file[i]));
    }
out:
    return status;
}

/* Opens the tables of a SUBJECTS_DIR, or of long tables of regions. Collective. */
static kn_status open_subjects(kn_ctx *ctx, const kn_settings *s, kn_data *d, tables *all)
{
    kn_status status = KN_OK;
    kn_stats_tables stats = {0};
    bool reads = kn_ctx_comm(ctx)->rank == 0;
    bool table = kn_long_is_name(d->responses_path);
    if (!s->measure && table) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT,
                         "{responses}: %s is a long table of regions; say what to read, such as "
                         "{measure=thickness} {atlas=aparc}",
                         d->responses_path);
        goto out;
    }
    if (!s->measure) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT,
                         "{responses}: %s is a folder of FreeSurfer's recon-all; say what to read, "
                         "such as {measure=thickness} {atlas=aparc}",
                         d->responses_path);
        goto out;
    }
    if (reads)
        KN_TRY((table ? kn_long_read : kn_subjects_read)(ctx, d->responses_path, s->measure,
                                                         s->atlas, &stats));
    KN_TRY(kn_comm_broadcast(ctx, &stats.n, sizeof stats.n, 0));
    for (; all->n < stats.n; all->n++)
        KN_TRY(open_stats(ctx, &stats, all->n, &all->table[all->n]));
    KN_TRY(send_files(ctx, &stats, d));
    d->from_folder = true;
    if (all->n == 1) {
        d->responses = all->table[0];
        all->table[0] = NULL;
    } else {
        KN_TRY(join_tables(ctx, s, d, all));
    }
out:
    kn_stats_tables_clear(&stats);
    return status;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Fails for a list in which some files are tables and one is not. */
static kn_status refuse_mixture(kn_ctx *ctx, const kn_names *names, const bool *table)
{
    int other = 0;
    while (table[other])
        other++;
    return kn_fail(ctx, KN_ERR_ARGUMENT,
                   "{responses}: %s is no table, but other files of the list are; give only tables "
                   "(.csv, .tsv, or .txt of FreeSurfer) or only images",
                   kn_clipped(names->name[other]).text);
}

enum { NO_TABLES, TABLES, SUBJECTS };

/* Decides on the root what the names are. */
static kn_status find_kind(kn_ctx *ctx, const kn_names *names, char *kind)
{
    kn_status status = KN_OK;
    bool table[KN_RESPONSE_FILES] = {false};
    ptrdiff_t n = 0;
    *kind = SUBJECTS;
    if (names->n == 1 && kn_long_is_name(names->name[0]))
        return KN_OK;
    for (ptrdiff_t k = 0; k < names->n; k++) {
        table[k] = kn_table_is_name(names->name[k]);
        if (!table[k])
            KN_TRY(kn_freesurfer_file(ctx, names->name[k], &table[k]));
        n += table[k];
    }
    *kind = n == names->n                                            ? TABLES
            : names->n == 1 && kn_subjects_is_folder(names->name[0]) ? SUBJECTS
                                                                     : NO_TABLES;
    if (n > 0 && n < names->n)
        status = refuse_mixture(ctx, names, table);
out:
    return status;
}

/* Splits the names at commas unless a file has the whole text as its name. Collective. */
static kn_status split_names(kn_ctx *ctx, const char *path, kn_names *out)
{
    char whole = access(path, F_OK) == 0;
    void *name;
    kn_status status;
    *out = (kn_names){0};
    KN_TRY(kn_comm_broadcast(ctx, &whole, 1, 0));
    if (!whole && strchr(path, ','))
        KN_TRY(kn_names_split(ctx, "{responses}", path, out));
    if (out->n > KN_RESPONSE_FILES) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "{responses} has %td files, expected at most %d",
                         out->n, KN_RESPONSE_FILES);
        goto out;
    }
    if (out->n > 0)
        goto out;
    KN_TRY(kn_text_copy(ctx, path, strlen(path), &out->text));
    KN_TRY(kn_alloc(ctx, 1, sizeof *out->name, &name));
    out->name = name;
    out->name[0] = out->text;
    out->n = 1;
out:
    if (status != KN_OK)
        kn_names_clear(out);
    return status;
}

/* Opens the table of the covariates again, or another one. Collective. */
static kn_status open_table(kn_ctx *ctx, const char *path, const kn_data *d, kn_table **out)
{
    char one = same_file(path, d->covariates_path);
    kn_status status;
    *out = NULL;
    KN_TRY(kn_comm_broadcast(ctx, &one, 1, 0));
    if (one) {
        *out = d->covariates;
        return KN_OK;
    }
    KN_TRY(kn_table_read_together(ctx, path, out));
    if (*kn_table_measure(*out))
        KN_TRY(prepare_freesurfer(ctx, *out));
out:
    if (status != KN_OK) {
        kn_table_free(*out);
        *out = NULL;
    }
    return status;
}

kn_status kn_response_tables_open(kn_ctx *ctx, const kn_settings *s, kn_data *d, bool *is)
{
    kn_names names = {0};
    tables all = {0};
    char kind = NO_TABLES;
    kn_status status;
    *is = false;
    if (s->suffix) /* a folder of images */
        return KN_OK;
    KN_TRY(split_names(ctx, d->responses_path, &names));
    if (kn_ctx_comm(ctx)->rank == 0)
        KN_TRY(find_kind(ctx, &names, &kind));
    KN_TRY(kn_comm_broadcast(ctx, &kind, 1, 0));
    if (kind == NO_TABLES)
        goto out;
    *is = true;
    if (kind == SUBJECTS) {
        status = open_subjects(ctx, s, d, &all);
        goto out;
    }
    for (; all.n < names.n; all.n++)
        KN_TRY(open_table(ctx, names.name[all.n], d, &all.table[all.n]));
    if (all.n == 1) {
        d->responses = all.table[0];
        all.table[0] = NULL;
    } else {
        KN_TRY(join_tables(ctx, s, d, &all));
    }
    KN_TRY(kn_names_copy(ctx, (const char *const *)names.name, names.n, &d->response_file));
    d->n_response_files = names.n;
out:
    for (int k = 0; k < KN_RESPONSE_FILES; k++) {
        if (all.table[k] != d->covariates)
            kn_table_free(all.table[k]);
        kn_free(all.id[k]);
    }
    kn_names_clear(&names);
    return status;
}
