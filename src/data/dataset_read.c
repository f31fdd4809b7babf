/* Implements kn_data_read: opens and pairs covariates and responses from files, whose values are
 * not read yet; and kn_responses_table, which opens responses alone. */

#include <string.h>
#include <sys/stat.h>

#include "base/memory/plan.h"
#include "base/mpi/comm.h"
#include "data/dataset.h"
#include "data/read_responses.h"
#include "data/response_tables.h"
#include "data/table/columns.h"
#include "io/bids/derivatives.h"
#include "io/bids/find_participants.h"
#include "io/file/path.h"
#include "io/freesurfer/subjects_folder.h"

/* Returns the bytes of memory allowed for decompressing a 4D image file as a whole: an eighth of
 * the budget, at most KN_IMAGE_MEMORY. */
static ptrdiff_t decompression_bytes(const kn_ctx *ctx)
{
    double share = kn_mem_budget_of(ctx).bytes / 8;
    return share < KN_IMAGE_MEMORY ? (ptrdiff_t)share : KN_IMAGE_MEMORY;
}

/* Returns whether path is an existing folder. */
static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Opens the images of a BIDS derivatives folder that have the entities of the options. Every rank
 * lists the folder. */
static kn_status open_derivatives(kn_ctx *ctx, const kn_settings *s, kn_data *d)
{
    const kn_bids_query query = {s->suffix, s->space, s->desc, s->entities};
    char *list = NULL;
    kn_status status;
    if (!is_folder(d->responses_path))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{suffix} is for a BIDS derivatives folder, but %s is no folder",
                       d->responses_path);
    KN_TRY(kn_bids_find(ctx, d->responses_path, &query, &list));
    KN_TRY(kn_images_open_text(ctx, d->responses_path, list, s->part || s->join > 0, &d->images));
    kn_log(ctx, KN_LOG_INFO, "%s: %td images%s, the first is %s", d->responses_path,
           kn_images_count(d->images), kn_images_parts(d->images) > 1 ? " of two hemispheres" : "",
           kn_images_path(d->images, 0));
out:
    kn_free(list);
    return status;
}

/* Fails for a folder without an option that says what to read in it. */
static kn_status refuse_folder(kn_ctx *ctx, const char *path)
{
    char suffixes[KN_BIDS_SUFFIXES];
    kn_bids_suffixes(ctx, path, suffixes);
    if (*suffixes)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{responses}: %s is a folder; say which images to read by {suffix} (%s) and, "
            "if needed, {space} and {desc}",
            path, suffixes);
    return kn_fail(
        ctx, KN_ERR_ARGUMENT,
        "{responses}: %s is a folder without images named as in BIDS; name the images by "
        "a quoted pattern such as '%s/*.nii.gz', or a table",
        path, path);
}

/* Opens the responses by the ending of their name, tables of FreeSurfer by their first cell. Of a
 * part of a list of images, headers are not read in advance. Collective. */
static kn_status open_responses(kn_ctx *ctx, const kn_settings *s, kn_data *d)
{
    bool some = s->part || s->join > 0;
    const char *path = d->responses_path;
    bool tables;
    kn_status status = kn_response_tables_open(ctx, s, d, &tables);
    if (status != KN_OK || tables)
        return status;
    if (s->suffix)
        return open_derivatives(ctx, s, d);
    if (is_folder(path))
        return refuse_folder(ctx, path);
    if (kn_path_ends(path, ".npy"))
        return kn_npy_open(ctx, path, &d->array);
    if (kn_images_is_name(path))
        return (some ? kn_images_open_later : kn_images_open)(ctx, path, decompression_bytes(ctx),
                                                              &d->images);
    return kn_fail(ctx, KN_ERR_FORMAT,
                   "%s is not a known type of responses; use .nii, .nii.gz, .hdr, .mgh, .mgz, "
                   ".gii, .txt (a list of images), .csv, .tsv or .npy",
                   path);
}

/* Fails with KN_ERR_ARGUMENT if {mask} is given without images, or {targets} without a table. */
static kn_status check_kind(kn_ctx *ctx, const kn_settings *s, const kn_data *d)
{
    if (s->mask && !d->images)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{mask} is for images, but %s is not an image",
                       kn_data_responses_name(d));
    if (!s->suffix && (s->space || s->desc || s->entities))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{%s} is for images of a BIDS derivatives folder (named in {suffix})",
                       s->space  ? "space"
                       : s->desc ? "desc"
                                 : "entities");
    if (s->measure && d->responses_path && !d->from_folder)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{measure} is for a SUBJECTS_DIR of FreeSurfer, but %s is none",
                       kn_data_responses_name(d));
    if (s->targets && !d->responses)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{targets} is for tables, but %s is not a table",
                       kn_data_responses_name(d));
    return KN_OK;
}

