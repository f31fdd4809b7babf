/* Moments of z^2 (internal.h). They say how many independent responses a map is worth. */
#include "norm/calibration/internal.h"

#include <assert.h>
#include <math.h>

static const double MIN_KURT = 0.5;

kn_status kn_z2_moments_init(kn_ctx *ctx, ptrdiff_t n, kn_z2_moments *s)
{
    kn_status status;
    *s = (kn_z2_moments){.n = n};
    KN_TRY(kn_alloc_d(ctx, n, &s->sum));
    KN_TRY(kn_alloc_d(ctx, n, &s->count));
out:
    if (status != KN_OK)
        kn_z2_moments_clear(s);
    return status;
}

void kn_z2_moments_clear(kn_z2_moments *s)
{
    kn_free(s->sum);
    kn_free(s->count);
    *s = (kn_z2_moments){0};
}

/* Add the squared z-scores of one response, z (n; NaN: missing), to the moments. Two passes, since
 * z^2 may vary little about a large mean. */
static void add_response(kn_z2_moments *s, const double *z)
{
    double n = 0, sum = 0, var = 0;
    for (ptrdiff_t i = 0; i < s->n; i++)
        if (!isnan(z[i])) {
            double z2 = z[i] * z[i];
            n++;
            sum += z2;
            s->z4 += z2 * z2;
            s->sum[i] += z2;
            s->count[i]++;
        }
    if (n == 0)
        return;
    for (ptrdiff_t i = 0; i < s->n; i++)
        if (!isnan(z[i]))
            var += pow(z[i] * z[i] - sum / n, 2);
    s->T++;
    s->var += var / n;
    s->cells += n;
    s->z2 += sum;
}

void kn_z2_moments_add(kn_z2_moments *s, kn_mat z)
{
    assert(z.rows == s->n);
    for (ptrdiff_t j = 0; j < z.cols; j++)
        add_response(s, kn_col(z, j));
}

double kn_z2_moments_kurt(const kn_z2_moments *s)
{
    double kurt = s->cells * s->z4 / (s->z2 * s->z2) - 1;
    return kurt > MIN_KURT ? kurt : MIN_KURT; /* also for 0/0 */
}

double kn_effective_responses(const kn_z2_moments *s)
{
    double n = 0, sum = 0, var = 0;
    for (ptrdiff_t i = 0; i < s->n; i++)
        if (s->count[i] > 0) {
            n++;
            sum += s->sum[i] / s->count[i];
        }
    for (ptrdiff_t i = 0; i < s->n; i++)
        if (s->count[i] > 0)
            var += pow(s->sum[i] / s->count[i] - sum / n, 2);
    double ratio = s->var / s->T / (var / n);
    return ratio > 1 ? fmin(ratio, s->T) : 1;
}
