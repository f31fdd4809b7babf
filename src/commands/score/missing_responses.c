/* p-values of participants with missing responses [METHOD 8]: their statistics are compared with
 * those of the reference maps z_cv over the same responses J, extreme_z with a GEV fit of its own.
 * Deviances of the reference are ref_i ratio_i(J) [norm/deviance/restricted.h].  Cost per J: n T,
 * and 12 n K T flops. */
#include <math.h>
#include <string.h>

#include "base/parallel/parallel_for.h"
#include "commands/score/internal.h"
#include "gp/assign_folds.h"
#include "gp/method.h"
#include "norm/deviance/restricted.h"
#include "norm/metrics/burden.h"
#include "norm/metrics/extreme_statistic.h"
#include "stats/gev.h"
#include "stats/order_statistics.h"
#include "stats/p_values.h"

/* Share of the responses from which p-values are given without reference maps. */
static const double NEARLY_ALL = 0.95;

/* ---- which comparison ---- */

/* True for the two statistics that are whole-map deviances. */
static bool is_deviance(int kind)
{
    return kind == KN_P_DEVIANCE || kind == KN_P_DEVIANCE_NOISE;
}

/* True if the reference values of this statistic can be made for any set of responses. */
static bool has_maps(const kn_scores *s, int kind)
{
    const kn_reference *r = &s->model->reference;
    bool loo = kind == KN_P_EXTREME && s->loo;
    bool own = is_deviance(kind) && (r->own_deviance || !r->has_deviance);
    return r->z && !s->normals && !loo && !own;
}

kn_p_basis kn_p_basis_of(const kn_scores *s, int kind, ptrdiff_t i)
{
    const kn_reference *r = &s->model->reference;
    double T = (double)s->model->gp.T, n = s->n_responses[i];
    bool none = !s->normals && (r->n == 0 || (is_deviance(kind) && !r->has_deviance));
    if (n >= T || !(n > 0) || none)
        return KN_P_ALL_RESPONSES;
    if (2 * n < T)
        return KN_P_TOO_FEW;
    if (has_maps(s, kind))
        return KN_P_SAME_RESPONSES;
    return n < NEARLY_ALL * T ? KN_P_NO_MAPS : KN_P_ALL_RESPONSES;
}

/* ---- reference over a set of responses ---- */

/* Reference values over the responses that one participant has. */
struct kn_restricted_reference {
    const kn_scores *s;
    const kn_reference *r;
    ptrdiff_t n, T, present;   /* present: responses that are not missing */
    bool *missing;             /* T: responses in use that the participant lacks */
    double *value[KN_P_KINDS]; /* n each; NaN: not known */
    double *sorted;            /* n: work space */
    double *ratio; /* n: of deviances over these responses and over all; NULL: without */
    kn_restricted_deviance deviance;
    int *fold;        /* n, of the deviance */
    ptrdiff_t *order; /* n: the reference in canonical order; NULL: by index */
    kn_gev gev;
    bool has_gev, made; /* made: the values are those of `missing` */
};
typedef struct kn_restricted_reference restricted;

void kn_restricted_free(restricted *w)
{
    if (!w)
        return;
    kn_free(w->missing);
    kn_free(w->sorted);
    kn_free(w->ratio);
    kn_free(w->fold);
    kn_free(w->order);
    kn_restricted_deviance_clear(&w->deviance);
    for (int k = 0; k < KN_P_KINDS; k++)
        kn_free(w->value[k]);
    kn_free(w);
}

/* Assign the reference participants to folds (w->fold, *folds), in which groups of repeated
 * measures stay together. */
static kn_status deal_folds(kn_ctx *ctx, restricted *w, int *folds)
{
    kn_status status;
    int *group = NULL;
    const kn_model *m = w->s->model;
    const kn_groups *g = &m->gp.latent.groups;
    ptrdiff_t n = 0;
    KN_TRY(kn_alloc_int(ctx, w->n, &w->fold));
    if (g->n > 0)
        KN_TRY(kn_alloc_int(ctx, w->n, &group));
    for (ptrdiff_t i = 0; group && i < w->n; i++)
        group[i] = (int)g->of[w->r->sample ? w->r->sample[i] : i];
    if (m->row_order)
        KN_TRY(kn_alloc_i(ctx, w->n, &w->order));
    for (ptrdiff_t k = 0; w->order && k < m->info.n_samples; k++) {
        ptrdiff_t i = kn_reference_row(w->r, m->row_order[k]);
        if (i >= 0)
            w->order[n++] = i;
    }
    *folds = KN_RESTRICTED_FOLDS;
    KN_TRY(kn_folds_assign(ctx, w->n, group, w->order, m->seed, folds, w->fold));
out:
    kn_free(group);
    return status;
}

/* Prepare the ratios of deviances over a set of responses and over all; with fewer than two folds
 * there are none. */