/* Makes the cells of the table of covariates and of the table of responses missing that equal a
 * word of the option {na}. Fails only without memory. */
static kn_status blank_cells(kn_ctx *ctx, const kn_settings *s, const kn_data *d)
{
    kn_names words = {0};
    kn_status status = kn_names_split(ctx, "{na}", s->na, &words);
    if (status != KN_OK)
        return status;
    kn_table_blank(d->covariates, (const char *const *)words.name, words.n);
    if (d->responses && d->responses != d->covariates)
        kn_table_blank(d->responses, (const char *const *)words.name, words.n);
    kn_names_clear(&words);
    return KN_OK;
}

/* Fails with KN_ERR_DATA if {participant} names no column of t, so that the message has that option
 * and not {id}. */
static kn_status check_participant(kn_ctx *ctx, const kn_settings *s, const kn_table *t)
{
    if (!s->participant || kn_column_find(t, s->participant) >= 0)
        return KN_OK;
    return kn_column_unknown(ctx, t, s->participant, "named in {participant}");
}

/* Copies a text as *out (kn_free); NULL leaves *out as it is. */
static kn_status copy_text(kn_ctx *ctx, const char *text, char **out)
{
    return text ? kn_text_copy(ctx, text, strlen(text), out) : KN_OK;
}

/* Opens covariates and responses, checks the options against their kinds, finds the id columns and
 * pairs the rows. *out is owned by the caller, and NULL on failure. Collective. */
static kn_status read_data(kn_ctx *ctx, const kn_settings *s, kn_data **out)
{
    kn_status status;
    kn_data *d = NULL;
    void *memory;
    KN_TRY(kn_alloc(ctx, 1, sizeof *d, &memory));
    d = memory;
    d->id_col = d->response_id_col = -1;
    KN_TRY(copy_text(ctx, s->covariates, &d->covariates_path));
    KN_TRY(copy_text(ctx, s->responses, &d->responses_path));
    KN_TRY(copy_text(ctx, s->mask, &d->mask));
    KN_TRY(kn_table_read_together(ctx, d->covariates_path, &d->covariates));
    d->n = kn_table_rows(d->covariates);
    if (d->responses_path)
        KN_TRY(open_responses(ctx, s, d));
    KN_TRY(kn_provenance_responses_equal(ctx, d));
    KN_TRY(check_kind(ctx, s, d));
    KN_TRY(blank_cells(ctx, s, d));
    bool tables = d->responses && d->responses != d->covariates;
    KN_TRY(check_participant(ctx, s, d->covariates));
    if (tables)
        KN_TRY(check_participant(ctx, s, d->responses));
    KN_TRY(kn_match_id_columns(ctx, s->id, d->covariates, tables ? d->responses : NULL, &d->id_col,
                               &d->response_id_col));
    KN_TRY(kn_data_match(ctx, s, d));
out:
    if (status == KN_OK)
        *out = d;
    else
        kn_data_free(d);
    return status;
}

/* *path = participants.tsv that belongs to responses in a folder; NULL: they are in none. With
 * {measure} or {suffix} the responses must be one folder: KN_ERR_IO if it does not exist.
 * Collective. */
static kn_status find_covariates(kn_ctx *ctx, const kn_settings *s, char **path)
{
    kn_status status = KN_OK;
    bool named = (s->measure || s->suffix) && s->responses && !strchr(s->responses, ',');
    *path = NULL;
    if (kn_ctx_comm(ctx)->rank == 0 && s->responses &&
        (named || is_folder(s->responses) || kn_subjects_is_folder(s->responses)))
        KN_TRY(kn_participants_find(ctx, s->responses, path));
    KN_TRY(kn_text_send(ctx, path));
    if (*path)
        kn_log(ctx, KN_LOG_INFO, "covariates: %s", *path);
out:
    return status;
}

kn_status kn_data_read(kn_ctx *ctx, const kn_options *options, kn_data **out)
{
    kn_settings s;
    *out = NULL;
    if (!options)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "options is a null pointer");
    kn_status status = kn_settings_of(ctx, options, NULL, &s);
    if (status != KN_OK)
        return status;
    char *found = NULL;
    if (!s.covariates)
        status = find_covariates(ctx, &s, &found);
    if (status != KN_OK) {
        kn_free(found);
        return status;
    }
    if (!s.covariates && !found)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{covariates} is needed");
    if (found)
        s.covariates = found;
    kn_warnings warnings = {0}, *kept = kn_keep_warnings(ctx, &warnings);
    kn_resources before = kn_settings_resources(ctx, &s);
    status = read_data(ctx, &s, out);
    kn_free(found);
    kn_resources_restore(ctx, before);
    kn_keep_warnings(ctx, kept);
    if (status == KN_OK)
        (*out)->warnings = warnings;
    else
        kn_warnings_clear(&warnings);
    return status;
}

