/* Writes and reads the design (design.h) as JSON of a model file. A category has shares, a numeric
 * column min and max.
 *
 *     {"additive": true,
 *      "columns": [{"min": 18, "max": 93, "quadratic": [1, 1.4]},
 *                  {"min": 3, "max": 3, "constant": true},
 *                  {"shares": [0.4, 0.6]}, {"shares": [0.5, 0.5], "batch": true}],
 *      "interactions": [[2, 0]]} */
#include <math.h>
#include <string.h>

#include "data/covariates/design.h"
#include "data/table/levels.h"

/* Returns one raw column as JSON: range and square of a number, or proportions of the levels of a
 * category. Owned by the caller; NULL: out of memory. */
static json_t *column_to_json(const kn_design_column *k)
{
    if (k->levels == 0) {
        json_t *json = json_pack("{s:f, s:f}", "min", k->min, "max", k->max);
        int failed = !json;
        if (k->constant)
            failed |= json_object_set_new(json, "constant", json_true());
        if (k->q >= 0)
            failed |=
                json_object_set_new(json, "quadratic", json_pack("[f, f]", k->q_mean, k->q_sd));
        if (!failed)
            return json;
        json_decref(json);
        return NULL;
    }
    json_t *proportions = json_array();
    for (int l = 0; l < k->levels; l++)
        if (json_array_append_new(proportions, json_real(k->proportions[l])) != 0) {
            json_decref(proportions);
            return NULL;
        }
    json_t *json = json_pack("{s:o}", "shares", proportions);
    if (json && k->batch && json_object_set_new(json, "batch", json_true()) != 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

json_t *kn_design_to_json(const kn_design *d)
{
    json_t *columns = json_array(), *interactions = json_array();
    int failed = 0;
    for (ptrdiff_t c = 0; c < d->C && !failed; c++)
        failed = json_array_append_new(columns, column_to_json(&d->column[c]));
    for (ptrdiff_t i = 0; i < d->n_interactions && !failed; i++)
        failed = json_array_append_new(interactions,
                                       json_pack("[I, I]", (json_int_t)d->interaction[i].category,
                                                 (json_int_t)d->interaction[i].numeric));
    if (failed || !columns || !interactions) {
        json_decref(columns);
        json_decref(interactions);
        return NULL;
    }
    return json_pack("{s:b, s:o, s:o}", "additive", d->additive, "columns", columns, "interactions",
                     interactions);
}

/* ---- reading: every value is checked ----------------------------------------------------------
 */

typedef struct reader {
    kn_ctx *ctx;
    const char *file;
    kn_design *d;
    ptrdiff_t c;
} reader;

/* Fails with KN_ERR_FORMAT; the message names the file, the covariate being read and `what`. */
static kn_status refuse_design(const reader *r, const char *what)
{
    return kn_fail(r->ctx, KN_ERR_FORMAT, "%s: design of covariate %td: %s", r->file, r->c + 1,
                   what);
}

/* Sets *out to a JSON number. Returns false if it is another value or not finite. */
static bool parse_number(const json_t *json, double *out)
{
    *out = json_number_value(json);
    return json_is_number(json) && isfinite(*out);
}

/* Reads range, constant flag and square of numeric column r->c from JSON into *k. KN_ERR_FORMAT
 * unless the numbers are finite, in order, and stay finite when the range is extended by half on
 * each side. */
static kn_status read_number(const reader *r, const json_t *json, kn_design_column *k)
{
    const json_t *constant = json_object_get(json, "constant");
    const json_t *q = json_object_get(json, "quadratic");
    if (!parse_number(json_object_get(json, "min"), &k->min) ||
        !parse_number(json_object_get(json, "max"), &k->max) || k->min > k->max ||
        !isfinite(1.5 * (k->max - k->min)))
        return refuse_design(r, "expected min and max, two numbers in order");
    if (constant && !json_is_boolean(constant))
        return refuse_design(r, "expected constant to be true or false");
    k->constant = json_is_true(constant);
    if (r->d->additive && !k->constant && k->min == k->max)
        return refuse_design(r, "its minimum and maximum are equal");
    if (!q)
        return KN_OK;
    if (!r->d->additive || k->constant || json_array_size(q) != 2 ||
        !parse_number(json_array_get(q, 0), &k->q_mean) ||
        !parse_number(json_array_get(q, 1), &k->q_sd) || k->q_sd <= 0)
        return refuse_design(r, "expected quadratic to be a mean and a positive sd");
    k->q = 0;
    return KN_OK;
}

/* Reads the proportions of the levels of category r->c from a JSON array into *k, which owns them.
 * KN_ERR_FORMAT unless there are 1 to KN_LEVELS_MAX numbers that sum to 1. */
static kn_status read_category(const reader *r, const json_t *proportions, kn_design_column *k)
{
    size_t n = json_array_size(proportions);
    double sum = 0;
    int present = 0;
    if (!r->d->additive || n < 1 || n > KN_LEVELS_MAX)
        return kn_fail(r->ctx, KN_ERR_FORMAT,
                       "%s: design of covariate %td: expected shares of 1 to %d levels", r->file,
                       r->c + 1, KN_LEVELS_MAX);
    kn_status status = kn_alloc_d(r->ctx, (ptrdiff_t)n, &k->proportions);
    if (status != KN_OK)
        return status;
    k->levels = (int)n;
    for (size_t l = 0; l < n; l++) {
        if (!parse_number(json_array_get(proportions, l), &k->proportions[l]) ||
            k->proportions[l] < 0)
            return refuse_design(r, "a share is not a number from 0 to 1");
        sum += k->proportions[l];
        present += k->proportions[l] > 0;
    }
    if (!(fabs(sum - 1) <= 1e-6))
        return refuse_design(r, "shares do not sum to 1");
    k->constant = present < 2;
    return KN_OK;
}

/* Reads raw column r->c of a design from JSON, a number or, with "shares", a category, and checks
 * it together with its mean and sd in `scale`. KN_ERR_FORMAT for anything invalid. */
static kn_status read_column(const reader *r, const json_t *json, kn_design_scale scale)
{
    kn_design_column *k = &r->d->column[r->c];
    const json_t *proportions = json_object_get(json, "shares");
    double mean = scale.mean[r->c], sd = scale.sd[r->c];
    *k = (kn_design_column){.x = -1, .q = -1};
    if (!isfinite(mean) || !isfinite(sd) || sd <= 0)
        return refuse_design(r, "expected a finite mean and a positive sd");
    if (proportions && (mean != 0 || sd != 1))
        return refuse_design(r, "expected mean 0 and sd 1 of a category");
    const json_t *batch = json_object_get(json, "batch");
    if (batch && (!json_is_boolean(batch) || !proportions))
        return refuse_design(r, "expected batch to be true or false, of a category");
    k->batch = json_is_true(batch);
    return proportions ? read_category(r, proportions, k) : read_number(r, json, k);
}

/* Returns the raw column that entry i of a JSON pair names; -1 unless it is an integer and a column
 * that varies. */
static ptrdiff_t column_index(const json_t *pair, size_t i, const kn_design *d)
{
    const json_t *json = json_array_get(pair, i);
    json_int_t c = json_integer_value(json);
    return json_is_integer(json) && c >= 0 && c < d->C && !d->column[c].constant ? (ptrdiff_t)c
                                                                                 : -1;
}

/* Reads the interactions, JSON pairs [category, number] of raw columns, into d, which owns them.
 * KN_ERR_FORMAT for pairs of other columns or more than KN_INTERACTIONS_MAX. */
static kn_status read_interactions(kn_ctx *ctx, const char *file, const json_t *json, kn_design *d)
{
    size_t n = json_array_size(json);
    void *memory;
    if ((json && !json_is_array(json)) || n > KN_INTERACTIONS_MAX)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: interactions, expected an array of at most %d",
                       file, KN_INTERACTIONS_MAX);
    kn_status status = kn_alloc(ctx, (ptrdiff_t)n, sizeof *d->interaction, &memory);
    if (status != KN_OK)
        return status;
    d->interaction = memory;
    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(json, i);
        ptrdiff_t a = column_index(pair, 0, d), b = column_index(pair, 1, d);
        if (json_array_size(pair) != 2 || a < 0 || b < 0 || d->column[a].levels == 0 ||
            d->column[b].levels > 0)
            return kn_fail(ctx, KN_ERR_FORMAT,
                           "%s: interaction %zu, expected a category and a number that vary", file,
                           i + 1);
        d->interaction[d->n_interactions++] = (kn_interaction){a, b};
    }
    return KN_OK;
}

