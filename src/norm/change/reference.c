/* Implements reference.h of this folder: one fit to all pairs, and one fit without each
 * participant. A participant of the reference is judged by the others alone. */
#include "norm/change/reference.h"

#include <math.h>
#include <string.h>

#include "norm/metrics/burden.h"
#include "norm/metrics/extreme_statistic.h"
#include "stats/order_statistics.h"
#include "stats/p_values.h"

const char *const kn_change_column[KN_CHANGE_VALUES] = {"extreme_z", "mean_z", "n_low", "n_high",
                                                        "mean_z2"};

void kn_change_reference_clear(kn_change_reference *r)
{
    kn_change_distribution_clear(&r->distribution);
    for (int k = 0; k < KN_CHANGE_VALUES; k++)
        kn_free(r->sorted[k]);
    kn_free(r->interval_name);
    *r = (kn_change_reference){0};
}

ptrdiff_t kn_change_describe(const float *z, ptrdiff_t T, const kn_change_reference *r,
                             double *work, double value[KN_CHANGE_VALUES])
{
    double squares = 0;
    kn_burden b = kn_burden_row(z, T, r->threshold, r->top, work);
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(z[j]))
            squares += (double)z[j] * (double)z[j];
    value[KN_CHANGE_EXTREME_Z] = kn_extreme_f(z, 1, T, r->top, work);
    value[KN_CHANGE_MEAN_Z] = b.mean_z;
    value[KN_CHANGE_N_LOW] = b.negative;
    value[KN_CHANGE_N_HIGH] = b.positive;
    value[KN_CHANGE_MEAN_Z2] = b.n > 0 ? squares / (double)b.n : NAN;
    return b.n;
}

/* Copy n floats to doubles. */
static void copy_to_doubles(const float *x, ptrdiff_t n, double *out)
{
    for (ptrdiff_t j = 0; j < n; j++)
        out[j] = (double)x[j];
}

void kn_change_pair_z(const kn_change_distribution *distribution, const double *noise,
                      const float *r1, const float *r2, double *work, float *z)
{
    ptrdiff_t T = distribution->T;
    double *a = work, *b = work + T, *out = work + 2 * T;
    copy_to_doubles(r1, T, a);
    copy_to_doubles(r2, T, b);
    kn_change_z(distribution, noise, a, b, out);
    for (ptrdiff_t j = 0; j < T; j++)
        z[j] = (float)out[j];
}

/* ---- all participants, and all but one ------------------------------------------------------ */

typedef struct job {
    const kn_change_pairs *p;
    const double *noise;
    kn_mat value;
    const kn_change_sink *sink; /* may be NULL */
    float *z;                   /* T, of one pair */
    double *work;               /* 3 T */
    kn_change_reference *r;
} job;

/* The standardised residuals (T) of one visit. */
static const float *residuals_of_visit(const kn_change_pairs *p, ptrdiff_t row)
{
    return p->R + row * p->T;
}

/* One past the last pair of the participant to whom pair i belongs. */
static ptrdiff_t find_end_of_participant(const kn_change_pairs *p, ptrdiff_t i)
{
    ptrdiff_t k = i + 1;
    while (k < p->n && p->participant[k] == p->participant[i])
        k++;
    return k;
}

/* True if pair i belongs to the reference, not only to those that are scored. */
static bool in_reference(const kn_change_pairs *p, ptrdiff_t i)
{
    return !p->excluded || !p->excluded[i];
}

/* Add (sign 1) or remove (sign -1) the k pairs from .. end - 1 of one participant, as far as they
 * belong to the reference, with weight 1/k each. */
static void add_participant(const job *w, ptrdiff_t from, ptrdiff_t end, double sign,
                            kn_change_sums *s)
{
    const kn_change_pairs *p = w->p;
    double n = 0;
    for (ptrdiff_t i = from; i < end; i++)
        n += in_reference(p, i);
    for (ptrdiff_t i = from; i < end; i++) {
        if (!in_reference(p, i))
            continue;
        copy_to_doubles(residuals_of_visit(p, p->first[i]), p->T, w->work);
        copy_to_doubles(residuals_of_visit(p, p->second[i]), p->T, w->work + p->T);
        kn_change_sums_add(s, w->work, w->work + p->T, sign / n);
    }
}

/* Score the pairs from .. end - 1 of one participant under a distribution fitted without them:
 * statistics into w->value, z to the sink. all: sums of all pairs; s is overwritten. */
