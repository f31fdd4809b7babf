/* Implements spectral_task.h: sums over the diagonals of the pair statistics. Only iso noise has a
 * covariance between components. */
#include "cov/spectral_task.h"

#include <math.h>

bool kn_cov_is_spectral(const kn_cov *cov)
{
    for (int k = 0; k < cov->n_between; k++)
        if (!cov->term[k].kernel->proportional)
            return false;
    return cov->stats.n <= 1;
}

bool kn_cov_is_diagonal(const kn_cov *cov, const kn_pairs *pairs)
{
    static const double NEGLIGIBLE = 1e-13; /* relative to the first entry */
    if (!kn_cov_is_spectral(cov))
        return false;
    for (int s = 0; s < pairs->n; s++)
        for (ptrdiff_t j = 0; j < pairs->stat[s].cols; j++)
            for (ptrdiff_t i = j + 1; i < pairs->stat[s].rows; i++)
                if (fabs(kn_at(pairs->stat[s], i, j)) >
                    NEGLIGIBLE * fabs(kn_at(pairs->stat[s], 0, 0)))
                    return false;
    return true;
}

void kn_cov_diagonal(const kn_cov *cov, const double *theta, const kn_pairs *pairs, ptrdiff_t P,
                     double *c, double *c0)
{
    *c0 = 0;
    for (ptrdiff_t p = 0; p < P; p++)
        c[p] = 0;
    for (int k = 0; k < cov->n; k++) {
        const kn_term *t = &cov->term[k];
        double v = exp(2 * theta[t->at]);
        for (ptrdiff_t p = 0; p < P && v > 0; p++)
            c[p] += t->stat >= 0 ? v * kn_at(pairs->stat[t->stat], p, p) : v;
        *c0 += t->stat >= 0 ? 0 : v;
    }
}

void kn_cov_diagonal_gradient(const kn_cov *cov, const double *theta, const kn_pairs *pairs,
                              kn_mat by_c, double by_c0, double *g)
{
    for (int k = 0; k < cov->n; k++) {
        const kn_term *t = &cov->term[k];
        double sum = t->stat >= 0 ? 0 : by_c0;
        for (ptrdiff_t p = 0; p < by_c.rows; p++) {
            double self = t->stat >= 0 ? kn_at(pairs->stat[t->stat], p, p) : 1;
            sum += kn_at(by_c, p, 0) * self;
        }
        g[t->at] = 2 * exp(2 * theta[t->at]) * sum;
    }
}

/* Returns the mean of the squared distances below the diagonal of d2; 0 without pairs. */
static double average_d2(kn_mat d2)
{
    double sum = 0, n = 0;
    for (ptrdiff_t j = 0; j < d2.cols; j++)
        for (ptrdiff_t i = j + 1; i < d2.rows; i++, n++)
            sum += kn_at(d2, i, j);
    return n > 0 ? sum / n : 0;
}

/* Returns the logarithm of the start of a shape parameter of term t: the middle of its range, or
 * the root mean square distance. */
static double compute_shape_start(const kn_term *t, const kn_shape *shape, const kn_pairs *pairs)
{
    if (shape->range == KN_RANGE_FIXED)
        return 0.5 * log(shape->low * shape->high);
    double d2 = t->kernel->stat == KN_STAT_D2 ? average_d2(pairs->stat[t->stat]) : 0;
    return d2 > 0 ? 0.5 * log(d2) : 0;
}

void kn_cov_start(const kn_cov *cov, const kn_pairs *pairs, double dims, double v, double signal,
                  double *theta)
{
    for (int k = 0; k < cov->n; k++) {
        const kn_term *t = &cov->term[k];
        double proportion = t->kernel->start_proportion > 0 ? t->kernel->start_proportion : signal,
               self = 1;
        if (t->kernel->proportional) {
            self = 0;
            for (ptrdiff_t p = 0; p < pairs->stat[t->stat].rows; p++)
                self += kn_at(pairs->stat[t->stat], p, p) / dims;
        }
        theta[t->at] = 0.5 * log(proportion * v / self);
        for (int i = 0; i < t->kernel->n_shape; i++)
            theta[t->at + 1 + i] = compute_shape_start(t, &t->kernel->shape[i], pairs);
    }
}
