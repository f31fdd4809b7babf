/* kn_fit: from files to a model in memory and on disk. Reads the training sample (kn_sample_train),
 * builds the design options, fits (fit_arrays.c), and writes model and log. */
#include "commands/fit/fit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "base/options/category_level_names.h"
#include "commands/common/check_arguments.h"
#include "commands/common/mpi_rules.h"
#include "commands/fit/basis_source.h"
#include "commands/fit/fit_record.h"
#include "commands/fit/missing_report.h"
#include "commands/fit/understood.h"
#include "commands/memory/memory_plan.h"
#include "data/preloaded.h"
#include "gp/method.h"
#include "la/openblas.h"
#include "model/file/file.h"
#include "model/fit_info_json.h"
#include "model/model.h"

/* ---- output: the model, and its log with what may differ between two runs of the same model
 * (timings, threads, memory, machine) ---- */

enum { PATH = 4096 };

/* Add the communication of the MPI ranks (maximum over ranks) to the log; only processor seconds
 * without MPI. 0, or -1 without memory. */
static int log_ranks(json_t *log, const kn_ctx *ctx, const kn_comm_use *use)
{
    const kn_comm *c = kn_ctx_comm(ctx);
    json_t *use_of_ranks =
        c->size == 1 ? NULL
                     : json_pack("{s:I s:I s:o s:o}", "calls", (json_int_t)use->calls, "bytes",
                                 (json_int_t)use->bytes, "seconds", kn_json_number(use->seconds),
                                 "processor_seconds", kn_json_number(use->processor));
    if (c->size > 1 && json_object_set_new(log, "between_ranks", use_of_ranks) != 0)
        return -1;
    return json_object_set_new(log, "processor_seconds", kn_json_number(use->outside));
}

/* The cells that were treated as missing because they were outlying, as a new JSON array. Without
 * ids (without_ids, or there are none) participants are rows of the covariates. */
static json_t *outliers_json(const kn_sample *p, const kn_model *model, bool without_ids)
{
    json_t *list = json_array();
    char name[1024];
    for (ptrdiff_t k = 0; k < p->outliers.n; k++) {
        const kn_outlier *c = &p->outliers.cell[k];
        kn_response_name(&model->space, c->response, name, sizeof name);
        json_t *participant = p->id && !without_ids ? json_string(p->id[c->row])
                                                    : json_integer(p->covariate_row[c->row] + 1);
        json_t *cell =
            json_pack("{s:o s:s s:o s:o}", p->id && !without_ids ? "participant_id" : "row",
                      participant, "response", name, "value", kn_json_number(c->value), "distance",
                      kn_json_number(c->distance));
        json_array_append_new(list, cell);
    }
    return list;
}

/* Write timings, machine, outlying cells (outliers is moved) and the record of the run as JSON to
 * MODEL.log.json beside the model at `output`. */