static kn_status learn_deviance(kn_ctx *ctx, restricted *w)
{
    kn_status status;
    int folds;
    KN_TRY(kn_alloc_d(ctx, w->n, &w->ratio));
    KN_TRY(deal_folds(ctx, w, &folds));
    kn_restricted_source source = {.z = w->r->z,
                                   .n = w->n,
                                   .T = w->T,
                                   .K = w->r->deviance.K,
                                   .fold = w->fold,
                                   .folds = folds,
                                   .order = w->order};
    KN_TRY(kn_restricted_deviance_new(ctx, &source, &w->deviance));
out:
    return status;
}

/* Allocate s->restricted, and make what does not depend on the set of responses. */
static kn_status restricted_new(kn_ctx *ctx, kn_scores *s)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_alloc(ctx, 1, sizeof(restricted), &memory));
    restricted *w = s->restricted = memory;
    w->s = s;
    w->r = &s->model->reference;
    w->n = w->r->n;
    w->T = s->model->gp.T;
    KN_TRY(kn_alloc_bool(ctx, w->T, &w->missing));
    KN_TRY(kn_alloc_d(ctx, w->n, &w->sorted));
    for (int k = 0; k < KN_P_KINDS; k++)
        if (has_maps(s, k))
            KN_TRY(kn_alloc_d(ctx, w->n, &w->value[k]));
    if (w->value[KN_P_DEVIANCE])
        KN_TRY(learn_deviance(ctx, w));
out:
    return status;
}

typedef struct row_job {
    restricted *w;
    float *row;   /* T per worker */
    double *work; /* T per worker */
} row_job;

/* Worker: statistics of reference rows from .. end - 1 over the responses that are not missing; NaN
 * if a row has fewer than half of them. */
static void restrict_rows(void *self, int worker, ptrdiff_t from, ptrdiff_t end)
{
    const row_job *job = self;
    restricted *w = job->w;
    float *row = job->row + worker * w->T;
    double *work = job->work + worker * w->T;
    for (ptrdiff_t i = from; i < end; i++) { /* statistics of rows with few of them are unknown */
        memcpy(row, w->r->z + i * w->T, (size_t)w->T * sizeof *row);
        for (ptrdiff_t j = 0; j < w->T; j++)
            if (w->missing[j])
                row[j] = NAN;
        kn_burden b = kn_burden_row(row, w->T, w->s->s->threshold, w->r->top, work);
        bool few = 2 * b.n < w->present;
        w->value[KN_P_MEAN_Z][i] = few ? NAN : b.mean_z;
        w->value[KN_P_LOW][i] = few ? NAN : b.negative;
        w->value[KN_P_HIGH][i] = few ? NAN : b.positive;
        if (w->value[KN_P_EXTREME])
            w->value[KN_P_EXTREME][i] = few ? NAN : kn_extreme_f(row, 1, w->T, w->r->top, work);
    }
}

/* Copy the finite reference values of a statistic, as |value| if two-sided, to w->sorted,
 * ascending; returns their number. own: the value of the participant, who is row t of the reference
 * (-1: none). */
static ptrdiff_t sort_values(restricted *w, int kind, ptrdiff_t t, double own)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < w->n; i++) {
        double value = i == t ? own : w->value[kind][i];
        if (isfinite(value))
            w->sorted[n++] = kind == KN_P_MEAN_Z ? fabs(value) : value;
    }
    kn_sort(w->sorted, n);
    return n;
}

/* Fit a GEV to extreme_z of the restricted reference, if the model has one; if it fails, p-values
 * are ranks. */
static kn_status fit_extremes(kn_ctx *ctx, restricted *w)
{
    kn_gev_estimate e = {0};
    w->has_gev = false;
    if (!w->value[KN_P_EXTREME] || !w->r->has_gev)
        return KN_OK;
    ptrdiff_t n = sort_values(w, KN_P_EXTREME, -1, NAN);
    kn_status status = n < KN_GEV_FROM ? KN_ERR_DATA : kn_gev_fit(ctx, w->sorted, n, &e);
    w->has_gev = status == KN_OK;
    w->gev = e.gev;
    return status == KN_ERR_DATA || status == KN_ERR_NUMERIC ? KN_OK : status;
}

/* Make the reference values of all statistics over the responses that are not in w->missing. */
static kn_status restrict_reference(kn_ctx *ctx, restricted *w)
{
    kn_status status;
    int workers = kn_workers(ctx, w->n, 1);
    void *rows = NULL;
    w->made = false;
    row_job job = {.w = w};
    KN_TRY(kn_alloc(ctx, workers * w->T, sizeof(float), &rows));
    job.row = rows;
    KN_TRY(kn_alloc_d(ctx, workers * w->T, &job.work));
    kn_parallel_workers(ctx, w->n, 1, restrict_rows, &job);
    if (w->ratio)
        KN_TRY(kn_restricted_deviance_ratio(ctx, &w->deviance, w->missing, w->ratio));
    for (ptrdiff_t i = 0; w->ratio && i < w->n; i++) {
        w->value[KN_P_DEVIANCE][i] = w->ratio[i] * w->r->deviance.ref[i];
        w->value[KN_P_DEVIANCE_NOISE][i] = w->ratio[i] * w->r->deviance_noise.ref[i];
    }
    KN_TRY(fit_extremes(ctx, w));
    w->made = true;
out:
    kn_free(job.work);
    kn_free(rows);
    return status;
}

