#include "work/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cov/diagonal.h"
#include "data/match.h"
#include "work/check.h"
#include "work/fit.h"
#include "work/response_files.h"

void kn_dataset_clear(kn_dataset *d)
{
    kn_free(d->covariate_row);
    kn_free(d->id);
    kn_recipe_clear(&d->recipe);
    kn_mat_clear(&d->X);
    kn_space_clear(&d->space);
    if (d->responses != d->covariates)
        kn_table_free(d->responses);
    kn_table_free(d->covariates);
    kn_images_free(d->images);
    kn_npy_close(&d->array);
    kn_scratch_clear(&d->scratch);
    kn_free(d->values);
    *d = (kn_dataset){0};
}

kn_status kn_dataset_files(kn_ctx *ctx, const kn_inputs *in, const kn_dataset *d, const char *other,
                           const char ***files, ptrdiff_t *n)
{
    const char *const named[] = {in->covariates, in->responses, in->mask, other};
    enum { N_NAMED = sizeof named / sizeof *named };
    ptrdiff_t images =
        d && d->images && kn_images_is_list(d->images) ? kn_images_count(d->images) : 0;
    void *memory;
    *n = 0;
    kn_status status = kn_alloc(ctx, N_NAMED + images, sizeof **files, &memory);
    *files = memory;
    if (status != KN_OK)
        return status;
    for (int i = 0; i < N_NAMED; i++)
        if (named[i])
            (*files)[(*n)++] = named[i];
    for (ptrdiff_t i = 0; i < images; i++)
        (*files)[(*n)++] = kn_images_path(d->images, i);
    return KN_OK;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Bytes for decompressing a 4D file whole, where that leaves room. */
static ptrdiff_t decompressing(const kn_room *room)
{
    double share = room->allowance.bytes / 8;
    return share < KN_IMAGE_MEMORY ? (ptrdiff_t)share : KN_IMAGE_MEMORY;
}

/* Opens whatever the responses are in; values are read later, for the rows in use. */
static kn_status open_responses(kn_ctx *ctx, const kn_inputs *in, const kn_room *room,
                                kn_dataset *d)
{
    const char *path = in->responses;
    if (kn_table_is_name(path)) {
        if (same_file(path, in->covariates)) {
            d->responses = d->covariates;
            return KN_OK;
        }
        return kn_table_read(ctx, path, &d->responses);
    }
    if (ends_with(path, ".npy"))
        return kn_npy_open(ctx, path, &d->array);
    if (kn_images_is_name(path))
        return kn_images_open(ctx, path, decompressing(room), &d->images);
    return kn_fail(
        ctx, KN_ERR_FORMAT,
        "%s: unknown kind of responses, expected .nii, .nii.gz, .hdr, .mgh, .mgz, .gii, .txt "
        "(a list of images), .csv, .tsv or .npy",
        path);
}

/* Options that other kinds of responses would silently ignore. */
static kn_status check_kind(kn_ctx *ctx, const kn_inputs *in, const kn_dataset *d)
{
    if (in->mask && !d->images)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "--mask is for images, %s is none", in->responses);
    if (in->targets && !d->responses)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "--targets is for tables, %s is none", in->responses);
    return KN_OK;
}

typedef struct ids {
    const char **id;
    ptrdiff_t *line, n;
} ids;

/* The ids on the side of the responses. */
static kn_status response_ids(kn_ctx *ctx, const kn_dataset *d, ptrdiff_t id_col, ids *out)
{
    kn_status status = KN_OK;
    void *memory;
    out->n = d->responses ? kn_table_rows(d->responses)
             : d->images  ? kn_images_count(d->images)
                          : d->array.header.rows;
    bool has = d->responses ? id_col >= 0 : d->images && kn_images_id(d->images, 0);
    if (!has)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, out->n, sizeof *out->id, &memory));
    out->id = memory;
    if (d->responses)
        KN_TRY(kn_alloc_i(ctx, out->n, &out->line));
    for (ptrdiff_t i = 0; i < out->n; i++) {
        out->id[i] =
            d->responses ? kn_table_cell(d->responses, i, id_col) : kn_images_id(d->images, i);
        if (out->line)
            out->line[i] = kn_table_line(d->responses, i);
    }
