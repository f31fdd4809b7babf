/* Output files of score and predict: of a complete run, of a job part, and of a join of parts. */
#include <stdio.h>

#include "commands/common/validate.h"
#include "commands/score/internal.h"

/* True if metrics are written as maps: image output, and at least two new predictions. */
static bool has_metric_maps(const kn_score_work *w)
{
    ptrdiff_t measured = 0;
    for (ptrdiff_t i = 0; w->score && i < w->people.n; i++)
        measured += w->scores->measured[i];
    return measured > 1 && w->model->space.kind == KN_SPACE_IMAGE &&
           w->layout.format != KN_FORMAT_CSV && w->layout.format != KN_FORMAT_NPY;
}

/* Creates the folder, to be removed if the run fails. The folder of job parts is not removed, since
 * other parts may be about to write there. */
static kn_status make_folder(kn_ctx *ctx, kn_score_work *w)
{
    kn_created_files stays = {0};
    kn_status status =
        kn_created_files_folder(ctx, kn_score_is_part(w) ? &stays : &w->made, w->s.folder);
    kn_created_files_clear(&stays);
    return status;
}

/* Checks all files. A job part also checks those that the join will write, so that a problem shows
 * early. */
static kn_status check_outputs(kn_ctx *ctx, kn_score_work *w)
{
    const char *folder = w->s.folder;
    kn_status status = KN_OK;
    KN_TRY(make_folder(ctx, w));
    for (int k = 0; k < KN_N_MAPS; k++) {
        bool there = w->parts.n > 0 && w->s.split; /* the parts wrote these files */
        if (w->write & 1u << k && !there)
            KN_TRY(kn_mapfile_check(ctx, &w->layout, kn_map_name[k], w->people.n, false));
        if (w->write & 1u << k && kn_score_is_part(w) && !w->s.split)
            KN_TRY(kn_mapfile_check(ctx, &w->rows, w->name[k], w->people.n, false));
    }
    if (kn_score_is_part(w))
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
    if (kn_score_is_part(w) && !w->s.split) {
        w->rows.format = KN_FORMAT_NPY;
        for (int k = 0; k < KN_N_MAPS; k++)
            kn_job_part_name(w->part, kn_map_name[k], w->name[k]);
    }
    KN_TRY(check_outputs(ctx, w));
    if (w->s.split && w->s.force && !kn_score_is_part(w))
        KN_TRY(kn_stale_files_find(ctx, &w->layout, w->people.n, &w->stale));
out:
    return status;
}

/* ---- maps ---- */

kn_status kn_score_open_maps(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status = KN_OK;
    bool there = w->people.n == 0 || (w->parts.n > 0 && w->s.split);
    for (int k = 0; k < KN_N_MAPS; k++)
        if (w->write & 1u << k && !there) {
            KN_TRY(kn_mapfile_new(ctx, &w->rows, w->name[k], w->people.n, false, &w->file[k]));
            w->hash[k] = kn_hashing_begin(0);
        }
out:
    return status;
}

kn_status kn_score_write_rows(kn_ctx *ctx, kn_score_work *w, float *const *map, ptrdiff_t rows)
{
    kn_status status = KN_OK;
    for (int k = 0; k < KN_N_MAPS; k++) {
        if (!w->file[k])
            continue;
        KN_TRY(kn_mapfile_rows(ctx, w->file[k], map[k], rows));
        if (kn_score_is_part(w))
            kn_hashing_add(&w->hash[k], map[k], (size_t)(rows * w->layout.T) * sizeof(float));
    }
out:
    return status;
}

/* Joins the maps of the parts to one file; with {split} only checks that they exist. */
static kn_status join_maps(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status = KN_OK;
    for (int k = 0; k < KN_N_MAPS; k++) {
        if (!(w->write & 1u << k))
            continue;
        if (!w->s.split) {
            KN_TRY(kn_job_parts_map(ctx, &w->parts, k, w->scores, w->file[k]));
            continue;
        }
        for (ptrdiff_t i = 0; i < w->people.n; i++)
            KN_TRY(kn_mapfile_there(ctx, &w->layout, kn_map_name[k], i));
        w->scores->n_files += w->people.n * kn_mapfile_parts(&w->layout);
    }
out:
    return status;
}

/* Writes a map that is not of one participant: noise or a metric. */
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

/* Writes people.tsv; with {split} it lists the map files of each participant. */
static kn_status write_people(kn_ctx *ctx, const kn_score_work *w)
{
    char maps[1024] = "", tail[256];
    for (int k = 0, n = 0; k < KN_N_MAPS; k++)
        for (int part = 0; w->write & 1u << k && part < kn_mapfile_parts(&w->layout); part++) {
            kn_mapfile_tail(&w->layout, kn_map_name[k], part, tail, sizeof tail);
            n += snprintf(maps + n, sizeof maps - (size_t)n, "%s%s", n ? "," : "", tail);
        }
    kn_participants_table sheet = {w->data,   w->model,       &w->people,
                                   w->scores, &w->exclusions, w->s.split ? maps : NULL};
    kn_status status = kn_participants_table_write(ctx, &sheet, w->s.folder, &w->options);
    w->scores->n_files += status == KN_OK;
    return status;
}

/* Writes the part file. It is committed last. */
static kn_status write_part(kn_ctx *ctx, kn_score_work *w)
{
    kn_status status;
    kn_job_part_stamp stamp;
    kn_participants_table sheet = {w->data, w->model, &w->people, w->scores, &w->exclusions, NULL};
    KN_TRY(kn_job_parts_stamp(ctx, w->score ? "score" : "predict", &w->s, &sheet, &stamp));
    for (int k = 0; k < KN_N_MAPS; k++)
        if (w->file[k])
            stamp.map[k] = kn_hashing_end(&w->hash[k]);
    KN_TRY(kn_job_part_write(ctx, w->scores, w->part, &stamp, w->s.folder, &w->options));
    w->scores->n_files++;
out:
    return status;
}

/* Writes maps of one row, then the tables. */
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
    KN_TRY(write_people(ctx, w));
    if (w->score) {
        KN_TRY(kn_scores_write(ctx, w->scores, w->s.folder, &w->options));
        w->scores->n_files += 2 + w->scores->tabulate;
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
    KN_TRY(kn_score_is_part(w) ? write_part(ctx, w) : write_tables(ctx, w));
    KN_TRY(kn_uncommitted_files_commit(ctx, &w->pending, &w->made));
    kn_stale_files_remove(ctx, &w->stale);
    if (w->parts.n > 0)
        kn_job_parts_remove(ctx, &w->parts);
out:
    return status;
}
