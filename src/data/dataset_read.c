/* Implements kn_data_read: opens and pairs covariates and responses from files. Values are not
 * read yet. */

#include <string.h>
#include <sys/stat.h>

#include "base/memory/plan.h"
#include "base/mpi/comm.h"
#include "data/dataset.h"
#include "data/read_responses.h"
#include "data/table/columns.h"
#include "io/file/path.h"

/* Returns whether two paths are one file (same device and inode); false if one is NULL or does not
 * exist. */
static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* Sets *one on all ranks to whether the root sees two paths as the same file; other ranks may not
 * see it. Collective. */
static kn_status check_same_table(kn_ctx *ctx, const char *a, const char *b, bool *one)
{
    char yes = same_file(a, b);
    kn_status status = kn_comm_broadcast(ctx, &yes, 1, 0);
    *one = yes != 0;
    return status;
}

/* Reads a table on all MPI ranks: the root reads the file once and broadcasts its bytes, and every
 * rank parses them. A rank later converts only the cells of its own responses to numbers. The table
 * is owned by the caller. Cost: a broadcast of the file, which every rank holds. Collective. */
static kn_status read_table_together(kn_ctx *ctx, const char *path, kn_table **out)
{
    kn_status status;
    void *bytes = NULL;
    ptrdiff_t n = 0;
    bool reads = kn_ctx_comm(ctx)->rank == 0;
    *out = NULL;
    if (reads)
        KN_TRY(kn_table_bytes(ctx, path, &bytes, &n));
    KN_TRY(kn_comm_broadcast(ctx, &n, sizeof n, 0));
    if (!reads)
        KN_TRY(kn_alloc_raw(ctx, n, 1, &bytes));
    KN_TRY(kn_comm_broadcast(ctx, bytes, n, 0));
    KN_TRY(kn_table_of_bytes(ctx, path, bytes, n, out));
out:
    kn_free(bytes);
    return status;
}

/* Returns the bytes of memory allowed for decompressing a 4D image file as a whole: an eighth of
 * the budget, at most KN_IMAGE_MEMORY. */
static ptrdiff_t decompression_bytes(const kn_ctx *ctx)
{
    double share = kn_mem_budget_of(ctx).bytes / 8;
    return share < KN_IMAGE_MEMORY ? (ptrdiff_t)share : KN_IMAGE_MEMORY;
}

/* Opens the file d->responses_path as a table, a .npy array or images, by the ending of its name;
 * KN_ERR_FORMAT for another ending. some: only a part of a list of images will be read, so headers
 * are not read in advance. Collective. */
static kn_status open_responses(kn_ctx *ctx, bool some, kn_data *d)
{
    const char *path = d->responses_path;
    if (kn_table_is_name(path)) {
        bool one;
        kn_status status = check_same_table(ctx, path, d->covariates_path, &one);
        if (status == KN_OK && one)
            d->responses = d->covariates;
        return status != KN_OK || one ? status : read_table_together(ctx, path, &d->responses);
    }
    if (kn_path_ends(path, ".npy"))
        return kn_npy_open(ctx, path, &d->array);
    if (kn_images_is_name(path))
        return (some ? kn_images_open_later : kn_images_open)(ctx, path, decompression_bytes(ctx),
                                                              &d->images);
    return kn_fail(ctx, KN_ERR_FORMAT,
                   "%s has no known kind of responses, expected .nii, .nii.gz, .hdr, .mgh, .mgz, "
                   ".gii, .txt (a list of images), .csv, .tsv or .npy",
                   path);
}

/* Fails with KN_ERR_ARGUMENT if {mask} is given without images, or {targets} without a table. */
static kn_status check_kind(kn_ctx *ctx, const kn_settings *s, const kn_data *d)
{
    if (s->mask && !d->images)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{mask} is for images, but %s is not an image",
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
    return kn_column_unknown(ctx, t, s->participant, "which {participant} names");
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
    KN_TRY(read_table_together(ctx, d->covariates_path, &d->covariates));
    d->n = kn_table_rows(d->covariates);
    if (d->responses_path)
        KN_TRY(open_responses(ctx, s->part || s->join > 0, d));
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

kn_status kn_data_read(kn_ctx *ctx, const kn_options *options, kn_data **out)
{
    kn_settings s;
    *out = NULL;
    if (!options)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "options is a null pointer");
    kn_status status = kn_settings_of(ctx, options, NULL, &s);
    if (status != KN_OK)
        return status;
    if (!s.covariates)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{covariates} is needed");
    kn_warnings warnings = {0}, *kept = kn_keep_warnings(ctx, &warnings);
    kn_resources before = kn_settings_resources(ctx, &s);
    status = read_data(ctx, &s, out);
    kn_resources_restore(ctx, before);
    kn_keep_warnings(ctx, kept);
    if (status == KN_OK)
        (*out)->warnings = warnings;
    else
        kn_warnings_clear(&warnings);
    return status;
}
