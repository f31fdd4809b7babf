/* Makes the grid of covariates at which centile curves are drawn, and names its columns and
 * points. Covariates that no option sets are at their reference value. */
#include "commands/centiles/centiles.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/table/columns.h"
#include "data/table/text_list.h"

static const char AVERAGE[] = "mean";

void kn_grid_clear(kn_grid *g)
{
    kn_free(g->at);
    kn_mat_clear(&g->code);
    *g = (kn_grid){0};
}

/* ---- {over} and {at} ---- */

/* Index of the covariate with this name, or of the only one that differs in upper and lower case
 * only. KN_ERR_ARGUMENT names the option and lists the covariates. */
static kn_status find_covariate(kn_ctx *ctx, const kn_encoding *r, const char *option,
                                const char *name, ptrdiff_t *out)
{
    kn_listing list = {0};
    ptrdiff_t alike = 0;
    for (ptrdiff_t c = 0; c < r->n; c++) {
        kn_listing_add(&list, r->column[c].name);
        if (kn_names_equal(r->column[c].name, name)) {
            *out = c;
            return KN_OK;
        }
        if (kn_names_equal_any_case(r->column[c].name, name)) {
            *out = c;
            alike++;
        }
    }
    if (alike == 1)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s}: the model has no covariate '%s'; it has %s", option,
                   kn_clipped(name).text, list.text);
}

/* First column of covariate c in the input of kn_design_apply(). */
static ptrdiff_t first_raw(const kn_encoding *r, ptrdiff_t c)
{
    ptrdiff_t f = 0;
    for (ptrdiff_t k = 0; k < c; k++)
        f += r->codes || r->column[k].levels.n < 3 ? 1 : r->column[k].levels.n;
    return f;
}

/* True for a category that is encoded as one indicator column per level. */
static bool has_indicator_columns(const kn_encoding *r, ptrdiff_t c)
{
    return !r->codes && r->column[c].levels.n > 2;
}

/* True if covariate c is a category. */
static bool is_category(const kn_encoding *r, ptrdiff_t c)
{
    return r->column[c].kind == KN_COVARIATE_CATEGORY;
}

/* The covariate of {over} must be a number (KN_ERR_ARGUMENT) that varied in the training sample
 * (KN_ERR_DATA). */
static kn_status check_over(kn_ctx *ctx, const kn_grid *g)
{
    const kn_encoding *r = &g->model->encoding;
    const kn_covariate *k = &r->column[g->over];
    const kn_design_column *d = &g->model->x.column[first_raw(r, g->over)];
    if (is_category(r, g->over))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{over}: %s is a category, but must be a number",
                       k->name);
    if (d->constant)
        return kn_fail(
            ctx, KN_ERR_DATA,
            "{over}: %s was %g in the whole training sample, so there is no curve over it", k->name,
            k->mean);
    return KN_OK;
}

/* Set every covariate of the grid to its default, as kn_grid_new() describes. */
static void set_defaults(kn_grid *g)
{
    const kn_encoding *r = &g->model->encoding;
    for (ptrdiff_t c = 0; c < g->C; c++) {
        ptrdiff_t levels = r->column[c].levels.n;
        if (!is_category(r, c))
            g->at[c].code = r->column[c].mean;
        else
            g->at[c] = (kn_grid_at){.drawn = levels == 2 && !r->column[c].batch,
                                    .code = levels == 1 ? 0 : NAN};
    }
}

/* KN_ERR_ARGUMENT for a value in {at} that is no level of the covariate; the message lists the
 * levels. */
static kn_status refuse_level(kn_ctx *ctx, const kn_covariate *k, const char *text)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    for (ptrdiff_t l = 0; l < k->levels.n; l++)
        kn_listing_add(&list, k->levels.text[l]);
    return kn_fail(ctx, KN_ERR_ARGUMENT, "{at}: %s is '%s', but must be %s or %s", k->name,
                   kn_clipped(text).text, list.text, AVERAGE);
}

