/* Implements metrics.h. */
#include "norm/metrics/metrics.h"

#include <assert.h>
#include <math.h>

#include "base/parallel/parallel_for.h"
#include "gp/zscore.h"

const char *const kn_metric_name[KN_N_METRICS] = {"R2",   "rho",  "rho2", "RMSE",
                                                  "SMSE", "EXPV", "MSLL", "z2"};

typedef struct job {
    const kn_measured *m;
    kn_metric_sums *sums; /* NULL: write metrics to `out` */
    kn_mat out;
} job;

/* z^2 and log loss (without 1/2 ln 2pi) of one cell. */
typedef struct scored_value {
    double z2, loss;
} scored_value;

/* Update the sums by one cell (Welford 1962). */
static void add_sample(kn_metric_sums *s, double y, double m, scored_value of, double mean0,
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
    s->z2 += of.z2;
    s->loss += var0 > 0 ? of.loss - 0.5 * (log(var0) + kn_z2(d, var0)) : NAN;
}

static scored_value scored_value_of(const job *of, ptrdiff_t i, ptrdiff_t j)
{
    const kn_measured *b = of->m;
    double e = kn_at(b->y, i, j) - kn_at(b->mean, i, j), s2 = kn_at(b->v, i, j) + b->noise[j];
    return s2 > 0 ? (scored_value){kn_z2(e, s2), 0.5 * (log(s2) + kn_z2(e, s2))}
                  : (scored_value){NAN, NAN};
}

static void add_response(const job *of, ptrdiff_t j, kn_metric_sums *s)
{
    const kn_measured *b = of->m;
    const double *y = kn_col(b->y, j), *m = kn_col(b->mean, j);
    for (ptrdiff_t i = 0; i < b->y.rows; i++) {
        scored_value said = scored_value_of(of, i, j);
        if ((!b->use || b->use[i]) && isfinite(y[i]) && isfinite(m[i]) && isfinite(said.loss))
            add_sample(s, y[i], m[i], said, b->mean0[j], b->var0[j]);
    }
}

/* Write the metrics of response j to row j of out. */
static void report(const kn_metric_sums *s, ptrdiff_t j, kn_mat out)
{
    double value[KN_N_METRICS];
    for (int k = 0; k < KN_N_METRICS; k++)
        value[k] = NAN;
    if (s->n > 0) {
        value[KN_METRIC_RMSE] = sqrt(s->e2 / s->n);
        value[KN_METRIC_Z2] = s->z2 / s->n;
        value[KN_METRIC_MSLL] = s->loss / s->n;
    }
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

static void some_responses(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const job *b = self;
    for (ptrdiff_t j = first; j < last; j++) {
        kn_metric_sums own = {0};
        add_response(b, j, b->sums ? &b->sums[j] : &own);
        if (!b->sums)
            report(&own, j, b->out);
    }
}

static void run(kn_ctx *ctx, job *b)
{
    enum { RESPONSES = 64, FLOPS = 50 }; /* a cell */
    const kn_measured *m = b->m;
    assert(m->mean.rows == m->y.rows && m->mean.cols == m->y.cols);
    assert(m->v.rows == m->y.rows && m->v.cols == m->y.cols);
    kn_parallel(ctx, m->y.cols, kn_chunk_size(RESPONSES, FLOPS * m->y.rows), some_responses, b);
}

void kn_metrics_add(kn_ctx *ctx, const kn_measured *m, kn_metric_sums *sums)
{
    run(ctx, &(job){.m = m, .sums = sums});
}

void kn_metrics_result(const kn_metric_sums *sums, kn_mat out)
{
    assert(out.cols == KN_N_METRICS);
    for (ptrdiff_t j = 0; j < out.rows; j++)
        report(&sums[j], j, out);
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
    double share = b->n / s.n, w = a->n * share;
    double dy = b->y0 - a->y0 + b->y - a->y, dm = b->m0 - a->m0 + b->m - a->m;
    double de = b->e0 - a->e0 + b->e - a->e;
    s.y += share * dy;
    s.m += share * dm;
    s.e += share * de;
    s.yy += b->yy + w * dy * dy;
    s.mm += b->mm + w * dm * dm;
    s.ym += b->ym + w * dy * dm;
    s.ee += b->ee + w * de * de;
    s.e2 += b->e2;
    s.z2 += b->z2;
    s.loss += b->loss;
    return s;
}

void kn_metrics(kn_ctx *ctx, const kn_measured *m, kn_mat out)
{
    assert(out.rows == m->y.cols && out.cols == KN_N_METRICS);
    run(ctx, &(job){.m = m, .out = out});
}

void kn_metrics_mean(kn_mat metrics, double mean[KN_N_METRICS])
{
    for (int k = 0; k < KN_N_METRICS; k++) {
        double sum = 0, n = 0;
        for (ptrdiff_t j = 0; j < metrics.rows; j++)
            if (isfinite(kn_at(metrics, j, k))) {
                sum += kn_at(metrics, j, k);
                n++;
            }
        mean[k] = n > 0 ? sum / n : NAN;
    }
}
