/* Implements metrics.h. Sums are added over minibatches and ranks before metrics are computed from
 * them. */
#include "norm/metrics/metrics.h"

#include <assert.h>
#include <math.h>

#include "base/parallel/parallel_for.h"
#include "gp/zscore.h"

const char *const kn_metric_name[KN_N_METRICS] = {"R2",   "rho",  "rho2", "RMSE", "SMSE",
                                                  "EXPV", "MSLL", "gain", "z2"};

typedef struct job {
    const kn_measured *m;
    kn_metric_sums *sums; /* NULL: write metrics to `out` */
    kn_mat out;
} job;

/* z^2 and log loss (without 1/2 ln 2pi) of one cell. */
typedef struct scored_value {
    double z2, loss;
} scored_value;

/* Update the sums of one response by one participant (Welford 1962): y, its predicted mean m, z^2
 * and loss in `scored`, mean0 and var0 of the trivial model. */
static void add_sample(kn_metric_sums *s, double y, double m, scored_value scored, double mean0,
                       double var0)
{
    double e = y - m, d = y - mean0;
    if (s->n == 0) {
        s->y0 = y;
        s->m0 = m;
        s->e0 = e;
    }
    s->n++;
    double dy = y - s->y0 - s->y, dm = m - s->m0 - s->m, de = e - s->e0 - s->e;
    double w = (s->n - 1) / s->n;
    s->y += dy / s->n;
    s->m += dm / s->n;
    s->e += de / s->n;
    s->yy += w * dy * dy;
    s->mm += w * dm * dm;
    s->ym += w * dy * dm;
    s->ee += w * de * de;
    s->e2 += e * e;
    s->z2 += scored.z2;
    s->loss += var0 > 0 ? scored.loss - 0.5 * (log(var0) + kn_z2(d, var0)) : NAN;
}

/* z^2 and log loss of participant i at response j, from the predictive normal distribution; NaN if
 * its variance is not positive. work: a block of predictions. */
static scored_value scored_value_of(const job *work, ptrdiff_t i, ptrdiff_t j)
{
    const kn_measured *b = work->m;
    double e = kn_at(b->y, i, j) - kn_at(b->mean, i, j), s2 = kn_at(b->v, i, j) + b->noise[j];
    return s2 > 0 ? (scored_value){kn_z2(e, s2), 0.5 * (log(s2) + kn_z2(e, s2))}
                  : (scored_value){NAN, NAN};
}

/* Add to the sums s of response j every participant that counts and has finite values there. */
static void add_response(const job *work, ptrdiff_t j, kn_metric_sums *s)
{
    const kn_measured *b = work->m;
    const double *y = kn_col(b->y, j), *m = kn_col(b->mean, j);
    for (ptrdiff_t i = 0; i < b->y.rows; i++) {
        scored_value scored = scored_value_of(work, i, j);
        if ((!b->use || b->use[i]) && isfinite(y[i]) && isfinite(m[i]) && isfinite(scored.loss))
            add_sample(s, y[i], m[i], scored, b->mean0[j], b->var0[j]);
    }
}

/* Compute the metrics (R2, RMSE, MSLL, ...) of response j from its sums, into row j of out
 * (responses x KN_N_METRICS); undefined ones are NaN. */
static void write_metrics(const kn_metric_sums *s, ptrdiff_t j, kn_mat out)
{
    double value[KN_N_METRICS];
    for (int k = 0; k < KN_N_METRICS; k++)
        value[k] = NAN;
    if (s->n > 0) {
        value[KN_METRIC_RMSE] = sqrt(s->e2 / s->n);
        value[KN_METRIC_Z2] = s->z2 / s->n;
        value[KN_METRIC_MSLL] = s->loss / s->n;
    }
    if (s->gained > 0)
        value[KN_METRIC_GAIN] = kn_mean_gain(s->gain, s->gained);
    if (s->yy > 0) {
        value[KN_METRIC_R2] = 1 - s->e2 / s->yy;
        value[KN_METRIC_SMSE] = s->e2 / s->yy;
        value[KN_METRIC_EXPV] = 1 - s->ee / s->yy;
        if (s->mm > 0) {
            value[KN_METRIC_RHO] = s->ym / sqrt(s->yy * s->mm);
            value[KN_METRIC_RHO2] = value[KN_METRIC_RHO] * value[KN_METRIC_RHO];
        }
    }
    for (int k = 0; k < KN_N_METRICS; k++)
        kn_col(out, k)[j] = value[k];
}

/* Worker for responses first .. last - 1: adds their predictions to the sums for the metrics, or
 * writes their metrics if no sums are kept. self: a job. */
static void add_response_range(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const job *b = self;
    for (ptrdiff_t j = first; j < last; j++) {
        kn_metric_sums own = {0};
        add_response(b, j, b->sums ? &b->sums[j] : &own);
        if (!b->sums)
            write_metrics(&own, j, b->out);
    }
}