/* *code = index of the level `text` of a category, NaN for "mean", the average over levels.
 * KN_ERR_ARGUMENT for another text. */
static kn_status set_level(kn_ctx *ctx, const kn_covariate *k, const char *text, double *code)
{
    char level[KN_LEVEL_SIZE];
    ptrdiff_t place, found = -1;
    if (kn_level_of(text, k->levels.numbers, level))
        found = kn_levels_find(&k->levels, level, &place);
    if (found < 0 && !kn_names_equal(text, AVERAGE))
        return refuse_level(ctx, k, text);
    *code = found < 0 ? NAN : (double)found;
    return KN_OK;
}

/* *code = the number `text` for covariate c; unchanged for "mean". Warns if the number will be
 * clamped [METHOD 0]. KN_ERR_ARGUMENT if it is no number. */
static kn_status set_number(kn_ctx *ctx, const kn_grid *g, ptrdiff_t c, const char *text,
                            double *code)
{
    const kn_covariate *k = &g->model->encoding.column[c];
    const kn_design *d = &g->model->x;
    ptrdiff_t f = first_raw(&g->model->encoding, c);
    double low, high;
    if (kn_names_equal(text, AVERAGE))
        return KN_OK;
    if (kn_number_parse(text, code) != KN_CELL_NUMBER)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{at}: %s is '%s', but must be a number or %s",
                       k->name, kn_clipped(text).text, AVERAGE);
    kn_design_range(d, f, &low, &high);
    if (d->column[f].constant && (*code < low || *code > high))
        kn_log(ctx, KN_LOG_WARNING,
               "%s was %g in the whole training sample, so its value in {at} has no effect",
               k->name, low);
    else if (d->additive && (*code < low || *code > high))
        kn_log(ctx, KN_LOG_WARNING,
               "%s = %g is outside %g to %g (the training range, extended by half of it at each "
               "end) and is clamped",
               k->name, *code, low, high);
    return KN_OK;
}

/* Set the level of batch column c: a training level, a level of an adapted site, or both.
 * find_common_site() then decides by all batch columns together. */
static kn_status set_site_level(kn_ctx *ctx, kn_grid *g, ptrdiff_t c, const char *text)
{
    const kn_covariate *k = &g->model->encoding.column[c];
    const kn_adapted *a = &g->model->adapted;
    char level[KN_LEVEL_SIZE];
    ptrdiff_t m = 0, place;
    bool read = kn_level_of(text, k->levels.numbers, level);
    while (g->model->batch.column[m] != first_raw(&g->model->encoding, c))
        m++;
    for (ptrdiff_t s = 0; read && s < a->n && !g->at[c].adapted; s++)
        if (strcmp(a->level[s * a->M + m], level) == 0)
            g->at[c].adapted = a->level[s * a->M + m];
    g->at[c].code = NAN;
    if (g->at[c].adapted && kn_levels_find(&k->levels, level, &place) < 0)
        return KN_OK;
    return set_level(ctx, k, text, &g->at[c].code);
}

/* Parse one item of {at}, such as "sex=F", which is overwritten. given[c] is set; KN_ERR_ARGUMENT
 * if it was set already, or for {over}. */
static kn_status parse_item(kn_ctx *ctx, kn_grid *g, char *text, bool *given)
{
    kn_status status;
    ptrdiff_t c = -1;
    char *eq = strchr(text, '=');
    if (!eq || eq == text)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{at} contains '%s', but its parts must be COVARIATE=VALUE",
                       kn_clipped(text).text);
    *eq = '\0';
    KN_TRY(find_covariate(ctx, &g->model->encoding, "at", text, &c));
    const kn_covariate *k = &g->model->encoding.column[c];
    if (c == g->over)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{at} has %s, which is already the axis of the curves",
                       k->name);
    if (given[c])
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{at} has %s twice", k->name);
    given[c] = true;
    g->at[c].drawn = false;
    if (k->batch) {
        status = set_site_level(ctx, g, c, eq + 1);
        goto out;
    }
    KN_TRY(is_category(&g->model->encoding, c) ? set_level(ctx, k, eq + 1, &g->at[c].code)
                                               : set_number(ctx, g, c, eq + 1, &g->at[c].code));
