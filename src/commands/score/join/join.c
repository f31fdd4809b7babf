/* Joins the scores of the folds of a cross-validation, and writes them. Maps go to row spools
 * (memory or scratch file) in the order of the join. */
#include "commands/score/join/join.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/machine.h"
#include "base/mpi/comm.h"
#include "commands/common/check_arguments.h"
#include "commands/common/map_writer.h"
#include "commands/score/internal.h"
#include "io/file/path.h"

static const double BEYOND = 1.96;

void kn_join_free(kn_join *j)
{
    if (!j)
        return;
    kn_free(j->place);
    kn_scores_free(j->scores);
    kn_free(j->participant);
    kn_free(j->header);
    kn_names_free(j->line, j->plan.n + j->plan.exclusions->n);
    for (int k = 0; k < KN_N_MAPS; k++)
        kn_row_spool_clear(&j->map[k]);
    kn_free(j->sums);
    kn_free(j->noise_participants);
    kn_free(j);
}

double kn_join_bytes(ptrdiff_t n, ptrdiff_t T)
{
    enum { COLUMNS = 26 + 4, LINE = 256 };
    return (double)n * (COLUMNS * 8 + LINE + sizeof(kn_join_participant)) +
           (double)T * ((KN_N_METRICS + 2) * 8 + sizeof(kn_metric_sums));
}

/* Allocate the scores of all participants of the join, without a model; *out is owned by the
 * caller, also after a failure. */
static kn_status new_scores(kn_ctx *ctx, const kn_join_plan *plan, kn_scores **out)
{
    kn_status status;
    void *memory;
    ptrdiff_t n = plan->n, T = plan->space->T;
    KN_TRY(kn_alloc(ctx, 1, sizeof **out, &memory));
    kn_scores *s = *out = memory;
    *s = (kn_scores){.n = n,
                     .T = T,
                     .scored = true,
                     .s = plan->s,
                     .space = plan->space,
                     .labelled = plan->abnormal != NULL,
                     .tabulate = plan->write & KN_WRITE_METRICS || T <= KN_METRICS_UNASKED,
                     .smallest_p = NAN,
                     .began = kn_clock()};
    KN_TRY(kn_alloc(ctx, n, sizeof *s->id, &memory));
    s->id = memory;
    for (int k = 0; kn_scores_slot(s, k); k++)
        KN_TRY(kn_alloc_d(ctx, n, kn_scores_slot(s, k)));
    KN_TRY(kn_alloc_int(ctx, n, &s->implausible_reason));
    KN_TRY(kn_alloc_bool(ctx, n, &s->abnormal));
    for (ptrdiff_t i = 0; plan->abnormal && i < n; i++)
        s->n_abnormal += s->abnormal[i] = plan->abnormal[i];
    KN_TRY(kn_alloc_d(ctx, T, &s->noise));
    KN_TRY(kn_mat_new(ctx, T, KN_N_METRICS, &s->metrics));
    KN_TRY(kn_calibrator_init(ctx, &s->calibrator));
out:
    return status;
}

kn_status kn_join_new(kn_ctx *ctx, const kn_join_plan *plan, kn_join **out)
{
    kn_status status;
    void *memory;
    kn_join *j = NULL;
    ptrdiff_t n = plan->n, T = plan->space->T;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *j, &memory));
    j = memory;
    j->plan = *plan;
    KN_TRY(kn_alloc_i(ctx, plan->n_rows, &j->place));
    for (ptrdiff_t r = 0; r < plan->n_rows; r++)
        j->place[r] = -1;
    for (ptrdiff_t i = 0; i < n; i++)
        j->place[plan->row[i]] = i;
    KN_TRY(new_scores(ctx, plan, &j->scores));
    KN_TRY(kn_alloc(ctx, n, sizeof *j->participant, &memory));
    j->participant = memory;
    KN_TRY(kn_alloc(ctx, n + plan->exclusions->n, sizeof *j->line, &memory));
    j->line = memory;
    KN_TRY(kn_alloc(ctx, T, sizeof *j->sums, &memory));
    j->sums = memory;
    KN_TRY(kn_alloc_d(ctx, T, &j->noise_participants));
    for (int k = 0; k < KN_N_MAPS; k++)
        if (plan->write & 1u << k && kn_ctx_comm(ctx)->rank == 0)
            KN_TRY(kn_row_spool_new(ctx, n, T, plan->scratch, &j->map[k]));
    *out = j;
    j = NULL;
