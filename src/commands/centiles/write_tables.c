/* Centiles of tables (centiles.tsv, params.tsv), and summary.json for tables and images. All
 * tables have the columns of the grid before their values. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options/command_line.h"
#include "commands/centiles/centiles.h"
#include "commands/common/output_folder.h"
#include "commands/score/scores.h"
#include "io/table/sidecar.h"
#include "model/fit_info_json.h"
#include "norm/metrics/extrapolation.h"

/* ---- tables ---- */

/* Writes the rows of response j. */
typedef kn_status (*rows_of)(kn_ctx *ctx, const kn_centiles_work *w, const kn_curves *c,
                             ptrdiff_t j, kn_table_writer *t);

typedef struct table {
    const char *file;
    const char *const *names; /* columns after the covariates */
    rows_of rows;
} table;

/* Write response j and the covariates of grid point i, the first cells of every row. */
static kn_status begin_row(kn_ctx *ctx, const kn_centiles_work *w, ptrdiff_t j, ptrdiff_t i,
                           kn_table_writer *t)
{
    char name[1100];
    kn_status status;
    kn_response_name(&w->model->space, w->response[j], name, sizeof name);
    KN_TRY(kn_table_writer_text(ctx, t, name));
    KN_TRY(kn_grid_cells(ctx, &w->grid, w->grid.code, i, t));
out:
    return status;
}

/* Write the rows of centiles.tsv for response j: value and band of each centile at each point of
 * c. */
static kn_status centile_rows(kn_ctx *ctx, const kn_centiles_work *w, const kn_curves *c,
                              ptrdiff_t j, kn_table_writer *t)
{
    kn_status status = KN_OK;
    for (ptrdiff_t i = 0; i < c->n; i++)
        for (int k = 0; k < w->n_centiles; k++) {
            kn_centile_value v = kn_centiles_value(w, c, 0, i, j, k);
            KN_TRY(begin_row(ctx, w, j, i, t));
            KN_TRY(kn_table_writer_number(ctx, t, w->centile[k].percent));
            KN_TRY(kn_table_writer_short(ctx, t, v.value));
            KN_TRY(kn_table_writer_short(ctx, t, v.value - v.half));
            KN_TRY(kn_table_writer_short(ctx, t, v.value + v.half));
            KN_TRY(kn_table_writer_text(ctx, t, kn_bands_name[w->bands]));
            KN_TRY(kn_table_writer_short(ctx, t, c->extrapolation[i]));
            KN_TRY(kn_table_writer_end_row(ctx, t));
        }
out:
    return status;
}

/* Degrees of freedom for output; NaN if the Student step changes nothing. */
static double reported_nu(const kn_calibration_transform *l)
{
    return l->nu > 0 && l->nu <= KN_STUDENT_MAX ? l->nu : NAN;
}

/* Write the rows of params.tsv for response j: mean, sd and parameters of the sinh-arcsinh
 * distribution at each point of c. */
static kn_status param_rows(kn_ctx *ctx, const kn_centiles_work *w, const kn_curves *c, ptrdiff_t j,
                            kn_table_writer *t)
{
    kn_status status = KN_OK;
    kn_shash distribution = w->distribution ? w->distribution[j] : (kn_shash){0, 1, 0, 1};
    for (ptrdiff_t i = 0; i < c->n; i++) {
        double sd = sqrt(kn_at(c->var, i, j) + kn_at(c->noise, i, j));
        double numbers[] = {kn_at(c->mean, i, j),
                            sd,
                            distribution.a,
                            distribution.b,
                            distribution.loc,
                            distribution.sc,
                            reported_nu(&w->model->calibration)};
        KN_TRY(begin_row(ctx, w, j, i, t));
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            KN_TRY(kn_table_writer_number(ctx, t, numbers[k]));
        KN_TRY(kn_table_writer_end_row(ctx, t));
    }
out:
    return status;
}

static const char *const CENTILE_NAMES[] = {"centile",           "value", "lower", "upper", "band",
                                            "extrapolation_pct", NULL};
static const char *const PARAM_NAMES[] = {"mean", "sd", "a", "b", "loc", "sc", "nu", NULL};
static const table TABLES[] = {{"centiles.tsv", CENTILE_NAMES, centile_rows},
                               {"params.tsv", PARAM_NAMES, param_rows}};
enum { N_TABLES = sizeof TABLES / sizeof *TABLES };

/* Write one table: header, then the rows of each response. Adds file and sidecar to
 * w->info.files. */
static kn_status write_table(kn_ctx *ctx, kn_centiles_work *w, const kn_curves *c,
                             const table *which)
{
    kn_status status;
    char path[KN_CENTILES_PATH];
    kn_table_writer *t = NULL;
    KN_TRY(kn_centiles_path(ctx, w, which->file, path));
    KN_TRY(kn_table_writer_new(ctx, path, &w->write, &t));
    KN_TRY(kn_table_writer_describe(ctx, t, which->file));
    KN_TRY(kn_table_writer_text(ctx, t, "response"));
    KN_TRY(kn_grid_names(ctx, &w->grid, t));
    for (int k = 0; which->names[k]; k++)
        KN_TRY(kn_table_writer_text(ctx, t, which->names[k]));
    KN_TRY(kn_table_writer_end_row(ctx, t));
    for (ptrdiff_t j = 0; j < w->S; j++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(which->rows(ctx, w, c, j, t));
    }
    KN_TRY(kn_table_writer_commit(ctx, t));
    w->info.files += 2;
out:
    kn_table_writer_free(t);
    return status;
}

