/* Matches scored with training participants: compares ids, design rows and sums of standardised
 * responses. Training participants get their held-out z-scores, and different data under a known
 * id are reported. */
#include "commands/score/internal.h"

#include <math.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "commands/common/exclusions.h"
#include "data/responses/responses.h"
#include "data/table/columns.h"
#include "model/model.h"

kn_status kn_match_training_names(kn_ctx *ctx, kn_scores *s, const kn_sample *p)
{
    kn_status status;
    void *memory;
    if (p->id)
        return kn_names_copy(ctx, p->id, p->n, &s->id);
    KN_TRY(kn_alloc(ctx, s->n, sizeof *s->id, &memory));
    s->id = memory;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        KN_TRY(kn_alloc(ctx, KN_ROW_NAME, 1, &memory));
        s->id[i] = memory;
        kn_row_name(p->covariate_row[i], s->id[i]);
    }
out:
    return status;
}

/* True if the responses of row i equal those of reference participant t. Compares the sum of
 * standardised values: nearly every change moves it by more than rounding. */
static bool same_responses(const kn_model *m, kn_view Y, ptrdiff_t i, ptrdiff_t t)
{
    double sum = 0, T = (double)m->gp.T;
    if (!m->reference.y_sum)
        return true; /* an old model file has no sums */
    for (ptrdiff_t k = 0; k < m->gp.T; k++) {
        double y = kn_view_at(Y, i, m->y.kept[k]);
        sum += isfinite(y) ? (y - m->y.mean[k]) / m->y.sd[k] : 0;
    }
    return fabs(sum - m->reference.y_sum[t]) <= 1e-5 * sqrt(T) + 1e-9 * T;
}

/* True if row i has the covariates of training participant t and is not at a new site; a new site
 * does not show in the design if the training sample had only one. X: design of all rows. */
static bool same_covariates(const kn_model *m, const kn_sample *p, kn_mat X, ptrdiff_t i,
                            ptrdiff_t t)
{
    kn_view raw = kn_view_cols(p->X.data, p->n, p->X.cols);
    return kn_provenance_covariates_equal(m, X, i, t) &&
           !kn_site_levels_is_new(&m->batch, &m->x, raw, i);
}

/* Participants whose responses this rank holds. */
typedef struct own_participants {
    const kn_sample *p;
    kn_index_range range;
    kn_mat X; /* design of all participants */
} own_participants;

/* Set s->training of the participants of this rank by id; of several rows with that id the one with
 * the same data. */
static void find_training(const kn_model *m, const own_participants *own, kn_scores *s)
{
    const kn_sample *p = own->p;
    for (ptrdiff_t i = own->range.first; i < own->range.last; i++) {
        s->training[i] = -1;
        for (ptrdiff_t t = 0; m->ids && p->id && t < m->info.n_samples; t++) {
            ptrdiff_t at = kn_reference_row(&m->reference, t);
            if (strcmp(p->id[i], m->ids[t]) != 0)
                continue;
            if (s->training[i] < 0)
                s->training[i] = t;
            /* repeated id: this is the same visit */
            if (at >= 0 && same_responses(m, own->p->Y, i, at) &&
                same_covariates(m, p, own->X, i, t)) {
                s->training[i] = t;
                break;
            }
        }
    }
}

/* Set s->cv_row of training participants of this rank with unchanged data, unless
 * {training_rows=plain}, and s->changed of the others. */
static void choose_stored(const own_participants *own, kn_scores *s)
{
    for (ptrdiff_t i = own->range.first; i < own->range.last; i++) {
        s->cv_row[i] = -1;
        s->changed[i] = 0;
        if (s->training[i] < 0 || s->s->training_rows == KN_TRAINING_PLAIN)
            continue;
        ptrdiff_t t = kn_reference_row(&s->model->reference, s->training[i]);
        if (t < 0 || !s->model->reference.z)
            continue;
        bool same_y = same_responses(s->model, own->p->Y, i, t);
        bool same_x = same_covariates(s->model, own->p, own->X, i, s->training[i]);
        s->changed[i] = (same_y ? 0 : KN_CHANGED_RESPONSES) | (same_x ? 0 : KN_CHANGED_COVARIATES);
        if (!s->changed[i])
            s->cv_row[i] = t;
    }
}

