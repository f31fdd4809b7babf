/* Implements site_levels.h: a sorted list of the combinations of levels. In a model file:
 * {"codes": [[0, 1], [0, 2]], "people": [12, 30]} */
#include "data/covariates/site_levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"

void kn_site_levels_clear(kn_site_levels *b)
{
    kn_free(b->column);
    kn_free(b->code);
    kn_free(b->n_participants);
    *b = (kn_site_levels){0};
}

/* Sets out->column (out->M of them; owned by out) to the raw columns of the design that are site
 * categories; M = 0 if there are none. */
static kn_status find_columns(kn_ctx *ctx, const kn_design *d, kn_site_levels *out)
{
    *out = (kn_site_levels){0};
    for (ptrdiff_t c = 0; c < d->C; c++)
        out->M += d->column[c].batch;
    if (out->M == 0)
        return KN_OK;
    kn_status status = kn_alloc_i(ctx, out->M, &out->column);
    for (ptrdiff_t c = 0, k = 0; status == KN_OK && c < d->C; c++)
        if (d->column[c].batch)
            out->column[k++] = c;
    return status;
}

/* Sets code (M) to the levels of the site categories in row i of raw. Returns false if one is
 * missing. */
static bool codes_of(const kn_site_levels *b, kn_view raw, ptrdiff_t i, int *code)
{
    for (ptrdiff_t k = 0; k < b->M; k++) {
        double x = kn_view_at(raw, i, b->column[k]);
        if (isnan(x))
            return false;
        code[k] = (int)x;
    }
    return true;
}

/* Compares site s with a combination of levels, code (M): returns -1, 0 or 1 in lexicographic
 * order. */
static int in_order(const kn_site_levels *b, ptrdiff_t s, const int *code)
{
    for (ptrdiff_t k = 0; k < b->M; k++) {
        int own = b->code[s * b->M + k];
        if (own != code[k])
            return own < code[k] ? -1 : 1;
    }
    return 0;
}

/* Returns the index of the site with the levels code (M) by binary search, or -1 - i if it would be
 * inserted at i. */
static ptrdiff_t find_site(const kn_site_levels *b, const int *code)
{
    ptrdiff_t low = 0, high = b->S;
    while (low < high) {
        ptrdiff_t middle = (low + high) / 2;
        int order = in_order(b, middle, code);
        if (order == 0)
            return middle;
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    return -low - 1;
}

enum { COLUMNS_MAX = 64 }; /* a covariance cannot have more terms */

kn_status kn_site_levels_new(kn_ctx *ctx, const kn_design *d, kn_view raw, kn_site_levels *out)
{
    kn_status status;
    void *code = NULL;
    int of[COLUMNS_MAX];
    KN_TRY(find_columns(ctx, d, out));
    if (out->M == 0)
        goto out;
    if (out->M > COLUMNS_MAX) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "{batch} names %td columns; at most %d are allowed",
                         out->M, COLUMNS_MAX);
        goto out;
    }
    KN_TRY(kn_alloc(ctx, raw.rows * out->M, sizeof *out->code, &code));
    out->code = code;
    KN_TRY(kn_alloc_i(ctx, raw.rows, &out->n_participants));
    for (ptrdiff_t i = 0; i < raw.rows; i++) {
        if (!codes_of(out, raw, i, of))
            continue;
        ptrdiff_t s = find_site(out, of);
        if (s >= 0) {
            out->n_participants[s]++;
            continue;
        }
        s = -s - 1;
        size_t after = (size_t)(out->S - s), M = (size_t)out->M;
        memmove(out->code + (s + 1) * out->M, out->code + s * out->M, after * M * sizeof(int));
        memmove(out->n_participants + s + 1, out->n_participants + s,
                after * sizeof *out->n_participants);
        memcpy(out->code + s * out->M, of, M * sizeof(int));
        out->n_participants[s] = 1;
        out->S++;
    }