out:
    return status;
}

static int by_response(const void *a, const void *b)
{
    ptrdiff_t x = ((const ptrdiff_t *)a)[0], y = ((const ptrdiff_t *)b)[0];
    return (x > y) - (x < y);
}

typedef struct rows { /* of each sample in use, in the order of the responses */
    ptrdiff_t n;
    ptrdiff_t *pair; /* n x {response row, covariate row, place in the match} */
} rows;

/* Samples go in the order of the responses, so that images are read from front to back. */
static kn_status order_rows(kn_ctx *ctx, const kn_match *m, rows *out)
{
    kn_status status = kn_alloc_i(ctx, 3 * m->n, &out->pair);
    if (status != KN_OK)
        return status;
    out->n = m->n;
    for (ptrdiff_t i = 0; i < m->n; i++) {
        out->pair[3 * i] = m->response_row ? m->response_row[i] : m->covariate_row[i];
        out->pair[3 * i + 1] = m->covariate_row[i];
        out->pair[3 * i + 2] = i;
    }
    qsort(out->pair, (size_t)m->n, 3 * sizeof *out->pair, by_response);
    return KN_OK;
}

/* Rows that matched by position still have the covariates' names. */
static kn_status take_ids(kn_ctx *ctx, const kn_match *m, ptrdiff_t id_col, const rows *r,
                          kn_dataset *d)
{
    void *memory;
    if (!m->id && id_col < 0)
        return KN_OK;
    kn_status status = kn_alloc(ctx, r->n, sizeof *d->id, &memory);
    if (status != KN_OK)
        return status;
    d->id = memory;
    for (ptrdiff_t i = 0; i < r->n; i++) {
        d->id[i] = m->id ? m->id[r->pair[3 * i + 2]]
                         : kn_table_cell(d->covariates, r->pair[3 * i + 1], id_col);
        if (!kn_recipe_text_ok(d->id[i])) /* a model file could not hold it */
            return kn_fail(ctx, KN_ERR_DATA, "%s line %td: the id is not UTF-8 text",
                           kn_table_path(d->covariates),
                           kn_table_line(d->covariates, r->pair[3 * i + 1]));
    }
    return KN_OK;
}

/* X for the rows; those with a missing value leave when the policy says so. */
static kn_status make_x(kn_ctx *ctx, const kn_recipe *recipe, kn_dataset *d, rows *r)
{
    kn_status status;
    kn_mat X = {0};
    void *memory = NULL;
    bool *dropped = NULL;
    ptrdiff_t F = kn_recipe_width(recipe), kept = 0, *index = NULL;
    KN_TRY(kn_mat_new(ctx, r->n, F, &X));
    KN_TRY(kn_alloc(ctx, r->n, sizeof *dropped, &memory));
    dropped = memory;
    KN_TRY(kn_alloc_i(ctx, r->n, &d->covariate_row));
    KN_TRY(kn_alloc_i(ctx, r->n, &index));
    for (ptrdiff_t i = 0; i < r->n; i++)
        d->covariate_row[i] = r->pair[3 * i + 1];
    KN_TRY(kn_recipe_apply(ctx, recipe, d->covariates, d->covariate_row, r->n, X, dropped));
    for (ptrdiff_t i = 0; i < r->n; i++)
        if (!dropped[i]) {
            index[kept] = i;
            d->covariate_row[kept] = r->pair[3 * i + 1];
            if (d->id)
                d->id[kept] = d->id[i];
            r->pair[3 * kept] = r->pair[3 * i];
            kept++;
        }
    if (kept == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "%s: every row has a missing covariate",
                         kn_table_path(d->covariates));
        goto out;
    }
    r->n = d->n = kept;
    KN_TRY(kn_mat_new(ctx, kept, F, &d->X));
    kn_mat_rows(X, index, d->X);
out:
    kn_free(index);
    kn_free(memory);
    kn_mat_clear(&X);
    return status;
}

/* ---- all together ---------------------------------------------------------------------------- */