static kn_status write_log(kn_ctx *ctx, const char *output, const kn_model *model, json_t *outliers,
                           const kn_comm_use *use, const kn_write_options *options)
{
    char path[PATH];
    const kn_fit_info *info = &model->info;
    const kn_comm *c = kn_ctx_comm(ctx);
    json_t *log =
        json_pack("{s:s s:s s:s s:s s:i s:i s:i s:I s:{s:o s:o s:o}}", "software", kn_version(),
                  "blas", kn_la_config(), "core", kn_la_core(), "model", output, "ranks", c->size,
                  "nodes", c->nodes, "threads", kn_threads(ctx), "memory",
                  (json_int_t)kn_memory(ctx), "seconds", "basis",
                  kn_json_number(info->seconds_basis), "fit", kn_json_number(info->seconds_fit),
                  "reference", kn_json_number(info->seconds_reference));
    json_t *fit = model->fit ? json_loads(model->fit, 0, NULL) : json_null();
    if (log && (log_ranks(log, ctx, use) | json_object_set_new(log, "fit", fit) |
                json_object_set(log, "outliers", outliers)) != 0) {
        json_decref(log);
        log = NULL;
    }
    char *text = log ? json_dumps(log, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(log);
    json_decref(outliers);
    if (!text)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory while writing the log");
    kn_log_path(output, path, sizeof path);
    kn_status status = kn_write_text(ctx, path, text, options);
    free(text);
    return status;
}

/* Check before the fit that model and log can be written and are not input files. basis: one more
 * input file, or NULL. */
static kn_status check_outputs(kn_ctx *ctx, const kn_settings *s, const kn_data *data,
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

/* Write the log, then the model; on failure both are removed. use: communication of the ranks, for
 * the log. */
static kn_status write_outputs(kn_ctx *ctx, const kn_settings *s, const kn_sample *p,
                               const kn_model *model, const kn_comm_use *use)
{
    kn_created_files made = {0};
    kn_write_options wo = {.made = &made, .force = s->force};
    kn_status status;
    KN_TRY(write_log(ctx, s->output, model, outliers_json(p, model, s->strip_ids), use, &wo));
    KN_TRY(kn_model_write(ctx, model, s->output, &wo));
out:
    if (status != KN_OK)
        kn_created_files_remove(&made);
    kn_created_files_clear(&made);
    return status;
}

/* Set m->options, the given options that a model remembers, as JSON text. */
static kn_status store_options(kn_ctx *ctx, const kn_options *options, kn_model *m)
{
    const char *key, *value;
    json_t *given = json_object();
    for (int i = 0; kn_options_remembered(options, i, &key, &value); i++)
        json_object_set_new(given, key, json_string(value));
    m->options = json_dumps(given, JSON_COMPACT);
    json_decref(given);
    return m->options ? KN_OK : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the options");
}

/* Move encoding, response space, order and groups from sample p to the model, and copy the ids
 * unless {strip_ids}. */
static kn_status move_sample_to_model(kn_ctx *ctx, const kn_settings *s, kn_sample *p, kn_model *m)
{
    m->encoding = p->encoding;
    p->encoding = (kn_encoding){0};
    m->space = p->space;
    m->row_order = p->order;
    p->order = NULL;
    p->space = (kn_space){0};
    if (m->gp.latent.groups.n > 0) {
        m->group_rule = p->grouping.rule;
        m->group_column = p->grouping.column;
        p->grouping.column = NULL;
        if (!s->strip_ids) { /* the name of a group may be an id */
            m->group_name = p->grouping.group_name;
            p->grouping.group_name = NULL;
        }
    }
    return p->id && !s->strip_ids ? kn_names_copy(ctx, p->id, p->n, &m->ids) : KN_OK;
}

/* Settings completed from the sample: levels of categories, groups, table order. Owns its arrays;
 * design and s point into them. */
typedef struct settled {
    kn_settings s;
    kn_design_options design;
    int *levels, *values;
    bool *batch, *smooth;
    const char **names; /* of the covariates, borrowed texts */
    kn_interaction *interactions;
    ptrdiff_t *order;
} settled;

/* Free the arrays that were made from the sample. */
static void settled_clear(settled *o)
{
    kn_free(o->levels);
    kn_free(o->values);
    kn_free(o->batch);
    kn_free(o->names);
    kn_free(o->smooth);
    kn_free(o->interactions);
    kn_free(o->order);
}

typedef struct place {
    ptrdiff_t table, participant;
} place;

/* Order of participants by their row of the table, for qsort. */
static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return (x->table > y->table) - (x->table < y->table);
}

/* (*order)[k] = index of the participant in row k of the covariate table (n); owned by the
 * caller. */
static kn_status table_order(kn_ctx *ctx, const kn_sample *p, ptrdiff_t **order)
{
    kn_status status;
    void *memory = NULL;
    KN_TRY(kn_alloc(ctx, p->n, sizeof(place), &memory));
    KN_TRY(kn_alloc_i(ctx, p->n, order));
    place *at = memory;
    for (ptrdiff_t i = 0; i < p->n; i++)
        at[i] = (place){p->covariate_row[i], i};
    qsort(at, (size_t)p->n, sizeof *at, by_place);
    for (ptrdiff_t i = 0; i < p->n; i++)
        (*order)[i] = at[i].participant;
out:
    kn_free(memory);
    return status;
}

/* True if the encoding has the covariate and the level of this item of {names}. */
static bool has_level(const kn_encoding *encoding, const kn_level_name *item)
{
    for (ptrdiff_t k = 0; k < encoding->n; k++)
        for (ptrdiff_t l = 0; l < encoding->column[k].levels.n; l++)
            if (kn_level_name_is(item, encoding->column[k].name,
                                 encoding->column[k].levels.text[l]))
                return true;
    return false;
}

/* KN_ERR_ARGUMENT if {names} is not a list of names, or names a level that no covariate has. */
static kn_status check_level_names(kn_ctx *ctx, const char *names, const kn_encoding *encoding)
{
    kn_level_name item = {0};
    const char *text = names;
    while (text && kn_level_name_next(&text, &item))
        if (!has_level(encoding, &item))
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "{names}: there is no categorical covariate '%.*s' with a level '%.*s'",
                           item.column_length, item.column, item.level_length, item.level);
    return !text || *text == '\0'
               ? KN_OK
               : kn_fail(ctx, KN_ERR_ARGUMENT,
                         "{names} is '%s', but must be COLUMN:LEVEL=NAME,LEVEL=NAME, such as "
                         "sex:0=female,1=male",
                         names);
}

