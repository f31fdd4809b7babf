/* Fitting from files, and the model file itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gp/method.h"
#include "la/core.h"
#include "model/file.h"
#include "model/info_json.h"
#include "model/kernel_json.h"
#include "model/safetensors.h"
#include "work/check.h"
#include "work/checkpoint.h"
#include "work/dataset.h"
#include "work/fit.h"

kn_status kn_model_save(kn_ctx *ctx, const kn_model *model, const char *path, int force)
{
    kn_write_options o = {.force = force != 0};
    if (!model || !path)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", model ? "path" : "model");
    return kn_model_write(ctx, model, path, &o);
}

kn_status kn_model_open(kn_ctx *ctx, const char *path, kn_model **model)
{
    *model = NULL;
    if (!path)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "path is a null pointer");
    return kn_model_read(ctx, path, model);
}

static void log_path(const char *model, char *out, size_t size)
{
    snprintf(out, size, "%s.log.json", model);
}

/* Timings and the machine: what may differ between two runs that give the same model. */
static kn_status write_log(kn_ctx *ctx, const kn_fit_job *job, const kn_fit_info *info,
                           const kn_write_options *options)
{
    char path[4096];
    kn_status status;
    json_t *log =
        json_pack("{s:s s:s s:s s:s s:i s:{s:o s:o s:o}}", "software", kn_version(), "blas",
                  kn_la_config(), "core", kn_la_core(), "model", job->output, "threads",
                  kn_threads(ctx), "seconds", "basis", kn_json_number(info->seconds_basis), "fit",
                  kn_json_number(info->seconds_fit), "reference",
                  kn_json_number(info->seconds_reference));
    char *text = log ? json_dumps(log, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(log);
    if (!text)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory while writing the log");
    log_path(job->output, path, sizeof path);
    status = kn_write_text(ctx, path, text, options);
    free(text);
    return status;
}

/* The log is written before its model. Beside a checkpoint and without the model it is from a run
 * that was killed between the two, and no obstacle to going on. */
static bool may_replace_log(const kn_fit_job *job)
{
    char path[4096];
    kn_checkpoint_path(job->output, path, sizeof path);
    return job->force || (job->resume && access(path, F_OK) == 0 && access(job->output, F_OK) != 0);
}

/* The model and its log can be written, and on top of no input. d NULL: nothing is read yet. */
static kn_status check_outputs(kn_ctx *ctx, const kn_fit_job *job, const kn_dataset *d)
{
    char path[4096];
    const char **files = NULL;
    kn_write_options wo = {.force = job->force != 0};
    kn_status status;
    KN_TRY(kn_dataset_files(ctx, &job->in, d, job->basis, &files, &wo.n_inputs));
    wo.inputs = files;
    KN_TRY(kn_writer_check(ctx, job->output, &wo));
    wo.force = may_replace_log(job);
    log_path(job->output, path, sizeof path);
    KN_TRY(kn_writer_check(ctx, path, &wo));
    wo.force = true;
    kn_checkpoint_path(job->output, path, sizeof path);
    if (job->resume)
        KN_TRY(kn_writer_check(ctx, path, &wo));
out:
    kn_free(files);
    return status;
}

static kn_status open_checkpoint(kn_ctx *ctx, const kn_fit_job *job, kn_view X, kn_view Y,
                                 const kn_fit_options *fit, kn_checkpoint **out)
{
    char path[4096];
    kn_checkpoint_path(job->output, path, sizeof path);
    if (job->resume)
        return kn_checkpoint_open(ctx, path, X, Y, fit, out);
    if (access(path, F_OK) == 0)
        kn_log(ctx, KN_LOG_WARNING, "%s: a fit was begun here, --resume goes on with it", path);
    return KN_OK;
}

kn_status kn_fit_files(kn_ctx *ctx, const kn_fit_job *job, kn_model **out)
{
    kn_status status;
    kn_dataset d = {0};
    kn_npy basis = {0};
    kn_checkpoint *checkpoint = NULL;
    kn_model *m = NULL;
    kn_fit_info info;
    kn_made made = {0};
    kn_write_options wo = {.made = &made};
    if (out)
        *out = NULL;
    if (!job || job->size != sizeof *job || !job->in.covariates || !job->in.responses ||
        !job->output)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "a fit needs covariates, responses, an output and its own size");
    kn_fit_options fit = job->fit;
    kn_settle_noise(&fit);
    KN_TRY(kn_check_fit_options(ctx, &fit));
    if (job->resume && fit.max_seconds > 0) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT,
                         "resume does not go with max_seconds: time runs out at another step the "
                         "second time");
        goto out;
    }
    KN_TRY(check_outputs(ctx, job, NULL)); /* before hours of work */
    if (job->basis) {
        KN_TRY(kn_npy_read(ctx, job->basis, &basis));
        fit.basis = basis.view;
    }
    KN_TRY(kn_dataset_read_training(ctx, &job->in, &fit, basis.view.cols, &d));
    KN_TRY(check_outputs(ctx, job, &d));
    kn_log(ctx, KN_LOG_INFO, "%td samples, %td covariates, %td responses", d.n, d.X.cols, d.Y.cols);
    kn_view X = kn_view_cols(d.X.data, d.n, d.X.cols);
    KN_TRY(open_checkpoint(ctx, job, X, d.Y, &fit, &checkpoint));
    KN_TRY(kn_fit_with(ctx, X, d.Y, &fit, kn_checkpoint_journal(checkpoint), &m));
    kn_model_info(m, &info);
    if (info.stop == KN_STOP_CANCELLED) { /* half a fit is no model to leave behind */
        status = kn_check_cancel(ctx);
        goto out;
    }
    m->recipe = d.recipe;
    d.recipe = (kn_recipe){0};
    m->space = d.space;
    d.space = (kn_space){0};
    if (d.id && !job->strip_ids)
        KN_TRY(kn_names_copy(ctx, d.id, d.n, &m->ids));
    wo.force = may_replace_log(job);
    KN_TRY(write_log(ctx, job, &info, &wo));
    wo.force = job->force != 0;
    KN_TRY(kn_model_write(ctx, m, job->output, &wo)); /* last: with it the log has a meaning */
    kn_checkpoint_remove(ctx, checkpoint);
    if (out) {
        *out = m;
        m = NULL;
    }