out:
    kn_join_free(j);
    return status;
}

/* ---- one fold ---- */

/* Position in the join of participant i of the current fold. */
static ptrdiff_t find_position(const kn_join *j, ptrdiff_t i)
{
    ptrdiff_t at = j->place[j->part->covariate_row[i]];
    assert(at >= 0);
    return at;
}

kn_status kn_join_begin_fold(kn_ctx *ctx, kn_join *j, const kn_sample *part, kn_scores *s)
{
    kn_status status;
    j->part = part;
    s->labelled = j->plan.abnormal != NULL;
    for (ptrdiff_t i = 0; s->labelled && i < s->n; i++)
        if (j->plan.abnormal[find_position(j, i)]) {
            s->abnormal[i] = true;
            s->use[i] = s->measured[i] = false;
        }
    KN_TRY(kn_alloc_d(ctx, s->n, &s->own_loss));
    KN_TRY(kn_alloc_d(ctx, s->n, &s->own_gain));
    KN_TRY(kn_alloc_d(ctx, s->n, &s->own_cells));
out:
    return status;
}

/* Add the finite z of a map (T floats) to the sums of a participant. */
static void add_cells(kn_join_participant *p, const float *z, ptrdiff_t T)
{
    for (ptrdiff_t t = 0; t < T; t++) {
        double x = (double)z[t];
        if (!isfinite(x))
            continue;
        p->n++;
        p->sum += x;
        p->sum2 += x * x;
        p->beyond += fabs(x) > BEYOND;
    }
}

kn_status kn_join_add_maps(kn_ctx *ctx, kn_join *j, const kn_scores *s, ptrdiff_t row,
                           ptrdiff_t rows, float *const *map)
{
    kn_status status = KN_OK;
    for (ptrdiff_t i = 0; i < rows; i++) {
        ptrdiff_t at = find_position(j, row + i);
        add_cells(&j->participant[at], map[0] + i * s->T, s->T);
        for (int k = 0; k < KN_N_MAPS; k++)
            if (j->plan.write & 1u << k)
                KN_TRY(kn_row_spool_write(ctx, &j->map[k], at, map[k] + i * s->T));
    }
out:
    return status;
}

/* Copy the columns, id, flags and line of scored_participants.tsv of participant i of the fold to
 * its position in the join. */
static kn_status copy_participant(kn_ctx *ctx, kn_join *j, const kn_participants_table *sheet,
                                  ptrdiff_t i)
{
    kn_status status;
    const kn_scores *from = sheet->scores;
    kn_scores *all = j->scores;
    ptrdiff_t at = find_position(j, i);
    for (int k = 0; kn_scores_slot(all, k); k++)
        (*kn_scores_slot(all, k))[at] = kn_scores_participants(from, kn_scores_column(k))[i];
    all->implausible_reason[at] = from->implausible_reason[i];
    j->participant[at].loss = from->own_loss[i];
    j->participant[at].gain = from->own_gain[i];
    j->participant[at].cells = from->own_cells[i];
    j->participant[at].joint = from->joint[i];
    j->participant[at].values = from->hash[i];
    j->participant[at].measured = from->measured[i];
    assert(!all->id[at]); /* each participant once */
    KN_TRY(kn_text_copy(ctx, from->id[i], strlen(from->id[i]), &all->id[at]));
    KN_TRY(kn_participants_line(ctx, sheet, KN_PARTICIPANTS_USED, i, &j->line[at]));
out:
    return status;
}

/* Make the header of scored_participants.tsv and the lines of the excluded participants. */
static kn_status make_frame(kn_ctx *ctx, kn_join *j, const kn_participants_table *sheet)
{
    kn_status status;
    kn_participants_table whole = *sheet;
    whole.exclusions = j->plan.exclusions;
    KN_TRY(kn_participants_line(ctx, &whole, KN_PARTICIPANTS_HEADER, 0, &j->header));
    for (ptrdiff_t i = 0; i < whole.exclusions->n; i++)
        KN_TRY(kn_participants_line(ctx, &whole, KN_PARTICIPANTS_EXCLUDED, i,
                                    &j->line[j->plan.n + i]));
out:
    return status;
}

/* Add the sums of metrics of a fold in original units, its noise weighted by participants, and its
 * calibration. */
