/* kn_fit: data to a model, in memory and on disk. */
#include "work/fit.h"

#include <jansson.h>
#include <string.h>

#include "io/npy.h"
#include "work/check.h"
#include "work/fit_output.h"
#include "work/room.h"

/* What was asked for, as the model remembers it. */
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

/* The model takes over where covariates and responses came from. */
static kn_status take_over(kn_ctx *ctx, const kn_settings *s, kn_people *p, kn_model *m)
{
    m->recipe = p->recipe;
    p->recipe = (kn_recipe){0};
    m->space = p->space;
    p->space = (kn_space){0};
    return p->id && !s->strip_ids ? kn_names_copy(ctx, p->id, p->n, &m->ids) : KN_OK;
}

static kn_status fit_people(kn_ctx *ctx, const kn_settings *s, const kn_options *options,
                            kn_people *p, kn_model **out)
{
    kn_status status = KN_OK;
    kn_checkpoint *checkpoint = NULL;
    kn_model *m = NULL;
    kn_view X = kn_view_cols(p->X.data, p->n, p->X.cols);
    kn_log(ctx, KN_LOG_INFO, "%td samples, %td covariates, %td responses", p->n, X.cols, p->Y.cols);
    if (s->output)
        KN_TRY(kn_fit_output_begin(ctx, s, X, p->Y, &checkpoint));
    KN_TRY(kn_fit_journal(ctx, X, p->Y, s, kn_checkpoint_journal(checkpoint), &m));
    if (s->output && m->info.stop == KN_STOP_CANCELLED) { /* half a fit is not left behind */
        status = kn_check_cancel(ctx);
        goto out;
    }
    KN_TRY(take_over(ctx, s, p, m));
    KN_TRY(remember(ctx, options, m));
    if (s->output)
        KN_TRY(kn_fit_output_write(ctx, s, m));
    kn_checkpoint_remove(ctx, checkpoint);
    *out = m;
    m = NULL;
out:
    kn_checkpoint_free(checkpoint);
    kn_model_free(m);
    return status;
}

kn_status kn_fit(kn_ctx *ctx, kn_data *data, const kn_options *options, kn_model **model)
{
    kn_status status;
    kn_settings s;
    kn_work_room room;
    kn_people people = {0};
    kn_npy basis = {0};
    kn_resources before = kn_resources_of(ctx);
    *model = NULL;
    if (!data)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "data is a null pointer");
    KN_TRY(kn_settings_of(ctx, options, "fit", &s));
    KN_TRY(kn_check_fit(ctx, &s));
    if (s.resume && !s.output)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{resume} needs {output}, beside which steps are kept");
    kn_settings_resources(ctx, &s);
    const char *basis_file = strcmp(s.basis, "pca") == 0 ? NULL : s.basis;
    if (s.output)
        KN_TRY(kn_fit_output_check(ctx, &s, data, basis_file));
    if (basis_file) {
        KN_TRY(kn_npy_read(ctx, basis_file, &basis));
        s.basis_view = basis.view;
    }
    KN_TRY(kn_room_to_fit(ctx, &s, &room));
    KN_TRY(kn_people_train(ctx, data, &s, &room.room, &people));
    KN_TRY(fit_people(ctx, &s, options, &people, model));
out:
    kn_people_clear(&people);
    kn_npy_clear(&basis);
    kn_resources_put(ctx, before);
    return status;
}
