/* Centile curves of selected responses, and the participants among them, computed as `kronorm
 * centiles` does [METHOD 8f]. Training participants are drawn at their cross-validated z-scores,
 * those of the folder at their own. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "commands/centiles/centiles.h"
#include "data/table/column_role.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "report/input/internal.h"
#include "stats/normal.h"

const double kn_report_input_centile[KN_INPUT_CENTILES] = {5, 25, 50, 75, 95};

/* ---- the covariate on the x axis ---- */

/* Creates a grid of KN_INPUT_GRID covariate values along `over` (NULL: chosen by default) for the
 * curves of the model; other covariates are at reference values. Clear g with kn_grid_clear.
 * KN_ERR_DATA or KN_ERR_ARGUMENT if there is no such covariate. */
static kn_status grid_over(kn_ctx *ctx, const kn_report_input *m, const char *over, kn_grid *g)
{
    kn_settings s = {.over = over, .grid = KN_INPUT_GRID};
    return kn_grid_new(ctx, m->model, &s, g);
}

/* Computes how much predictions vary along a covariate: the variance along each curve over the
 * variance of the response, averaged over at most 1000 responses and summed over the curves'
 * levels. *out is NaN if no curve can be drawn over it. */
static kn_status measure_variation(kn_ctx *ctx, const kn_report_input *m, const char *over,
                                   double *out)
{
    enum { MAX_RESPONSES = 1000 }; /* largest number of responses used for this */
    kn_status status;
    kn_grid g = {0};
    kn_mat raw = {0}, mean = {0};
    ptrdiff_t S = m->T < MAX_RESPONSES ? m->T : MAX_RESPONSES, *response = NULL;
    bool was = kn_ctx_set_quiet(ctx, true);
    *out = NAN;
    status = grid_over(ctx, m, over, &g);
    kn_ctx_set_quiet(ctx, was);
    if (status == KN_ERR_DATA || status == KN_ERR_ARGUMENT)
        return KN_OK;
    KN_TRY(status);
    KN_TRY(kn_grid_design_input(ctx, &g, g.code, m->model, &raw));
    KN_TRY(kn_alloc_i(ctx, S, &response));
    KN_TRY(kn_mat_new(ctx, g.n, S, &mean));
    for (ptrdiff_t j = 0; j < S; j++)
        response[j] = m->model->y.kept[j * m->T / S];
    KN_TRY(kn_curves_mean(ctx, m->model, kn_view_cols(raw.data, raw.rows, raw.cols),
                          g.site.without_site, response, mean));
    *out = 0;
    for (ptrdiff_t j = 0; j < S; j++)
        for (ptrdiff_t k = 0; k < g.curves; k++) {
            const double *y = kn_col(mean, j) + k * g.values;
            double middle = 0, square = 0, sd = m->y_sd[j * m->T / S];
            for (ptrdiff_t i = 0; i < g.values; i++)
                middle += y[i] / (double)g.values;
            for (ptrdiff_t i = 0; i < g.values; i++)
                square += (y[i] - middle) * (y[i] - middle) / (double)g.values;
            *out += square / (sd * sd);
        }
out:
    kn_free(response);
    kn_mat_clear(&mean);
    kn_mat_clear(&raw);
    kn_grid_clear(&g);
    return status;
}

/* Chooses the covariate of the x axis: one named age, else one that means age, else the numeric one
 * along which predictions vary most. *out is borrowed from m, NULL if there is none. */
static kn_status choose_over(kn_ctx *ctx, const kn_report_input *m, const char **out)
{
    kn_status status = KN_OK;
    double best = -1, limit = -1;
    for (int only = 2; only >= 0 && !*out; only--)
        for (ptrdiff_t c = 0; c < m->C; c++) {
            const char *name = m->column[c].name;
            bool named = kn_names_equal_any_case(name, "age"),
                 age = kn_column_role_of(name) == KN_COLUMN_AGE;
            if (!m->column[c].numeric || (only == 2 && !named) || (only == 1 && !age))
                continue;
            KN_TRY(measure_variation(ctx, m, name, &limit));
            if (limit > best) { /* false for NaN */
                *out = name;
                best = limit;
            }
        }
out:
    return status;
}

kn_status kn_report_input_choose_over(kn_ctx *ctx, const kn_report_input *m, const char *over,
                                      const char **out)
{
    kn_grid g = {0};
    *out = NULL;
    if (!m->model || m->model->encoding.n == 0)
        return over ? kn_fail(ctx, KN_ERR_ARGUMENT,
                              "{over=%s}: curves need a model of covariates with names, and there "
                              "is none",
                              kn_clipped(over).text)
                    : KN_OK;
    if (!over)
        return choose_over(ctx, m, out);
    kn_status status = grid_over(ctx, m, over, &g);
    if (status == KN_OK)
        *out = m->column[g.over].name;
    kn_grid_clear(&g);
    return status;
}

