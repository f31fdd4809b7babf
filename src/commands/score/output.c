/* Output files of score and predict: tables of any scores, then all files of a complete run, of a
 * job part, and of a join of parts. All files get their names together at the end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands/common/check_arguments.h"
#include "commands/common/output_folder.h"
#include "commands/score/internal.h"
#include "commands/score/scores.h"
#include "io/file/path.h"
#include "io/table/sidecar.h"
#include "io/table/table.h"

/* ---- tables: abnormality.tsv, metrics.tsv and summary.json ---- */

enum { PATH = 4096, METRICS = 1, MAPS = 1024 };
static const char *const FILES[] = {"abnormality.tsv", "metrics.tsv", "summary.json"};

kn_status kn_scores_check(kn_ctx *ctx, const kn_scores *s, const char *dir,
                          const kn_write_options *options)
{
    char path[PATH];
    kn_status status = KN_OK;
    for (int i = 0; i < 3; i++) {
        if (i == METRICS && !s->tabulate)
            continue;
        KN_TRY(kn_path_in_folder(ctx, dir, FILES[i], path, PATH));
        KN_TRY(kn_writer_check(ctx, path, options));
        if (i <= METRICS)
            KN_TRY(kn_sidecar_check(ctx, path, options));
    }
out:
    return status;
}

/* Write abnormality.tsv: one row per participant, columns as kn_scores_column() lists them. */
static kn_status write_abnormality(kn_ctx *ctx, const kn_scores *s, const char *path,
                                   const kn_write_options *options)
{
    kn_status status;
    kn_table_writer *w = NULL;
    KN_TRY(kn_table_writer_new(ctx, path, options, &w));
    KN_TRY(kn_table_writer_describe(ctx, w, FILES[0]));
    KN_TRY(kn_table_writer_text(ctx, w, "participant_id"));
    for (int c = 0; kn_scores_column(c); c++)
        KN_TRY(kn_table_writer_text(ctx, w, kn_scores_column(c)));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t i = 0; i < s->n; i++) {
        KN_TRY(kn_table_writer_text(ctx, w, s->id[i]));
        for (int c = 0; kn_scores_column(c); c++) {
            const double *column = kn_scores_participants(s, kn_scores_column(c));
            if (column == s->p_note)
                KN_TRY(kn_table_writer_text(ctx, w, kn_p_note_name(column[i])));
            else
                KN_TRY(kn_table_writer_number(ctx, w, column[i]));
        }
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}

/* Write metrics.tsv: one row per response. */
static kn_status write_metrics(kn_ctx *ctx, const kn_scores *s, const char *path,
                               const kn_write_options *options)
{
    kn_status status;
    kn_table_writer *w = NULL;
    char name[1100];
    KN_TRY(kn_table_writer_new(ctx, path, options, &w));
    KN_TRY(kn_table_writer_describe(ctx, w, FILES[METRICS]));
    KN_TRY(kn_table_writer_text(ctx, w, "response"));
    for (int k = 0; k < KN_N_METRICS; k++)
        KN_TRY(kn_table_writer_text(ctx, w, kn_metric_name[k]));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t j = 0; j < s->T; j++) {
        kn_response_name(s->space, j, name, sizeof name);
        KN_TRY(kn_table_writer_text(ctx, w, name));
        for (int k = 0; k < KN_N_METRICS; k++)
            KN_TRY(kn_table_writer_number(ctx, w, kn_at(s->metrics, j, k)));
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}

