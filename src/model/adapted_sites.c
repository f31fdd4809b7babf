/* Implements adapted_sites.h. In a model file:
 *   "adapted": [{"levels": ["Leeds"], "controls": 12, "kappa": 0.8, "factor": 1.1,
 *                "low": [20, null], "high": [70, null]}, ...]
 * and the arrays adapt_offset, adapt_offset_var, adapt_scale, one row per site. */
#include "model/adapted_sites.h"

#include <math.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "data/response_space.h"
#include "data/table/levels.h"
#include "io/file/path.h"
#include "model/file/internal.h"
#include "model/fit_info_json.h"

void kn_adapted_clear(kn_adapted *a)
{
    kn_names_free(a->level, a->n * a->M);
    kn_free(a->site);
    kn_free(a->low);
    kn_free(a->high);
    kn_mat_clear(&a->offset);
    kn_mat_clear(&a->offset_var);
    kn_mat_clear(&a->scale);
    *a = (kn_adapted){0};
}

kn_status kn_adapted_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t M, ptrdiff_t T, ptrdiff_t C,
                         kn_adapted *out)
{
    kn_status status;
    void *memory;
    *out = (kn_adapted){.n = n, .M = M, .T = T, .C = C};
    KN_TRY(kn_alloc(ctx, n * M, sizeof *out->level, &memory));
    out->level = memory;
    KN_TRY(kn_alloc(ctx, n, sizeof *out->site, &memory));
    out->site = memory;
    KN_TRY(kn_alloc_d(ctx, n * C, &out->low));
    KN_TRY(kn_alloc_d(ctx, n * C, &out->high));
    KN_TRY(kn_mat_new(ctx, T, n, &out->offset));
    KN_TRY(kn_mat_new(ctx, T, n, &out->offset_var));
    KN_TRY(kn_mat_new(ctx, T, n, &out->scale));
out:
    if (status != KN_OK)
        kn_adapted_clear(out);
    return status;
}

ptrdiff_t kn_adapted_find(const kn_adapted *a, char *const *level)
{
    for (ptrdiff_t s = 0; s < a->n; s++) {
        ptrdiff_t k = 0;
        while (k < a->M && strcmp(a->level[s * a->M + k], level[k]) == 0)
            k++;
        if (k == a->M)
            return s;
    }
    return -1;
}

void kn_adapted_round(const kn_design *d, ptrdiff_t c, double *low, double *high)
{
    const kn_design_column *k = &d->column[c];
    double step = (k->max - k->min) / 20;
    if (!(step > 0)) { /* constant in training: the range says nothing */
        *low = *high = NAN;
        return;
    }
    *low = k->min + step * floor((*low - k->min) / step);
    *high = k->min + step * ceil((*high - k->min) / step);
}

/* ---- in a model file ------------------------------------------------------------------------ */

json_t *kn_adapted_to_json(const kn_adapted *a)
{
    json_t *list = json_array();
    int failed = 0;
    for (ptrdiff_t s = 0; s < a->n && !failed; s++) {
        const kn_adapted_site *site = &a->site[s];
        json_t *levels = json_array();
        for (ptrdiff_t k = 0; k < a->M; k++)
            failed |= json_array_append_new(levels, json_string(a->level[s * a->M + k]));
        failed |=
            json_array_append_new(list, json_pack("{s:o s:I s:o s:o s:o s:o s:o}", "levels", levels,
                                                  "controls", (json_int_t)site->controls, "kappa",
                                                  kn_json_number(site->kappa), "effect",
                                                  kn_json_number(site->effect), "factor",
                                                  kn_json_number(site->factor), "low",
                                                  kn_json_numbers(a->low + s * a->C, a->C), "high",
                                                  kn_json_numbers(a->high + s * a->C, a->C)));
    }
    if (!failed)
        return list;
    json_decref(list);
    return NULL;
}

kn_status kn_adapted_add(kn_ctx *ctx, const kn_adapted *a, kn_st_writer *w)
{
    kn_status status = KN_OK;
    if (a->n == 0)
        return KN_OK;
    KN_TRY(kn_st_add_mat(ctx, w, "adapt_offset", a->offset, KN_ST_F64));
    KN_TRY(kn_st_add_mat(ctx, w, "adapt_offset_var", a->offset_var, KN_ST_F64));
    KN_TRY(kn_st_add_mat(ctx, w, "adapt_scale", a->scale, KN_ST_F64));
out:
    return status;
}