/* ---- the responses alone, as text ---- */

/* Writes a table cell; n/a if text is NULL or empty. */
static kn_status write_cell(kn_ctx *ctx, kn_table_writer *w, const char *text)
{
    return kn_table_writer_text(ctx, w, text && *text ? text : "n/a");
}

/* Writes a table with its IDs first. */
static kn_status write_table(kn_ctx *ctx, const kn_table *t, ptrdiff_t id_col, kn_table_writer *w)
{
    kn_status status = KN_OK;
    for (ptrdiff_t i = -1; i < kn_table_rows(t); i++) {
        KN_TRY(write_cell(ctx, w, i < 0 ? "participant_id" : kn_table_cell(t, i, id_col)));
        for (ptrdiff_t j = 0; j < kn_table_cols(t); j++)
            if (j != id_col && kn_table_named(t, j))
                KN_TRY(write_cell(ctx, w, i < 0 ? kn_table_name(t, j) : kn_table_cell(t, i, j)));
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
out:
    return status;
}

/* Writes IDs, sessions and paths of a list of images. */
static kn_status write_images(kn_ctx *ctx, const kn_images *images, kn_table_writer *w)
{
    kn_status status;
    int parts = kn_images_parts(images);
    bool sessions = kn_images_session(images, 0) != NULL;
    KN_TRY(write_cell(ctx, w, "participant_id"));
    if (sessions)
        KN_TRY(write_cell(ctx, w, "session_id"));
    for (int k = 0; k < parts; k++)
        KN_TRY(write_cell(ctx, w, parts == 1 ? "path" : k == 0 ? "left" : "right"));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t i = 0; i < kn_images_count(images); i++) {
        KN_TRY(write_cell(ctx, w, kn_images_id(images, i)));
        if (sessions)
            KN_TRY(write_cell(ctx, w, kn_images_session(images, i)));
        for (int k = 0; k < parts; k++)
            KN_TRY(write_cell(ctx, w, kn_images_file(images, i * parts + k)));
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
out:
    return status;
}

/* Writes the opened responses of d. KN_ERR_DATA if they have no IDs. */
static kn_status write_responses(kn_ctx *ctx, const kn_settings *s, const kn_data *d,
                                 kn_table_writer *w)
{
    ptrdiff_t unused, col = d->responses ? kn_table_id_col(d->responses) : -1;
    kn_status status = KN_OK;
    if (d->images && kn_images_is_list(d->images) && kn_images_id(d->images, 0))
        return write_images(ctx, d->images, w);
    if (d->responses && col < 0)
        status = kn_match_id_columns(ctx, s->id, d->responses, NULL, &col, &unused);
    if (status != KN_OK)
        return status;
    return col >= 0
               ? write_table(ctx, d->responses, col, w)
               : kn_fail(ctx, KN_ERR_DATA,
                         "%s has no IDs, expected a table with an ID column, a SUBJECTS_DIR or "
                         "images named sub-XXX",
                         d->responses_path);
}

kn_status kn_responses_table(kn_ctx *ctx, const kn_options *options, char **text)
{
    kn_settings s;
    kn_status status;
    kn_data *d = NULL;
    kn_table_writer *w = NULL;
    char *own = NULL;
    void *memory;
    *text = NULL;
    if (!options)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "options is a null pointer");
    KN_TRY(kn_settings_of(ctx, options, NULL, &s));
    if (!s.responses)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{responses} is needed");
    KN_TRY(kn_alloc(ctx, 1, sizeof *d, &memory));
    d = memory;
    d->id_col = d->response_id_col = -1;
    KN_TRY(copy_text(ctx, s.responses, &d->responses_path));
    KN_TRY(open_responses(ctx, &s, d));
    KN_TRY(kn_table_writer_new_memory(ctx, &w));
    KN_TRY(write_responses(ctx, &s, d, w));
    KN_TRY(kn_table_writer_take(ctx, w, &own));
    *text = strdup(own); /* freed by kn_text_free */
    if (!*text)
        status = kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the table");
out:
    kn_free(own);
    kn_table_writer_free(w);
    kn_data_free(d);
    return status;
}
