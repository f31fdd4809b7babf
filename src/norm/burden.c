#include "norm/burden.h"

#include <math.h>

#include "base/mem.h"
#include "norm/order.h"
#include "norm/top.h"

/* z: the finite ones, rearranged and their signs changed. */
static kn_burden of_finite(double *z, ptrdiff_t n, double threshold, double fraction)
{
    kn_burden b = {n, NAN, NAN, NAN, NAN, NAN};
    double sum = 0, below = 0, above = 0;
    if (n == 0)
        return b;
    for (ptrdiff_t j = 0; j < n; j++) {
        sum += z[j];
        below += z[j] < -threshold;
        above += z[j] > threshold;
    }
    b.mean_z = sum / (double)n;
    if (n >= KN_BURDEN_LEAST) {
        b.negative = below;
        b.positive = above;
    }
    b.top_positive = kn_top_signed(z, n, fraction);
    for (ptrdiff_t j = 0; j < n; j++)
        z[j] = -z[j];
    b.top_negative = -kn_top_signed(z, n, fraction);
    return b;
}

kn_burden kn_burden_row(const float *z, ptrdiff_t T, double threshold, double fraction,
                        double *work)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(z[j]))
            work[n++] = (double)z[j];
    return of_finite(work, n, threshold, fraction);
}

kn_burden kn_burden_row_d(const double *z, ptrdiff_t T, double threshold, double fraction,
                          double *work)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(z[j]))
            work[n++] = z[j];
    return of_finite(work, n, threshold, fraction);
}

static void append(double *to, ptrdiff_t *n, double value)
{
    if (!isnan(value))
        to[(*n)++] = value;
}

kn_status kn_burden_reference_new(kn_ctx *ctx, const kn_burden *people, ptrdiff_t n,
                                  kn_burden_reference *out)
{
    kn_status status;
    *out = (kn_burden_reference){0};
    KN_TRY(kn_alloc_d(ctx, n, &out->mean_z));
    KN_TRY(kn_alloc_d(ctx, n, &out->negative));
    KN_TRY(kn_alloc_d(ctx, n, &out->positive));
    for (ptrdiff_t i = 0; i < n; i++) {
        append(out->mean_z, &out->n_mean, fabs(people[i].mean_z));
        append(out->negative, &out->n_negative, people[i].negative);
        append(out->positive, &out->n_positive, people[i].positive);
    }
    kn_sort(out->mean_z, out->n_mean);
    kn_sort(out->negative, out->n_negative);
    kn_sort(out->positive, out->n_positive);
out:
    if (status != KN_OK)
        kn_burden_reference_clear(out);
    return status;
}

void kn_burden_reference_clear(kn_burden_reference *reference)
{
    kn_free(reference->mean_z);
    kn_free(reference->negative);
    kn_free(reference->positive);
    *reference = (kn_burden_reference){0};
}

/* A member is among those that are at least as large as itself, and stands for the 1. */
static double rank_p(const double *sorted, ptrdiff_t n, double value, int member)
{
    if (isnan(value) || n == 0 || (member && n == 1))
        return NAN;
    double larger = (double)(n - kn_count_below(sorted, n, value, 0));
    return (larger + (member ? 0 : 1)) / (double)(member ? n : n + 1);
}

kn_burden_p kn_burden_rank(const kn_burden_reference *reference, const kn_burden *person,
                           int member)
{
    const kn_burden_reference *r = reference;
    return (kn_burden_p){rank_p(r->mean_z, r->n_mean, fabs(person->mean_z), member),
                         rank_p(r->negative, r->n_negative, person->negative, member),
                         rank_p(r->positive, r->n_positive, person->positive, member)};
}
