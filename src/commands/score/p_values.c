/* P-values of participants: for each statistic, sorts the reference values and looks up tail
 * probabilities (stats/p_values.h). p_note marks p-values that are bounds or uncertain. */
#include "commands/score/internal.h"

#include <math.h>
#include <stdio.h>

#include "stats/flag.h"
#include "stats/gev.h"
#include "stats/order_statistics.h"
#include "stats/p_values.h"

kn_p_column kn_p_column_of(const kn_scores *s, int kind)
{
    const kn_reference *r = &s->model->reference;
    const kn_deviance *d = &r->deviance, *noise = &r->deviance_noise;
    const double *mean_z = r->mean_z || !s->counted ? r->mean_z : s->counted + 2 * r->n;
    const kn_p_column all[KN_P_KINDS] = {
        [KN_P_EXTREME] = {s->extreme_z, s->extreme_z_p, s->loo ? r->loo_statistic : r->statistic,
                          false},
        [KN_P_DEVIANCE] = {s->deviance, s->deviance_p, r->has_deviance ? d->ref : NULL, false},
        [KN_P_DEVIANCE_NOISE] = {s->deviance_noise, s->deviance_noise_p,
                                 r->has_deviance ? noise->ref : NULL, false},
        [KN_P_MEAN_Z] = {s->mean_z, s->mean_z_p, mean_z, true},
        [KN_P_LOW] = {s->n_low, s->n_low_p, s->counted ? s->counted : r->negative, false},
        [KN_P_HIGH] = {s->n_high, s->n_high_p, s->counted ? s->counted + r->n : r->positive, false},
    };
    return all[kind];
}

/* The value that is compared: its size if the statistic is two-sided. */
static double compared_size(const kn_p_column *k, double value)
{
    return k->both_sides ? fabs(value) : value;
}

/* Collect and sort the reference values of a statistic into sorted: of the model's reference, or of
 * the rows named by {reference}. */
static void sort_reference(const kn_scores *s, const kn_p_column *k,
                           kn_tail_p_reference *distribution, double *sorted)
{
    const kn_reference *r = &s->model->reference;
    ptrdiff_t n = s->normals ? s->n : r->n;
    distribution->n = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double value = s->normals ? k->value[i] : k->reference ? k->reference[i] : NAN;
        if (isfinite(value) && (!s->normals || s->normals[i]))
            sorted[distribution->n++] = compared_size(k, value);
    }
    kn_sort(sorted, distribution->n);
    distribution->sorted = sorted;
    distribution->units = s->normals ? distribution->n : r->units;
}

/* Fit a GEV distribution to the rows named by {reference}, if they are enough. KN_ERR_DATA if none
 * has a statistic. */
static kn_status set_reference_distribution(kn_ctx *ctx, kn_scores *s,
                                            kn_tail_p_reference *distribution)
{
    kn_gev_estimate e;
    char why[512];
    s->has_gev = false;
    if (distribution->n == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "none of the rows with {reference=%s} has an extreme_z; choose participants "
                       "with responses",
                       s->s->reference);
    if (distribution->n >= KN_GEV_FROM && s->model->gp.T > 1) {
        kn_status status = kn_gev_fit(ctx, distribution->sorted, distribution->n, &e);
        if (status != KN_OK) {
            snprintf(why, sizeof why, "%s", kn_message(ctx));
            return kn_fail(ctx, status, "{reference=%s}: %s", s->s->reference, why);
        }
        s->has_gev = true;
        s->gev = e.gev;
    }
    distribution->has_gev = s->has_gev;
    distribution->gev = s->gev;
    return KN_OK;
}

/* True if participant i is part of its own reference. top: for the extreme-value statistic. */
static bool is_member(const kn_scores *s, bool top, ptrdiff_t i)
{
    if (s->normals)
        return s->normals[i];
    return s->cv_row[i] >= 0 && !(top && s->loo); /* its z is the held-out z of the reference */
}

/* False for members of known groups, except training participants: their held-out z was made
 * without the group. */
static bool has_reference(const kn_scores *s, ptrdiff_t i)
{
    return s->cv_row[i] >= 0 || !(s->relation->group && s->relation->group[i] >= 0);
}

