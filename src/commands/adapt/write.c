/* Implements write.h. TABULATED is the largest number of table rows. */
#include "commands/adapt/write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "commands/score/scores.h"
#include "io/table/table.h"
#include "model/file/file.h"

enum { PATH = 4096, TABULATED = 100000 };
static const char ENDING[] = ".safetensors", TABLE[] = ".adapt.tsv";

/* Path of the table: model.safetensors -> model.adapt.tsv. */
static kn_status table_path(kn_ctx *ctx, const char *model, char out[PATH])
{
    size_t n = strlen(model), end = sizeof ENDING - 1;
    if (n > end && strcmp(model + n - end, ENDING) == 0)
        n -= end;
    return snprintf(out, PATH, "%.*s%s", (int)n, model, TABLE) < PATH
               ? KN_OK
               : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", model);
}

kn_status kn_adapt_write_check(kn_ctx *ctx, const kn_settings *s, const kn_data *controls)
{
    char path[PATH];
    const char **files = NULL;
    kn_write_options wo = {.force = s->force};
    kn_status status;
    KN_TRY(kn_data_files(ctx, controls, s->model, &files, &wo.n_inputs));
    wo.inputs = files;
    KN_TRY(kn_writer_check(ctx, s->output, &wo));
    KN_TRY(table_path(ctx, s->output, path));
    KN_TRY(kn_writer_check(ctx, path, &wo));
out:
    kn_free(files);
    return status;
}

/* Writes the rows of one site, one per response. */
static kn_status write_rows(kn_ctx *ctx, kn_table_writer *w, const kn_model *m, ptrdiff_t site,
                            const kn_site_adapted *a)
{
    kn_status status = KN_OK;
    char name[1100], level[2 * 1100] = "";
    size_t used = 0;
    for (ptrdiff_t k = 0; k < m->adapted.M && used < sizeof level; k++)
        used += (size_t)snprintf(level + used, sizeof level - used, "%s%s", k > 0 ? " " : "",
                                 m->adapted.level[site * m->adapted.M + k]);
    for (ptrdiff_t j = 0; j < a->T; j++) {
        double sd = m->y.sd[j];
        double numbers[] = {a->n[j],           a->raw_offset[j] * sd,       a->shrink[j],
                            a->offset[j] * sd, sqrt(a->offset_var[j]) * sd, a->scale[j]};
        kn_response_name(&m->space, m->y.kept[j], name, sizeof name);
        KN_TRY(kn_table_writer_text(ctx, w, name));
        KN_TRY(kn_table_writer_text(ctx, w, level));
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            KN_TRY(kn_table_writer_number(ctx, w, numbers[k]));
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
out:
    return status;
}

static kn_status write_table(kn_ctx *ctx, const char *path, const kn_write_options *wo,
                             const kn_model *m, const kn_site_adapted *made, ptrdiff_t n)
{
    static const char *const HEAD[] = {"response", "level",  "n",         "raw_offset",
                                       "weight",   "offset", "offset_sd", "noise_factor"};
    kn_status status;
    kn_table_writer *w = NULL;
    KN_TRY(kn_table_writer_new(ctx, path, wo, &w));
    for (size_t k = 0; k < sizeof HEAD / sizeof *HEAD; k++)
        KN_TRY(kn_table_writer_text(ctx, w, HEAD[k]));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t s = 0; s < n; s++)
        KN_TRY(write_rows(ctx, w, m, m->adapted.n - n + s, &made[s]));
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}

kn_status kn_adapt_write(kn_ctx *ctx, const kn_settings *s, const kn_model *m,
                         const kn_site_adapted *made, ptrdiff_t n)
{
    char path[PATH];
    kn_created_files put = {0};
    kn_uncommitted_files pending = {0};
    kn_write_options wo = {.made = &put, .force = s->force, .pending = &pending};
    kn_status status;
    KN_TRY(table_path(ctx, s->output, path));
    bool tabulated = (double)m->gp.T * (double)n <= TABULATED;
    if (tabulated)
        KN_TRY(write_table(ctx, path, &wo, m, made, n));
    else
        kn_log(ctx, KN_LOG_INFO, "%s is left out, it would have %.0f rows", path,
               (double)m->gp.T * (double)n);
    KN_TRY(kn_model_write(ctx, m, s->output, &wo));
    KN_TRY(kn_uncommitted_files_commit(ctx, &pending, &put));
    if (!tabulated && s->force)
        remove(path); /* table of the replaced model */
out:
    kn_uncommitted_files_clear(&pending);
    if (status != KN_OK)
        kn_created_files_remove(&put);
    kn_created_files_clear(&put);
    return status;
}