/* ---- curves ---- */

typedef struct drawing {
    kn_report_input *m;
    kn_centiles_work w;
    kn_report_input_response *out; /* w.S */
} drawing;

/* Sets *out to the level of the curve at row `point` of the grid, in words: "F", or "F, right" for
 * two categories, "" without. The text is in the arena of the input. */
static kn_status level_of(kn_ctx *ctx, drawing *d, ptrdiff_t point, const char **out)
{
    const kn_grid *g = &d->w.grid;
    kn_status status = kn_arena_text(ctx, &d->m->arena, "", out);
    for (ptrdiff_t c = 0; c < g->C && status == KN_OK; c++)
        if (g->at[c].drawn)
            status = kn_arena_print(ctx, &d->m->arena, out, "%s%s%s", *out, **out ? ", " : "",
                                    d->m->column[c].level[(ptrdiff_t)kn_at(g->code, point, c)]);
    return status;
}

/* Allocates curve k with its centiles, and bands if the method has them, in the arena of the input,
 * and sets its label and level. Fails only without memory. */
static kn_status new_curve(kn_ctx *ctx, drawing *d, ptrdiff_t k, kn_report_input_curve *out)
{
    kn_status status;
    kn_arena *a = &d->m->arena;
    const kn_grid *g = &d->w.grid;
    char label[2048];
    kn_grid_label(g, k * g->values, false, label, sizeof label);
    KN_TRY(kn_arena_text(ctx, a, label, &out->label));
    KN_TRY(level_of(ctx, d, k * g->values, &out->level));
    KN_TRY(kn_arena_d(ctx, a, g->values, &out->x));
    KN_TRY(kn_arena_d(ctx, a, g->values, &out->extrapolation));
    for (int p = 0; p < KN_INPUT_CENTILES; p++) {
        KN_TRY(kn_arena_d(ctx, a, g->values, &out->value[p]));
        if (d->w.bands == KN_BANDS_NONE)
            continue;
        KN_TRY(kn_arena_d(ctx, a, g->values, &out->low[p]));
        KN_TRY(kn_arena_d(ctx, a, g->values, &out->high[p]));
    }
out:
    return status;
}

/* Copies x, extrapolation, centiles and bands of response j to curve `out`, from rows first ..
 * first + values - 1 of the grid. Values are in units of the response. */
static void fill_curve(const drawing *d, const kn_curves *c, ptrdiff_t j, ptrdiff_t first,
                       const kn_report_input_curve *out)
{
    const kn_grid *g = &d->w.grid;
    for (ptrdiff_t i = 0; i < g->values; i++) {
        out->x[i] = kn_at(g->code, first + i, g->over);
        out->extrapolation[i] = c->extrapolation[first + i];
        for (int p = 0; p < KN_INPUT_CENTILES; p++) {
            kn_centile_value v = kn_centiles_value(&d->w, c, 0, first + i, j, p);
            out->value[p][i] = v.value;
            if (out->low[p]) {
                out->low[p][i] = v.value - v.half;
                out->high[p][i] = v.value + v.half;
            }
        }
    }
}

/* Computes the centile curves of the w.S responses at all points of the grid into d->out[j].curve.
 */
static kn_status compute_curves(kn_ctx *ctx, drawing *d)
{
    kn_status status;
    kn_centiles_work *w = &d->w;
    kn_curves c = kn_centiles_curves(w);
    void *memory;
    KN_TRY(kn_curves_compute(ctx, kn_view_cols(w->raw.data, w->raw.rows, w->raw.cols), &c));
    for (ptrdiff_t j = 0; j < w->S; j++) {
        kn_report_input_response *r = &d->out[j];
        KN_TRY(kn_arena_alloc(ctx, &d->m->arena, w->grid.curves, sizeof *r->curve, &memory));
        r->curve = memory;
        r->curves = w->grid.curves;
        for (ptrdiff_t k = 0; k < r->curves; k++) {
            KN_TRY(new_curve(ctx, d, k, &r->curve[k]));
            fill_curve(d, &c, j, k * w->grid.values, &r->curve[k]);
        }
    }
out:
    kn_curves_clear(&c);
    return status;
}

/* ---- points ---- */

typedef struct drawn_sample { /* training participants, or those of the folder */
    bool training;
    ptrdiff_t n, seen; /* seen: participants that belong to a curve */
    ptrdiff_t *index;  /* indices of those seen */
    int *curve;        /* n */
    kn_mat code, raw;  /* seen x covariates, moved to the curves */
    float *z;          /* n x S */
} drawn_sample;

/* Frees the arrays of a sample of participants that are drawn as points. */
static void drawn_sample_clear(drawn_sample *p)
{
    kn_free(p->index);
    kn_free(p->curve);
    kn_mat_clear(&p->code);
    kn_mat_clear(&p->raw);
    kn_free(p->z);
}

