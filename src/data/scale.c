#include "data/scale.h"

#include <math.h>

void kn_xscale_clear(kn_xscale *s)
{
    kn_free(s->mean);
    kn_free(s->sd);
    *s = (kn_xscale){0};
}

static kn_status check_finite(kn_ctx *ctx, kn_view X)
{
    for (ptrdiff_t i = 0; i < X.rows; i++)
        for (ptrdiff_t f = 0; f < X.cols; f++)
            if (!isfinite(kn_view_at(X, i, f)))
                return kn_fail(ctx, KN_ERR_DATA,
                               "covariates row %td, column %td is %g, expected a finite number",
                               i + 1, f + 1, kn_view_at(X, i, f));
    return KN_OK;
}

kn_status kn_xscale_new(kn_ctx *ctx, kn_view X, bool standardise, kn_xscale *out)
{
    kn_status status;
    double n = (double)X.rows;
    *out = (kn_xscale){.F = X.cols};
    KN_TRY(check_finite(ctx, X));
    KN_TRY(kn_alloc_d(ctx, X.cols, &out->mean));
    KN_TRY(kn_alloc_d(ctx, X.cols, &out->sd));
    for (ptrdiff_t f = 0; f < X.cols; f++) {
        double mean = 0, var = 0, largest = 0;
        for (ptrdiff_t i = 0; i < X.rows; i++) {
            double x = kn_view_at(X, i, f);
            mean += x / n;
            largest = fmax(largest, fabs(x));
        }
        for (ptrdiff_t i = 0; i < X.rows; i++) {
            double e = kn_view_at(X, i, f) - mean;
            var += e * e / n;
        }
        bool constant = sqrt(var) <= 1e-12 * largest;
        out->n_constant += constant;
        out->mean[f] = standardise ? mean : 0;
        out->sd[f] = standardise && !constant ? sqrt(var) : 1;
    }
    if (out->n_constant == X.cols)
        status = kn_fail(ctx, KN_ERR_DATA,
                         "every covariate is constant: there is nothing to "
                         "predict the responses from");
out:
    if (status != KN_OK)
        kn_xscale_clear(out);
    return status;
}

kn_status kn_xscale_apply(kn_ctx *ctx, const kn_xscale *s, kn_view X, kn_mat out)
{
    kn_status status = check_finite(ctx, X);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t f = 0; f < X.cols; f++)
        for (ptrdiff_t i = 0; i < X.rows; i++)
            kn_col(out, f)[i] = (kn_view_at(X, i, f) - s->mean[f]) / s->sd[f];
    return KN_OK;
}