out:
    return status;
}

/* Parse {at}, a list of COVARIATE=VALUE, into g->at. KN_ERR_ARGUMENT for an item that is wrong. */
static kn_status parse_at(kn_ctx *ctx, kn_grid *g, const char *text)
{
    kn_status status;
    kn_names parts = {0};
    bool *given = NULL;
    KN_TRY(kn_names_split(ctx, "at", text, &parts));
    KN_TRY(kn_alloc_bool(ctx, g->C, &given));
    for (ptrdiff_t i = 0; i < parts.n; i++)
        KN_TRY(parse_item(ctx, g, parts.name[i], given));
out:
    kn_free(given);
    kn_names_clear(&parts);
    return status;
}

/* True if covariate c is fixed at this level. */
static bool is_level(const kn_grid *g, ptrdiff_t c, const char *level)
{
    const kn_grid_at *at = &g->at[c];
    const char *text = at->adapted ? at->adapted
                       : isnan(at->code)
                           ? NULL
                           : g->model->encoding.column[c].levels.text[(ptrdiff_t)at->code];
    return text && strcmp(text, level) == 0;
}

/* Set g->site to the site that all batch columns make together: a training site, an adapted site,
 * or the mean of sites. KN_ERR_ARGUMENT if only some are at the mean, or their combination is
 * unknown. */
static kn_status find_common_site(kn_ctx *ctx, kn_grid *g)
{
    const kn_site_levels *b = &g->model->batch;
    const kn_adapted *a = &g->model->adapted;
    ptrdiff_t means = 0, trained = 0;
    g->site = (kn_curve_site){.adapted = -1};
    for (ptrdiff_t m = 0; m < b->M; m++) {
        const kn_grid_at *at = &g->at[b->column[m]];
        means += isnan(at->code) && !at->adapted;
        trained += !isnan(at->code);
    }
    for (ptrdiff_t s = 0; s < a->n && means == 0; s++) {
        ptrdiff_t m = 0;
        while (m < b->M && is_level(g, b->column[m], a->level[s * a->M + m]))
            m++;
        if (m == b->M)
            g->site.adapted = (int)s;
    }
    g->site.without_site = b->M > 0 && (means == b->M || g->site.adapted >= 0);
    if (g->site.without_site || trained == b->M)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_ARGUMENT,
                   "{at}: %s and the other batch effects together define a site; give a "
                   "combination that occurs in the training sample, or set all of them to %s",
                   g->model->encoding.column[b->column[0]].name, AVERAGE);
}

/* KN_ERR_ARGUMENT for an average level of indicator columns if the design was not standardised:
 * their means are then not stored. */
static kn_status check_averages(kn_ctx *ctx, const kn_grid *g)
{
    const kn_encoding *r = &g->model->encoding;
    for (ptrdiff_t c = 0; c < g->C; c++)
        if (!r->codes && is_category(r, c) && !g->at[c].drawn && isnan(g->at[c].code) &&
            g->model->x.mean[first_raw(r, c)] == 0)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "{at}: the model was fitted without {standardise} and does not have the "
                           "average of %s; choose a level",
                           r->column[c].name);
    return KN_OK;
}

/* ---- points ---- */

/* Make g->code (n x C): all combinations of drawn levels times {grid} equidistant values of {over}
 * between its training minimum and maximum. */