/* Returns the values of covariate c of a sample, one per participant (a level's index for a
 * category); NULL: not known. */
static const double *covariate_of(const drawing *d, const drawn_sample *p, ptrdiff_t c)
{
    return p->training ? d->m->column[c].training : d->m->column[c].scored;
}

/* Returns the index of the curve on which participant i lies by the levels of the drawn categories
 * (the last category varies fastest); -1 if a level or the x value is unknown. */
static int curve_of(const drawing *d, const drawn_sample *p, ptrdiff_t i)
{
    const kn_grid *g = &d->w.grid;
    ptrdiff_t curve = 0, before = 1;
    for (ptrdiff_t c = g->C - 1; c >= 0; c--) {
        ptrdiff_t levels = g->model->encoding.column[c].levels.n;
        double x = covariate_of(d, p, c)[i];
        if (c == g->over && !isfinite(x))
            return -1;
        if (!g->at[c].drawn)
            continue;
        if (!(x >= 0 && x < (double)levels))
            return -1;
        curve += (ptrdiff_t)x * before;
        before *= levels;
    }
    return (int)curve;
}

/* Assigns each participant to its curve, and sets p->raw to the design input of those that have
 * one: their own value of the x covariate and their own drawn levels, the other covariates as on
 * the curve. p owns the arrays. */
static kn_status move_participants(kn_ctx *ctx, const drawing *d, drawn_sample *p)
{
    kn_status status;
    const kn_grid *g = &d->w.grid;
    void *memory;
    KN_TRY(kn_alloc_i(ctx, p->n, &p->index));
    KN_TRY(kn_alloc(ctx, p->n, sizeof(int), &memory));
    p->curve = memory;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        p->curve[i] = curve_of(d, p, i);
        if (p->curve[i] >= 0)
            p->index[p->seen++] = i;
    }
    KN_TRY(kn_mat_new(ctx, p->seen, g->C, &p->code));
    for (ptrdiff_t c = 0; c < g->C; c++)
        for (ptrdiff_t i = 0; i < p->seen; i++)
            kn_col(p->code, c)[i] =
                c == g->over || g->at[c].drawn ? covariate_of(d, p, c)[p->index[i]] : g->at[c].code;
    KN_TRY(kn_grid_design_input(ctx, g, p->code, d->m->model, &p->raw));
out:
    return status;
}

/* Reads p->z (n x S), the z-scores of all participants of a sample at the S drawn responses. Each
 * whole map is read once. Can be cancelled. */
static kn_status read_z(kn_ctx *ctx, const drawing *d, drawn_sample *p)
{
    kn_status status;
    ptrdiff_t S = d->w.S;
    float *row = NULL;
    KN_TRY(kn_alloc_f(ctx, d->m->T, &row));
    KN_TRY(kn_alloc_f(ctx, p->n * S, &p->z));
    for (ptrdiff_t i = 0; i < p->n; i++) {
        KN_TRY(p->training ? kn_report_input_training_z(ctx, d->m, i, row)
                           : kn_report_input_z(ctx, d->m, i, row));
        for (ptrdiff_t j = 0; j < S; j++)
            p->z[i * S + j] = row[d->w.kept[j]];
        KN_TRY(kn_check_cancel(ctx));
        kn_report_progress(ctx, p->training ? "curves, training" : "curves", i + 1, p->n, NAN);
    }
out:
    kn_free(row);
    return status;
}

/* Allocates the points of response j in the arena of the input, and sets x, z and curve of each of
 * the n participants; values are NaN until they are computed. */
static kn_status new_points(kn_ctx *ctx, drawing *d, const drawn_sample *p, ptrdiff_t j,
                            kn_report_input_points *out)
{
    kn_status status;
    kn_arena *a = &d->m->arena;
    const double *x = covariate_of(d, p, d->w.grid.over);
    void *memory;
    KN_TRY(kn_arena_d(ctx, a, p->n, &out->x));
    KN_TRY(kn_arena_d(ctx, a, p->n, &out->value));
    KN_TRY(kn_arena_d(ctx, a, p->n, &out->z));
    KN_TRY(kn_arena_alloc(ctx, a, p->n, sizeof(int), &memory));
    out->curve = memory;
    out->n = p->n;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        out->x[i] = x[i];
        out->value[i] = NAN;
        out->z[i] = (double)p->z[i * d->w.S + j];
        out->curve[i] = p->curve[i];
    }
out:
    return status;
}

/* Returns the points of response j for this sample, training or scored. */
static kn_report_input_points *points_of(const drawing *d, const drawn_sample *p, ptrdiff_t j)
{
    return p->training ? &d->out[j].training : &d->out[j].scored;
}