/* Lower bound of the p-values of participant i: above 0 only at an unknown site, since few sites
 * say how far sites differ. None if reference rows are named, since they may be of that site. */
static double lowest_p(const kn_scores *s, ptrdiff_t i)
{
    const kn_site_lookup *from = &s->relation->from;
    bool unseen =
        !s->normals && from->without_site && from->without_site[i] && from->adapted[i] < 0;
    return unseen ? kn_tail_p_min_unseen(s->model->sites.S) : 0;
}

kn_tail_p kn_p_of(const kn_scores *s, int kind, ptrdiff_t i,
                  const kn_tail_p_reference *distribution)
{
    kn_p_column c = kn_p_column_of(s, kind);
    if (!has_reference(s, i))
        return (kn_tail_p){NAN, KN_TAIL_P_PLAIN};
    kn_tail_p p = kn_tail_p_of(distribution, compared_size(&c, c.value[i]),
                               is_member(s, kind == KN_P_EXTREME, i));
    return kn_tail_p_bounded(p, lowest_p(s, i));
}

/* Set the p-values of one statistic for all participants, except those that are made from the
 * responses that the participant has. */
static void set_p_values(kn_scores *s, int kind, const kn_tail_p_reference *distribution)
{
    kn_p_column c = kn_p_column_of(s, kind);
    for (ptrdiff_t i = 0; i < s->n; i++) {
        kn_tail_p p = {NAN, KN_TAIL_P_MISSING};
        kn_p_basis basis = kn_p_basis_of(s, kind, i);
        if (basis == KN_P_SAME_RESPONSES)
            continue;
        if (basis == KN_P_ALL_RESPONSES)
            p = kn_p_of(s, kind, i, distribution);
        c.p[i] = p.p;
        if (kind == KN_P_EXTREME || p.note == KN_TAIL_P_MISSING)
            s->p_note[i] = p.note;
    }
}

/* Count and log the participants at unknown sites, whose p-values are bounded; sets
 * s->min_unseen. */
static void log_unseen(kn_ctx *ctx, kn_scores *s)
{
    ptrdiff_t n = 0;
    s->min_unseen = 0;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        double own = lowest_p(s, i);
        n += own > 0;
        s->min_unseen = fmax(s->min_unseen, own);
    }
    if (n > 0)
        kn_log(ctx, KN_LOG_INFO,
               "p-values of %td %s at new sites are at least %.2g, because site effects are known "
               "from only %d sites",
               n, n == 1 ? "participant" : "participants", s->min_unseen, s->model->sites.S);
}

kn_status kn_scores_p_values(kn_ctx *ctx, kn_scores *s)
{
    kn_status status = KN_OK;
    const kn_reference *r = &s->model->reference;
    double *sorted = NULL;
    const double *flag_p = kn_scores_participants(s, KN_FLAG_COLUMN);
    s->has_gev = s->loo ? r->has_loo_gev : r->has_gev;
    s->gev = s->loo ? r->loo_gev : r->gev;
    KN_TRY(kn_alloc_d(ctx, s->normals ? s->n : r->n, &sorted));
    for (int k = 0; k < KN_P_KINDS; k++) {
        kn_p_column c = kn_p_column_of(s, k);
        kn_tail_p_reference distribution = {.has_gev = k == KN_P_EXTREME && s->has_gev,
                                            .gev = s->gev};
        sort_reference(s, &c, &distribution, sorted);
        if (k == KN_P_EXTREME && s->normals)
            KN_TRY(set_reference_distribution(ctx, s, &distribution));
        if (k == KN_P_EXTREME)
            s->smallest_p = distribution.n > 0 ? kn_tail_p_smallest(&distribution) : NAN;
        set_p_values(s, k, &distribution);
        if (c.p == flag_p)
            s->flag_rate = kn_flag_rate((double)distribution.n);
    }
    log_unseen(ctx, s);
    kn_scores_warn_incomplete(ctx, s);
out:
    kn_free(sorted);
    return status;
}

const char *kn_p_note_name(double note)
{
    return note == KN_TAIL_P_BOUND     ? "bound"
           : note == KN_TAIL_P_ROUGH   ? "rough"
           : note == KN_TAIL_P_MISSING ? "missing"
                                       : "n/a";
}