static kn_status make_points(kn_ctx *ctx, kn_grid *g)
{
    const kn_encoding *r = &g->model->encoding;
    const kn_design_column *d = &g->model->x.column[first_raw(r, g->over)];
    ptrdiff_t before = 1;
    g->curves = 1;
    for (ptrdiff_t c = 0; c < g->C; c++)
        g->curves *= g->at[c].drawn ? r->column[c].levels.n : 1;
    g->n = g->curves * g->values;
    kn_status status = kn_mat_new(ctx, g->n, g->C, &g->code);
    for (ptrdiff_t c = g->C - 1; c >= 0 && status == KN_OK;
         c--) { /* the last covariate changes fastest */
        for (ptrdiff_t i = 0; i < g->n; i++) {
            double proportion = (double)(i % g->values) / (double)(g->values - 1);
            double level = (double)(i / g->values / before % (g->at[c].drawn ? 2 : 1));
            kn_col(g->code, c)[i] = c == g->over     ? d->min + proportion * (d->max - d->min)
                                    : g->at[c].drawn ? level
                                                     : g->at[c].code;
        }
        before *= g->at[c].drawn ? r->column[c].levels.n : 1;
    }
    return status;
}

kn_status kn_grid_new(kn_ctx *ctx, const kn_model *model, const kn_settings *s, kn_grid *out)
{
    kn_status status;
    void *memory;
    *out = (kn_grid){.model = model, .C = model->encoding.n, .values = s->grid};
    KN_TRY(kn_alloc(ctx, out->C, sizeof *out->at, &memory));
    out->at = memory;
    KN_TRY(find_covariate(ctx, &model->encoding, "over", s->over, &out->over));
    KN_TRY(check_over(ctx, out));
    set_defaults(out);
    KN_TRY(parse_at(ctx, out, s->at));
    KN_TRY(find_common_site(ctx, out));
    KN_TRY(check_averages(ctx, out));
    KN_TRY(make_points(ctx, out));
out:
    if (status != KN_OK)
        kn_grid_clear(out);
    return status;
}

/* Code of covariate c of participant i: the number, or the index of the level; NaN for an unknown
 * level. */
static double code_of_participant(const kn_grid *g, ptrdiff_t c, kn_mat X, ptrdiff_t i)
{
    const kn_encoding *r = &g->model->encoding;
    ptrdiff_t f = first_raw(r, c);
    if (!has_indicator_columns(r, c))
        return kn_at(X, i, f);
    for (ptrdiff_t l = 0; l < r->column[c].levels.n; l++)
        if (kn_at(X, i, f + l) == 1)
            return (double)l;
    return NAN;
}

kn_status kn_grid_participants(kn_ctx *ctx, const kn_grid *g, kn_mat X, kn_mat *code)
{
    kn_status status = kn_mat_new(ctx, X.rows, g->C, code);
    for (ptrdiff_t c = 0; c < g->C && status == KN_OK; c++)
        for (ptrdiff_t i = 0; i < X.rows; i++)
            kn_col(*code, c)[i] =
                c == g->over || g->at[c].drawn ? code_of_participant(g, c, X, i) : g->at[c].code;
    return status;
}

/* Convert code x of covariate c to the code of the same covariate `target` of another model, by the
 * text of the level. NaN for a level that it lacks. */
static double code_in(const kn_grid *g, ptrdiff_t c, double x, const kn_covariate *target)
{
    const kn_covariate *from = &g->model->encoding.column[c];
    char number[KN_NUMBER_SIZE], level[KN_LEVEL_SIZE];
    const char *text = number;
    ptrdiff_t found = -1, place;
    bool category = target->kind == KN_COVARIATE_CATEGORY;
    if (from == target || (from->kind == KN_COVARIATE_NUMERIC && !category))
        return x;
    kn_number_text(x, number);
    if (from->kind == KN_COVARIATE_CATEGORY && !isnan(x))
        text = from->levels.text[(ptrdiff_t)x];
    if (!category)
        return kn_number_parse(text, &x) == KN_CELL_NUMBER ? x : target->mean;
    if (!isnan(x) && kn_level_of(text, target->levels.numbers, level))
        found = kn_levels_find(&target->levels, level, &place);
    return found < 0 ? NAN : (double)found;
}

