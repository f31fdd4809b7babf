/* Implements kn_data_read: opens and pairs covariates and responses from files. Values are not
 * read yet. */
#include <string.h>

#include "base/memory/budget.h"
#include "data/dataset.h"
#include "data/mpi/exchange_responses.h"
#include "data/mpi/read_table.h"
#include "data/table/columns.h"
#include "io/file/path.h"

/* Returns the bytes for decompressing a 4D file as a whole: an eighth of the budget, at most
 * KN_IMAGE_MEMORY. */
static ptrdiff_t decompressing(const kn_ctx *ctx)
{
    double share = kn_mem_budget_of(ctx).bytes / 8;
    return share < KN_IMAGE_MEMORY ? (ptrdiff_t)share : KN_IMAGE_MEMORY;
}

/* Opens the responses by the ending of their name. some: only a part of a list of images will be
 * read, so headers are not read in advance. */
static kn_status open_responses(kn_ctx *ctx, bool some, kn_data *d)
{
    const char *path = d->responses_path;
    if (kn_table_is_name(path)) {
        bool one;
        kn_status status = kn_comm_check_table(ctx, path, d->covariates_path, &one);
        if (status == KN_OK && one)
            d->responses = d->covariates;
        return status != KN_OK || one ? status : kn_table_read_together(ctx, path, &d->responses);
    }
    if (kn_path_ends(path, ".npy"))
        return kn_npy_open(ctx, path, &d->array);
    if (kn_images_is_name(path))
        return (some ? kn_images_open_later : kn_images_open)(ctx, path, decompressing(ctx),
                                                              &d->images);
    return kn_fail(
        ctx, KN_ERR_FORMAT,
        "%s: unknown kind of responses, expected .nii, .nii.gz, .hdr, .mgh, .mgz, .gii, .txt "
        "(a list of images), .csv, .tsv or .npy",
        path);
}

/* Fails for options that this kind of responses would silently ignore. */
static kn_status check_kind(kn_ctx *ctx, const kn_settings *s, const kn_data *d)
{
    if (s->mask && !d->images)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{mask} is for images, %s is none",
                       kn_data_responses_name(d));
    if (s->targets && !d->responses)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{targets} is for tables, %s is none",
                       kn_data_responses_name(d));
    return KN_OK;
}

/* Checks the column of {person}, so that the message has that name and not {id}. */
static kn_status check_person(kn_ctx *ctx, const kn_settings *s, const kn_table *t)
{
    if (!s->person || kn_column_find(t, s->person) >= 0)
        return KN_OK;
    return kn_column_unknown(ctx, t, s->person, "as {person} asks for");
}

static kn_status copy(kn_ctx *ctx, const char *text, char **out)
{
    return text ? kn_text_copy(ctx, text, strlen(text), out) : KN_OK;
}

/* Opens both files, checks the options against their kinds, finds the id columns and pairs the
 * rows. Collective. */
static kn_status read_data(kn_ctx *ctx, const kn_settings *s, kn_data **out)
{
    kn_status status;
    kn_data *d = NULL;
    void *memory;
    KN_TRY(kn_alloc(ctx, 1, sizeof *d, &memory));
    d = memory;
    d->id_col = d->response_id_col = -1;
    KN_TRY(copy(ctx, s->covariates, &d->covariates_path));
    KN_TRY(copy(ctx, s->responses, &d->responses_path));
    KN_TRY(copy(ctx, s->mask, &d->mask));
    KN_TRY(kn_table_read_together(ctx, d->covariates_path, &d->covariates));
    d->n = kn_table_rows(d->covariates);
    if (d->responses_path)
        KN_TRY(open_responses(ctx, s->part || s->join > 0, d));
    KN_TRY(kn_provenance_responses_equal(ctx, d));
    KN_TRY(check_kind(ctx, s, d));
    bool tables = d->responses && d->responses != d->covariates;
    KN_TRY(check_person(ctx, s, d->covariates));
    if (tables)
        KN_TRY(check_person(ctx, s, d->responses));
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
    kn_warnings said = {0}, *kept = kn_keep_warnings(ctx, &said);
    kn_resources before = kn_settings_resources(ctx, &s);
    status = read_data(ctx, &s, out);
    kn_resources_put(ctx, before);
    kn_keep_warnings(ctx, kept);
    if (status == KN_OK)
        (*out)->warnings = said;
    else
        kn_warnings_clear(&said);
    return status;
}
