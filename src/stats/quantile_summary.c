/* Implements quantile_summary.h. */
#include "stats/quantile_summary.h"

#include <math.h>
#include <string.h>

#include "stats/sort_select.h"

void kn_quantiles_clear(kn_quantiles *q)
{
    kn_free(q->knot);
    *q = (kn_quantiles){0};
}

/* Number of values below knot k, k = 1 .. K; 0 for k = 0 and n for k = K + 1. */
static ptrdiff_t cut(ptrdiff_t n, ptrdiff_t K, ptrdiff_t k)
{
    return n * k / (K + 1);
}

kn_status kn_quantiles_new(kn_ctx *ctx, const double *x, ptrdiff_t n, kn_quantiles *out)
{
    kn_status status;
    double *s = NULL;
    *out = (kn_quantiles){0};
    KN_TRY(kn_alloc_d(ctx, n, &s));
    for (ptrdiff_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            s[out->n++] = x[i];
    kn_sort(s, out->n);
    out->K = kn_quantiles_count(out->n);
    KN_TRY(kn_alloc_d(ctx, out->K, &out->knot));
    for (ptrdiff_t k = 1; k <= out->K; k++) {
        ptrdiff_t c = cut(out->n, out->K, k);
        out->knot[k - 1] = (s[c - 1] + s[c]) / 2;
    }
out:
    kn_free(s);
    return status;
}

void kn_quantiles_spread(const kn_quantiles *q, bool whole, double *x)
{
    const double *knot = q->knot;
    ptrdiff_t K = q->K;
    for (ptrdiff_t i = 0; K == 0 && i < q->n; i++)
        x[i] = NAN;
    for (ptrdiff_t k = 0; K > 0 && k <= K; k++) {
        ptrdiff_t from = cut(q->n, K, k), to = k < K ? cut(q->n, K, k + 1) : q->n;
        double first = K > 1 ? knot[1] - knot[0] : 0, last = K > 1 ? knot[K - 1] - knot[K - 2] : 0;
        double low = k > 0 ? knot[k - 1] : knot[0] - first;
        double high = k < K ? knot[k] : knot[K - 1] + last;
        for (ptrdiff_t i = from; i < to; i++) {
            x[i] = low + (high - low) * ((double)(i - from) + 0.5) / (double)(to - from);
            if (whole)
                x[i] = fmax(round(x[i]), 0);
        }
    }
}
