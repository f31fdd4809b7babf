/* Writes and reads the encoding (encoding.h) as JSON of a model file.
 *
 *     {"missing": "error",
 *      "columns": [{"name": "age", "kind": "numeric", "mean": 41.5},
 *                  {"name": "site", "kind": "categorical", "levels": ["A", "B"]}]}
 * and with codes
 *     {..., "codes": true, "columns": [..., {"name": "sex", ..., "two_valued": true},
 *                                           {"name": "site", ..., "batch": true}]} */
#include <math.h>
#include <string.h>

#include "data/covariates/encoding.h"
#include "io/file/path.h"

static const char NUMERIC[] = "numeric", CATEGORICAL[] = "categorical";

bool kn_encoding_text_ok(const char *text)
{
    json_t *probe = json_string(text);
    json_decref(probe);
    return probe != NULL;
}

/* Returns one covariate as JSON: name, kind, and mean or levels. Owned by the caller; NULL: out of
 * memory. */
static json_t *column_to_json(const kn_covariate *c)
{
    if (c->kind == KN_COVARIATE_NUMERIC)
        return json_pack("{s:s, s:s, s:f}", "name", c->name, "kind", NUMERIC, "mean", c->mean);
    json_t *levels = json_array();
    for (ptrdiff_t k = 0; k < c->levels.n; k++)
        if (json_array_append_new(levels, json_string(c->levels.text[k])) != 0) {
            json_decref(levels);
            return NULL;
        }
    json_t *json =
        json_pack("{s:s, s:s, s:o}", "name", c->name, "kind", CATEGORICAL, "levels", levels);
    if (json && ((c->two_valued && json_object_set_new(json, "two_valued", json_true()) != 0) ||
                 (c->batch && json_object_set_new(json, "batch", json_true()) != 0))) {
        json_decref(json);
        return NULL;
    }
    return json;
}

