/* Implements dataset.h for data in memory: the public functions that collect columns, ids and
 * responses, and the table made from them. Files: dataset_read.c; pairing of rows:
 * dataset_match.c. */
#include "data/dataset.h"

#include <math.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

kn_status kn_data_new(kn_ctx *ctx, ptrdiff_t n, kn_data **out)
{
    void *memory;
    *out = NULL;
    if (n < 1)
        return kn_fail(ctx, KN_ERR_SHAPE, "%td participants are too few; at least one is needed",
                       n);
    kn_status status = kn_alloc(ctx, 1, sizeof **out, &memory);
    if (status != KN_OK)
        return status;
    *out = memory;
    **out = (kn_data){.n = n, .in_memory = true, .id_col = -1, .response_id_col = -1};
    return KN_OK;
}

void kn_data_free(kn_data *d)
{
    if (!d)
        return;
    kn_free(d->left);
    kn_free(d->response_left);
    kn_match_clear(&d->match);
    kn_warnings_clear(&d->warnings);
    if (d->preloaded) { /* the rest is borrowed */
        kn_free(d);
        return;
    }
    for (ptrdiff_t k = 0; k < d->n_columns; k++) {
        kn_free(d->column[k].name);
        kn_names_free(d->column[k].text, d->n);
    }
    kn_free(d->column);
    kn_names_free(d->ids, d->n);
    kn_names_free(d->session_id, d->n);
    kn_free(d->where);
    kn_free(d->session);
    kn_names_free(d->list_file, d->n_list_files);
    if (d->responses != d->covariates)
        kn_table_free(d->responses);
    kn_table_free(d->covariates);
    kn_images_free(d->images);
    kn_npy_close(&d->array);
    kn_names_free(d->view_name, d->view.cols);
    kn_free(d->covariates_path);
    kn_free(d->responses_path);
    kn_free(d->mask);
    kn_names_free(d->response_file, d->n_response_files);
    kn_free(d);
}

ptrdiff_t kn_data_count(const kn_data *d)
{
    return d->in_memory && !d->preloaded ? d->n : d->match.n;
}

/* Fails with KN_ERR_ARGUMENT unless d is made in memory, and neither d nor `values` is NULL, so
 * that a column can be added. */
static kn_status check_open(kn_ctx *ctx, const kn_data *d, const void *values)
{
    if (!d || !values)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", d ? "values" : "data");
    if (!d->in_memory || d->preloaded)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "data from files cannot be combined with data from memory");
    return KN_OK;
}

/* Fails unless a column can be added to data in memory: KN_ERR_ARGUMENT without a name or values,
 * KN_ERR_DATA if another column has the name. */
static kn_status check_column(kn_ctx *ctx, const kn_data *d, const char *name, const void *values)
{
    kn_status status = check_open(ctx, d, values);
    if (status != KN_OK)
        return status;
    if (!name || !*name)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "a covariate column has no name");
    for (ptrdiff_t k = 0; k < d->n_columns; k++)
        if (strcmp(d->column[k].name, name) == 0)
            return kn_fail(ctx, KN_ERR_DATA, "covariates: two columns are named '%s'",
                           kn_clipped(name).text);
    return KN_OK;
}

/* Frees the table and the match of data in memory, because a column or the ids changed;
 * kn_data_finalise makes them anew. */
static void discard_match(kn_data *d)
{
    kn_match_clear(&d->match);
    kn_table_free(d->covariates);
    d->covariates = NULL;
}

/* Appends a column with this name and n missing cells to data in memory. *out points into d->column
 * until the next column is added. */
static kn_status new_column(kn_ctx *ctx, kn_data *d, const char *name, kn_table_column **out)
{
    kn_status status;
    void *memory = d->column;
    discard_match(d);
    KN_TRY(kn_grow(ctx, d->n_columns + 1, sizeof *d->column, &memory, &d->capacity));
    d->column = memory;
    kn_table_column *c = &d->column[d->n_columns];
    *c = (kn_table_column){0};
    KN_TRY(kn_text_copy(ctx, name, strlen(name), &c->name));
    d->n_columns++;
    KN_TRY(kn_alloc(ctx, d->n, sizeof *c->text, &memory));
    c->text = memory;
    *out = c;
out:
    return status;
}

/* Removes the last column of data in memory, after its values could not be stored. */
static void drop_last(kn_data *d)
{
    kn_table_column *c = &d->column[--d->n_columns];
    kn_free(c->name);
    kn_names_free(c->text, d->n);
}

kn_status kn_data_numbers(kn_ctx *ctx, kn_data *d, const char *name, const double *values,
                          ptrdiff_t stride)
{
    kn_status status;
    ptrdiff_t before = d ? d->n_columns : 0;
    kn_table_column *c;
    char text[KN_NUMBER_SIZE];
    KN_TRY(check_column(ctx, d, name, values));
    KN_TRY(new_column(ctx, d, name, &c));
    for (ptrdiff_t i = 0; i < d->n; i++) {
        double x = values[i * stride];
        if (isinf(x)) {
            status = kn_fail(ctx, KN_ERR_DATA,
                             "covariates row %td: %s is %g, but must be a finite number, or NaN if "
                             "it is missing",
                             i + 1, kn_clipped(name).text, x);
            goto out;
        }
        kn_number_text(x, text); /* exact; NaN becomes n/a */
        KN_TRY(kn_text_copy(ctx, text, strlen(text), &c->text[i]));
    }
out:
    if (status != KN_OK && d && d->n_columns > before)
        drop_last(d);
    return status;
}

