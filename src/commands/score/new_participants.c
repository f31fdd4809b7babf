/* Implements new_participants.h. Groups are found by their names, levels by their texts. */
#include "commands/score/new_participants.h"

#include <math.h>
#include <string.h>

#include "gp/method.h"
#include "io/file/path.h"

const char *kn_participant_status_column(const kn_settings *s, const kn_model *model)
{
    return s->known_groups ? model->group_column : NULL;
}

void kn_participant_status_clear(kn_participant_status *s)
{
    kn_free(s->group);
    kn_free(s->n_clamped);
    kn_free(s->unseen);
    kn_free(s->column);
    kn_site_lookup_clear(&s->from);
    *s = (kn_participant_status){0};
}

/* KN_ERR_ARGUMENT unless the model knows its groups by name or stimulus; KN_ERR_DATA if the
 * participants have no group. */
static kn_status check_groups(kn_ctx *ctx, const kn_settings *s, const kn_model *m,
                              const kn_sample *p)
{
    const char *name = s->model ? s->model : "the model";
    if (m->deidentified)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{known_groups} cannot be used, because %s is de-identified and has no training groups",
            name);
    if (m->gp.latent.groups.n == 0 && m->grouped)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{known_groups} cannot be used, because %s has no noise shared within groups", name);
    if (m->gp.latent.groups.n == 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{known_groups} cannot be used, because %s has no training groups", name);
    if (m->group_rule == KN_GROUP_STIMULI)
        return KN_OK;
    if (!m->group_name)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{known_groups} cannot be used, because %s was fitted with {strip_ids} and "
                       "contains no group names",
                       name);
    if (!p->group_text && p->n > 0) /* an empty job part has no rows to read */
        return kn_fail(ctx, KN_ERR_DATA,
                       "{known_groups} cannot be used, because these participants have no %s",
                       m->group_column && *m->group_column ? m->group_column : "IDs");
    return KN_OK;
}

/* Training group with this name; -1: none. */
static ptrdiff_t group_named(const kn_model *m, const char *text)
{
    for (ptrdiff_t g = 0; text && g < m->gp.latent.groups.n; g++)
        if (strcmp(m->group_name[g], text) == 0)
            return g;
    return -1;
}

/* Training group of repeated stimuli with the same design row as row i of X; -1: none. */
static ptrdiff_t same_stimulus(const kn_model *m, kn_mat X, ptrdiff_t i)
{
    const kn_latent *l = &m->gp.latent;
    for (ptrdiff_t g = 0; g < l->groups.n; g++) {
        ptrdiff_t t = l->groups.row[l->groups.start[g]], f = 0;
        while (f < X.cols && kn_at(X, i, f) == kn_at(l->X, t, f))
            f++;
        if (f == X.cols)
            return g;
    }
    return -1;
}

/* Set out->group, the training group of each participant, by name or for stimuli by the design row
 * X (n x F), and log their number. */
static kn_status find_groups(kn_ctx *ctx, const kn_model *m, const kn_sample *p, kn_mat X,
                             kn_participant_status *out)
{
    kn_status status = kn_alloc_i(ctx, out->n, &out->group);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < out->n; i++) {
        out->group[i] = m->group_rule == KN_GROUP_STIMULI ? same_stimulus(m, X, i)
                                                          : group_named(m, p->group_text[i]);
        out->n_known += out->group[i] >= 0;
    }
    bool none = m->gp.P == 0 && m->gp.method->components;
    kn_log(ctx, KN_LOG_INFO, "known training groups: %td of %td participants; %s", out->n_known,
           out->n,
           none ? "without components this changes nothing"
                : "their group effects are part of the prediction");
    return KN_OK;
}

bool kn_provenance_covariates_equal(const kn_model *m, kn_mat X, ptrdiff_t i, ptrdiff_t t)
{
    static const double SAME = 1e-6; /* in sd; tables may have been rewritten with fewer digits */
    kn_mat train = m->gp.latent.X;
    for (ptrdiff_t f = 0; train.data && f < X.cols; f++)
        if (!(fabs(kn_at(X, i, f) - kn_at(train, t, f)) <= SAME * (1 + fabs(kn_at(train, t, f)))))
            return false;
    return true;
}

