/* Implements model/file/change.h. The section exists only in models that `kronorm change --save`
 * wrote. */
#include "model/file/change.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/file/path.h"
#include "model/file/internal.h"
#include "model/fit_info_json.h"

static const char RECORD[] = "'change'";

json_t *kn_change_to_json(const kn_change_reference *r)
{
    const kn_change_distribution *l = &r->distribution;
    double participants = (double)r->participants;
    return json_pack("{s:I s:I s:I s:s s:o s:o s:o s:o s:o s:o s:{s:s? s:o s:o}}", "participants",
                     (json_int_t)r->participants, "pairs", (json_int_t)r->pairs, "unknown_sites",
                     (json_int_t)r->unknown, "formula",
                     l->conditional ? "conditional" : "difference", "gamma",
                     kn_json_number(l->gamma), "d0", kn_json_number(l->d0), "s0",
                     kn_json_number(l->s0), "df",
                     kn_json_number(l->d0 + (l->conditional ? participants - 1 : participants)),
                     "threshold", kn_json_number(r->threshold), "top", kn_json_number(r->top),
                     "interval", "column", r->interval_name, "least",
                     kn_json_number(r->interval[0]), "largest", kn_json_number(r->interval[1]));
}

/* Write the name of the array with the reference values of statistic k, such as "change_mean_z",
 * and return name. */
static const char *value_name(int k, char name[64])
{
    snprintf(name, 64, "change_%s", kn_change_column[k]);
    return name;
}

kn_status kn_change_add(kn_ctx *ctx, const kn_change_reference *r, kn_st_writer *w)
{
    kn_status status = KN_OK;
    char name[64];
    if (r->distribution.T == 0)
        return KN_OK;
    KN_TRY(kn_st_add_doubles(ctx, w, "change_q", r->distribution.q, r->distribution.T));
    KN_TRY(kn_st_add_doubles(ctx, w, "change_m1", r->distribution.m1, r->distribution.T));
    KN_TRY(kn_st_add_doubles(ctx, w, "change_n", r->distribution.n, r->distribution.T));
    for (int k = 0; k < KN_CHANGE_VALUES; k++)
        KN_TRY(kn_st_add_doubles(ctx, w, value_name(k, name), r->sorted[k], r->n[k]));
out:
    return status;
}

/* True if all numbers of the reference for change are in a range that kn_change_to_json() can have
 * written, and its values are sorted. */
static bool is_sound(const kn_change_reference *r)
{
    const kn_change_distribution *l = &r->distribution;
    bool interval =
        isnan(r->interval[0]) ? isnan(r->interval[1]) : r->interval[1] >= r->interval[0];
    if (!(r->participants >= KN_CHANGE_MIN && r->pairs >= r->participants && r->unknown >= 0 &&
          r->unknown <= r->pairs && l->gamma >= -1 && l->gamma <= 0 && l->d0 >= 0 && l->s0 > 0 &&
          isfinite(l->s0) && r->threshold > 0 && r->top > 0 && r->top <= 1 && interval))
        return false;
    for (ptrdiff_t j = 0; j < l->T; j++)
        if (!isfinite(l->m1[j]) || (l->q[j] > 0 && !(l->n[j] > 1)))
            return false;
    for (int k = 0; k < KN_CHANGE_VALUES; k++)
        for (ptrdiff_t i = 0; i < r->n[k]; i++)
            if (!isfinite(r->sorted[k][i]) || (i > 0 && r->sorted[k][i] < r->sorted[k][i - 1]))
                return false;
    return true;
}

/* Read the scalars of the JSON object j into r; is_sound() checks them afterwards. KN_ERR_FORMAT if
 * the formula is unknown. */
static kn_status read_record(kn_ctx *ctx, const kn_st_file *f, json_t *j, kn_change_reference *r)
{
    const char *formula = json_string_value(json_object_get(j, "formula"));
    json_t *interval = json_object_get(j, "interval");
    const char *column = json_string_value(json_object_get(interval, "column"));
    bool conditional = formula && strcmp(formula, "conditional") == 0;
    if (!formula || (!conditional && strcmp(formula, "difference") != 0))
        return kn_st_bad(ctx, f, RECORD);
    r->distribution.conditional = conditional;
    r->distribution.gamma = kn_json_value(j, "gamma", NAN);
    r->distribution.d0 = kn_json_value(j, "d0", INFINITY);
    r->distribution.s0 = kn_json_value(j, "s0", NAN);
    r->participants = (ptrdiff_t)json_integer_value(json_object_get(j, "participants"));
    r->pairs = (ptrdiff_t)json_integer_value(json_object_get(j, "pairs"));
    r->unknown = (ptrdiff_t)json_integer_value(json_object_get(j, "unknown_sites"));
    r->threshold = kn_json_value(j, "threshold", NAN);
    r->top = kn_json_value(j, "top", NAN);
    r->interval[0] = kn_json_value(interval, "least", NAN);
    r->interval[1] = kn_json_value(interval, "largest", NAN);
    return column ? kn_text_copy(ctx, column, strlen(column), &r->interval_name) : KN_OK;
}

kn_status kn_change_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                         kn_change_reference *r)
{
    kn_status status;
    char name[64];
    json_t *j = json_object_get(record, "change");
    if (!json_is_object(j))
        return KN_OK;
    KN_TRY(read_record(ctx, f, j, r));
    KN_TRY(kn_st_read_positive(ctx, f, "change_q", T, true, &r->distribution.q));
    KN_TRY(kn_st_read_doubles(ctx, f, "change_m1", T, &r->distribution.m1, NULL));
    KN_TRY(kn_st_read_positive(ctx, f, "change_n", T, true, &r->distribution.n));
    r->distribution.T = T;
    for (int k = 0; k < KN_CHANGE_VALUES; k++)
        KN_TRY(kn_st_read_doubles(ctx, f, value_name(k, name), -1, &r->sorted[k], &r->n[k]));
    if (!is_sound(r)) {
        status = kn_st_bad(ctx, f, RECORD);
        goto out;
    }
    KN_TRY(kn_change_prepare(ctx, &r->distribution));
out:
    return status;
}