kn_status kn_data_texts(kn_ctx *ctx, kn_data *d, const char *name, const char *const *texts)
{
    kn_status status;
    ptrdiff_t before = d ? d->n_columns : 0;
    kn_table_column *c;
    KN_TRY(check_column(ctx, d, name, texts));
    KN_TRY(new_column(ctx, d, name, &c));
    c->category = true;
    for (ptrdiff_t i = 0; i < d->n; i++)
        if (texts[i])
            KN_TRY(kn_text_copy(ctx, texts[i], strlen(texts[i]), &c->text[i]));
out:
    if (status != KN_OK && d && d->n_columns > before)
        drop_last(d);
    return status;
}

kn_status kn_data_ids(kn_ctx *ctx, kn_data *d, const char *const *ids)
{
    kn_status status = check_open(ctx, d, ids);
    for (ptrdiff_t i = 0; status == KN_OK && i < d->n; i++)
        if (!ids[i])
            status = kn_fail(ctx, KN_ERR_DATA,
                             "ids row %td is missing, but every row must have an ID", i + 1);
    if (status != KN_OK)
        return status;
    kn_names_free(d->ids, d->n);
    discard_match(d);
    return kn_names_copy(ctx, ids, d->n, &d->ids);
}

kn_status kn_data_responses(kn_ctx *ctx, kn_data *d, kn_view values, const char *const *names)
{
    kn_status status = check_open(ctx, d, values.data);
    if (status != KN_OK)
        return status;
    if (values.rows != d->n)
        return kn_fail(ctx, KN_ERR_SHAPE, "covariates have %td rows, but responses have %td", d->n,
                       values.rows);
    if (values.cols < 1 || (values.type != KN_F64 && values.type != KN_F32))
        return kn_fail(
            ctx, KN_ERR_SHAPE,
            "responses have %td columns of type %d, but need at least one of type KN_F64 or "
            "KN_F32",
            values.cols, (int)values.type);
    kn_names_free(d->view_name, d->view.cols);
    d->view_name = NULL;
    d->view = values;
    return names ? kn_names_copy(ctx, names, values.cols, &d->view_name) : KN_OK;
}

/* Makes d->covariates, the table of data in memory, from its columns; ids become the column
 * participant_id. KN_ERR_DATA if there are no columns. */
static kn_status make_table(kn_ctx *ctx, kn_data *d)
{
    kn_status status = KN_OK;
    void *memory = NULL;
    ptrdiff_t n = 0;
    KN_TRY(kn_alloc(ctx, d->n_columns + 1, sizeof *d->column, &memory));
    kn_table_column *all = memory;
    if (d->ids)
        all[n++] = (kn_table_column){.name = "participant_id", .text = d->ids, .category = true};
    for (ptrdiff_t k = 0; k < d->n_columns; k++)
        all[n++] = d->column[k];
    if (d->n_columns == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "these participants have no covariates");
        goto out;
    }
    KN_TRY(kn_table_make(ctx, "covariates", all, n, d->n, &d->covariates));
    d->id_col = d->ids ? 0 : -1;
out:
    kn_free(memory);
    return status;
}

/* Returns whether two texts differ; NULL equals only NULL. */
static bool texts_differ(const char *a, const char *b)
{
    return a ? !b || strcmp(a, b) != 0 : b != NULL;
}

kn_status kn_data_finalise(kn_ctx *ctx, const kn_settings *s, kn_data *d)
{
    kn_status status = KN_OK;
    bool fresh = !d->covariates;
    if (d->preloaded) /* a subset of preloaded data has its match already */
        return KN_OK;
    kn_warnings *before = kn_keep_warnings(ctx, &d->warnings);
    if (fresh)
        KN_TRY(make_table(ctx, d));
    kn_settings now = *s;
    if (!d->in_memory) { /* options that are not given now keep their values at reading */
        now.where = s->where ? s->where : d->where;
        now.session = s->session ? s->session : d->session;
        now.match = s->match ? s->match : d->policy;
    }
    if (fresh || texts_differ(now.where, d->where) || texts_differ(now.session, d->session)) {
        if (d->in_memory)
            kn_warnings_clear(&d->warnings);
        KN_TRY(kn_data_match(ctx, &now, d));
    }
out:
    kn_keep_warnings(ctx, before);
    if (status != KN_OK && d->in_memory)
        discard_match(d);
    return status;
}

const char *kn_data_participant(const kn_data *d, ptrdiff_t row)
{
    return d->id_col < 0 ? NULL : kn_table_cell(d->covariates, row, d->id_col);
}

bool kn_data_has_responses(const kn_data *d)
{
    return d->preloaded || d->responses || d->images || d->array.source.name || d->view.data;
}

const char *kn_data_responses_name(const kn_data *d)
{
    return d->responses_path ? d->responses_path : "responses";
}

kn_status kn_data_files(kn_ctx *ctx, const kn_data *d, const char *other, const char ***files,
                        ptrdiff_t *n)
{
    const char *const named[] = {d->covariates_path, d->responses_path, d->mask, other};
    enum { N_NAMED = sizeof named / sizeof *named };
    ptrdiff_t images = d->images ? kn_images_files(d->images) : 0;
    void *memory;
    *n = 0;
    kn_status status = kn_alloc(ctx, N_NAMED + d->n_list_files + d->n_response_files + images,
                                sizeof **files, &memory);
    *files = memory;
    if (status != KN_OK)
        return status;
    for (int i = 0; i < N_NAMED; i++)
        if (named[i])
            (*files)[(*n)++] = named[i];
    for (ptrdiff_t i = 0; i < d->n_list_files; i++)
        (*files)[(*n)++] = d->list_file[i];
    for (ptrdiff_t i = 0; i < d->n_response_files; i++)
        (*files)[(*n)++] = d->response_file[i];
    for (ptrdiff_t i = 0; i < images; i++)
        (*files)[(*n)++] = kn_images_file(d->images, i);
    return KN_OK;
}
