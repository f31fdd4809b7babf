/* Participants among the curves: each is moved to the value with the same z at the covariates of
 * the curves [METHOD 8f]
 *
 *     value_ij = mean_j(x_i) + sqrt(V_j(x_i)) t(z_ij)      x_i: own {over}, the rest as in {at}
 *
 * So z determines the height, and effects of site or sex are removed. z are those of score; for
 * training participants the held-out z. */
#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "commands/centiles/centiles.h"
#include "commands/memory/memory_plan.h"
#include "commands/score/scores.h"
#include "io/table/sidecar.h"
#include "stats/normal.h"

static const char TABLE[] = "points.tsv";
static const char *const MAPS[] = {"points_value", "points_z"};
enum { N_MAPS = sizeof MAPS / sizeof *MAPS };

/* Make the options of score from those of centiles; *out is owned by the caller. */
static kn_status score_options(kn_ctx *ctx, const kn_centiles_work *w, kn_options **out)
{
    static const char *const same[] = {"responses", "id",     "where",   "session", "missing",
                                       "match",     "unseen", "threads", "memory",  "scratch"};
    kn_status status = kn_options_new(ctx, "score", out);
    for (size_t k = 0; k < sizeof same / sizeof *same && status == KN_OK; k++) {
        const char *value = kn_options_get(w->options, same[k]);
        if (value)
            status = kn_options_set(ctx, *out, same[k], value);
    }
    if (status == KN_OK && w->s.people)
        status = kn_options_set(ctx, *out, "covariates", w->s.people);
    if (status == KN_OK)
        status = kn_options_set(ctx, *out, "write", "z");
    return status;
}

kn_status kn_points_read(kn_ctx *ctx, const kn_centiles_work *w, kn_data **out)
{
    kn_options *o = NULL;
    kn_status status = score_options(ctx, w, &o);
    if (status == KN_OK)
        status = kn_data_read(ctx, o, out);
    kn_options_free(o);
    return status;
}

/* ---- values ---- */

/* State of kn_points_write. */
typedef struct points {
    kn_centiles_work *w;
    kn_scores *scores; /* z of all participants, n x T floats */
    kn_mat code, raw;  /* of all participants, moved to the curves */
    kn_maplayout layout;
    kn_mapfile *file[N_MAPS]; /* for images */
    float *row[N_MAPS];
    kn_table_writer *table;
} points;

/* Frees the tables and maps of the points; uncommitted files are removed. */
static void points_clear(points *p)
{
    for (int k = 0; k < N_MAPS; k++) {
        kn_mapfile_free(p->file[k]);
        kn_free(p->row[k]);
    }
    kn_table_writer_free(p->table);
    kn_mat_clear(&p->code);
    kn_mat_clear(&p->raw);
    kn_scores_free(p->scores);
}

/* Copy the warnings of scoring the participants to those of the run. */
static void copy_warnings(points *p)
{
    json_t *list = json_object_get(p->scores->summary, "warnings");
    for (size_t k = 0; k < json_array_size(list); k++)
        kn_warnings_add(&p->w->warnings, json_string_value(json_array_get(list, k)));
}

/* Set the codes (n x C) of the scored participants at the covariates of the curves, and their
 * design input. Reads the same covariates again, quietly since score has warned already. */
static kn_status move_participants(kn_ctx *ctx, points *p)
{
    kn_status status;
    kn_sample participants = {0};
    const kn_centiles_work *w = p->w;
    kn_command_memory memory = kn_memory_policy_score(ctx, &w->s, w->model, 0, 0);
    bool was = kn_ctx_set_quiet(ctx, true);
    status = kn_sample_new(ctx, w->participants, &w->s,
                           (kn_sample_spec){.encoding = &w->model->encoding}, &memory.policy,
                           &participants);
    kn_ctx_set_quiet(ctx, was);
    KN_TRY(status);
    assert(participants.n == p->scores->n);
    KN_TRY(kn_grid_participants(ctx, &w->grid, participants.X, &p->code));
    KN_TRY(kn_grid_design_input(ctx, &w->grid, p->code, w->model, &p->raw));
out:
    kn_sample_clear(&participants);
    return status;
}

/* z-score of participant i at response j of the chosen ones. */
static double participant_z(const points *p, ptrdiff_t i, ptrdiff_t j)
{
    return (double)p->scores->map[0][i * p->scores->T + p->w->response[j]];
}

/* Write id and grid cells of participant i, the first cells of a row. */
static kn_status begin_row(kn_ctx *ctx, points *p, ptrdiff_t i)
{
    kn_status status;
    KN_TRY(kn_table_writer_text(ctx, p->table, p->scores->id[i]));
    KN_TRY(kn_grid_cells(ctx, &p->w->grid, p->code, i, p->table));
out:
    return status;
}

/* Write the table rows of participant first + i, one per response: value at the covariates of point
 * i of c, z and centile. */
static kn_status put_rows(kn_ctx *ctx, points *p, const kn_curves *c, ptrdiff_t first, ptrdiff_t i)
{
    kn_status status = KN_OK;
    char name[1100];
    for (ptrdiff_t j = 0; j < p->w->S; j++) {
        double z = participant_z(p, first + i, j);
        kn_response_name(&p->w->model->space, p->w->response[j], name, sizeof name);
        KN_TRY(begin_row(ctx, p, first + i));
        KN_TRY(kn_table_writer_text(ctx, p->table, name));
        KN_TRY(kn_table_writer_number(ctx, p->table, kn_centiles_at_z(p->w, c, i, j, z)));
        KN_TRY(kn_table_writer_number(ctx, p->table, z));
        KN_TRY(kn_table_writer_number(ctx, p->table, 100 * kn_normal_cdf(z)));
        KN_TRY(kn_table_writer_end_row(ctx, p->table));
    }
out:
    return status;
}