static kn_status leave_out(kn_ctx *ctx, const job *w, const kn_change_sums *all, ptrdiff_t from,
                           ptrdiff_t end, kn_change_sums *s)
{
    const kn_change_pairs *p = w->p;
    kn_change_distribution distribution = {0};
    double value[KN_CHANGE_VALUES];
    kn_mat_set(s->of, all->of);
    add_participant(w, from, end, -1, s);
    kn_status status = kn_change_fit(ctx, s, w->noise, w->r->distribution.conditional,
                                     KN_CHANGE_MIN - 1, &distribution);
    for (ptrdiff_t i = from; status == KN_OK && i < end; i++) {
        float *z = w->z;
        kn_change_pair_z(&distribution, w->noise, residuals_of_visit(p, p->first[i]),
                         residuals_of_visit(p, p->second[i]), w->work, z);
        for (ptrdiff_t j = 0; j < p->T; j++)
            if (!(w->r->distribution.q[j] > 0)) /* new participants have no z here either */
                z[j] = NAN;
        kn_change_describe(z, p->T, w->r, w->work, value);
        for (int k = 0; k < KN_CHANGE_VALUES; k++)
            kn_col(w->value, k)[i] = value[k];
        if (w->sink)
            status = w->sink->take(w->sink->self, ctx, i, z);
    }
    kn_change_distribution_clear(&distribution);
    return status;
}

/* Set r->sorted: each statistic of the pairs that belong to the reference, ascending; of mean_z the
 * absolute value. */
static kn_status sort_values(kn_ctx *ctx, const job *w)
{
    kn_status status = KN_OK;
    kn_change_reference *r = w->r;
    for (int k = 0; k < KN_CHANGE_VALUES; k++) {
        const double *x = kn_col(w->value, k);
        KN_TRY(kn_alloc_d(ctx, w->p->n, &r->sorted[k]));
        for (ptrdiff_t i = 0; i < w->p->n; i++)
            if (isfinite(x[i]) && in_reference(w->p, i))
                r->sorted[k][r->n[k]++] = k == KN_CHANGE_MEAN_Z ? fabs(x[i]) : x[i];
        kn_sort(r->sorted[k], r->n[k]);
    }
out:
    return status;
}

kn_status kn_change_reference_make(kn_ctx *ctx, const kn_change_pairs *p, const double *noise,
                                   kn_mat value, const kn_change_sink *sink, kn_change_reference *r)
{
    kn_status status;
    kn_change_sums all = {0}, others = {0};
    job w = {.p = p, .noise = noise, .value = value, .sink = sink, .r = r};
    KN_TRY(kn_change_sums_new(ctx, p->T, &all));
    KN_TRY(kn_change_sums_new(ctx, p->T, &others));
    KN_TRY(kn_alloc_d(ctx, 3 * p->T, &w.work));
    KN_TRY(kn_alloc_f(ctx, p->T, &w.z));
    r->participants = 0;
    r->pairs = 0;
    for (ptrdiff_t i = 0; i < p->n; i++)
        r->pairs += in_reference(p, i);
    for (ptrdiff_t i = 0, end; i < p->n; i = end, r->participants++) {
        end = find_end_of_participant(p, i);
        add_participant(&w, i, end, 1, &all);
    }
    KN_TRY(kn_change_fit(ctx, &all, noise, r->participants >= KN_CHANGE_CONDITIONAL, KN_CHANGE_MIN,
                         &r->distribution));
    for (ptrdiff_t i = 0, end; i < p->n; i = end) {
        end = find_end_of_participant(p, i);
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(leave_out(ctx, &w, &all, i, end, &others));
        kn_report_progress(ctx, "reference", end, p->n, NAN);
    }
    KN_TRY(sort_values(ctx, &w));
out:
    kn_change_sums_clear(&all);
    kn_change_sums_clear(&others);
    kn_free(w.work);
    kn_free(w.z);
    return status;
}

double kn_change_smallest_p(const kn_change_reference *r, kn_change_value which)
{
    return fmax(kn_tail_p_min(r->participants), 1 / ((double)r->n[which] + 1));
}

kn_status kn_change_reference_deidentify(kn_ctx *ctx, kn_change_reference *r)
{
    kn_status status = KN_OK;
    for (int k = 0; k < KN_CHANGE_VALUES && status == KN_OK; k++) {
        kn_quantiles q;
        bool whole = k == KN_CHANGE_N_LOW || k == KN_CHANGE_N_HIGH;
        status = kn_quantiles_new(ctx, r->sorted[k], r->n[k], &q);
        if (status != KN_OK)
            break;
        r->n[k] = q.K > 0 ? q.n : 0;
        if (r->n[k] > 0)
            kn_quantiles_spread(&q, whole, r->sorted[k]);
        kn_quantiles_clear(&q);
    }
    return status;
}

double kn_change_p(const kn_change_reference *r, kn_change_value which, double value,
                   const double *own, ptrdiff_t n_own)
{
    ptrdiff_t n = r->n[which];
    if (which == KN_CHANGE_MEAN_Z)
        value = fabs(value);
    if (!isfinite(value))
        return NAN;
    ptrdiff_t above = n - kn_count_below(r->sorted[which], n, value, 0);
    for (ptrdiff_t i = 0; i < n_own; i++)
        if (isfinite(own[i])) {
            above -= (which == KN_CHANGE_MEAN_Z ? fabs(own[i]) : own[i]) >= value;
            n--;
        }
    if (n < 1)
        return NAN;
    double p = (double)(1 + above) / (double)(n + 1);
    return fmax(p, kn_tail_p_min(r->participants - (n_own > 0)));
}
