/* Reads the tables of a folder as columns. Participants: abnormality.tsv or change.tsv,
 * folds.tsv (cv), scored_participants.tsv. Responses: metrics.tsv, or maps of metrics if there is
 * no table. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands/score/scores.h"
#include "data/table/text_list.h"
#include "io/file/path.h"
#include "model/model.h"
#include "report/input/internal.h"

enum { PATH = 4096 };

/* Makes room for `more` further columns in the list, in the arena of m. Fails only without memory.
 */
static kn_status list_grow(kn_ctx *ctx, kn_report_input *m, ptrdiff_t more,
                           kn_report_input_list *list)
{
    void *memory;
    kn_status status =
        kn_arena_alloc(ctx, &m->arena, list->n + more, sizeof *list->column, &memory);
    if (status == KN_OK && list->n > 0)
        memcpy(memory, list->column, (size_t)list->n * sizeof *list->column);
    if (status == KN_OK)
        list->column = memory;
    return status;
}

/* ---- participants ---- */

/* Appends all columns of table t to the participants' columns, as texts and as numbers (NaN: no
 * number), for table rows row[0 .. n-1] (NULL: 0 .. n-1). Of two columns with one name the first is
 * used. */
static kn_status add_table(kn_ctx *ctx, kn_report_input *m, const kn_table *t, const ptrdiff_t *row)
{
    kn_status status;
    kn_report_input_list *list = &m->files->participants;
    ptrdiff_t cols = kn_table_cols(t);
    KN_TRY(list_grow(ctx, m, cols, list));
    for (ptrdiff_t c = 0; c < cols; c++) {
        const char **text;
        double *number;
        KN_TRY(kn_report_input_alloc_texts(ctx, m, m->n, &text));
        KN_TRY(kn_arena_d(ctx, &m->arena, m->n, &number));
        for (ptrdiff_t i = 0; i < m->n; i++) {
            ptrdiff_t r = row ? row[i] : i;
            text[i] = kn_table_cell(t, r, c);
            kn_table_number(t, r, c, &number[i]); /* NaN: not a number */
        }
        list->column[list->n++] = (kn_report_input_named){kn_table_name(t, c), number, text};
    }
out:
    return status;
}

/* Checks that table t has the participants of scored_participants.tsv in the same order;
 * KN_ERR_DATA with the line otherwise. */
static kn_status check_ids(kn_ctx *ctx, const kn_report_input *m, const kn_table *t)
{
    if (kn_table_rows(t) != m->n)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s has %td rows, but scored_participants.tsv has %td; the files of this "
                       "folder are from different runs, so run the command again",
                       kn_table_path(t), kn_table_rows(t), m->n);
    for (ptrdiff_t i = 0; i < m->n; i++)
        if (strcmp(kn_table_cell(t, i, 0), m->id[i]) != 0)
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s line %td: %s is '%s', but '%s' in scored_participants.tsv; the "
                           "files of this folder are from different runs, so run the command again",
                           kn_table_path(t), kn_table_line(t, i),
                           kn_clipped(kn_table_name(t, 0)).text,
                           kn_clipped(kn_table_cell(t, i, 0)).text, kn_clipped(m->id[i]).text);
    return KN_OK;
}

/* Reads the columns of all tables of participants: abnormality.tsv, folds.tsv (cv),
 * scored_participants.tsv. Of equal names the first in this order is used. */
static kn_status read_participants(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status;
    char path[PATH];
    struct kn_report_input_files *f = m->files;
    if (m->kind != KN_INPUT_CHANGE) {
        KN_TRY(kn_path_in_folder(ctx, m->dir, "abnormality.tsv", path, PATH));
        KN_TRY(kn_table_read(ctx, path, &f->judged));
        KN_TRY(check_ids(ctx, m, f->judged));
        KN_TRY(add_table(ctx, m, f->judged, NULL));
    }
    if (m->kind == KN_INPUT_CV) {
        KN_TRY(kn_path_in_folder(ctx, m->dir, "folds.tsv", path, PATH));
        KN_TRY(kn_table_read(ctx, path, &f->folds));
        KN_TRY(check_ids(ctx, m, f->folds));
        KN_TRY(add_table(ctx, m, f->folds, NULL));
    }
    KN_TRY(add_table(ctx, m, f->scored.participants, f->scored.row));
out:
    return status;
}

