/* Implements p_values.h: for each statistic, sorts the reference values and looks up tail
 * probabilities (stats/tail_probability.h). */
#include "commands/score/p_values.h"

#include <math.h>
#include <stdio.h>

#include "stats/gev_fit.h"
#include "stats/sort_select.h"
#include "stats/tail_probability.h"

/* Statistics with a p-value. */
enum { TOP, DEVIANCE, DEVIANCE_NOISE, MEAN_Z, NEGATIVE, POSITIVE, KINDS };

typedef struct kind {
    double *value, *p;       /* per scored participant */
    const double *reference; /* per reference participant; NULL: unknown */
    bool both_sides;         /* two-sided: |value| is compared */
} kind;

/* Lists values, outputs and reference of each statistic. */
static void list_kinds(const kn_scores *s, kind k[KINDS])
{
    const kn_reference *r = &s->model->reference;
    const kn_deviance *d = &r->deviance, *noise = &r->deviance_noise;
    k[TOP] = (kind){s->statistic, s->p_upper, s->loo ? r->loo_statistic : r->statistic, false};
    k[DEVIANCE] = (kind){s->deviance, s->deviance_p, r->has_deviance ? d->ref : NULL, false};
    k[DEVIANCE_NOISE] =
        (kind){s->deviance_noise, s->deviance_noise_p, r->has_deviance ? noise->ref : NULL, false};
    const double *mean_z = r->mean_z || !s->counted ? r->mean_z : s->counted + 2 * r->n;
    k[MEAN_Z] = (kind){s->mean_z, s->mean_z_p, mean_z, true};
    k[NEGATIVE] = (kind){s->negative, s->negative_p, s->counted ? s->counted : r->negative, false};
    k[POSITIVE] =
        (kind){s->positive, s->positive_p, s->counted ? s->counted + r->n : r->positive, false};
}

static double size_of(const kind *k, double value)
{
    return k->both_sides ? fabs(value) : value;
}

/* Collects and sorts the reference values: of the model's reference, or of the rows named by
 * {reference}. */
static void gather(const kn_scores *s, const kind *k, kn_tail_p_reference *law, double *sorted)
{
    const kn_reference *r = &s->model->reference;
    ptrdiff_t n = s->normals ? s->n : r->n;
    law->n = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double value = s->normals ? k->value[i] : k->reference ? k->reference[i] : NAN;
        if (isfinite(value) && (!s->normals || s->normals[i]))
            sorted[law->n++] = size_of(k, value);
    }
    kn_sort(sorted, law->n);
    law->sorted = sorted;
    law->units = s->normals ? law->n : r->units;
}

/* Fits a GEV distribution to the rows named by {reference}, if there are enough. */
static kn_status own_law(kn_ctx *ctx, kn_scores *s, kn_tail_p_reference *law)
{
    kn_gev_estimate e;
    char why[512];
    s->has_gev = false;
    if (law->n == 0)
        return kn_fail(ctx, KN_ERR_DATA, "{reference=%s}: none of these rows has a statistic",
                       s->s->reference);
    if (law->n >= KN_GEV_FROM && s->model->gp.T > 1) {
        kn_status status = kn_gev_fit(ctx, law->sorted, law->n, &e);
        if (status != KN_OK) {
            snprintf(why, sizeof why, "%s", kn_message(ctx));
            return kn_fail(ctx, status, "{reference=%s}: %s", s->s->reference, why);
        }
        s->has_gev = true;
        s->gev = e.gev;
    }
    law->has_gev = s->has_gev;
    law->gev = s->gev;
    return KN_OK;
}

/* True if participant i is part of its own reference. */
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
    return s->cv_row[i] >= 0 || !(s->standing->group && s->standing->group[i] >= 0);
}

/* Lower bound of p for participants at unknown sites; 0 for others. Without bound if reference rows
 * are named, since they may be of that site. */
static double least_of(const kn_scores *s, ptrdiff_t i)
{
    const kn_site_lookup *from = &s->standing->from;
    bool unseen = !s->normals && from->alone && from->alone[i] && from->adapted[i] < 0;
    return unseen ? kn_tail_p_least_unseen(s->model->sites.S) : 0;
}

/* Sets the p-values of one statistic. */
static void judge(kn_scores *s, const kind *k, bool top, const kn_tail_p_reference *law)
{
    for (ptrdiff_t i = 0; i < s->n; i++) {
        kn_tail_p r = {NAN, KN_TAIL_P_PLAIN};
        if (has_reference(s, i))
            r = kn_tail_p_bounded(kn_tail_p_of(law, size_of(k, k->value[i]), is_member(s, top, i)),
                                  least_of(s, i));
        k->p[i] = r.p;
        if (!top)
            continue;
        s->p_note[i] = r.note;
        s->probability[i] = 1 - r.p;
    }
}

/* Counts and logs the participants with bounded p. */
static void tell_unseen(kn_ctx *ctx, kn_scores *s)
{
    ptrdiff_t n = 0;
    s->least_unseen = 0;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        double own = least_of(s, i);
        n += own > 0;
        s->least_unseen = fmax(s->least_unseen, own);
    }
    if (n > 0)
        kn_log(ctx, KN_LOG_INFO,
               "no p of %td %s at sites that training did not have is below %.2g: what a site does "
               "to a map is known from %d sites",
               n, n == 1 ? "person" : "people", s->least_unseen, s->model->sites.S);
}

kn_status kn_scores_p_values(kn_ctx *ctx, kn_scores *s)
{
    kn_status status = KN_OK;
    const kn_reference *r = &s->model->reference;
    kind k[KINDS];
    double *sorted = NULL;
    list_kinds(s, k);
    s->has_gev = s->loo ? r->has_loo_gev : r->has_gev;
    s->gev = s->loo ? r->loo_gev : r->gev;
    KN_TRY(kn_alloc_d(ctx, s->normals ? s->n : r->n, &sorted));
    for (int i = 0; i < KINDS; i++) {
        kn_tail_p_reference law = {.has_gev = i == TOP && s->has_gev, .gev = s->gev};
        gather(s, &k[i], &law, sorted);
        if (i == TOP && s->normals)
            KN_TRY(own_law(ctx, s, &law));
        if (i == TOP)
            s->smallest_p = law.n > 0 ? kn_tail_p_smallest(&law) : NAN;
        judge(s, &k[i], i == TOP, &law);
    }
    tell_unseen(ctx, s);
out:
    kn_free(sorted);
    return status;
}

const char *kn_p_note_name(double note)
{
    return note == KN_TAIL_P_BOUND ? "bound" : note == KN_TAIL_P_ROUGH ? "rough" : "n/a";
}