/* Sum the matches over ranks; entries of other ranks' participants are 0. Collective. */
static kn_status exchange_matches(kn_ctx *ctx, kn_scores *s)
{
    kn_status status;
    double *all = NULL;
    KN_TRY(kn_alloc_d(ctx, 3 * s->n, &all));
    for (ptrdiff_t i = 0; i < s->n; i++) {
        all[3 * i] = (double)s->training[i];
        all[3 * i + 1] = (double)s->cv_row[i];
        all[3 * i + 2] = s->changed[i];
    }
    KN_TRY(kn_comm_sum(ctx, all, 3 * s->n));
    for (ptrdiff_t i = 0; i < s->n; i++) {
        s->training[i] = (ptrdiff_t)all[3 * i];
        s->cv_row[i] = (ptrdiff_t)all[3 * i + 1];
        s->changed[i] = (int)all[3 * i + 2];
    }
out:
    kn_free(all);
    return status;
}

void kn_match_training_log(kn_ctx *ctx, kn_scores *s)
{
    ptrdiff_t responses = 0, covariates = 0;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        responses += (s->changed[i] & KN_CHANGED_RESPONSES) != 0;
        covariates += (s->changed[i] & KN_CHANGED_COVARIATES) != 0;
        s->n_changed += s->changed[i] != 0;
    }
    if (s->n_changed > 0)
        kn_log(ctx, KN_LOG_WARNING, "%td %s, but other responses (%td) or covariates (%td); %s",
               s->n_changed,
               s->n_changed == 1 ? "participant has the ID of a training participant"
                                 : "participants have IDs of training participants",
               responses, covariates,
               s->n_changed == 1
                   ? "this participant is scored as new, with z-scores that are too small if it is "
                     "the training participant"
                   : "they are scored as new, with z-scores that are too small if they are the "
                     "training participants");
}

kn_status kn_match_training(kn_ctx *ctx, kn_scores *s, const kn_sample *p)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    own_participants own = {.p = p, .range = kn_sample_range_of(p->n, c->rank, c->size)};
    kn_view raw = kn_view_cols(p->X.data, p->n, p->X.cols);
    KN_TRY(kn_mat_new(ctx, p->n, s->model->x.F, &own.X));
    KN_TRY(kn_design_apply(ctx, &s->model->x, raw, true, own.X, NULL));
    if (s->model->deidentified && p->id)
        kn_log(ctx, KN_LOG_INFO,
               "the model is de-identified, so its training participants are scored as new and "
               "their z-scores are too small");
    find_training(s->model, &own, s);
    choose_stored(&own, s);
    KN_TRY(exchange_matches(ctx, s));
    for (ptrdiff_t i = 0; i < s->n; i++)
        s->in_training[i] = s->training[i] >= 0;
    kn_match_training_log(ctx, s);
out:
    kn_mat_clear(&own.X);
    return status;
}

/* KN_ERR_DATA: every row has the label, so there are no others. */
static kn_status refuse_all_labelled(kn_ctx *ctx, const char *label)
{
    return kn_fail(ctx, KN_ERR_DATA,
                   "every row has %s, so there are no other participants to compare with", label);
}

kn_status kn_match_training_check(kn_ctx *ctx, const kn_settings *s, const kn_data *data,
                                  const kn_sample *everybody)
{
    kn_status status;
    bool *abnormal = NULL;
    ptrdiff_t normal = 0;
    if (!s->cases)
        return KN_OK;
    KN_TRY(kn_alloc_bool(ctx, everybody->n, &abnormal));
    KN_TRY(kn_sample_flag(ctx, data, everybody, "cases", s->cases, abnormal));
    for (ptrdiff_t i = 0; i < everybody->n; i++)
        normal += !abnormal[i];
    if (normal == 0)
        status = refuse_all_labelled(ctx, s->cases);
out:
    kn_free(abnormal);
    return status;
}

kn_status kn_match_training_groups(kn_ctx *ctx, kn_scores *s, const kn_data *data,
                                   const kn_sample *participants)
{
    kn_status status = KN_OK;
    const char *label = s->s->cases, *reference = s->s->reference;
    ptrdiff_t normal = 0;
    if (label)
        KN_TRY(kn_sample_flag(ctx, data, participants, "cases", label, s->abnormal));
    s->labelled = label != NULL;
    s->loo = strcmp(reference, "loo") == 0;
    if (s->loo && !s->model->reference.has_loo_gev) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s has no leave-one-out reference; use {reference=cv} or COLUMN=VALUE",
                         s->s->model ? s->s->model : "the model");
        goto out;
    }
    if (!s->loo && strcmp(reference, "cv") != 0) {
        KN_TRY(kn_alloc_bool(ctx, s->n, &s->normals));
        KN_TRY(kn_sample_flag(ctx, data, participants, "reference", reference, s->normals));
    }
    for (ptrdiff_t i = 0; i < s->n; i++) {
        s->use[i] = !s->abnormal[i];
        s->measured[i] = s->use[i] && s->cv_row[i] < 0;
        normal += s->use[i];
    }
    if (label && normal == 0 && participants->n_other == 0)
        status = refuse_all_labelled(ctx, label);
out:
    return status;
}
