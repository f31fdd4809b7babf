/* Implements missing_record.h. The record also shows how missing values relate to covariates. */
#include "model/missing_record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/file/internal.h"
#include "model/fit_info_json.h"

enum { BLOCKS = 64 };

/* Pearson correlation of x and y (n); NaN if one of them is constant. */
static double correlate_columns(const double *x, const double *y, ptrdiff_t n)
{
    double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        mx += x[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        xy += (x[i] - mx) * (y[i] - my);
        yy += (y[i] - my) * (y[i] - my);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

void kn_missing_record_proportions(const kn_design *x, kn_mat X, const double *missing,
                                   double *proportion)
{
    kn_design_block block[BLOCKS];
    int n = kn_design_blocks(x, block, BLOCKS);
    for (ptrdiff_t f = 0; f < X.cols; f++)
        proportion[f] = x->additive ? NAN : correlate_columns(kn_col(X, f), missing, X.rows);
    for (int b = 0; x->additive && b < n && b < BLOCKS; b++)
        for (ptrdiff_t f = block[b].first; f < block[b].first + block[b].count; f++) {
            double sum = 0, participants = 0;
            for (ptrdiff_t i = 0; i < X.rows; i++) {
                participants += kn_at(X, i, f) == 1;
                sum += kn_at(X, i, f) == 1 ? missing[i] : 0;
            }
            if (block[b].kind == KN_DESIGN_CATEGORY && participants > 0)
                proportion[f] = sum / participants;
            else if (block[b].kind == KN_DESIGN_LINEAR)
                proportion[f] = correlate_columns(kn_col(X, f), missing, X.rows);
        }
}

/* Called for every level that has a share and every number that has a correlation (level NULL). */
typedef void (*visit)(void *self, const char *column, const char *level, double value);

/* Call the visitor for each level and each number of an additive design with its relation to
 * missing cells. Without an encoding, covariates and levels are named by their number. */
static void visit_levels(const kn_model *m, visit call, void *self)
{
    char number[32], other[32];
    for (ptrdiff_t c = 0; m->x.additive && m->missing_proportion && c < m->x.C; c++) {
        const kn_design_column *column = &m->x.column[c];
        const kn_covariate *v = c < m->encoding.n ? &m->encoding.column[c] : NULL;
        snprintf(number, sizeof number, "covariate %td", c + 1);
        if (column->x < 0)
            continue;
        if (column->levels == 0)
            call(self, v ? v->name : number, NULL, m->missing_proportion[column->x]);
        for (ptrdiff_t l = 0; l < column->levels; l++) {
            snprintf(other, sizeof other, "%td", l + 1);
            bool named = v && l < v->levels.n;
            call(self, v ? v->name : number, named ? v->levels.text[l] : other,
                 m->missing_proportion[column->x + l]);
        }
    }
}

/* Visitor for visit_levels(): adds one value to "share_by_level" or "correlation" of the JSON
 * record `self`. */
static void add_value_to_json(void *self, const char *column, const char *level, double value)
{
    json_t *record = self, *all = json_object_get(record, level ? "share_by_level" : "correlation");
    json_t *target = all;
    if (level) {
        target = json_object_get(all, column);
        if (!target) {
            target = json_object();
            json_object_set_new(all, column, target);
        }
    }
    json_object_set_new(target, level ? level : column, kn_json_number(value));
}

json_t *kn_missing_record_to_json(const kn_model *m)
{
    const kn_missing_record *r = &m->info.missing;
    if (r->cells == 0 && r->responses_out == 0 && r->participants_out == 0 &&
        r->outlying_participants == 0 && r->outliers == 0)
        return NULL;
    json_t *j =
        json_pack("{s:I s:I s:o s:I s:I s:I s:I s:i s:I s:o s:{} s:{}}", "cells",
                  (json_int_t)r->cells, "responses", (json_int_t)r->responses, "share",
                  kn_json_number(r->proportion), "responses_out", (json_int_t)r->responses_out,
                  "people_out", (json_int_t)r->participants_out, "outliers",
                  (json_int_t)r->outliers, "outlying_people", (json_int_t)r->outlying_participants,
                  "rounds", r->rounds, "P_fill", (json_int_t)r->components, "rms_change",
                  kn_json_number(r->rms_change), "share_by_level", "correlation");
    if (j)
        visit_levels(m, add_value_to_json, j);
    return j;
}

/* Read a non-negative whole number of a JSON object; false, and -1, if it is absent, negative or of
 * another type. */
static bool read_count(const json_t *json, const char *key, ptrdiff_t *out)
{
    const json_t *v = json_object_get(json, key);
    *out = json_is_integer(v) ? (ptrdiff_t)json_integer_value(v) : -1;
    return *out >= 0;
}

/* Read the counts and proportions of the missing cells from JSON; all are 0 without JSON.
 * KN_ERR_FORMAT if a count is absent or impossible. */
static kn_status read_counts(kn_ctx *ctx, const char *file, const json_t *json,
                             kn_missing_record *out)
{
    ptrdiff_t rounds;
    *out = (kn_missing_record){0};
    if (!json)
        return KN_OK;
    bool sound = read_count(json, "cells", &out->cells) &&
                 read_count(json, "responses", &out->responses) &&
                 read_count(json, "responses_out", &out->responses_out) &&
                 read_count(json, "people_out", &out->participants_out) &&
                 read_count(json, "outliers", &out->outliers) &&
                 read_count(json, "outlying_people", &out->outlying_participants) &&
                 read_count(json, "rounds", &rounds) &&
                 read_count(json, "P_fill", &out->components) && rounds < 1000;
    if (!sound)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: 'missing' is missing or invalid", file);
    out->rounds = (int)rounds;
    out->proportion = json_number_value(json_object_get(json, "share"));
    out->rms_change = json_number_value(json_object_get(json, "rms_change"));
    return KN_OK;
}

kn_status kn_missing_record_read(kn_ctx *ctx, const kn_st_file *f, const json_t *record,
                                 kn_model *m)
{
    kn_status status;
    int64_t *values = NULL;
    void *memory;
    const kn_st_tensor *empty = kn_st_find(f, "empty_level");
    KN_TRY(read_counts(ctx, kn_st_name(f), json_object_get(record, "missing"), &m->info.missing));
    if (kn_st_find(f, "y_values")) {
        KN_TRY(kn_st_read_i64(ctx, f, "y_values", m->y.n_kept, &values, NULL));
        KN_TRY(kn_alloc_i(ctx, m->y.n_kept, &m->y.n));
        for (ptrdiff_t j = 0; j < m->y.n_kept; j++) {
            m->y.n[j] = (ptrdiff_t)values[j];
            if (values[j] < 1 || values[j] > m->info.n_samples) {
                status = kn_st_bad(ctx, f, "y_values");
                goto out;
            }
        }
    }
    if (kn_st_find(f, "missing_share"))
        KN_TRY(kn_st_read_numbers(ctx, f, "missing_share", m->x.F, true, &m->missing_proportion,
                                  NULL));
    if (empty) {
        bool sound = empty->type == KN_ST_U8 && empty->ndim == 2 &&
                     empty->shape[1] == m->y.n_kept && empty->shape[0] <= m->x.F;
        if (!sound) {
            status = kn_st_bad(ctx, f, "empty_level");
            goto out;
        }
        KN_TRY(kn_alloc(ctx, empty->count, 1, &memory));
        m->empty_level = memory;
        KN_TRY(kn_st_values(ctx, f, empty, 0, empty->count, memory));
        m->n_levels = empty->shape[0];
    }
out:
    kn_free(values);
    return status;
}

/* Visitor for visit_levels(): logs one value, for the context `self`; nothing if it is NaN. */
static void log_proportion(void *self, const char *column, const char *level, double value)
{
    if (level && isfinite(value))
        kn_log(self, KN_LOG_INFO, "missing cells, %s %s: %.1f %%", column, level, 100 * value);
    else if (isfinite(value))
        kn_log(self, KN_LOG_INFO, "missing cells, correlation with %s: %.2f", column, value);
}

void kn_missing_record_log(kn_ctx *ctx, const kn_model *m)
{
    if (m->info.missing.cells > 0)
        visit_levels(m, log_proportion, ctx);
}

bool kn_missing_record_untrained(const kn_model *m, kn_view raw, ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t before = 0; /* number of levels of the categories before */
    for (ptrdiff_t c = 0; m->empty_level && c < m->x.C; c++) {
        int levels = m->x.column[c].levels;
        double code = levels > 0 ? kn_view_at(raw, i, c) : NAN;
        if (m->x.column[c].constant || levels == 0)
            continue;
        ptrdiff_t at = code >= 0 && code < levels ? before + (ptrdiff_t)code : m->n_levels;
        if (at < m->n_levels && m->empty_level[at * m->y.n_kept + j])
            return true;
        before += levels + 1;
    }
    return false;
}
