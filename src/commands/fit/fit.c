/* kn_fit: from files to a model in memory and on disk. Reads the training sample (kn_sample_train),
 * builds the design options, fits (fit_arrays.c), and writes model and log (output.c). */
#include "commands/fit/fit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "commands/common/mpi_rules.h"
#include "commands/common/validate.h"
#include "commands/fit/basis_source.h"
#include "commands/fit/missing_report.h"
#include "commands/fit/output.h"
#include "commands/memory/memory_plan.h"
#include "gp/method.h"

/* Stores the given options in the model as JSON. */
static kn_status remember(kn_ctx *ctx, const kn_options *options, kn_model *m)
{
    const char *key, *value;
    json_t *given = json_object();
    for (int i = 0; kn_options_remembered(options, i, &key, &value); i++)
        json_object_set_new(given, key, json_string(value));
    m->options = json_dumps(given, JSON_COMPACT);
    json_decref(given);
    return m->options ? KN_OK : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the options");
}

/* Moves encoding, response space and groups from the sample to the model, and copies the ids unless
 * {strip_ids}. */
static kn_status take_over(kn_ctx *ctx, const kn_settings *s, kn_sample *p, kn_model *m)
{
    m->recipe = p->recipe;
    p->recipe = (kn_encoding){0};
    m->space = p->space;
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
    kn_interaction *interactions;
    ptrdiff_t *order;
} settled;

static void settled_clear(settled *o)
{
    kn_free(o->levels);
    kn_free(o->values);
    kn_free(o->batch);
    kn_free(o->smooth);
    kn_free(o->interactions);
    kn_free(o->order);
}

typedef struct place {
    ptrdiff_t table, person;
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return (x->table > y->table) - (x->table < y->table);
}

/* order[k] = index of the participant in row k of the sorted table */
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
        (*order)[i] = at[i].person;
out:
    kn_free(memory);
    return status;
}

/* Makes design options, groups and table order of the sample. */
static kn_status settle(kn_ctx *ctx, const kn_settings *s, const kn_sample *p, settled *out)
{
    kn_status status;
    void *levels = NULL, *values = NULL, *batch = NULL;
    *out = (settled){.s = *s, .design = {.quadratic = -1}};
    kn_settings_apply_defaults(&out->s);
    KN_TRY(table_order(ctx, p, &out->order));
    out->s.table_order = out->order;
    if (!p->recipe.codes)
        goto out;
    status = kn_alloc(ctx, p->recipe.n, sizeof(int), &levels);
    out->levels = levels;
    KN_TRY(status);
    status = kn_alloc(ctx, p->recipe.n, sizeof(int), &values);
    out->values = values;
    KN_TRY(status);
    status = kn_alloc(ctx, p->recipe.n, sizeof(bool), &batch);
    out->batch = batch;
    KN_TRY(status);
    kn_encoding_batch(&p->recipe, out->batch);
    kn_encoding_levels(&p->recipe, out->levels);
    kn_encoding_values(&p->recipe, out->values);
    KN_TRY(kn_encoding_interactions(ctx, &p->recipe, s->interaction, &out->interactions,
                                    &out->design.n_interactions));
    KN_TRY(kn_encoding_smooth(ctx, &p->recipe, s->smooth, &out->smooth));
    out->s.smooth_columns = out->smooth;
    out->design.levels = out->levels;
    out->design.values = out->values;
    out->design.batch = out->batch;
    out->design.interactions = out->interactions;
    out->s.design = &out->design;
    out->s.groups = p->grouping.group;
out:
    return status;
}