/* Add the predictions of all responses of a block to their sums in parallel, or write their
 * metrics. y, mean and v must have the same shape (asserted). */
static void add_in_parallel(kn_ctx *ctx, job *b)
{
    enum { RESPONSES = 64, FLOPS = 50 }; /* a cell */
    const kn_measured *m = b->m;
    assert(m->mean.rows == m->y.rows && m->mean.cols == m->y.cols);
    assert(m->v.rows == m->y.rows && m->v.cols == m->y.cols);
    kn_parallel(ctx, m->y.cols, kn_chunk_size(RESPONSES, FLOPS * m->y.rows), add_response_range, b);
}

void kn_metrics_add(kn_ctx *ctx, const kn_measured *m, kn_metric_sums *sums)
{
    add_in_parallel(ctx, &(job){.m = m, .sums = sums});
}

void kn_metrics_result(const kn_metric_sums *sums, kn_mat out)
{
    assert(out.cols == KN_N_METRICS);
    for (ptrdiff_t j = 0; j < out.rows; j++)
        write_metrics(&sums[j], j, out);
}

kn_metric_sums kn_metrics_in_units(const kn_metric_sums *sums, double shift, double scale)
{
    kn_metric_sums s = *sums;
    double square = scale * scale;
    s.y0 = shift + scale * s.y0;
    s.m0 = shift + scale * s.m0;
    s.e0 *= scale;
    s.y *= scale;
    s.m *= scale;
    s.e *= scale;
    s.yy *= square;
    s.mm *= square;
    s.ym *= square;
    s.ee *= square;
    s.e2 *= square;
    return s;
}

kn_metric_sums kn_metrics_joined(const kn_metric_sums *a, const kn_metric_sums *b)
{
    if (a->n == 0 || b->n == 0)
        return a->n == 0 ? *b : *a;
    kn_metric_sums s = *a;
    s.n = a->n + b->n;
    double weight = b->n / s.n, w = a->n * weight;
    double dy = b->y0 - a->y0 + b->y - a->y, dm = b->m0 - a->m0 + b->m - a->m;
    double de = b->e0 - a->e0 + b->e - a->e;
    s.y += weight * dy;
    s.m += weight * dm;
    s.e += weight * de;
    s.yy += b->yy + w * dy * dy;
    s.mm += b->mm + w * dm * dm;
    s.ym += b->ym + w * dy * dm;
    s.ee += b->ee + w * de * de;
    s.e2 += b->e2;
    s.z2 += b->z2;
    s.loss += b->loss;
    s.gain += b->gain;
    s.gained += b->gained;
    return s;
}

void kn_metrics(kn_ctx *ctx, const kn_measured *m, kn_mat out)
{
    assert(out.rows == m->y.cols && out.cols == KN_N_METRICS);
    add_in_parallel(ctx, &(job){.m = m, .out = out});
}

void kn_metrics_mean(kn_mat metrics, double mean[KN_N_METRICS])
{
    bool varies = false;
    for (ptrdiff_t j = 0; j < metrics.rows; j++)
        varies = varies || isfinite(kn_at(metrics, j, KN_METRIC_R2));
    for (int k = 0; k < KN_N_METRICS; k++) {
        double sum = 0, n = 0;
        for (ptrdiff_t j = 0; j < metrics.rows; j++)
            if (isfinite(kn_at(metrics, j, k)) &&
                (!varies || isfinite(kn_at(metrics, j, KN_METRIC_R2)))) {
                sum += kn_at(metrics, j, k);
                n++;
            }
        mean[k] = n > 0 ? sum / n : NAN;
    }
}

/* ---- order-independent sums for scoring ------------------------------------------------------ */

typedef struct tally_job {
    const kn_measured *m;
    const kn_cell_losses *losses;
    kn_metric_tally *tally;
} tally_job;

/* Extend the range [*low, *high] by x; n = 0: the range is still empty. */
static void extend_range(double x, double n, double *low, double *high)
{
    *low = n == 0 ? x : fmin(*low, x);
    *high = n == 0 ? x : fmax(*high, x);
}

/* Add one participant to the tally of a response: y and predicted mean m relative to the training
 * mean, residual e. */
static void tally_sample(kn_metric_tally *t, double y, double m, double e)
{
    extend_range(y, t->n, &t->y_low, &t->y_high);
    extend_range(m, t->n, &t->m_low, &t->m_high);
    t->n++;
    kn_binned_sum_add(&t->y, y);
    kn_binned_sum_add(&t->m, m);
    kn_binned_sum_add(&t->yy, y * y);
    kn_binned_sum_add(&t->mm, m * m);
    kn_binned_sum_add(&t->ym, y * m);
    kn_binned_sum_add(&t->e2, e * e);
}

/* Add the gain over the null model of participant i at response j; nothing if the null model has no
 * density there. */