json_t *kn_encoding_to_json(const kn_encoding *encoding)
{
    json_t *columns = json_array();
    for (ptrdiff_t k = 0; k < encoding->n; k++)
        if (json_array_append_new(columns, column_to_json(&encoding->column[k])) != 0) {
            json_decref(columns);
            return NULL;
        }
    json_t *json =
        json_pack("{s:s, s:o}", "missing", kn_missing_name(encoding->missing), "columns", columns);
    if (json && encoding->codes && json_object_set_new(json, "codes", json_true()) != 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* ---- reading: every value is checked --------------------------------------------------------- */

typedef struct reader {
    kn_ctx *ctx;
    const char *file;
    ptrdiff_t k; /* covariate, from 0 */
    bool codes;
} reader;

/* Fails with KN_ERR_FORMAT: "FILE: covariate K: WHAT", for the covariate that is being read. */
static kn_status refuse_encoding(const reader *r, const char *what)
{
    return kn_fail(r->ctx, KN_ERR_FORMAT, "%s: covariate %td: %s", r->file, r->k + 1, what);
}

/* Returns the text of a JSON string that could be a cell of a table (short, without NUL, trimmed; a
 * canonical number if `numbers`), else NULL. Writes the same text to out. */
static const char *cell_text(const json_t *json, bool numbers, char out[KN_LEVEL_SIZE])
{
    const char *text = json_string_value(json);
    if (!text || json_string_length(json) != strlen(text) || strlen(text) >= KN_LEVEL_SIZE ||
        !kn_level_of(text, numbers, out) || strcmp(text, out) != 0)
        return NULL;
    return text;
}

/* Returns whether every level in a JSON array is a text that parses as a number. */
static bool all_numbers(const json_t *levels)
{
    double x;
    for (size_t i = 0; i < json_array_size(levels); i++) {
        const char *text = json_string_value(json_array_get(levels, i));
        if (!text || kn_number_parse(text, &x) != KN_CELL_NUMBER)
            return false;
    }
    return true;
}

/* Reads the levels of a category from a JSON array into *out, which owns them. KN_ERR_FORMAT unless
 * they are texts of cells, sorted and distinct, 1 (without codes 2) to KN_LEVELS_MAX. */
static kn_status read_levels(const reader *r, const json_t *json, kn_levels *out)
{
    size_t n = json_array_size(json), lowest = r->codes ? 1 : 2;
    char text[KN_LEVEL_SIZE], before[KN_LEVEL_SIZE];
    if (n < lowest || n > KN_LEVELS_MAX)
        return kn_fail(r->ctx, KN_ERR_FORMAT, "%s: covariate %td: %zu levels, expected %zu to %d",
                       r->file, r->k + 1, n, lowest, KN_LEVELS_MAX);
    out->numbers = all_numbers(json);
    for (size_t i = 0; i < n; i++) {
        const char *level = cell_text(json_array_get(json, i), out->numbers, text);
        if (!level || kn_text_is_missing(level))
            return refuse_encoding(r, "a level is not a text that a table can hold");
        if (i > 0 && kn_level_order(before, level, out->numbers) >= 0)
            return refuse_encoding(r, "levels are doubled or out of order");
        kn_status status = kn_levels_add(r->ctx, out, level);
        if (status != KN_OK)
            return status;
        memcpy(before, text, sizeof before);
    }
    return KN_OK;
}

/* Sets *out to an optional JSON flag, false by default. Returns false if the value is not a
 * boolean. */
static bool read_flag(const json_t *json, const char *key, bool *out)
{
    const json_t *flag = json_object_get(json, key);
    *out = json_is_true(flag);
    return !flag || json_is_boolean(flag);
}

/* Reads levels and flags of a categorical covariate from JSON; out owns the levels. KN_ERR_FORMAT
 * for anything invalid. */
static kn_status read_category(const reader *r, const json_t *json, kn_covariate *out)
{
    out->kind = KN_COVARIATE_CATEGORY;
    kn_status status = read_levels(r, json_object_get(json, "levels"), &out->levels);
    if (status != KN_OK)
        return status;
    if (!read_flag(json, "two_valued", &out->two_valued) ||
        (out->two_valued && !(r->codes && out->levels.numbers && out->levels.n == 2)))
        return refuse_encoding(r, "two_valued needs codes with two numbers as levels");
    if (!read_flag(json, "batch", &out->batch) || (out->batch && !r->codes))
        return refuse_encoding(r, "batch needs a category with codes");
    return KN_OK;
}

/* Reads one covariate (name, kind, mean or levels) from JSON into *out. KN_ERR_FORMAT for anything
 * invalid; on failure the caller frees it. */
static kn_status read_column(const reader *r, const json_t *json, kn_covariate *out)
{
    char text[KN_LEVEL_SIZE];
    const char *name = cell_text(json_object_get(json, "name"), false, text);
    const char *kind = json_string_value(json_object_get(json, "kind"));
    const json_t *mean = json_object_get(json, "mean");
    if (!name || !*name)
        return refuse_encoding(r, "expected a name");
    kn_status status = kn_text_copy(r->ctx, name, strlen(name), &out->name);
    if (status != KN_OK)
        return status;
    if (kind && strcmp(kind, CATEGORICAL) == 0)
        return read_category(r, json, out);
    if (!kind || strcmp(kind, NUMERIC) != 0)
        return refuse_encoding(r, "expected a kind, numeric or categorical");
    out->mean = json_number_value(mean);
    if (!json_is_number(mean) || !isfinite(out->mean))
        return refuse_encoding(r, "expected a mean, a finite number");
    return KN_OK;
}

kn_status kn_encoding_from_json(kn_ctx *ctx, const char *file, const json_t *json, kn_encoding *out)
{
    const char *missing = json_string_value(json_object_get(json, "missing"));
    const json_t *columns = json_object_get(json, "columns");
    size_t n = json_array_size(columns); /* 0 if it is not an array */
    reader r = {.ctx = ctx, .file = file};
    void *memory;
    kn_status status;

    *out = (kn_encoding){0};
    if (!missing || !kn_missing_from_name(missing, &out->missing))
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s: the encoding of the covariates does not define missing values", file);
    if (!read_flag(json, "codes", &r.codes))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: codes of the encoding, expected true or false",
                       file);
    out->codes = r.codes;
    if (n < 1 || n > KN_ENCODING_MAX)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: the encoding has %zu covariates, expected 1 to %d",
                       file, n, KN_ENCODING_MAX);
    KN_TRY(kn_alloc(ctx, (ptrdiff_t)n, sizeof *out->column, &memory));
    out->column = memory;
    for (; r.k < (ptrdiff_t)n; r.k++) {
        out->n++;
        KN_TRY(read_column(&r, json_array_get(columns, (size_t)r.k), &out->column[r.k]));
    }
    KN_TRY(kn_encoding_check_distinct(ctx, file, out));
out:
    if (status != KN_OK)
        kn_encoding_clear(out);
    return status;
}