/* ---- responses ---- */

/* Checks that the rows of metrics.tsv are all responses of the model, or those of a cv folder, by
 * number and name; KN_ERR_DATA otherwise. */
static kn_status check_responses(kn_ctx *ctx, const kn_report_input *m, const kn_table *t)
{
    ptrdiff_t all = m->model ? m->model->y.n_all : m->T;
    if (kn_table_rows(t) != all)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s has %td rows, but there are %td responses; the files of this folder are "
                       "from different runs, so run the command again",
                       kn_table_path(t), kn_table_rows(t), all);
    const bool named = m->model || m->space.kind == KN_SPACE_TABLE;
    for (ptrdiff_t j = 0; named && j < m->T; j++) {
        ptrdiff_t row = m->model ? m->model->y.kept[j] : j;
        if (strcmp(kn_table_cell(t, row, 0), m->name[j]) != 0)
            return kn_fail(ctx, KN_ERR_DATA, "%s line %td: %s is '%s', but '%s' in %s",
                           kn_table_path(t), kn_table_line(t, row),
                           kn_clipped(kn_table_name(t, 0)).text,
                           kn_clipped(kn_table_cell(t, row, 0)).text, kn_clipped(m->name[j]).text,
                           m->model ? "the model" : "the z maps");
    }
    return KN_OK;
}

/* Reads the columns of metrics.tsv as numbers, one per response in use (T). */
static kn_status from_table(kn_ctx *ctx, kn_report_input *m, const char *path)
{
    kn_status status;
    kn_table *t = NULL;
    kn_report_input_list *list = &m->files->responses;
    KN_TRY(kn_table_read(ctx, path, &t));
    KN_TRY(check_responses(ctx, m, t));
    KN_TRY(list_grow(ctx, m, kn_table_cols(t), list));
    for (ptrdiff_t c = 1; c < kn_table_cols(t); c++) {
        kn_report_input_named *to = &list->column[list->n];
        KN_TRY(kn_arena_text(ctx, &m->arena, kn_table_name(t, c), &to->name));
        KN_TRY(kn_arena_d(ctx, &m->arena, m->T, &to->number));
        for (ptrdiff_t j = 0; j < m->T; j++)
            kn_table_number(t, m->model ? m->model->y.kept[j] : j, c, &to->number[j]);
        list->n++;
    }
out:
    kn_table_free(t);
    return status;
}

/* Reads the metrics of the responses (T values each) from the maps of metrics that the folder has.
 */
static kn_status from_maps(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status;
    struct kn_report_input_files *f = m->files;
    KN_TRY(list_grow(ctx, m, KN_N_METRIC_MAPS, &f->responses));
    for (int k = 0; k < KN_N_METRIC_MAPS; k++) {
        kn_report_input_named *to = &f->responses.column[f->responses.n];
        bool found;
        KN_TRY(kn_scored_single(ctx, &f->scored, kn_metric_maps[k].file, &found, f->row));
        if (!found)
            continue;
        to->name = kn_metric_maps[k].metric;
        KN_TRY(kn_arena_d(ctx, &m->arena, m->T, &to->number));
        for (ptrdiff_t j = 0; j < m->T; j++)
            to->number[j] = (double)f->row[f->map_index[j]];
        f->responses.n++;
    }
out:
    return status;
}

/* Reads the metrics of the responses from metrics.tsv or, if there is none, from maps; also from
 * maps without a model for two hemispheres, which the table may have in another order. None for
 * change. */
static kn_status read_responses(kn_ctx *ctx, kn_report_input *m)
{
    char path[PATH];
    kn_status status = kn_path_in_folder(ctx, m->dir, "metrics.tsv", path, PATH);
    bool unsure = !m->model && m->files->scored.parts > 1;
    if (status != KN_OK || m->kind == KN_INPUT_CHANGE)
        return status;
    return !unsure && access(path, F_OK) == 0 ? from_table(ctx, m, path) : from_maps(ctx, m);
}

kn_status kn_report_input_read_tables(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status;
    KN_TRY(read_participants(ctx, m));
    KN_TRY(read_responses(ctx, m));
out:
    return status;
}
