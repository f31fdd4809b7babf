#include "norm/z.h"

#include <assert.h>
#include <math.h>

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

void kn_npm_both(kn_mat y, kn_mat mean, kn_mat v, const double *noise)
{
    for (ptrdiff_t j = 0; j < y.cols; j++) {
        double *yj = kn_col(y, j), *mj = kn_col(mean, j);
        const double *vj = kn_col(v, j);
        double alone = noise[j] > 0 ? sqrt(noise[j]) : NAN;
        for (ptrdiff_t i = 0; i < y.rows; i++) {
            double e = isfinite(yj[i]) ? yj[i] - mj[i] : NAN, s2 = vj[i] + noise[j];
            yj[i] = s2 > 0 ? e / sqrt(s2) : NAN;
            mj[i] = e / alone;
        }
    }
}