/* Read a JSON array of exactly d->C numbers into out; null becomes NaN. False if the length differs
 * or an entry is no finite number. */
static bool read_numbers(const json_t *list, const kn_design *d, double *out)
{
    if (json_array_size(list) != (size_t)d->C)
        return false;
    for (ptrdiff_t c = 0; c < d->C; c++) {
        const json_t *x = json_array_get(list, (size_t)c);
        if (!json_is_null(x) && !(json_is_number(x) && isfinite(json_number_value(x))))
            return false;
        out[c] = json_is_null(x) ? NAN : json_number_value(x);
    }
    return true;
}

/* Read the JSON object of adapted site s into a->site[s], a->level, a->low and a->high.
 * KN_ERR_FORMAT if a number is impossible, or a level is too long or contains a NUL character. */
static kn_status read_site(kn_ctx *ctx, const kn_st_file *f, const json_t *json,
                           kn_adapted_for sizes, ptrdiff_t s, kn_adapted *a)
{
    const json_t *levels = json_object_get(json, "levels");
    kn_adapted_site *site = &a->site[s];
    kn_status status = KN_OK;
    site->controls = (ptrdiff_t)json_integer_value(json_object_get(json, "controls"));
    site->kappa = json_number_value(json_object_get(json, "kappa"));
    site->effect = kn_json_value(json, "effect", sqrt(site->kappa)); /* as models of 0.2 */
    site->factor = json_number_value(json_object_get(json, "factor"));
    if (json_array_size(levels) != (size_t)a->M || site->controls < 1 || !(site->kappa >= 0) ||
        !(site->effect >= 0) || !(site->factor > 0) ||
        !read_numbers(json_object_get(json, "low"), sizes.d, a->low + s * a->C) ||
        !read_numbers(json_object_get(json, "high"), sizes.d, a->high + s * a->C))
        return kn_st_bad(ctx, f, "'adapted'");
    for (ptrdiff_t k = 0; k < a->M && status == KN_OK; k++) {
        const json_t *level = json_array_get(levels, (size_t)k);
        const char *text = json_string_value(level);
        if (!text || strlen(text) >= KN_LEVEL_SIZE || strlen(text) != json_string_length(level))
            return kn_st_bad(ctx, f, "'adapted'");
        status = kn_text_copy(ctx, text, strlen(text), &a->level[s * a->M + k]);
    }
    return status;
}

/* True if all entries of m are at least 0; a NaN makes it false. */
static bool not_negative(kn_mat m)
{
    for (ptrdiff_t j = 0; j < m.cols; j++)
        for (ptrdiff_t i = 0; i < m.rows; i++)
            if (!(kn_at(m, i, j) >= 0))
                return false;
    return true;
}

kn_status kn_adapted_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_adapted_for sizes,
                          kn_adapted *out)
{
    enum { MAX_COUNT = 100000 };
    kn_status status;
    const json_t *list = json_object_get(record, "adapted");
    ptrdiff_t n = (ptrdiff_t)json_array_size(list);
    *out = (kn_adapted){0};
    if (!list)
        return KN_OK;
    if (n < 1 || n > MAX_COUNT || sizes.b->M == 0)
        return kn_st_bad(ctx, f, "'adapted'");
    KN_TRY(kn_adapted_new(ctx, n, sizes.b->M, 0, sizes.d->C, out));
    out->T = sizes.T;
    for (ptrdiff_t s = 0; s < n; s++)
        KN_TRY(read_site(ctx, f, json_array_get(list, (size_t)s), sizes, s, out));
    KN_TRY(kn_st_read_finite(ctx, f, "adapt_offset", sizes.T, n, &out->offset));
    KN_TRY(kn_st_read_finite(ctx, f, "adapt_offset_var", sizes.T, n, &out->offset_var));
    KN_TRY(kn_st_read_finite(ctx, f, "adapt_scale", sizes.T, n, &out->scale));
    if (!not_negative(out->offset_var) || !not_negative(out->scale))
        status = kn_st_bad(ctx, f, "'adapted'");
out:
    if (status != KN_OK)
        kn_adapted_clear(out);
    return status;
}