/* Warn once per numeric covariate that was clamped, or has left its constant training value. */
static kn_status log_clamped(kn_ctx *ctx, const kn_model *m, const kn_participant_status *s)
{
    kn_status status = KN_OK;
    for (ptrdiff_t c = 0; c < m->x.C && status == KN_OK; c++) {
        const kn_design_column *k = &m->x.column[c];
        double low, high;
        char *name = NULL;
        if (s->column[c] == 0 || k->levels > 0) /* new levels were reported by the encoding */
            continue;
        if (m->encoding.n > 0)
            status = kn_encoding_x_name(ctx, &m->encoding, c, &name);
        if (status != KN_OK)
            break;
        kn_design_range(&m->x, c, &low, &high);
        if (k->constant)
            kn_log(ctx, KN_LOG_WARNING,
                   "%s of %td %s is not %g, the only value in the training sample; the model "
                   "ignores it",
                   name ? name : "a covariate", s->column[c],
                   s->column[c] == 1 ? "participant" : "participants", low);
        else
            kn_log(ctx, KN_LOG_WARNING,
                   "%s of %td %s is outside %g to %g (the training range, extended by half of it "
                   "at each end) and is clamped",
                   name ? name : "a covariate", s->column[c],
                   s->column[c] == 1 ? "participant" : "participants", low, high);
        kn_free(name);
    }
    return status;
}

/* Mark participants with new levels, which have code L [METHOD 0]. New sites do not count if
 * predictions leave the site out. */
static kn_status find_unseen(kn_ctx *ctx, const kn_model *m, kn_view raw,
                             kn_participant_status *out)
{
    void *memory;
    kn_status status = kn_alloc(ctx, out->n, sizeof *out->unseen, &memory);
    if (status != KN_OK)
        return status;
    out->unseen = memory;
    for (ptrdiff_t i = 0; i < out->n; i++) {
        out->unseen[i] = false;
        for (ptrdiff_t c = 0; c < m->x.C; c++)
            if (m->x.column[c].levels > 0 && kn_view_at(raw, i, c) >= m->x.column[c].levels) {
                bool site = m->x.column[c].batch && out->from.without_site[i];
                out->unseen[i] = out->unseen[i] || !site;
                out->n_clamped[i] -= site; /* predicted without site: not an extrapolation */
            }
    }
    return KN_OK;
}

kn_status kn_participant_status_new(kn_ctx *ctx, const kn_settings *s, const kn_model *m,
                                    const kn_data *data, const kn_sample *participants,
                                    kn_participant_status *out)
{
    kn_status status;
    kn_mat X = {0};
    kn_view raw = kn_view_cols(participants->X.data, participants->n, participants->X.cols);
    *out = (kn_participant_status){.n = participants->n};
    /* for {visit} unknown sites are fine: they cancel in the change */
    KN_TRY(kn_site_lookup_new(ctx, s, m, data, participants, s->visit != NULL, &out->from));
    KN_TRY(kn_alloc_int(ctx, out->n, &out->n_clamped));
    KN_TRY(kn_alloc_i(ctx, m->x.C, &out->column));
    KN_TRY(kn_mat_new(ctx, out->n, m->x.F, &X));
    KN_TRY(kn_design_apply(ctx, &m->x, raw, true, X, out->n_clamped));
    KN_TRY(kn_design_count_clamped(ctx, &m->x, raw, out->column));
    KN_TRY(find_unseen(ctx, m, raw, out));
    KN_TRY(log_clamped(ctx, m, out));
    kn_site_lookup_warn_ranges(ctx, &out->from, m, participants);
    if (s->known_groups) {
        KN_TRY(check_groups(ctx, s, m, participants));
        KN_TRY(find_groups(ctx, m, participants, X, out));
    }
out:
    kn_mat_clear(&X);
    if (status != KN_OK)
        kn_participant_status_clear(out);
    return status;
}
