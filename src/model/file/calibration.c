/* Calibration section of a model file. Contracts: model/file/internal.h. */
#include "model/file/internal.h"

#include <limits.h>
#include <math.h>

#include "base/memory/alloc.h"
#include "model/fit_info_json.h"
#include "norm/calibration/shash_fit.h"

/* The columns of the noise scale (source, mean, sd, range, centre) as a new JSON array. New
 * covariates are standardised by them. */
static json_t *columns_json(const kn_noise_scale_columns *c)
{
    json_t *list = json_array();
    for (ptrdiff_t f = 0; f < c->F; f++) {
        const kn_noise_scale_column *k = &c->column[f];
        json_array_append_new(list,
                              json_pack("{s:i s:I s:o s:o s:o s:o s:o}", "kind", (int)k->kind,
                                        "source", (json_int_t)k->source, "mean",
                                        kn_json_number(k->mean), "sd", kn_json_number(k->sd), "low",
                                        kn_json_number(k->low), "high", kn_json_number(k->high),
                                        "centre", kn_json_number(k->centre)));
    }
    return list;
}

/* One component of the calibration as a new JSON object: kept, gain and its standard error; only
 * "failed" if its fit failed. */
static json_t *part_json(const kn_calibration_component *c)
{
    return c->failed ? json_pack("{s:b s:b}", "kept", false, "failed", true)
                     : json_pack("{s:b s:o s:o}", "kept", c->kept, "gain", kn_json_number(c->gain),
                                 "gain_se", kn_json_number(c->se));
}

json_t *kn_calibration_to_json(const kn_calibration_transform *l)
{
    json_t *parts = json_object();
    if (!(l->nu > 0)) {
        json_decref(parts);
        return json_null();
    }
    for (int k = 0; k < KN_CALIBRATION_COMPONENTS; k++)
        if (l->component[k].tried)
            json_object_set_new(parts, kn_calibration_component_name[k],
                                part_json(&l->component[k]));
    json_t *calibration =
        json_pack("{s:o s:o s:o s:b}", "nu", kn_json_number(l->nu), "parts", parts, "columns",
                  columns_json(&l->columns), "shape", l->theta.data != NULL);
    if (l->S > 0)
        json_object_set_new(calibration, "sites", json_integer(l->S));
    return calibration;
}

kn_status kn_calibration_add(kn_ctx *ctx, const kn_calibration_transform *l, kn_st_writer *w)
{
    kn_status status = KN_OK;
    if (l->beta.data)
        KN_TRY(kn_st_add_mat(ctx, w, "scale_beta", l->beta, KN_ST_F64));
    if (l->S > 0)
        KN_TRY(kn_st_add_doubles(ctx, w, "scale_batch", l->batch, l->S));
    if (l->theta.data)
        KN_TRY(kn_st_add_mat(ctx, w, "shape", l->theta, KN_ST_F64));
out:
    return status;
}

/* The member `key` of a JSON object as an int; `otherwise` if it is absent, no integer or out of
 * range. */
static int read_whole_number(json_t *object, const char *key, int otherwise)
{
    json_t *v = json_object_get(object, key);
    json_int_t i = json_integer_value(v);
    return json_is_integer(v) && i >= INT_MIN && i <= INT_MAX ? (int)i : otherwise;
}

/* True if the noise-scale column c refers to an existing covariate of design x and its numbers are
 * usable. */
static bool is_sound(const kn_noise_scale_column *c, const kn_design *x)
{
    ptrdiff_t numbers, levels;
    kn_calibration_covariates_count(x, &numbers, &levels);
    ptrdiff_t count = c->kind == KN_SCALE_LEVEL ? levels : numbers;
    if (c->kind == KN_SCALE_ONE)
        return true;
    return c->kind >= KN_SCALE_LINE && c->kind <= KN_SCALE_LEVEL && c->source >= 0 &&
           c->source < count && isfinite(c->mean) && c->sd > 0 && c->low <= c->high &&
           isfinite(c->centre);
}

/* Read the columns of the noise scale from a JSON array into out; a null bound becomes -inf or
 * inf. KN_ERR_FORMAT for more than 10000 columns or unusable numbers. An empty array leaves out
 * empty. */
static kn_status read_columns(kn_ctx *ctx, const kn_st_file *f, json_t *list, const kn_design *x,
                              kn_noise_scale_columns *out)
{
    enum { MAX_COUNT = 10000, UNKNOWN = -7 };
    void *memory;
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > MAX_COUNT)
        return kn_st_bad(ctx, f, "'layer'");
    if (n == 0)
        return KN_OK;
    kn_status status = kn_alloc(ctx, (ptrdiff_t)n, sizeof *out->column, &memory);
    if (status != KN_OK)
        return status;
    out->column = memory;
    out->F = (ptrdiff_t)n;
    for (size_t i = 0; i < n; i++) {
        json_t *j = json_array_get(list, i);
        out->column[i] =
            (kn_noise_scale_column){.kind =
                                        (kn_noise_scale_kind)read_whole_number(j, "kind", UNKNOWN),
                                    .source = read_whole_number(j, "source", UNKNOWN),
                                    .mean = kn_json_value(j, "mean", NAN),
                                    .sd = kn_json_value(j, "sd", NAN),
                                    .low = kn_json_value(j, "low", -INFINITY), /* null: no bound */
                                    .high = kn_json_value(j, "high", INFINITY),
                                    .centre = kn_json_value(j, "centre", NAN)};
        if (!is_sound(&out->column[i], x))
            return kn_st_bad(ctx, f, "'layer'");
    }
    return KN_OK;
}