/* Complete the settings from sample p: defaults, levels of categories, interactions, groups and
 * table order. *out owns the arrays and borrows from p; the caller clears it, after a failure
 * too. */
static kn_status make_fit_settings(kn_ctx *ctx, const kn_settings *s, const kn_sample *p,
                                   settled *out)
{
    kn_status status;
    void *names = NULL;
    *out = (settled){.s = *s, .design = {.quadratic = -1}};
    KN_TRY(check_level_names(ctx, s->names, &p->encoding));
    kn_settings_apply_defaults(&out->s);
    KN_TRY(table_order(ctx, p, &out->order));
    out->s.table_order = out->order;
    out->s.row_order = p->order;
    out->s.any_response_order = p->space.kind != KN_SPACE_IMAGE;
    if (!p->encoding.codes)
        goto out;
    KN_TRY(kn_alloc_int(ctx, p->encoding.n, &out->levels));
    KN_TRY(kn_alloc_int(ctx, p->encoding.n, &out->values));
    KN_TRY(kn_alloc_bool(ctx, p->encoding.n, &out->batch));
    KN_TRY(kn_alloc(ctx, p->encoding.n, sizeof *out->names, &names));
    out->names = names;
    for (ptrdiff_t k = 0; k < p->encoding.n; k++)
        out->names[k] = p->encoding.column[k].name;
    kn_encoding_batch(&p->encoding, out->batch);
    kn_encoding_levels(&p->encoding, out->levels);
    kn_encoding_values(&p->encoding, out->values);
    KN_TRY(kn_encoding_interactions(ctx, &p->encoding, s->interaction, &out->interactions,
                                    &out->design.n_interactions));
    KN_TRY(kn_encoding_smooth(ctx, &p->encoding, s->smooth, &out->smooth));
    out->s.smooth_columns = out->smooth;
    out->design.levels = out->levels;
    out->design.values = out->values;
    out->design.batch = out->batch;
    out->design.names = out->names;
    out->design.interactions = out->interactions;
    out->s.design = &out->design;
    out->s.groups = p->grouping.group;
out:
    return status;
}

/* What the record of a fit is made of; borrowed. */
typedef struct fit_source {
    const kn_options *options;
    const char *basis; /* description for the model record */
    const kn_data *data;
    const kn_warnings *warnings; /* of this call */
    const char *understood;      /* of the input; NULL: data in memory or preloaded */
} fit_source;

