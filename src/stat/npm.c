#include "stat/npm.h"

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
