/* Implements zscore.h. The inner loops are vectorised (KN_CLONES, la/vec.h). */
#include "gp/zscore.h"

#include <assert.h>

#include "la/vec.h"

const double kn_coverage_z[KN_COVERAGES] = {0.6744897501960817, 1.6448536269514722,
                                            1.959963984540054, 2.5758293035489004};

/* One response; z may alias y. */
KN_CLONES
/* Computes z = (y - mean) / sqrt(v + noise) of one response for n participants; NaN without a
 * finite response or a positive variance. z may alias y. */
static void zscores_of_column(ptrdiff_t n, const double *y, const double *mean, const double *v,
                              double noise, double *z)
{
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++) {
        double s2 = (v ? v[i] : 0) + noise;
        bool known = (fabs(y[i]) < INFINITY) & (s2 > 0);
        double q = (y[i] - mean[i]) / sqrt(known ? s2 : 1);
        z[i] = known ? q : NAN;
    }
}

void kn_zscores(kn_mat y, kn_mat mean, kn_mat v, const double *noise, kn_mat z)
{
    assert(y.rows == z.rows && y.cols == z.cols && mean.rows == z.rows && mean.cols == z.cols);
    assert(!v.data || (v.rows == z.rows && v.cols == z.cols));
    for (ptrdiff_t j = 0; j < z.cols; j++) {
        const double *yj = kn_col(y, j), *mj = kn_col(mean, j), *vj = v.data ? kn_col(v, j) : NULL;
        zscores_of_column(z.rows, yj, mj, vj, noise[j], kn_col(z, j));
    }
}

/* Sets s->R2 = 1 - sum e^2 / sum (y - mean)^2 over the participants with a finite z, and
 * s->responses to 1 if it exists. */
static void set_R2(const kn_loss_cells *c, double mean, kn_losses *s)
{
    double all = 0, left = 0;
    for (ptrdiff_t i = 0; i < c->n; i++)
        if (isfinite(c->z[i])) {
            all += (c->y[i] - mean) * (c->y[i] - mean);
            left += c->e[i] * c->e[i];
        }
    s->responses = all > 0;
    s->R2 = all > 0 ? 1 - left / all : 0;
}

kn_losses kn_losses_of(const kn_loss_cells *c, kn_null_model trivial)
{
    kn_losses s = {0};
    double base = 0.5 * log(trivial.var), half = 0.5 / trivial.var, sum = 0;
    for (ptrdiff_t i = 0; i < c->n; i++) {
        double z2 = c->z[i] * c->z[i], d = c->y[i] - trivial.mean;
        double gain = c->null ? c->null[i] - c->loss[i] : NAN;
        if (!isfinite(z2))
            continue;
        s.n++;
        s.z2 += z2;
        s.loss += c->loss[i] - base - half * d * d;
        s.covered += kn_covered(z2, KN_COVERAGE95);
        s.gain += isfinite(gain) ? gain : 0;
        s.gained += isfinite(gain);
        sum += c->y[i];
    }
    set_R2(c, sum / s.n, &s);
    return s;
}

void kn_losses_add(double sum[KN_N_LOSSES], const kn_losses *some)
{
    sum[0] += some->n;
    sum[1] += some->z2;
    sum[2] += some->loss;
    sum[3] += some->covered;
    sum[4] += some->gain;
    sum[5] += some->gained;
    sum[6] += some->R2;
    sum[7] += some->responses;
}

kn_cv_summary kn_losses_summary(const double sum[KN_N_LOSSES], int folds)
{
    return (kn_cv_summary){folds,
                           sum[1] / sum[0],
                           sum[2] / sum[0],
                           sum[3] / sum[0],
                           kn_mean_gain(sum[4], sum[5]),
                           sum[6] / sum[7]};
}

/* Multiplies 16 variances before each logarithm, because logarithms are slow. */
void kn_sample_losses(kn_mat e, kn_mat v, const double *noise, double *work, double *loss)
{
    enum { FEW = 16 };
    ptrdiff_t n = e.rows;
    double *product = work;
    for (ptrdiff_t i = 0; i < n; i++) {
        loss[i] = 0;
        product[i] = 1;
    }
    for (ptrdiff_t j = 0; j < e.cols; j++) {
        if (noise[j] > 0)
            kn_vec_add_loss(n, kn_col(e, j), v.data ? kn_col(v, j) : NULL, noise[j], loss, product);
        if (j % FEW != FEW - 1 && j != e.cols - 1)
            continue;
        kn_vec_log(n, product);
        for (ptrdiff_t i = 0; i < n; i++) {
            loss[i] += 0.5 * product[i];
            product[i] = 1;
        }
    }
}