/* Fit the model to sample p, complete it with what the sample knows (moved from p), and write it
 * with its log if {output} is given. *out is owned by the caller, NULL on ranks that took no part.
 * Collective. */
static kn_status fit_sample(kn_ctx *ctx, const kn_settings *s, const fit_source *from, kn_sample *p,
                            kn_model **out)
{
    kn_status status = KN_OK;
    kn_model *m = NULL;
    kn_comm_use use;
    settled own = {0};
    kn_view X = kn_view_cols(p->X.data, p->n, p->X.cols);
    bool writes = s->output && kn_ctx_comm(ctx)->rank == 0;
    kn_log(ctx, KN_LOG_INFO, "%td participants, %td covariate%s, %td response%s", p->n, X.cols,
           kn_plural(X.cols), p->Y.cols, kn_plural(p->Y.cols));
    KN_TRY(make_fit_settings(ctx, s, p, &own));
    status = kn_fit_arrays(ctx, X, p->Y, &own.s, &m);
    KN_TRY(kn_comm_agree_status(ctx, status));
    KN_TRY(kn_comm_used(ctx, &use));
    if (m && s->output && m->info.stop == KN_STOP_CANCELLED) { /* a cancelled fit writes no file */
        status = kn_check_cancel(ctx);
        goto out;
    }
    if (m) { /* NULL on other ranks if root worked alone */
        m->info.missing.participants_out = p->n_without;
        m->info.missing.outliers = p->outliers.n;
        m->info.missing.outlying_participants = p->n_outlying;
        snprintf(m->info.basis, sizeof m->info.basis, "%s", from->basis);
        KN_TRY(move_sample_to_model(ctx, s, p, m));
        kn_missing_report_log(ctx, m);
        KN_TRY(store_options(ctx, from->options, m));
        if (!from->data->preloaded) /* folds of a cross-validation have none */
            KN_TRY(kn_fit_record_make(ctx, from->options, from->data, from->warnings, s->strip_ids,
                                      from->understood, &m->fit));
    }
    KN_TRY(kn_comm_agree_status(ctx, KN_OK)); /* all ranks succeeded */
    if (writes)
        KN_TRY(write_outputs(ctx, s, p, m, &use));
    *out = m;
    m = NULL;
out:
    settled_clear(&own);
    kn_model_free(m);
    return status;
}

bool kn_fit_is_distributed(kn_ctx *ctx, const kn_options *options)
{
    kn_settings s;
    if (kn_settings_of(ctx, options, NULL, &s) != KN_OK)
        return false;
    const kn_method *method = kn_method_of(s.method, (kn_noise)s.noise);
    /* With {leave_out} a cross-validation adapts its models. For methods that fit every response
     * alone the last digits of a prediction depend on the other responses of a block, and blocks
     * begin at other responses on a rank than in a single process. */
    return method->spreads && !s.plain && (method->same_steps || s.max_seconds <= 0) &&
           !(s.leave_out && method->independent_responses);
}

/* Set the memory limit of all ranks to the smallest one, so that decisions that depend on it are
 * the same on all ranks. Collective. */
static kn_status agree_on_memory(kn_ctx *ctx)
{
    kn_status status = KN_OK;
    kn_ctx_set_memory_max(ctx, 0);
    double lowest = -(double)kn_memory(ctx);
    if (kn_ctx_comm(ctx)->size == 1)
        return KN_OK;
    KN_TRY(kn_comm_max(ctx, &lowest, 1));
    kn_ctx_set_memory_max(ctx, (size_t)-lowest);
out:
    return status;
}

kn_status kn_fit(kn_ctx *ctx, kn_data *data, const kn_options *options, kn_model **model)
{
    kn_basis_source basis = {0};
    kn_status status = kn_fit_with_basis(ctx, data, options, &basis, model);
    kn_basis_source_clear(&basis);
    return status;
}

/* End the list of warnings of a call, and add them to `caller`, the list of the caller (may be
 * NULL); own is cleared. */