/* Returns how many participants to predict at a time: each needs a row of covariances with all N
 * training participants, and values of S responses. */
static ptrdiff_t minibatch_size(const drawing *d)
{
    enum { CELLS = 1 << 20, MIN = 64 };
    ptrdiff_t by_responses = kn_centiles_batch(d->w.S), by_training = CELLS / (d->m->N + 1) + MIN;
    return by_responses < by_training ? by_responses : by_training;
}

/* Computes the y value of each point: the response value that has the participant's z-score at the
 * covariates of its curve. Works on a minibatch at a time and can be cancelled. */
static kn_status compute_heights(kn_ctx *ctx, drawing *d, const drawn_sample *p)
{
    kn_status status = KN_OK;
    kn_centiles_work *w = &d->w;
    kn_curves c = kn_centiles_curves(w);
    kn_view all = kn_view_cols(p->raw.data, p->seen, p->raw.cols);
    ptrdiff_t batch = minibatch_size(d);
    c.few = true;
    for (ptrdiff_t j = 0; j < w->S; j++)
        KN_TRY(new_points(ctx, d, p, j, points_of(d, p, j)));
    for (ptrdiff_t first = 0; first < p->seen; first += batch) {
        ptrdiff_t rows = p->seen - first < batch ? p->seen - first : batch;
        kn_curves_clear(&c);
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_curves_compute(ctx, kn_view_row_range(all, first, rows), &c));
        for (ptrdiff_t j = 0; j < w->S; j++)
            for (ptrdiff_t i = 0; i < rows; i++) {
                kn_report_input_points *to = points_of(d, p, j);
                ptrdiff_t index = p->index[first + i];
                to->value[index] = kn_centiles_at_z(w, &c, i, j, to->z[index]);
            }
    }
out:
    kn_curves_clear(&c);
    return status;
}

/* Computes the points of the training sample, or of the scored participants, for all drawn
 * responses; does nothing if their z-scores or the covariate of the x axis are unknown. */
static kn_status compute_points(kn_ctx *ctx, drawing *d, bool training)
{
    kn_status status;
    drawn_sample p = {.training = training, .n = training ? d->m->N : d->m->n};
    bool known = training ? d->m->has_training_z : d->m->kind == KN_INPUT_SCORE;
    if (!known || !covariate_of(d, &p, d->w.grid.over))
        return KN_OK;
    KN_TRY(move_participants(ctx, d, &p));
    KN_TRY(read_z(ctx, d, &p));
    KN_TRY(compute_heights(ctx, d, &p));
out:
    drawn_sample_clear(&p);
    return status;
}

/* ---- all ---- */

/* Prepares the computation of the 5 centiles of w->S responses (indices `response` among the
 * model's) along covariate `over`: grid, design input, and distributions. The caller clears d->w.
 */
static kn_status prepare_centiles(kn_ctx *ctx, drawing *d, const char *over,
                                  const ptrdiff_t *response)
{
    kn_status status;
    kn_centiles_work *w = &d->w;
    const kn_model *model = w->model;
    KN_TRY(grid_over(ctx, d->m, over, &w->grid));
    KN_TRY(kn_grid_design_input(ctx, &w->grid, w->grid.code, model, &w->raw));
    w->n_centiles = KN_INPUT_CENTILES;
    for (int k = 0; k < KN_INPUT_CENTILES; k++)
        w->centile[k] = (kn_centile){.percent = kn_report_input_centile[k],
                                     .z = kn_normal_quantile(kn_report_input_centile[k] / 100)};
    w->bands = model->info.noise == KN_NOISE_ISO ? KN_BANDS_NONE : KN_BANDS_MODEL;
    KN_TRY(kn_alloc_i(ctx, w->S, &w->kept));
    KN_TRY(kn_alloc_i(ctx, w->S, &w->response));
    for (ptrdiff_t j = 0; j < w->S; j++) {
        d->out[j] = (kn_report_input_response){.response = response[j]};
        w->kept[j] = response[j];
        w->response[j] = model->y.kept[response[j]];
    }
    KN_TRY(kn_centiles_set_distributions(ctx, w));
out:
    return status;
}

kn_status kn_report_input_curves(kn_ctx *ctx, kn_report_input *m, const char *over,
                                 const ptrdiff_t *response, ptrdiff_t S,
                                 kn_report_input_response *out)
{
    kn_status status;
    drawing d = {.m = m, .w = {.model = m->model, .S = S}, .out = out};
    if (S == 0)
        return KN_OK;
    KN_TRY(prepare_centiles(ctx, &d, over, response));
    KN_TRY(compute_curves(ctx, &d));
    KN_TRY(compute_points(ctx, &d, true));
    KN_TRY(compute_points(ctx, &d, false));
out:
    kn_centiles_clear(&d.w);
    return status;
}