/* Index in the grid of the covariate with the name of k; the last one if there is none. */
static ptrdiff_t same_covariate(const kn_grid *g, const kn_covariate *k)
{
    ptrdiff_t c = 0;
    while (c < g->C - 1 && strcmp(g->model->encoding.column[c].name, k->name) != 0)
        c++;
    return c;
}

kn_status kn_grid_design_input(kn_ctx *ctx, const kn_grid *g, kn_mat code, const kn_model *target,
                               kn_mat *raw)
{
    const kn_encoding *r = &target->encoding;
    kn_status status = kn_mat_new(ctx, code.rows, kn_encoding_width(r), raw);
    for (ptrdiff_t k = 0, f = 0; k < r->n && status == KN_OK; k++) {
        ptrdiff_t c = same_covariate(g, &r->column[k]);
        ptrdiff_t width = has_indicator_columns(r, k) ? r->column[k].levels.n : 1;
        for (ptrdiff_t i = 0; i < code.rows; i++) {
            double x = code_in(g, c, kn_at(code, i, c), &r->column[k]);
            for (ptrdiff_t l = 0; l < width; l++)
                kn_col(*raw, f + l)[i] = isnan(x) && !r->codes ? target->x.mean[f + l]
                                         : width > 1           ? x == (double)l
                                                               : x;
        }
        f += width;
    }
    return status;
}

/* ---- output text ---- */

/* Index of the covariate in output column k: {over} first, then the others in order. */
static ptrdiff_t column_at(const kn_grid *g, ptrdiff_t k)
{
    return k == 0 ? g->over : k <= g->over ? k - 1 : k;
}

/* Name of the level with this code of covariate c; "mean" for NaN. Borrowed. */
static const char *level_at(const kn_grid *g, ptrdiff_t c, double code)
{
    const kn_levels *l = &g->model->encoding.column[c].levels;
    if (g->at[c].adapted)
        return g->at[c].adapted;
    return code >= 0 && code < (double)l->n ? l->text[(ptrdiff_t)code] : AVERAGE;
}

kn_status kn_grid_names(kn_ctx *ctx, const kn_grid *g, kn_table_writer *w)
{
    kn_status status = KN_OK;
    for (ptrdiff_t k = 0; k < g->C && status == KN_OK; k++)
        status = kn_table_writer_text(ctx, w, g->model->encoding.column[column_at(g, k)].name);
    return status;
}

kn_status kn_grid_cells(kn_ctx *ctx, const kn_grid *g, kn_mat code, ptrdiff_t i, kn_table_writer *w)
{
    kn_status status = KN_OK;
    for (ptrdiff_t k = 0; k < g->C && status == KN_OK; k++) {
        ptrdiff_t c = column_at(g, k);
        double x = kn_at(code, i, c);
        status = is_category(&g->model->encoding, c)
                     ? kn_table_writer_text(ctx, w, level_at(g, c, x))
                     : kn_table_writer_number(ctx, w, x);
    }
    return status;
}

void kn_grid_label(const kn_grid *g, ptrdiff_t i, bool over, char *out, size_t size)
{
    size_t at = 0;
    *out = '\0';
    for (ptrdiff_t k = over ? 0 : 1; k < g->C && at < size; k++) {
        ptrdiff_t c = column_at(g, k);
        char number[KN_NUMBER_SIZE];
        const char *text = number;
        if (is_category(&g->model->encoding, c))
            text = level_at(g, c, kn_at(g->code, i, c));
        else
            kn_number_text(kn_at(g->code, i, c), number);
        int n = snprintf(out + at, size - at, "%s%s=%s", at > 0 ? "," : "",
                         g->model->encoding.column[c].name, text);
        at += n > 0 ? (size_t)n : 0;
    }
}