static void add_responses(kn_join *j, const kn_scores *from)
{
    const kn_scaling *y = &from->model->y;
    kn_scores *all = j->scores;
    for (ptrdiff_t k = 0; k < y->n_kept; k++) {
        ptrdiff_t t = y->kept[k];
        kn_metric_sums own = kn_tally_sums(&from->sums[k], from->mean0[k]);
        own = kn_metrics_in_units(&own, y->mean[k], y->sd[k]);
        j->sums[t] = kn_metrics_joined(&j->sums[t], &own);
        all->noise[t] += (double)from->n * from->noise[t];
        j->noise_participants[t] += (double)from->n;
    }
    kn_calibrator_join(&all->calibrator, &from->calibrator);
    if (isfinite(from->fdr_proportion)) {
        all->fdr_proportion += (double)from->n * from->fdr_proportion;
        j->fdr_participants += (double)from->n;
    }
    all->smallest_p = fmin(all->smallest_p, from->smallest_p); /* fmin ignores NaN */
    all->min_unseen = fmax(all->min_unseen, from->min_unseen);
    all->flag_rate += (double)from->n * from->flag_rate;
}

kn_status kn_join_add_fold(kn_ctx *ctx, kn_join *j, const kn_participants_table *sheet)
{
    kn_status status = KN_OK;
    if (!j->header)
        KN_TRY(make_frame(ctx, j, sheet));
    for (ptrdiff_t i = 0; i < sheet->scores->n; i++)
        KN_TRY(copy_participant(ctx, j, sheet, i));
    add_responses(j, sheet->scores);
    j->n_taken += sheet->scores->n;
    j->part = NULL;
out:
    return status;
}

/* ---- results over all folds ---- */

/* Mean gain of the whole-map density over the measured participants, in the order of the join; NaN
 * without any. */
static double mean_joint(const kn_join *j)
{
    double sum = 0, n = 0;
    for (ptrdiff_t i = 0; i < j->plan.n; i++)
        if (j->participant[i].measured && isfinite(j->participant[i].joint)) {
            sum += j->participant[i].joint;
            n++;
        }
    return n > 0 ? sum / n : NAN;
}

kn_status kn_join_finish(kn_ctx *ctx, kn_join *j, const kn_provenance *from)
{
    kn_status status = KN_OK;
    kn_scores *s = j->scores;
    assert(j->n_taken == j->plan.n);
    for (ptrdiff_t t = 0; t < s->T; t++)
        s->noise[t] = j->noise_participants[t] > 0 ? s->noise[t] / j->noise_participants[t] : NAN;
    s->flag_rate /= (double)s->n;
    s->fdr_proportion = j->fdr_participants > 0 ? s->fdr_proportion / j->fdr_participants : NAN;
    kn_scores_warn_extrapolated(ctx, s);
    kn_scores_warn_empty(ctx, s);
    kn_implausible_warn(ctx, s, kn_data_responses_name(from->data));
    if (s->labelled)
        KN_TRY(kn_scores_compute_auc(ctx, s));
    kn_metrics_result(j->sums, s->metrics);
    kn_metrics_mean(s->metrics, s->mean_metrics);
    s->joint_density = mean_joint(j);
    kn_calibrator_result(&s->calibrator, s->calibration);
    KN_TRY(kn_summary_make(ctx, s, from));
out:
    return status;
}

/* ---- output: the same files as score writes ---- */

enum { PATH = 4096 };

/* Layout of the joined maps in folder dir, in the format of the options. */
static kn_status layout_of(kn_ctx *ctx, const kn_join *j, const char *dir,
                           const kn_write_options *options, kn_maplayout *out)
{
    const kn_join_plan *p = &j->plan;
    *out = (kn_maplayout){.dir = dir,
                          .space = p->space,
                          .T = p->space->T,
                          .id = (const char *const *)j->scores->id,
                          .options = options};
    return kn_mapfile_format(ctx, p->space, (kn_format)p->s->format, &out->format);
}

/* True if metrics are written as maps: image output, and at least two participants. */
static bool has_metric_maps(const kn_join *j, const kn_maplayout *l)
{
    return j->plan.n > 1 && j->plan.space->kind == KN_SPACE_IMAGE && l->format != KN_FORMAT_CSV &&
           l->format != KN_FORMAT_NPY;
}

