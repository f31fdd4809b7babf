/* Writes the files of a join: the same as score writes. */
#include <stdio.h>
#include <string.h>

#include "commands/common/map_writer.h"
#include "commands/common/validate.h"
#include "commands/score/join/join.h"

enum { PATH = 4096 };

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

static kn_status write_map(kn_ctx *ctx, kn_join *j, const kn_maplayout *l, int k, float *row)
{
    kn_status status;
    kn_mapfile *file = NULL;
    KN_TRY(kn_mapfile_new(ctx, l, kn_map_name[k], j->plan.n, false, &file));
    for (ptrdiff_t i = 0; i < j->plan.n; i++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_row_spool_get(ctx, &j->map[k], i, row));
        KN_TRY(kn_mapfile_rows(ctx, file, row, 1));
    }
    KN_TRY(kn_mapfile_commit(ctx, file, &j->scores->n_files));
out:
    kn_mapfile_free(file);
    return status;
}

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

static kn_status write_people(kn_ctx *ctx, const kn_join *j, const char *dir,
                              const kn_write_options *options)
{
    kn_status status;
    kn_table_writer *w = NULL;
    char path[PATH];
    if (snprintf(path, sizeof path, "%s/people.tsv", dir) >= PATH)
        return kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", dir);
    KN_TRY(kn_table_writer_new(ctx, path, options, &w));
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
    KN_TRY(write_people(ctx, j, dir, options));
    KN_TRY(kn_scores_write(ctx, j->scores, dir, options));
    j->scores->n_files += 3 + j->scores->tabulate;
out:
    kn_free(row);
    return status;
}