static kn_status choose_columns(kn_ctx *ctx, const kn_inputs *in, const kn_model *model,
                                ptrdiff_t id_col, ptrdiff_t response_id_col, kn_dataset *d,
                                kn_selection *selection, kn_recipe_options *ro)
{
    kn_status status = KN_OK;
    const char **names = NULL;
    ptrdiff_t n = 0;
    if (model) {
        if (d->responses && model->space.kind != KN_SPACE_TABLE) {
            kn_space table = {.kind = KN_SPACE_TABLE};
            return kn_space_compare(ctx, in->responses, &table, &model->space);
        }
        return d->responses
                   ? kn_select_named(ctx, d->responses, (const char *const *)model->space.name,
                                     model->space.T, selection)
                   : KN_OK;
    }
    *ro = (kn_recipe_options){.use = in->use,
                              .categorical = in->categorical,
                              .missing = (kn_missing)in->missing,
                              .one_file = d->responses == d->covariates,
                              .id_col = id_col};
    KN_TRY(kn_recipe_names(ctx, d->covariates, ro, &names, &n));
    if (d->responses) {
        kn_select_options so = {.targets = in->targets,
                                .id_col = d->responses == d->covariates ? id_col : response_id_col,
                                .taken = names,
                                .n_taken = n};
        KN_TRY(kn_select(ctx, d->responses, &so, selection));
    }
out:
    kn_free(names);
    return status;
}

/* The values, for the rows that are left, in the order of the file. */
static kn_status read_responses(kn_ctx *ctx, const kn_inputs *in, const kn_model *model,
                                const kn_room *room, const kn_selection *selection, const rows *r,
                                kn_dataset *d)
{
    ptrdiff_t *row;
    kn_status status = kn_alloc_i(ctx, r->n, &row);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < r->n; i++)
        row[i] = r->pair[3 * i];
    kn_response_rows rr = {r->n, row};
    status = d->responses ? kn_read_table(ctx, room, selection, &rr, d)
             : d->images  ? kn_read_images(ctx, room, in, model, &rr, d)
                          : kn_read_array(ctx, room, &rr, d);
    kn_free(row);
    return status;
}

static kn_status read_dataset(kn_ctx *ctx, const kn_inputs *in, const kn_model *model,
                              const kn_room *room, kn_dataset *d)
{
    kn_status status;
    ids side_ids = {0};
    kn_match match = {0};
    kn_selection selection = {0};
    kn_recipe_options ro;
    rows r = {0};
    ptrdiff_t id_col, response_id_col;
    *d = (kn_dataset){0};
    KN_TRY(kn_table_read(ctx, in->covariates, &d->covariates));
    if (in->responses)
        KN_TRY(open_responses(ctx, in, room, d));
    KN_TRY(check_kind(ctx, in, d));
    bool two_tables = d->responses && d->responses != d->covariates;
    KN_TRY(kn_match_id_columns(ctx, in->id, d->covariates, two_tables ? d->responses : NULL,
                               &id_col, &response_id_col));
    bool apart = in->responses && d->responses != d->covariates;
    if (apart)
        KN_TRY(response_ids(ctx, d, response_id_col, &side_ids));
    kn_match_side side = {in->responses, side_ids.n, side_ids.id, side_ids.line};
    KN_TRY(kn_match_rows(ctx, d->covariates, id_col, apart ? &side : NULL,
                         in->match_common ? KN_MATCH_COMMON : KN_MATCH_ALL, &match));
    if (!model && match.n < KN_LEAST_SAMPLES) {
        status = kn_fail(ctx, KN_ERR_DATA, "%s: %td samples with responses, expected at least %d",
                         in->covariates, match.n, KN_LEAST_SAMPLES);
        goto out;
    }
    KN_TRY(order_rows(ctx, &match, &r));
    KN_TRY(take_ids(ctx, &match, id_col, &r, d));
    KN_TRY(choose_columns(ctx, in, model, id_col, response_id_col, d, &selection, &ro));
    if (!model) {
        ro.responses = (const char *const *)selection.name;
        ro.n_responses = selection.n;
        ro.rows = match.covariate_row;
        ro.n_rows = match.n;
        KN_TRY(kn_recipe_learn(ctx, d->covariates, &ro, &d->recipe));
    }
    kn_recipe recipe = model ? model->recipe : d->recipe;
    recipe.missing = (kn_missing)in->missing;
    KN_TRY(make_x(ctx, &recipe, d, &r));
    if (in->responses)
        KN_TRY(read_responses(ctx, in, model, room, &selection, &r, d));
    if (model && in->responses && model->space.kind != KN_SPACE_IMAGE)
        KN_TRY(kn_space_compare(ctx, in->responses, &d->space, &model->space));
out:
    kn_free(r.pair);
    kn_selection_clear(&selection);
    kn_match_clear(&match);
    kn_free(side_ids.id);
    kn_free(side_ids.line);
    if (status != KN_OK)
        kn_dataset_clear(d);
    return status;
}

