#include "gp/z.h"

#include <assert.h>

#include "la/vec.h"

const double kn_coverage_z[KN_COVERAGES] = {0.6744897501960817, 1.6448536269514722,
                                            1.959963984540054, 2.5758293035489004};

void kn_npm(kn_mat y, kn_mat mean, kn_mat v, const double *noise, kn_mat z)
{
    assert(y.rows == z.rows && y.cols == z.cols && mean.rows == z.rows && mean.cols == z.cols);
    assert(!v.data || (v.rows == z.rows && v.cols == z.cols));
    for (ptrdiff_t j = 0; j < z.cols; j++) {
        const double *yj = kn_col(y, j), *mj = kn_col(mean, j), *vj = v.data ? kn_col(v, j) : NULL;
        double *zj = kn_col(z, j);
        for (ptrdiff_t i = 0; i < z.rows; i++) {
            double s2 = (vj ? vj[i] : 0) + noise[j];
            zj[i] = isfinite(yj[i]) && s2 > 0 ? (yj[i] - mj[i]) / sqrt(s2) : NAN;
        }
    }
}

kn_losses kn_losses_of(ptrdiff_t n, const double *y, const double *z, const double *loss,
                       kn_trivial trivial)
{
    kn_losses s = {0};
    double base = 0.5 * log(trivial.var), half = 0.5 / trivial.var;
    for (ptrdiff_t i = 0; i < n; i++) {
        double z2 = z[i] * z[i], d = y[i] - trivial.mean;
        if (!isfinite(z2))
            continue;
        s.n++;
        s.z2 += z2;
        s.loss += loss[i] - base - half * d * d;
        s.covered += kn_covered(z2, KN_COVERAGE95);
    }
    return s;
}

void kn_losses_add(double sum[KN_N_LOSSES], const kn_losses *some)
{
    sum[0] += some->n;
    sum[1] += some->z2;
    sum[2] += some->loss;
    sum[3] += some->covered;
}

kn_cv_summary kn_losses_summary(const double sum[KN_N_LOSSES], int folds)
{
    return (kn_cv_summary){folds, sum[1] / sum[0], sum[2] / sum[0], sum[3] / sum[0]};
}

/* Logarithms of products of a few, because logarithms are slow. */
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
        const double *x = kn_col(e, j), *m = v.data ? kn_col(v, j) : NULL;
        for (ptrdiff_t i = 0; noise[j] > 0 && i < n; i++) {
            double s2 = noise[j] + (m ? m[i] : 0);
            loss[i] += 0.5 * kn_z2(x[i], s2);
            product[i] *= s2;
        }
        for (ptrdiff_t i = 0; (j % FEW == FEW - 1 || j == e.cols - 1) && i < n; i++) {
            loss[i] += 0.5 * log(product[i]);
            product[i] = 1;
        }
    }
}