/* Compute all curves and write both tables; counts the grid points that extrapolate. */
static kn_status write_tables(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    kn_curves c = kn_centiles_curves(w);
    kn_view raw = kn_view_cols(w->raw.data, w->raw.rows, w->raw.cols);
    KN_TRY(kn_curves_compute(ctx, raw, &c));
    for (ptrdiff_t i = 0; i < c.n; i++)
        w->info.n_extrapolated += c.extrapolation[i] > KN_EXTRAPOLATION_WARN;
    for (int k = 0; k < N_TABLES; k++)
        KN_TRY(write_table(ctx, w, &c, &TABLES[k]));
out:
    kn_curves_clear(&c);
    return status;
}

/* ---- summary.json ---- */

/* The percentages of the centiles as a new JSON array. */
static json_t *centiles_json(const kn_centiles_work *w)
{
    json_t *list = json_array();
    for (int k = 0; k < w->n_centiles; k++)
        json_array_append_new(list, json_real(w->centile[k].percent));
    return list;
}

/* The labels of the curves, such as "sex=F,site=mean", as a new JSON array. */
static json_t *curves_json(const kn_grid *g)
{
    char label[2048];
    json_t *list = json_array();
    for (ptrdiff_t k = 0; k < g->curves; k++) {
        kn_grid_label(g, k * g->values, false, label, sizeof label);
        json_array_append_new(list, kn_json_text(label));
    }
    return list;
}

/* New JSON object on the confidence bands: how they were made, and a sentence on their limits. */
static json_t *bands_json(const kn_centiles_work *w)
{
    static const char *const note[] = {
        "none were asked for",
        "95%, from the model's own variance, which ignores the uncertainty of its parameters; 2.5 "
        "to 4.5 times too narrow at the ends of an age range where it was measured",
        "95%, from fits that each leave out an eighth of the training sample; at the mean of "
        "sites, of the mean of the training sites"};
    return json_pack("{s:s s:s}", "by", kn_bands_name[w->bands], "note", note[w->bands]);
}

/* The warnings of reading and of the run as a new JSON array; those about {participants} were
 * copied from their scores. */
static json_t *warnings_json(const kn_centiles_work *w)
{
    const kn_warnings *from[] = {w->training ? &w->training->warnings : NULL, &w->warnings};
    json_t *list = json_array();
    for (size_t k = 0; k < sizeof from / sizeof *from; k++)
        for (ptrdiff_t i = 0; from[k] && i < from[k]->n; i++)
            json_array_append_new(list, kn_json_text(from[k]->text[i]));
    return list;
}

kn_status kn_centiles_summary(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    char path[KN_CENTILES_PATH], *line = NULL, *text = NULL;
    const kn_grid *g = &w->grid;
    bool lent = (w->training && !w->s.covariates) || (w->participants && !w->s.people);
    KN_TRY(kn_centiles_path(ctx, w, "summary.json", path));
    if (!lent)
        KN_TRY(kn_command_line(ctx, w->options, &line));
    json_t *j =
        json_pack("{s:o s:I s:o s:o s:I s:I s:I s:o s:o s:o s:o s:s}", "over",
                  kn_json_text(w->model->encoding.column[g->over].name), "values",
                  (json_int_t)g->values, "curves", curves_json(g), "centiles", centiles_json(w),
                  "responses", (json_int_t)w->S, "participants", (json_int_t)w->info.participants,
                  "points_extrapolated", (json_int_t)w->info.n_extrapolated, "nu",
                  kn_json_number(reported_nu(&w->model->calibration)), "bands", bands_json(w),
                  "warnings", warnings_json(w), "command", kn_json_text(line), "software",
                  kn_version());
    status = kn_folder_list_files(ctx, w->s.folder, &w->write, j);
    text = status == KN_OK ? json_dumps(j, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : NULL;
    json_decref(j);
    status = text ? kn_write_text(ctx, path, text, &w->write)
                  : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the summary");
    w->info.files += status == KN_OK;
out:
    kn_free(line);
    free(text);
    return status;
}

/* ---- dispatch by kind of responses ---- */

kn_status kn_centiles_check(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    char path[KN_CENTILES_PATH];
    KN_TRY(kn_centiles_path(ctx, w, "summary.json", path));
    KN_TRY(kn_writer_check(ctx, path, &w->write));
    if (kn_centiles_images(w))
        return kn_centile_maps_check(ctx, w);
    for (int k = 0; k < N_TABLES; k++) {
        KN_TRY(kn_centiles_path(ctx, w, TABLES[k].file, path));
        KN_TRY(kn_writer_check(ctx, path, &w->write));
        KN_TRY(kn_sidecar_check(ctx, path, &w->write));
    }
out:
    return status;
}

kn_status kn_centiles_write(kn_ctx *ctx, kn_centiles_work *w)
{
    return kn_centiles_images(w) ? kn_centile_maps_write(ctx, w) : write_tables(ctx, w);
}