/* basis: description for the model record. */
static kn_status fit_people(kn_ctx *ctx, const kn_settings *s, const kn_options *options,
                            const char *basis, kn_sample *p, kn_model **out)
{
    kn_status status = KN_OK;
    kn_model *m = NULL;
    kn_comm_use use;
    settled own = {0};
    kn_view X = kn_view_cols(p->X.data, p->n, p->X.cols);
    bool writes = s->output && kn_ctx_comm(ctx)->rank == 0;
    kn_log(ctx, KN_LOG_INFO, "%td samples, %td covariates, %td responses", p->n, X.cols, p->Y.cols);
    KN_TRY(settle(ctx, s, p, &own));
    status = kn_fit_arrays(ctx, X, p->Y, &own.s, &m);
    KN_TRY(kn_comm_agree_status(ctx, status));
    KN_TRY(kn_comm_used(ctx, &use));
    if (m && s->output && m->info.stop == KN_STOP_CANCELLED) { /* a cancelled fit writes no file */
        status = kn_check_cancel(ctx);
        goto out;
    }
    if (m) { /* NULL on other ranks if root worked alone */
        m->info.missing.people_out = p->n_without;
        snprintf(m->info.basis, sizeof m->info.basis, "%s", basis);
        KN_TRY(take_over(ctx, s, p, m));
        kn_missing_report_log(ctx, m);
        KN_TRY(remember(ctx, options, m));
    }
    KN_TRY(kn_comm_agree_status(ctx, KN_OK)); /* all ranks succeeded */
    if (writes)
        KN_TRY(kn_fit_output_write(ctx, s, m, &use));
    *out = m;
    m = NULL;
out:
    settled_clear(&own);
    kn_model_free(m);
    return status;
}

bool kn_fit_spreads(kn_ctx *ctx, const kn_options *options)
{
    kn_settings s;
    if (kn_settings_of(ctx, options, NULL, &s) != KN_OK)
        return false;
    const kn_method *method = kn_method_of(s.method, (kn_noise)s.noise);
    /* With {leave} a cross-validation adapts its models. For methods that fit every response alone
     * the last digits of a prediction depend on the other responses of a block, and blocks begin at
     * other responses on a rank than in a single process. */
    return method->spreads && !s.plain && (method->same_steps || s.max_seconds <= 0) &&
           !(s.leave && method->alone);
}

/* Sets the memory limit of all ranks to the smallest one, so that decisions that depend on it are
 * the same on all ranks. Collective. */
static kn_status agree_on_memory(kn_ctx *ctx)
{
    kn_status status = KN_OK;
    kn_ctx_set_memory_most(ctx, 0);
    double least = -(double)kn_memory(ctx);
    if (kn_ctx_comm(ctx)->size == 1)
        return KN_OK;
    KN_TRY(kn_comm_max(ctx, &least, 1));
    kn_ctx_set_memory_most(ctx, (size_t)-least);
out:
    return status;
}

kn_status kn_fit(kn_ctx *ctx, kn_data *data, const kn_options *options, kn_model **model)
{
    kn_basis_source basis = {0};
    kn_status status = kn_fit_again(ctx, data, options, &basis, model);
    kn_basis_source_clear(&basis);
    return status;
}

kn_status kn_fit_again(kn_ctx *ctx, kn_data *data, const kn_options *options,
                       kn_basis_source *basis, kn_model **model)
{
    kn_status status;
    kn_settings s;
    kn_command_memory room;
    kn_sample people = {0};
    kn_resources before = kn_resources_of(ctx);
    *model = NULL;
    if (!data)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "data is a null pointer");
    KN_TRY(kn_settings_of(ctx, options, "fit", &s));
    KN_TRY(kn_check_fit(ctx, &s));
    kn_settings_resources(ctx, &s);
    KN_TRY(agree_on_memory(ctx));
    bool writes = s.output && kn_ctx_comm(ctx)->rank == 0;
    if (writes)
        KN_TRY(kn_fit_output_check(ctx, &s, data, NULL));
    if (!basis->name[0])
        KN_TRY(kn_basis_source_open(ctx, s.basis, basis));
    for (int k = 0; writes && k < basis->files; k++)
        KN_TRY(kn_fit_output_check(ctx, &s, data, basis->file[k]));
    s.basis_view.cols = basis->cols;
    KN_TRY(kn_memory_policy_fit(ctx, &s, &room));
    room.room.beside.response = kn_basis_source_beside(basis);
    KN_TRY(kn_sample_train(ctx, data, &s, &room.room, &people));
    KN_TRY(kn_basis_source_view(ctx, basis, kn_data_responses_name(data), &people.space,
                                &s.basis_view));
    KN_TRY(fit_people(ctx, &s, options, basis->name, &people, model));
out:
    kn_sample_clear(&people);
    kn_resources_put(ctx, before);
    return status;
}