kn_status kn_design_from_json(kn_ctx *ctx, const char *file, const json_t *json,
                              kn_design_scale scale, kn_design *out)
{
    const json_t *additive = json_object_get(json, "additive");
    const json_t *columns = json_object_get(json, "columns");
    reader r = {ctx, file, out, 0};
    kn_status status;
    void *memory;
    ptrdiff_t varying = 0;

    *out = (kn_design){.C = scale.C};
    if (!json_is_boolean(additive) || scale.C < 1 || json_array_size(columns) != (size_t)scale.C)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s: the design of the covariates, expected one of %td columns", file,
                       scale.C);
    out->additive = json_is_true(additive);
    KN_TRY(kn_alloc(ctx, scale.C, sizeof *out->column, &memory));
    out->column = memory;
    KN_TRY(kn_alloc_d(ctx, scale.C, &out->mean));
    KN_TRY(kn_alloc_d(ctx, scale.C, &out->sd));
    memcpy(out->mean, scale.mean, (size_t)scale.C * sizeof *out->mean);
    memcpy(out->sd, scale.sd, (size_t)scale.C * sizeof *out->sd);
    for (; r.c < scale.C; r.c++) {
        KN_TRY(read_column(&r, json_array_get(columns, (size_t)r.c), scale));
        varying += !out->column[r.c].constant;
    }
    if (varying == 0) {
        status = kn_fail(ctx, KN_ERR_FORMAT, "%s: every covariate of the design is constant", file);
        goto out;
    }
    KN_TRY(read_interactions(ctx, file, json_object_get(json, "interactions"), out));
    kn_design_assign_columns(out);
out:
    if (status != KN_OK)
        kn_design_clear(out);
    return status;
}