kn_status kn_join_check(kn_ctx *ctx, const kn_join *j, const char *dir,
                        const kn_write_options *options)
{
    kn_status status;
    kn_maplayout l;
    KN_TRY(layout_of(ctx, j, dir, options, &l));
    for (int k = 0; k < KN_N_MAPS; k++)
        if (j->plan.write & 1u << k)
            KN_TRY(kn_mapfile_check(ctx, &l, kn_map_name[k], j->plan.n, false));
    if (j->plan.write & KN_MAP_YS2_MODEL)
        KN_TRY(kn_mapfile_check(ctx, &l, "ys2_noise", 1, true));
    for (int k = 0; has_metric_maps(j, &l) && k < KN_N_METRIC_MAPS; k++)
        KN_TRY(kn_mapfile_check(ctx, &l, kn_metric_maps[k].file, 1, true));
    KN_TRY(kn_participants_table_check(ctx, dir, options));
    KN_TRY(kn_scores_check(ctx, j->scores, dir, options));
out:
    return status;
}

/* Write map k of all participants in order, one row at a time. row: work space of T floats. Can be
 * cancelled. */
static kn_status write_map(kn_ctx *ctx, kn_join *j, const kn_maplayout *l, int k, float *row)
{
    kn_status status;
    kn_mapfile *file = NULL;
    KN_TRY(kn_mapfile_new(ctx, l, kn_map_name[k], j->plan.n, false, &file));
    for (ptrdiff_t i = 0; i < j->plan.n; i++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_row_spool_read(ctx, &j->map[k], i, row));
        KN_TRY(kn_mapfile_rows(ctx, file, row, 1));
    }
    KN_TRY(kn_mapfile_commit(ctx, file, &j->scores->n_files));
out:
    kn_mapfile_free(file);
    return status;
}

/* Write one map of T values that belongs to no participant, such as a metric. row: work space of T
 * floats. */
static kn_status write_single(kn_ctx *ctx, kn_join *j, const kn_maplayout *l, const char *name,
                              const double *values, float *row)
{
    kn_status status;
    kn_mapfile *file = NULL;
    for (ptrdiff_t t = 0; t < l->T; t++)
        row[t] = (float)values[t];
    KN_TRY(kn_mapfile_new(ctx, l, name, 1, true, &file));
    KN_TRY(kn_mapfile_rows(ctx, file, row, 1));
    KN_TRY(kn_mapfile_commit(ctx, file, &j->scores->n_files));
out:
    kn_mapfile_free(file);
    return status;
}

/* Write scored_participants.tsv from the header and the lines of the folds, excluded participants
 * last. */
static kn_status write_participants(kn_ctx *ctx, const kn_join *j, const char *dir,
                                    const kn_write_options *options)
{
    kn_status status;
    kn_table_writer *w = NULL;
    char path[PATH];
    KN_TRY(kn_path_in_folder(ctx, dir, "scored_participants.tsv", path, PATH));
    KN_TRY(kn_table_writer_new(ctx, path, options, &w));
    KN_TRY(kn_table_writer_describe(ctx, w, "scored_participants.tsv"));
    KN_TRY(kn_table_writer_line(ctx, w, j->header, strlen(j->header)));
    for (ptrdiff_t i = 0; i < j->plan.n + j->plan.exclusions->n; i++)
        KN_TRY(kn_table_writer_line(ctx, w, j->line[i], strlen(j->line[i])));
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}

kn_status kn_join_write(kn_ctx *ctx, kn_join *j, const char *dir, const kn_write_options *options)
{
    kn_status status;
    kn_maplayout l;
    float *row = NULL;
    KN_TRY(layout_of(ctx, j, dir, options, &l));
    KN_TRY(kn_alloc_f(ctx, l.T, &row));
    for (int k = 0; k < KN_N_MAPS; k++)
        if (j->plan.write & 1u << k)
            KN_TRY(write_map(ctx, j, &l, k, row));
    if (j->plan.write & KN_MAP_YS2_MODEL)
        KN_TRY(write_single(ctx, j, &l, "ys2_noise", j->scores->noise, row));
    for (int k = 0; has_metric_maps(j, &l) && k < KN_N_METRIC_MAPS; k++)
        KN_TRY(write_single(ctx, j, &l, kn_metric_maps[k].file,
                            kn_scores_responses(j->scores, kn_metric_maps[k].metric), row));
    KN_TRY(write_participants(ctx, j, dir, options));
    KN_TRY(kn_scores_write(ctx, j->scores, dir, options));
    j->scores->n_files += 5 + 2 * j->scores->tabulate;
out:
    kn_free(row);
    return status;
}