/* ---- participants ---- */

/* True if a map z (all responses of the file) lacks response j of those in use. */
static bool lacks_response(const restricted *w, const float *z, ptrdiff_t j)
{
    return !isfinite(z[w->s->model->y.kept[j]]);
}

/* Set w->missing and w->present, the set of missing responses, by map z. */
static void set_pattern(restricted *w, const float *z)
{
    w->present = 0;
    for (ptrdiff_t j = 0; j < w->T; j++) {
        w->missing[j] = lacks_response(w, z, j);
        w->present += !w->missing[j];
    }
}

/* True if map z lacks exactly the responses in w->missing. */
static bool same_pattern(const restricted *w, const float *z)
{
    bool same = true;
    for (ptrdiff_t j = 0; j < w->T && same; j++)
        same = w->missing[j] == lacks_response(w, z, j);
    return same;
}

/* Set the p-values of participant i that are made from the restricted reference. */
static void set_restricted_p(kn_scores *s, restricted *w, ptrdiff_t i)
{
    for (int k = 0; k < KN_P_KINDS; k++) {
        kn_p_column c = kn_p_column_of(s, k);
        if (kn_p_basis_of(s, k, i) != KN_P_SAME_RESPONSES)
            continue;
        kn_tail_p_reference distribution = {.has_gev = k == KN_P_EXTREME && w->has_gev,
                                            .gev = w->gev,
                                            .units = w->r->units,
                                            .sorted = w->sorted};
        distribution.n = sort_values(w, k, s->cv_row[i], c.value[i]);
        kn_tail_p p = kn_p_of(s, k, i, &distribution);
        c.p[i] = p.p;
        if (k == KN_P_EXTREME)
            s->p_note[i] = p.note;
    }
}

/* True if any p-value of participant i is made from the restricted reference. */
static bool is_restricted(const kn_scores *s, ptrdiff_t i)
{
    bool any = false;
    for (int k = 0; k < KN_P_KINDS; k++)
        any = any || kn_p_basis_of(s, k, i) == KN_P_SAME_RESPONSES;
    return any;
}

kn_status kn_scores_p_incomplete(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                                 const float *z)
{
    kn_status status;
    bool *done = NULL;
    KN_TRY(kn_alloc_bool(ctx, rows, &done));
    for (ptrdiff_t k = 0; k < rows; k++) {
        if (done[k] || !is_restricted(s, row + k))
            continue;
        if (!s->restricted)
            KN_TRY(restricted_new(ctx, s));
        restricted *w = s->restricted;
        if (!w->made || !same_pattern(w, z + k * s->T)) {
            set_pattern(w, z + k * s->T);
            KN_TRY(restrict_reference(ctx, w));
        }
        for (ptrdiff_t l = k; l < rows; l++) /* participants with the same responses */
            if (s->n_responses[row + l] == s->n_responses[row + k] &&
                same_pattern(w, z + l * s->T)) {
                set_restricted_p(s, w, row + l);
                done[l] = true;
            }
    }
out:
    kn_free(done);
    return status;
}

/* ---- log ---- */

/* Why there are no reference maps, for the warning. */
static const char *why_no_maps(const kn_scores *s)
{
    const kn_reference *r = &s->model->reference;
    if (s->normals)
        return "{reference} names other reference rows than those of the model";
    if (s->loo)
        return "{reference=loo} has no maps";
    return r->z ? "the whole-map deviance of this method is known for complete maps only"
                : "the model keeps no cross-validated z-scores (see {strip_ids} and export)";
}

void kn_scores_warn_incomplete(kn_ctx *ctx, const kn_scores *s)
{
    ptrdiff_t few = 0, no_maps = 0;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        bool without = false;
        for (int k = 0; k < KN_P_KINDS; k++)
            without = without || kn_p_basis_of(s, k, i) == KN_P_NO_MAPS;
        few += kn_p_basis_of(s, KN_P_MEAN_Z, i) == KN_P_TOO_FEW;
        no_maps += without;
    }
    if (few > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td participants have fewer than half of the responses, so their p-values "
               "are n/a",
               few, s->n);
    if (no_maps > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td participants have fewer than 95%% of the responses, and %s, so their "
               "p-values are n/a",
               no_maps, s->n, why_no_maps(s));
}

void kn_scores_p_incomplete_need(kn_mem_plan *r, const kn_problem_size *s)
{
    ptrdiff_t n = s->train;
    if (!s->method || !kn_reference_keeps_z(n, s->T)) /* a join of parts, or no maps */
        return;
    kn_plan_alloc_d(r, KN_NEED_WORK, n, KN_P_KINDS + 4);
    kn_plan_alloc(r, KN_NEED_WORK, s->T, sizeof(bool));
    if (!s->method->own_deviance)
        kn_restricted_deviance_need(r, n, s->T, KN_DEVIANCE_MAX);
    kn_mem_usage mark = r->now;
    int workers = kn_workers_of(s->threads, n, 1);
    kn_plan_alloc(r, KN_NEED_WORK, workers * s->T, sizeof(float) + sizeof(double));
    kn_plan_free_to(r, mark);
}