out:
    if (status != KN_OK)
        kn_site_levels_clear(out);
    return status;
}

void kn_site_levels_sites(const kn_site_levels *b, kn_view raw, int *site)
{
    int of[COLUMNS_MAX];
    for (ptrdiff_t i = 0; i < raw.rows; i++) {
        ptrdiff_t s = b->M > 0 && codes_of(b, raw, i, of) ? find_site(b, of) : -1;
        site[i] = s < 0 ? -1 : (int)s;
    }
}

bool kn_site_levels_is_new(const kn_site_levels *b, const kn_design *d, kn_view raw, ptrdiff_t i)
{
    for (ptrdiff_t k = 0; k < b->M; k++)
        if (kn_view_at(raw, i, b->column[k]) >= d->column[b->column[k]].levels)
            return true;
    return false;
}

/* ---- in a model file ------------------------------------------------------------------------- */

json_t *kn_site_levels_to_json(const kn_site_levels *b)
{
    json_t *codes = json_array(), *n_participants = json_array();
    int failed = 0;
    for (ptrdiff_t s = 0; s < b->S && !failed; s++) {
        json_t *of = json_array();
        for (ptrdiff_t k = 0; k < b->M; k++)
            failed |= json_array_append_new(of, json_integer(b->code[s * b->M + k]));
        failed |= json_array_append_new(codes, of);
        failed |=
            json_array_append_new(n_participants, json_integer((json_int_t)b->n_participants[s]));
    }
    json_t *json = failed ? NULL : json_pack("{s:O s:O}", "codes", codes, "people", n_participants);
    json_decref(codes);
    json_decref(n_participants);
    return json;
}

/* Appends a site with its levels (array `codes`) and number of participants from JSON. Returns
 * false if a value is invalid, or the site is not after the one before it in order. */
static bool read_site(const json_t *codes, const json_t *n_participants, const kn_design *d,
                      kn_site_levels *b)
{
    int *code = b->code + b->S * b->M;
    if (json_array_size(codes) != (size_t)b->M || !json_is_integer(n_participants) ||
        json_integer_value(n_participants) < 1)
        return false;
    for (ptrdiff_t k = 0; k < b->M; k++) {
        const json_t *c = json_array_get(codes, (size_t)k);
        json_int_t value = json_integer_value(c);
        if (!json_is_integer(c) || value < 0 || value >= d->column[b->column[k]].levels)
            return false;
        code[k] = (int)value;
    }
    b->n_participants[b->S] = (ptrdiff_t)json_integer_value(n_participants);
    if (b->S > 0 && in_order(b, b->S - 1, code) >= 0)
        return false;
    b->S++;
    return true;
}

kn_status kn_site_levels_from_json(kn_ctx *ctx, const char *name, const json_t *json,
                                   const kn_design *d, kn_site_levels *out)
{
    kn_status status;
    void *code = NULL;
    const json_t *codes = json_object_get(json, "codes"),
                 *n_participants = json_object_get(json, "people");
    size_t S = json_array_size(codes);
    bool sound;
    KN_TRY(find_columns(ctx, d, out));
    sound = out->M > 0 && out->M <= COLUMNS_MAX && S > 0 && json_array_size(n_participants) == S;
    if (sound) {
        KN_TRY(kn_alloc(ctx, (ptrdiff_t)S * out->M, sizeof *out->code, &code));
        out->code = code;
        KN_TRY(kn_alloc_i(ctx, (ptrdiff_t)S, &out->n_participants));
    }
    for (size_t s = 0; sound && s < S; s++)
        sound = read_site(json_array_get(codes, s), json_array_get(n_participants, s), d, out);
    if (!sound)
        status = kn_fail(ctx, KN_ERR_FORMAT,
                         "%s: invalid sites, expected combinations of batch levels in order with "
                         "their numbers of participants",
                         name);
out:
    if (status != KN_OK)
        kn_site_levels_clear(out);
    return status;
}