static void pass_warnings_on(kn_ctx *ctx, kn_warnings *own, kn_warnings *caller)
{
    kn_keep_warnings(ctx, caller);
    for (ptrdiff_t i = 0; caller && i < own->n; i++)
        kn_warnings_add(caller, own->text[i]);
    kn_warnings_clear(own);
}

kn_status kn_fit_with_basis(kn_ctx *ctx, kn_data *data, const kn_options *options,
                            kn_basis_source *basis, kn_model **model)
{
    kn_status status;
    kn_warnings warnings = {0}, *kept = kn_keep_warnings(ctx, &warnings);
    kn_settings s;
    kn_command_memory memory;
    kn_sample participants = {0};
    char *understood = NULL;
    kn_resources before = kn_resources_of(ctx);
    *model = NULL;
    if (!data) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "data is a null pointer");
        goto out;
    }
    KN_TRY(kn_settings_of(ctx, options, "fit", &s));
    KN_TRY(kn_check_fit(ctx, &s));
    kn_settings_resources(ctx, &s);
    KN_TRY(agree_on_memory(ctx));
    bool writes = s.output && !s.dry_run && kn_ctx_comm(ctx)->rank == 0;
    if (writes)
        KN_TRY(check_outputs(ctx, &s, data, NULL));
    if (!basis->name[0])
        KN_TRY(kn_basis_source_open(ctx, s.basis, basis));
    for (int k = 0; writes && k < basis->files; k++)
        KN_TRY(check_outputs(ctx, &s, data, basis->file[k]));
    s.basis_view.cols = basis->cols;
    KN_TRY(kn_memory_policy_fit(ctx, &s, &memory));
    memory.policy.caller.response = kn_basis_source_bytes(basis);
    KN_TRY(kn_sample_train(ctx, data, &s, &memory.policy, &participants));
    KN_TRY(kn_basis_source_view(ctx, basis, kn_data_responses_name(data), &participants.space,
                                &s.basis_view));
    if (!data->in_memory && !data->preloaded) {
        KN_TRY(kn_understood_text(ctx, data, &participants, &understood));
        kn_understood_log(ctx, understood);
    }
    if (!s.dry_run)
        KN_TRY(fit_sample(ctx, &s, &(fit_source){options, basis->name, data, &warnings, understood},
                          &participants, model));
out:
    kn_free(understood);
    pass_warnings_on(ctx, &warnings, kept);
    kn_sample_clear(&participants);
    kn_resources_restore(ctx, before);
    return status;
}

/* ---- reading once for several fits ---- */

kn_status kn_preload_for_fit(kn_ctx *ctx, kn_data *data, const kn_options *options, double beside,
                             kn_preloaded **out)
{
    return kn_preload_for_caller(ctx, data, options, (kn_caller_bytes){.fixed = beside}, out);
}

kn_status kn_preload_for_caller(kn_ctx *ctx, kn_data *data, const kn_options *options,
                                kn_caller_bytes beside, kn_preloaded **out)
{
    kn_status status;
    kn_settings s;
    kn_command_memory memory;
    kn_basis_source basis = {0};
    kn_resources before = kn_resources_of(ctx);
    *out = NULL;
    KN_TRY(kn_settings_of(ctx, options, "fit", &s));
    KN_TRY(kn_check_fit(ctx, &s));
    kn_settings_resources(ctx, &s);
    KN_TRY(kn_basis_source_open(ctx, s.basis, &basis));
    s.basis_view.cols = basis.cols;
    KN_TRY(kn_memory_policy_fit(ctx, &s, &memory));
    memory.policy.caller = beside;
    memory.policy.caller.response += kn_basis_source_bytes(&basis);
    memory.shape.in_parts = true;
    KN_TRY(kn_data_preload(ctx, data, &s, &memory.policy, out));
out:
    kn_basis_source_clear(&basis);
    kn_resources_restore(ctx, before);
    return status;
}