static kn_room room_of(kn_ctx *ctx, const kn_inputs *in)
{
    return (kn_room){.allowance = kn_allowance_of(ctx),
                     .scratch = in->scratch ? in->scratch : kn_scratch_folder()};
}

kn_status kn_dataset_read_training(kn_ctx *ctx, const kn_inputs *in, const kn_fit_options *fit,
                                   ptrdiff_t basis, kn_dataset *d)
{
    kn_room room = room_of(ctx, in);
    kn_cov sample, task;
    kn_status status = kn_fit_covariances(ctx, fit, KN_ALL_COLUMNS, &sample, &task);
    if (status != KN_OK)
        return status;
    room.rank = fit->rank;
    bool iso = fit->noise == KN_NOISE_ISO;
    room.shape = (kn_need_shape){.method = kn_method_at((int)fit->method),
                                 .iso = iso,
                                 .rotated = iso && (basis > 0 || !kn_cov_is_spectral(&task)),
                                 .given_basis = basis > 0,
                                 .P = basis > 0 ? basis : fit->components,
                                 .folds = fit->folds,
                                 .top = fit->top};
    return read_dataset(ctx, in, NULL, &room, d);
}

static double model_bytes(const kn_model *m)
{
    const kn_gp *gp = &m->gp;
    const kn_reference *r = &m->reference;
    double N = (double)gp->N, T = (double)gp->T;
    return gp->method->bytes(gp) + 8 * T * (double)(r->deviance.K + r->deviance_noise.K) +
           (r->z ? 4 * N * T : 0);
}

kn_status kn_dataset_read(kn_ctx *ctx, const kn_inputs *in, const kn_model *model, kn_dataset *d)
{
    kn_room room = room_of(ctx, in);
    room.shape =
        (kn_need_shape){.scoring = true, .model = model_bytes(model), .train = model->gp.N};
    return read_dataset(ctx, in, model, &room, d);
}

kn_status kn_dataset_flag(kn_ctx *ctx, const kn_dataset *d, const char *option, const char *text,
                          bool *rows_out)
{
    char column[256];
    const char *eq = strchr(text, '=');
    size_t n = eq ? (size_t)(eq - text) : 0;
    if (!eq || n == 0 || n >= sizeof column || !eq[1])
        return kn_fail(ctx, KN_ERR_ARGUMENT, "--%s is '%s', expected COLUMN=VALUE", option, text);
    snprintf(column, sizeof column, "%.*s", (int)n, text);
    ptrdiff_t col = kn_table_find(d->covariates, column), hits = 0;
    if (col < 0)
        return kn_fail(ctx, KN_ERR_DATA, "%s has no column '%s' for --%s",
                       kn_table_path(d->covariates), column, option);
    for (ptrdiff_t i = 0; i < d->n; i++) {
        rows_out[i] = strcmp(kn_table_cell(d->covariates, d->covariate_row[i], col), eq + 1) == 0;
        hits += rows_out[i];
    }
    if (hits == 0)
        return kn_fail(ctx, KN_ERR_DATA, "%s: nobody has %s '%s', which --%s asks for",
                       kn_table_path(d->covariates), column, eq + 1, option);
    return KN_OK;
}