/* Read which components of the calibration were tried, kept or failed, with their gains, into
 * l->component. Components that are not in the JSON object stay untried. */
static void read_parts(json_t *parts, kn_calibration_transform *l)
{
    for (int k = 0; k < KN_CALIBRATION_COMPONENTS; k++) {
        json_t *p = json_object_get(parts, kn_calibration_component_name[k]);
        if (json_is_object(p))
            l->component[k] =
                (kn_calibration_component){true, json_is_true(json_object_get(p, "kept")),
                                           json_is_true(json_object_get(p, "failed")),
                                           kn_json_value(p, "gain", NAN),
                                           kn_json_value(p, "gain_se", NAN)};
    }
}

/* True if all coefficients of the calibration are in a range that a fit can produce: at most 1e6 in
 * size, and shapes that the SHASH distribution allows. */
static bool are_sound(const kn_calibration_transform *l)
{
    static const double MAX_COEFFICIENT = 1e6;
    for (ptrdiff_t j = 0; j < l->beta.cols; j++)
        for (ptrdiff_t f = 0; f < l->beta.rows; f++)
            if (!(fabs(kn_at(l->beta, f, j)) <= MAX_COEFFICIENT))
                return false;
    for (ptrdiff_t s = 0; s < l->S; s++)
        if (!(fabs(l->batch[s]) <= MAX_COEFFICIENT))
            return false;
    for (ptrdiff_t j = 0; j < l->theta.cols; j++)
        if (!kn_shash_allowed(kn_col(l->theta, j)))
            return false;
    return true;
}

/* Read the logarithmic noise factors of the S training sites into out; nothing if the calibration
 * has none. KN_ERR_FORMAT if their number is not S. */
static kn_status read_sites(kn_ctx *ctx, const kn_st_file *f, json_t *calibration, ptrdiff_t S,
                            kn_calibration_transform *out)
{
    json_t *sites = json_object_get(calibration, "sites");
    if (!sites)
        return KN_OK;
    if (S < 2 || !json_is_integer(sites) || json_integer_value(sites) != (json_int_t)S)
        return kn_st_bad(ctx, f, "'layer'");
    kn_status status = kn_st_read_doubles(ctx, f, "scale_batch", S, &out->batch, NULL);
    out->S = status == KN_OK ? S : 0;
    return status;
}

kn_status kn_calibration_read(kn_ctx *ctx, const kn_st_file *f, json_t *record,
                              kn_calibration_for sizes, kn_calibration_transform *out)
{
    kn_status status;
    json_t *j = json_object_get(record, "layer"), *shape = json_object_get(j, "shape");
    if (!j || json_is_null(j))
        return KN_OK;
    out->nu = kn_json_value(j, "nu", NAN);
    if (!(out->nu > 0) || !isfinite(out->nu) || !json_is_boolean(shape))
        return kn_st_bad(ctx, f, "'layer'");
    KN_TRY(read_columns(ctx, f, json_object_get(j, "columns"), sizes.x, &out->columns));
    read_parts(json_object_get(j, "parts"), out);
    if (out->columns.F > 0)
        KN_TRY(kn_st_read_mat(ctx, f, "scale_beta", out->columns.F, sizes.T, &out->beta));
    KN_TRY(read_sites(ctx, f, j, sizes.S, out));
    if (json_is_true(shape))
        KN_TRY(kn_st_read_mat(ctx, f, "shape", 2, sizes.T, &out->theta));
    if (!are_sound(out)) {
        status = kn_st_bad(ctx, f, "'layer'");
        goto out;
    }
    KN_TRY(kn_calibration_prepare(ctx, out));
out:
    return status;
}

/* ---- null model ------------------------------------------------------------------------------ */

json_t *kn_null_to_json(const kn_null_calibration *c)
{
    return json_pack("{s:o s:b}", "nu", kn_json_number(c->transform.nu), "shape",
                     c->transform.theta.data != NULL);
}

kn_status kn_null_add(kn_ctx *ctx, const kn_null_calibration *c, ptrdiff_t T, kn_st_writer *w)
{
    kn_status status = KN_OK;
    if (c->noise)
        KN_TRY(kn_st_add_doubles(ctx, w, "null_noise", c->noise, T));
    if (c->noise)
        KN_TRY(kn_st_add_doubles(ctx, w, "cv_R2", c->R2, T));
    if (c->noise && c->transform.theta.data)
        KN_TRY(kn_st_add_mat(ctx, w, "null_shape", c->transform.theta, KN_ST_F64));
out:
    return status;
}

kn_status kn_null_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                       kn_null_calibration *out)
{
    kn_status status;
    json_t *j = json_object_get(record, "null");
    kn_calibration_transform *l = &out->transform;
    if (!j)
        return KN_OK;
    l->nu = kn_json_value(j, "nu", NAN);
    if (!(l->nu >= 0) || !isfinite(l->nu))
        return kn_st_bad(ctx, f, "'null'");
    KN_TRY(kn_st_read_positive(ctx, f, "null_noise", T, true, &out->noise));
    KN_TRY(kn_st_read_doubles(ctx, f, "cv_R2", T, &out->R2, NULL));
    if (json_is_true(json_object_get(j, "shape")))
        KN_TRY(kn_st_read_mat(ctx, f, "null_shape", 2, T, &l->theta));
    if (!are_sound(l)) {
        status = kn_st_bad(ctx, f, "'null'");
        goto out;
    }
    KN_TRY(kn_calibration_prepare(ctx, l));
out:
    return status;
}