static void tally_gain(const kn_cell_losses *losses, ptrdiff_t i, ptrdiff_t j, kn_metric_tally *t)
{
    double gain = losses->null.data ? kn_at(losses->null, i, j) - kn_at(losses->loss, i, j) : NAN;
    if (!isfinite(gain))
        return;
    t->gained++;
    kn_binned_sum_add(&t->gain, gain);
}

/* Add all participants that count to the tally of response j. The loss is relative to that of the
 * trivial model (mean0, var0). */
static void tally_response(const tally_job *work, ptrdiff_t j)
{
    const kn_measured *b = work->m;
    kn_metric_tally *t = &work->tally[j];
    const double *y = kn_col(b->y, j), *m = kn_col(b->mean, j);
    const double *z = kn_col(work->losses->z, j), *loss = kn_col(work->losses->loss, j);
    double mean0 = b->mean0[j], var0 = b->var0[j], log_var = var0 > 0 ? log(var0) : NAN;
    for (ptrdiff_t i = 0; i < b->y.rows; i++) {
        if ((b->use && !b->use[i]) || !isfinite(y[i]) || !isfinite(m[i]) || !isfinite(loss[i]))
            continue;
        tally_sample(t, y[i] - mean0, m[i] - mean0, y[i] - m[i]);
        kn_binned_sum_add(&t->z2, z[i] * z[i]);
        kn_binned_sum_add(&t->loss, loss[i] - 0.5 * (log_var + kn_z2(y[i] - mean0, var0)));
        tally_gain(work->losses, i, j, t);
    }
}

/* Worker of kn_tallies_add(): responses first .. last - 1 of the job in self. */
static void tally_responses(void *self, ptrdiff_t first, ptrdiff_t last)
{
    for (ptrdiff_t j = first; j < last; j++)
        tally_response(self, j);
}

void kn_tallies_add(kn_ctx *ctx, const kn_measured *m, const kn_cell_losses *losses,
                    kn_metric_tally *tally)
{
    enum { RESPONSES = 64, FLOPS = 150 }; /* a cell */
    kn_parallel(ctx, m->y.cols, kn_chunk_size(RESPONSES, FLOPS * m->y.rows), tally_responses,
                &(tally_job){m, losses, tally});
}

void kn_tallies_join(kn_metric_tally *out, const kn_metric_tally *from, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        kn_metric_tally *t = &out[j];
        const kn_metric_tally *f = &from[j];
        if (f->n == 0)
            continue;
        extend_range(f->y_low, t->n, &t->y_low, &t->y_high);
        extend_range(f->y_high, 1, &t->y_low, &t->y_high);
        extend_range(f->m_low, t->n, &t->m_low, &t->m_high);
        extend_range(f->m_high, 1, &t->m_low, &t->m_high);
        t->n += f->n;
        kn_binned_sum_merge(&t->y, &f->y);
        kn_binned_sum_merge(&t->m, &f->m);
        kn_binned_sum_merge(&t->yy, &f->yy);
        kn_binned_sum_merge(&t->mm, &f->mm);
        kn_binned_sum_merge(&t->ym, &f->ym);
        kn_binned_sum_merge(&t->e2, &f->e2);
        kn_binned_sum_merge(&t->z2, &f->z2);
        kn_binned_sum_merge(&t->loss, &f->loss);
        t->gained += f->gained;
        kn_binned_sum_merge(&t->gain, &f->gain);
    }
}

/* sum (a - mean a)(b - mean b) over n participants, from ab = sum a b, a = sum a and b = sum b. */
static double centred_sum(double ab, double a, double b, double n)
{
    return ab - a / n * b;
}

kn_metric_sums kn_tally_sums(const kn_metric_tally *t, double mean0)
{
    double y = kn_binned_sum_value(&t->y), m = kn_binned_sum_value(&t->m),
           e2 = kn_binned_sum_value(&t->e2);
    bool varies = t->y_high > t->y_low, moves = t->m_high > t->m_low;
    if (t->n == 0)
        return (kn_metric_sums){0};
    kn_metric_sums s = {.n = t->n, .y0 = mean0, .m0 = mean0, .e2 = e2};
    s.y = y / t->n;
    s.m = m / t->n;
    s.e = s.y - s.m;
    if (varies)
        s.yy = fmax(0, centred_sum(kn_binned_sum_value(&t->yy), y, y, t->n));
    if (moves)
        s.mm = fmax(0, centred_sum(kn_binned_sum_value(&t->mm), m, m, t->n));
    if (varies && moves)
        s.ym = centred_sum(kn_binned_sum_value(&t->ym), y, m, t->n);
    s.ee = fmax(0, centred_sum(e2, y - m, y - m, t->n));
    s.z2 = kn_binned_sum_value(&t->z2);
    s.loss = kn_binned_sum_value(&t->loss);
    s.gain = kn_binned_sum_value(&t->gain);
    s.gained = t->gained;
    return s;
}
