/* Implements output.h. The log holds what may differ between two runs with the same model: timings,
 * threads, memory, machine. */
#include "commands/fit/output.h"

#include <stdlib.h>

#include "base/mpi/comm.h"
#include "la/blas_core.h"
#include "model/file/file.h"
#include "model/info_json.h"
#include "model/public_api.h"

enum { PATH = 4096 };

/* Adds communication statistics (maximum over ranks); only processor seconds without MPI. */
static int log_ranks(json_t *log, const kn_ctx *ctx, const kn_comm_use *use)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    json_t *said = c->size == 1
                       ? NULL
                       : json_pack("{s:I s:I s:o s:o}", "calls", (json_int_t)use->calls, "bytes",
                                   (json_int_t)use->bytes, "seconds", kn_json_number(use->seconds),
                                   "processor_seconds", kn_json_number(use->processor));
    if (c->size > 1 && json_object_set_new(log, "between_ranks", said) != 0)
        return -1;
    return json_object_set_new(log, "processor_seconds", kn_json_number(use->outside));
}

/* Writes timings and machine as JSON beside the model. */
static kn_status write_log(kn_ctx *ctx, const char *output, const kn_fit_info *info,
                           const kn_comm_use *use, const kn_write_options *options)
{
    char path[PATH];
    const kn_comm *c = kn_ctx_comm(ctx);
    json_t *log =
        json_pack("{s:s s:s s:s s:s s:i s:i s:i s:I s:{s:o s:o s:o}}", "software", kn_version(),
                  "blas", kn_la_config(), "core", kn_la_core(), "model", output, "ranks", c->size,
                  "nodes", c->nodes, "threads", kn_threads(ctx), "memory",
                  (json_int_t)kn_memory(ctx), "seconds", "basis",
                  kn_json_number(info->seconds_basis), "fit", kn_json_number(info->seconds_fit),
                  "reference", kn_json_number(info->seconds_reference));
    if (log && log_ranks(log, ctx, use) != 0) {
        json_decref(log);
        log = NULL;
    }
    char *text = log ? json_dumps(log, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(log);
    if (!text)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory while writing the log");
    kn_log_path(output, path, sizeof path);
    kn_status status = kn_write_text(ctx, path, text, options);
    free(text);
    return status;
}

kn_status kn_fit_output_check(kn_ctx *ctx, const kn_settings *s, const kn_data *data,
                              const char *basis)
{
    char path[PATH];
    const char **files = NULL;
    kn_write_options wo = {.force = s->force};
    kn_status status;
    KN_TRY(kn_data_files(ctx, data, basis, &files, &wo.n_inputs));
    wo.inputs = files;
    KN_TRY(kn_writer_check(ctx, s->output, &wo));
    kn_log_path(s->output, path, sizeof path);
    KN_TRY(kn_writer_check(ctx, path, &wo));
out:
    kn_free(files);
    return status;
}

kn_status kn_fit_output_write(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                              const kn_comm_use *use)
{
    kn_created_files made = {0};
    kn_write_options wo = {.made = &made, .force = s->force};
    kn_status status;
    KN_TRY(write_log(ctx, s->output, &model->info, use, &wo));
    KN_TRY(kn_model_write(ctx, model, s->output, &wo));
out:
    if (status != KN_OK)
        kn_created_files_remove(&made);
    kn_created_files_clear(&made);
    return status;
}
