#include "stat/metrics.h"

#include <assert.h>
#include <math.h>

#include "base/parallel.h"

const char *const kn_metric_name[KN_N_METRICS] = {"R2",   "rho",  "rho2", "RMSE",
                                                  "SMSE", "EXPV", "MSLL", "z2"};

typedef struct job {
    kn_mat y, mean, v, out;
    const double *noise, *mean0, *var0;
    const bool *use;
} job;

static bool counts(const job *b, ptrdiff_t i, ptrdiff_t j)
{
    double s2 = kn_at(b->v, i, j) + b->noise[j];
    return (!b->use || b->use[i]) && isfinite(kn_at(b->y, i, j)) &&
           isfinite(kn_at(b->mean, i, j)) && s2 > 0 && isfinite(s2);
}

/* Means first, then sums of squares about them: two passes over a column that is in cache, so that
 * responses in units far from 0 lose no digits. */
static void one_response(const job *b, ptrdiff_t j)
{
    double n = 0, my = 0, mm = 0, me = 0;
    for (ptrdiff_t i = 0; i < b->y.rows; i++)
        if (counts(b, i, j)) {
            n++;
            my += (kn_at(b->y, i, j) - my) / n;
            mm += (kn_at(b->mean, i, j) - mm) / n;
            me += (kn_at(b->y, i, j) - kn_at(b->mean, i, j) - me) / n;
        }
    double yy = 0, mmq = 0, ym = 0, ee = 0, ec = 0, loss = 0, loss0 = 0, z2 = 0;
    for (ptrdiff_t i = 0; i < b->y.rows; i++) {
        if (!counts(b, i, j))
            continue;
        double y = kn_at(b->y, i, j), m = kn_at(b->mean, i, j), e = y - m;
        double s2 = kn_at(b->v, i, j) + b->noise[j], e0 = y - b->mean0[j];
        yy += (y - my) * (y - my);
        mmq += (m - mm) * (m - mm);
        ym += (y - my) * (m - mm);
        ee += e * e;
        ec += (e - me) * (e - me);
        z2 += e * e / s2;
        loss += 0.5 * log(s2) + e * e / (2 * s2);
        loss0 += 0.5 * log(b->var0[j]) + e0 * e0 / (2 * b->var0[j]);
    }
    double value[KN_N_METRICS];
    for (int k = 0; k < KN_N_METRICS; k++)
        value[k] = NAN;
    if (n > 0) {
        value[KN_METRIC_RMSE] = sqrt(ee / n);
        value[KN_METRIC_Z2] = z2 / n;
        if (b->var0[j] > 0)
            value[KN_METRIC_MSLL] = (loss - loss0) / n;
    }
    if (yy > 0) {
        value[KN_METRIC_R2] = 1 - ee / yy;
        value[KN_METRIC_SMSE] = ee / yy;
        value[KN_METRIC_EXPV] = 1 - ec / yy;
        if (mmq > 0) {
            value[KN_METRIC_RHO] = ym / sqrt(yy * mmq);
            value[KN_METRIC_RHO2] = value[KN_METRIC_RHO] * value[KN_METRIC_RHO];
        }
    }
    for (int k = 0; k < KN_N_METRICS; k++)
        kn_col(b->out, k)[j] = value[k];
}

static void some_responses(void *self, ptrdiff_t first, ptrdiff_t last)
{
    for (ptrdiff_t j = first; j < last; j++)
        one_response(self, j);
}

void kn_metrics(kn_ctx *ctx, kn_mat y, kn_mat mean, kn_mat v, const double *noise,
                const double *mean0, const double *var0, const bool *use, kn_mat out)
{
    enum { RESPONSES = 64 };
    assert(mean.rows == y.rows && mean.cols == y.cols && v.rows == y.rows && v.cols == y.cols);
    assert(out.rows == y.cols && out.cols == KN_N_METRICS);
    job b = {y, mean, v, out, noise, mean0, var0, use};
    kn_parallel(ctx, y.cols, RESPONSES, some_responses, &b);
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
