/* Implements loss_curve_missing.h: a missing cell is a NaN residual, or a set bit of the mask. */
#include "gp/components/loss_curve_missing.h"

#include <math.h>

#include "gp/missing/completion.h"
#include "gp/zscore.h"

void kn_observed_variance(const kn_missing_mask *h, const ptrdiff_t *row, ptrdiff_t first,
                          kn_mat train, double *variance)
{
    for (ptrdiff_t j = 0; j < train.cols; j++) {
        ptrdiff_t n = 0;
        double s2 = 0, *t = kn_col(train, j);
        if (kn_missing_in(h, first + j) == 0)
            continue;
        for (ptrdiff_t i = 0; i < train.rows; i++)
            if (!kn_is_missing(h, row[i], first + j)) {
                s2 += t[i] * t[i];
                n++;
            }
        variance[j] = n < KN_IMPUTE_LEAST ? 0 : s2 / (double)n;
    }
}

double kn_observed_rest(const double *y, ptrdiff_t rows, double all, ptrdiff_t values, double mu)
{
    double sum = all * (double)values;
    ptrdiff_t n = values;
    for (ptrdiff_t i = 0; i < rows; i++)
        if (isfinite(y[i])) {
            sum -= y[i] * y[i];
            n--;
        }
    return isfinite(mu) && n >= KN_IMPUTE_LEAST ? fmax(sum / (double)n - mu * mu, 0) : 0;
}

void kn_observed_losses(kn_mat e, kn_mat v, const double *noise, double *work, double *loss)
{
    (void)work;
    for (ptrdiff_t i = 0; i < e.rows; i++)
        loss[i] = 0;
    for (ptrdiff_t j = 0; j < e.cols; j++)
        for (ptrdiff_t i = 0; noise[j] > 0 && i < e.rows; i++) {
            double s2 = noise[j] + (v.data ? kn_at(v, i, j) : 0);
            if (isfinite(kn_at(e, i, j)))
                loss[i] += 0.5 * (log(s2) + kn_z2(kn_at(e, i, j), s2));
        }
}

void kn_observed_count(kn_mat e, const double *noise, double *count)
{
    for (ptrdiff_t j = 0; j < e.cols; j++)
        for (ptrdiff_t i = 0; noise[j] > 0 && i < e.rows; i++)
            count[i] += isfinite(kn_at(e, i, j)) != 0;
}