/* Write summary.json: s->summary and the list of files. */
static kn_status write_summary(kn_ctx *ctx, const kn_scores *s, const char *dir,
                               const kn_write_options *options)
{
    kn_status status;
    char path[PATH], *text = NULL;
    json_t *summary = json_copy(s->summary);
    KN_TRY(kn_path_in_folder(ctx, dir, FILES[2], path, PATH));
    KN_TRY(kn_folder_list_files(ctx, dir, options, summary));
    text = json_dumps(summary, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    if (!text) {
        status = kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the summary");
        goto out;
    }
    KN_TRY(kn_write_text(ctx, path, text, options));
out:
    free(text);
    json_decref(summary);
    return status;
}

kn_status kn_scores_write(kn_ctx *ctx, const kn_scores *s, const char *dir,
                          const kn_write_options *options)
{
    kn_status status;
    char path[PATH];
    KN_TRY(kn_path_in_folder(ctx, dir, FILES[0], path, PATH));
    KN_TRY(write_abnormality(ctx, s, path, options));
    KN_TRY(kn_path_in_folder(ctx, dir, FILES[METRICS], path, PATH));
    if (s->tabulate)
        KN_TRY(write_metrics(ctx, s, path, options));
    else
        kn_log(ctx, KN_LOG_INFO,
               "metrics.tsv of %td responses is not written; {write=z,metrics} writes it", s->T);
    KN_TRY(write_summary(ctx, s, dir, options));
out:
    return status;
}

/* True if metrics are written as maps: image output, and at least two new predictions. */
static bool has_metric_maps(const kn_score_work *w)
{
    ptrdiff_t measured = 0;
    for (ptrdiff_t i = 0; w->score && i < w->participants.n; i++)
        measured += w->scores->measured[i];
    return measured > 1 && w->model->space.kind == KN_SPACE_IMAGE &&
           w->layout.format != KN_FORMAT_CSV && w->layout.format != KN_FORMAT_NPY;
}

/* Create the output folder, to be removed if the run fails. The folder of job parts is not removed,
 * since other parts may be about to write there. */
static kn_status make_folder(kn_ctx *ctx, kn_score_work *w)
{
    kn_created_files stays = {0};
    kn_status status =
        kn_created_files_folder(ctx, kn_score_is_job_part(w) ? &stays : &w->made, w->s.folder);
    kn_created_files_clear(&stays);
    return status;
}

/* File names of the maps of one participant without the id, such as "z.nii.gz,yhat.nii.gz", written
 * to maps. */
static const char *list_maps(const kn_score_work *w, char maps[MAPS])
{
    char tail[256];
    maps[0] = '\0';
    for (int k = 0, n = 0; k < KN_N_MAPS; k++)
        for (int part = 0; w->write & 1u << k && part < kn_mapfile_count(&w->layout); part++) {
            kn_mapfile_tail(&w->layout, kn_map_name[k], part, tail, sizeof tail);
            n += snprintf(maps + n, MAPS - (size_t)n, "%s%s", n ? "," : "", tail);
        }
    return maps;
}

/* Check that all files can be written. A job part also checks those that the join will write, so
 * that a problem shows early. */
static kn_status check_outputs(kn_ctx *ctx, kn_score_work *w)
{
    const char *folder = w->s.folder;
    kn_status status = KN_OK;
    KN_TRY(make_folder(ctx, w));
    for (int k = 0; k < KN_N_MAPS; k++) {
        bool there = w->parts.n > 0 && w->s.split; /* the parts wrote these files */
        if (w->write & 1u << k && !there)
            KN_TRY(kn_mapfile_check(ctx, &w->layout, kn_map_name[k], w->participants.n, false));
        if (w->write & 1u << k && kn_score_is_job_part(w) && !w->s.split)
            KN_TRY(kn_mapfile_check(ctx, &w->rows, w->name[k], w->participants.n, false));
    }
    if (kn_score_is_job_part(w))
        KN_TRY(kn_job_part_check(ctx, folder, w->part, &w->options));
    if (w->write & KN_MAP_YS2_MODEL)
        KN_TRY(kn_mapfile_check(ctx, &w->layout, "ys2_noise", 1, true));
    if (w->write & KN_MAP_YS2_MODEL && w->scores->noise_group)
        KN_TRY(kn_mapfile_check(ctx, &w->layout, "ys2_noise_known", 1, true));
    KN_TRY(kn_participants_table_check(ctx, folder, &w->options));
    if (w->score)
        KN_TRY(kn_scores_check(ctx, w->scores, folder, &w->options));
    for (int k = 0; has_metric_maps(w) && k < KN_N_METRIC_MAPS; k++)
        KN_TRY(kn_mapfile_check(ctx, &w->layout, kn_metric_maps[k].file, 1, true));
out:
    return status;
}

kn_status kn_score_prepare_outputs(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status;
    kn_format format;
    KN_TRY(kn_mapfile_format(ctx, &w->model->space, (kn_format)w->s.format, &format));
    KN_TRY(kn_data_files(ctx, w->data, w->s.model, &w->inputs, &w->options.n_inputs));
    w->options.inputs = w->inputs;
    w->options.force = w->s.force;
    w->options.made = &w->made;
    w->options.pending = &w->pending;
    w->layout = (kn_maplayout){.dir = w->s.folder,
                               .format = format,
                               .space = &w->model->space,
                               .T = w->scores->T,
                               .id = (const char *const *)w->scores->id,
                               .split = w->s.split,
                               .options = &w->options};
    w->rows = w->layout;
    for (int k = 0; k < KN_N_MAPS; k++)
        snprintf(w->name[k], sizeof w->name[k], "%s", kn_map_name[k]);
    if (kn_score_is_job_part(w) && !w->s.split) {
        w->rows.format = KN_FORMAT_NPY;
        for (int k = 0; k < KN_N_MAPS; k++)
            kn_job_part_name(w->part, kn_map_name[k], w->name[k]);
    }
    KN_TRY(check_outputs(ctx, w));
    KN_TRY(
        kn_bids_output_new(ctx, &w->s, w->data, &w->layout, &w->participants, w->write, &w->bids));
    if (w->s.force && !kn_score_is_job_part(w)) {
        char maps[MAPS];
        KN_TRY(kn_stale_files_find(ctx, &w->layout, w->s.split ? w->participants.n : 0,
                                   list_maps(w, maps), &w->stale));
    }
out:
    return status;
}

/* ---- maps ---- */

kn_status kn_score_open_maps(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status = KN_OK;
    bool there = w->participants.n == 0 || (w->parts.n > 0 && w->s.split);
    for (int k = 0; k < KN_N_MAPS; k++)
        if (w->write & 1u << k && !there) {
            KN_TRY(
                kn_mapfile_new(ctx, &w->rows, w->name[k], w->participants.n, false, &w->file[k]));
            w->hash[k] = kn_hashing_begin(0);
        }
    KN_TRY(kn_bids_output_open(ctx, &w->bids));
out:
    return status;
}

/* KN_ERR_NUMERIC if map k (rows x T) is one of predictions and has an infinite value. z of one
 * bad cell may be infinite, but a prediction only if the model's numbers are beyond single
 * precision. */
static kn_status check_predictions(kn_ctx *ctx, const kn_score_work *w, int k, const float *map,
                                   ptrdiff_t rows)
{
    static const unsigned PREDICTIONS = KN_MAP_YHAT | KN_MAP_YS2_MODEL | KN_MAP_YS2;
    ptrdiff_t T = w->layout.T;
    for (ptrdiff_t i = 0; PREDICTIONS & 1u << k && i < rows * T; i++)
        if (isinf(map[i]))
            return kn_fail(ctx, KN_ERR_NUMERIC,
                           "%s of response %td exceeds the range of single precision; check the "
                           "units of the responses in the fit",
                           kn_map_name[k], i % T + 1);
    return KN_OK;
}

kn_status kn_score_write_rows(kn_ctx *ctx, kn_score_work *w, float *const *map, ptrdiff_t rows)
{
    kn_status status = KN_OK;
    for (int k = 0; k < KN_N_MAPS; k++) {
        if (!w->file[k])
            continue;
        KN_TRY(check_predictions(ctx, w, k, map[k], rows));
        KN_TRY(kn_mapfile_rows(ctx, w->file[k], map[k], rows));
        if (w->bids.file[k])
            KN_TRY(kn_mapfile_rows(ctx, w->bids.file[k], map[k], rows));
        if (kn_score_is_job_part(w))
            kn_hashing_add(&w->hash[k], map[k], (size_t)(rows * w->layout.T) * sizeof(float));
    }
out:
    return status;
}

/* Join the maps of the job parts to one file each; with {split} only check that the files exist. */
static kn_status join_maps(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status = KN_OK;
    for (int k = 0; k < KN_N_MAPS; k++) {
        if (!(w->write & 1u << k))
            continue;
        if (!w->s.split) {
            KN_TRY(kn_job_parts_write_map(ctx, &w->parts, k, w->scores, w->file[k]));
            continue;
        }
        for (ptrdiff_t i = 0; i < w->participants.n; i++)
            KN_TRY(kn_mapfile_exists(ctx, &w->layout, kn_map_name[k], i));
        w->scores->n_files += w->participants.n * kn_mapfile_count(&w->layout);
    }
out:
    return status;
}

/* Write a map that is not of one participant (T values), such as noise or a metric. */
static kn_status write_single(kn_ctx *ctx, const kn_score_work *w, const char *name,
                              const double *values)
{
    kn_status status;
    kn_mapfile *file = NULL;
    float *noise = NULL;
    KN_TRY(kn_alloc_f(ctx, w->layout.T, &noise));
    for (ptrdiff_t j = 0; j < w->layout.T; j++)
        noise[j] = (float)values[j];
    KN_TRY(kn_mapfile_new(ctx, &w->layout, name, 1, true, &file));
    KN_TRY(kn_mapfile_rows(ctx, file, noise, 1));
    KN_TRY(kn_mapfile_commit(ctx, file, &w->scores->n_files));
out:
    kn_mapfile_free(file);
    kn_free(noise);
    return status;
}

/* Write scored_participants.tsv; with {split} it lists the map files of each participant. */
static kn_status write_participants(kn_ctx *ctx, const kn_score_work *w)
{
    char maps[MAPS];
    list_maps(w, maps);
    kn_participants_table sheet = {w->data,   w->model,       &w->participants,
                                   w->scores, &w->exclusions, w->s.split ? maps : NULL};
    kn_status status = kn_participants_table_write(ctx, &sheet, w->s.folder, &w->options);
    w->scores->n_files += 2 * (status == KN_OK);
    return status;
}

/* Write the file of this job part, which is committed last. */
static kn_status write_part(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status;
    kn_job_part_stamp stamp;
    kn_participants_table sheet = {w->data,   w->model,       &w->participants,
                                   w->scores, &w->exclusions, NULL};
    KN_TRY(kn_job_parts_stamp(ctx, w->score ? "score" : "predict", &w->s, &sheet, &stamp));
    for (int k = 0; k < KN_N_MAPS; k++)
        if (w->file[k])
            stamp.map[k] = kn_hashing_end(&w->hash[k]);
    KN_TRY(kn_job_part_write(ctx, w->scores, w->part, &stamp, w->s.folder, &w->options));
    w->scores->n_files++;
out:
    return status;
}

/* Write the maps of one row, then the tables. */
static kn_status write_tables(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status = KN_OK;
    if (w->write & KN_MAP_YS2_MODEL)
        KN_TRY(write_single(ctx, w, "ys2_noise", w->scores->noise));
    if (w->write & KN_MAP_YS2_MODEL && w->scores->noise_group)
        KN_TRY(write_single(ctx, w, "ys2_noise_known", w->scores->noise_group));
    for (int k = 0; has_metric_maps(w) && k < KN_N_METRIC_MAPS; k++)
        KN_TRY(write_single(ctx, w, kn_metric_maps[k].file,
                            kn_scores_responses(w->scores, kn_metric_maps[k].metric)));
    KN_TRY(write_participants(ctx, w));
    if (w->score) {
        KN_TRY(kn_scores_write(ctx, w->scores, w->s.folder, &w->options));
        w->scores->n_files += 3 + 2 * w->scores->tabulate;
    }
out:
    return status;
}

kn_status kn_score_write_all(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status = KN_OK;
    if (w->parts.n > 0)
        KN_TRY(join_maps(ctx, w));
    for (int k = 0; k < KN_N_MAPS; k++)
        if (w->file[k])
            KN_TRY(kn_mapfile_commit(ctx, w->file[k], &w->scores->n_files));
    if (w->s.split) /* scored_participants.tsv lists these files */
        w->options.unlisted = kn_uncommitted_files_count(&w->pending);
    KN_TRY(kn_bids_output_write(ctx, &w->bids, &w->scores->n_files));
    KN_TRY(kn_score_is_job_part(w) ? write_part(ctx, w) : write_tables(ctx, w));
    KN_TRY(kn_score_is_job_part(w) ? kn_uncommitted_files_commit(ctx, &w->pending, &w->made)
                                   : kn_folder_commit(ctx, w->s.folder, &w->options));
    kn_stale_files_remove(ctx, &w->stale);
    if (w->parts.n > 0)
        kn_job_parts_remove(ctx, &w->parts);
out:
    return status;
}