out:
    if (status != KN_OK)
        kn_made_remove(&made);
    kn_made_clear(&made);
    kn_checkpoint_free(checkpoint);
    kn_model_free(m);
    kn_npy_clear(&basis);
    kn_dataset_clear(&d);
    return status;
}

/* ---- describing --------------------------------------------------------------------------------
 */

static json_t *column(const double *x, ptrdiff_t n)
{
    json_t *a = json_array();
    for (ptrdiff_t i = 0; i < n; i++)
        json_array_append_new(a, kn_json_number(x[i]));
    return a;
}

static void add_log(const char *path, json_t *j)
{
    char name[4096];
    log_path(path, name, sizeof name);
    json_t *log = json_load_file(name, 0, NULL);
    if (json_is_object(json_object_get(log, "seconds")))
        json_object_set(j, "seconds", json_object_get(log, "seconds"));
    json_decref(log);
}

kn_status kn_model_describe(kn_ctx *ctx, const char *path, char **text)
{
    static const char *const kinds[] = {"array", "table", "image"};
    kn_model *m;
    *text = NULL;
    kn_status status = kn_model_open(ctx, path, &m);
    if (status != KN_OK)
        return status;
    json_t *j = json_object(), *info = kn_info_to_json(&m->info);
    const kn_reference *r = &m->reference;
    json_object_set_new(j, "format_version", json_integer(m->format));
    json_object_set_new(j, "software", json_string(kn_version()));
    json_object_update(j, info);
    json_decref(info);
    if (m->info.noise == KN_NOISE_STRUCTURED && m->gp.method->components)
        json_object_set_new(j, "theta",
                            json_pack("{s:o s:o s:o s:o}", "rho", kn_json_number(m->info.rho),
                                      "length", kn_json_number(m->info.length), "c",
                                      column(m->gp.latent.c, m->gp.P), "d",
                                      column(m->gp.latent.d, m->gp.P)));
    json_object_set_new(j, "terms", kn_terms_json(&m->gp));
    json_object_set_new(j, "weights", kn_weights_json(&m->gp));
    json_object_set_new(j, "gev",
                        r->has_gev
                            ? json_pack("{s:o s:o s:o s:b}", "shape", kn_json_number(r->gev.xi),
                                        "location", kn_json_number(r->gev.mu), "scale",
                                        kn_json_number(r->gev.sigma), "at_bound", r->gev_at_bound)
                            : json_null());
    json_object_set_new(j, "reference_samples", json_integer(r->n));
    json_object_set_new(j, "deviance_components",
                        r->has_deviance ? json_integer(r->deviance.K) : json_null());
    json_object_set_new(j, "responses_kind", json_string(kinds[m->space.kind]));
    json_object_set_new(j, "has_ids", json_boolean(m->ids != NULL));
    json_object_set_new(j, "recipe", m->recipe.n > 0 ? kn_recipe_to_json(&m->recipe) : json_null());
    add_log(path, j);
    *text = json_dumps(j, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(j);
    kn_model_free(m);
    return *text ? KN_OK : kn_fail(ctx, KN_ERR_MEMORY, "out of memory");
}

void kn_text_free(char *text)
{
    free(text);
}

const char *kn_build_blas(void)
{
    return kn_la_config();
}

const char *kn_build_core(void)
{
    return kn_la_core();
}

const char *kn_build_better_core(void)
{
    return kn_la_better_core();
}
