/* Writes abnormality.tsv, metrics.tsv and summary.json of scores.h, and names responses. */
#include <stdio.h>

#include "commands/score/p_values.h"
#include "commands/score/scores.h"
#include "io/table/table.h"

enum { PATH = 4096, METRICS = 1 };
static const char *const FILES[] = {"abnormality.tsv", "metrics.tsv", "summary.json"};

static kn_status path_of(kn_ctx *ctx, const char *dir, const char *name, char path[PATH])
{
    return snprintf(path, PATH, "%s/%s", dir, name) < PATH
               ? KN_OK
               : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", dir);
}

kn_status kn_scores_check(kn_ctx *ctx, const kn_scores *s, const char *dir,
                          const kn_write_options *options)
{
    char path[PATH];
    kn_status status = KN_OK;
    for (int i = 0; i < 3; i++) {
        if (i == METRICS && !s->tabulate)
            continue;
        KN_TRY(path_of(ctx, dir, FILES[i], path));
        KN_TRY(kn_writer_check(ctx, path, options));
    }
out:
    return status;
}

static kn_status write_abnormality(kn_ctx *ctx, const kn_scores *s, const char *path,
                                   const kn_write_options *options)
{
    kn_status status;
    kn_table_writer *w = NULL;
    KN_TRY(kn_table_writer_new(ctx, path, options, &w));
    KN_TRY(kn_table_writer_text(ctx, w, "participant_id"));
    for (int c = 0; kn_scores_column(c); c++)
        KN_TRY(kn_table_writer_text(ctx, w, kn_scores_column(c)));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t i = 0; i < s->n; i++) {
        KN_TRY(kn_table_writer_text(ctx, w, s->id[i]));
        for (int c = 0; kn_scores_column(c); c++) {
            const double *column = kn_scores_people(s, kn_scores_column(c));
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

void kn_response_name(const kn_space *space, ptrdiff_t j, char *out, size_t size)
{
    if (space->kind == KN_SPACE_TABLE) {
        snprintf(out, size, "%s", space->name[j]);
    } else if (space->kind == KN_SPACE_IMAGE) { /* voxel indices, from 0 */
        ptrdiff_t v = space->voxel[j], nx = space->geometry.dim[0], ny = space->geometry.dim[1];
        snprintf(out, size, "%td,%td,%td", v % nx, v / nx % ny, v / (nx * ny));
    } else {
        snprintf(out, size, "%td", j + 1);
    }
}

static kn_status write_metrics(kn_ctx *ctx, const kn_scores *s, const char *path,
                               const kn_write_options *options)
{
    kn_status status;
    kn_table_writer *w = NULL;
    char name[1100];
    KN_TRY(kn_table_writer_new(ctx, path, options, &w));
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

kn_status kn_scores_write(kn_ctx *ctx, const kn_scores *s, const char *dir,
                          const kn_write_options *options)
{
    kn_status status;
    char path[PATH];
    KN_TRY(path_of(ctx, dir, FILES[0], path));
    KN_TRY(write_abnormality(ctx, s, path, options));
    KN_TRY(path_of(ctx, dir, FILES[METRICS], path));
    if (s->tabulate)
        KN_TRY(write_metrics(ctx, s, path, options));
    else
        kn_log(ctx, KN_LOG_INFO,
               "metrics.tsv of %td responses is left out ({write=z,metrics} writes it)", s->T);
    KN_TRY(path_of(ctx, dir, FILES[2], path));
    KN_TRY(kn_write_text(ctx, path, s->json, options));
out:
    return status;
}