/* Write the maps of participant first + i (values at point i of c, and z), and one table row. */
static kn_status put_volume(kn_ctx *ctx, points *p, const kn_curves *c, ptrdiff_t first,
                            ptrdiff_t i)
{
    kn_status status;
    for (ptrdiff_t j = 0; j < p->w->S; j++) {
        double z = participant_z(p, first + i, j);
        p->row[0][p->w->response[j]] = (float)kn_centiles_at_z(p->w, c, i, j, z);
        p->row[1][p->w->response[j]] = (float)z;
    }
    for (int k = 0; k < N_MAPS; k++)
        KN_TRY(kn_mapfile_rows(ctx, p->file[k], p->row[k], 1));
    KN_TRY(begin_row(ctx, p, first + i));
    KN_TRY(kn_table_writer_end_row(ctx, p->table));
out:
    return status;
}

/* Compute the curves at the participants' own points, a minibatch at a time, and write their
 * values. */
static kn_status write_participant_rows(kn_ctx *ctx, points *p)
{
    kn_status status = KN_OK;
    const kn_centiles_work *w = p->w;
    kn_curves c = kn_centiles_curves(w);
    c.few = true;
    ptrdiff_t n = p->raw.rows;
    ptrdiff_t batch = kn_centiles_batch(w->S);
    kn_view all = kn_view_cols(p->raw.data, n, p->raw.cols);
    for (ptrdiff_t first = 0; first < n; first += batch) {
        ptrdiff_t rows = n - first < batch ? n - first : batch;
        kn_curves_clear(&c);
        KN_TRY(kn_curves_compute(ctx, kn_view_row_range(all, first, rows), &c));
        for (ptrdiff_t i = 0; i < rows; i++)
            KN_TRY(p->file[0] ? put_volume(ctx, p, &c, first, i) : put_rows(ctx, p, &c, first, i));
    }
out:
    kn_curves_clear(&c);
    return status;
}

/* ---- files ---- */

kn_status kn_points_check(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    char path[KN_CENTILES_PATH];
    kn_maplayout layout = kn_centiles_layout(w, NULL);
    double rows = (double)kn_data_count(w->participants) * (double)w->S;
    KN_TRY(kn_centiles_path(ctx, w, TABLE, path));
    KN_TRY(kn_writer_check(ctx, path, &w->write));
    KN_TRY(kn_sidecar_check(ctx, path, &w->write));
    for (int k = 0; kn_centiles_images(w) && k < N_MAPS; k++)
        KN_TRY(kn_mapfile_check(ctx, &layout, MAPS[k], 1, true));
    if (!kn_centiles_images(w) && rows > KN_CENTILES_ROWS)
        status =
            kn_fail(ctx, KN_ERR_ARGUMENT,
                    "%td participants and %td responses make a table of %.0f rows, but at most %d "
                    "are allowed; select responses with {targets}, or participants with {where}",
                    kn_data_count(w->participants), w->S, rows, KN_CENTILES_ROWS);
out:
    return status;
}

/* Open points.tsv with its header, and for images the two maps. */
static kn_status open_files(kn_ctx *ctx, points *p)
{
    static const char *const names[] = {"response", "value", "z", "centile"};
    kn_status status;
    char path[KN_CENTILES_PATH];
    kn_centiles_work *w = p->w;
    p->layout = kn_centiles_layout(w, p->scores->id);
    for (int k = 0; kn_centiles_images(w) && k < N_MAPS; k++) {
        KN_TRY(kn_mapfile_new(ctx, &p->layout, MAPS[k], p->scores->n, false, &p->file[k]));
        KN_TRY(kn_alloc_f(ctx, p->layout.T, &p->row[k]));
        for (ptrdiff_t v = 0; v < p->layout.T; v++)
            p->row[k][v] = NAN;
    }
    KN_TRY(kn_centiles_path(ctx, w, TABLE, path));
    KN_TRY(kn_table_writer_new(ctx, path, &w->write, &p->table));
    KN_TRY(kn_table_writer_describe(ctx, p->table, TABLE));
    KN_TRY(kn_table_writer_text(ctx, p->table, "participant_id"));
    KN_TRY(kn_grid_names(ctx, &w->grid, p->table));
    for (size_t k = 0; !p->file[0] && k < sizeof names / sizeof *names; k++)
        KN_TRY(kn_table_writer_text(ctx, p->table, names[k]));
    KN_TRY(kn_table_writer_end_row(ctx, p->table));
out:
    return status;
}

kn_status kn_points_write(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    kn_options *o = NULL;
    points p = {.w = w};
    KN_TRY(score_options(ctx, w, &o));
    KN_TRY(kn_score(ctx, w->model, w->participants, o, &p.scores));
    copy_warnings(&p);
    KN_TRY(move_participants(ctx, &p));
    KN_TRY(open_files(ctx, &p));
    KN_TRY(write_participant_rows(ctx, &p));
    for (int k = 0; k < N_MAPS && p.file[k]; k++)
        KN_TRY(kn_mapfile_commit(ctx, p.file[k], &w->info.files));
    KN_TRY(kn_table_writer_commit(ctx, p.table));
    w->info.files += 2;
    w->info.participants = p.scores->n;
out:
    points_clear(&p);
    kn_options_free(o);
    return status;
}
