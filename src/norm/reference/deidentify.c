/* Implements deidentify.h with stats/order_statistics.h. Values of participants become quantiles
 * of their distribution. */
#include "norm/reference/deidentify.h"

#include <math.h>

const kn_reference_kind kn_reference_kinds[KN_REFERENCE_KINDS] = {
    [KN_REFERENCE_STATISTIC] = {"extreme_z", false},
    [KN_REFERENCE_MEAN_Z] = {"mean_z", false},
    [KN_REFERENCE_NEGATIVE] = {"n_low", true},
    [KN_REFERENCE_POSITIVE] = {"n_high", true},
    [KN_REFERENCE_EXTRAPOLATION] = {"extrapolation", false},
    [KN_REFERENCE_LOO] = {"extreme_z_loo", false},
    [KN_REFERENCE_DEVIANCE] = {"deviance_ref", false},
    [KN_REFERENCE_DEVIANCE_NOISE] = {"deviance_noise_ref", false},
};

double **kn_reference_values(kn_reference *r, int kind)
{
    double **const at[KN_REFERENCE_KINDS] = {
        [KN_REFERENCE_STATISTIC] = &r->statistic,
        [KN_REFERENCE_MEAN_Z] = &r->mean_z,
        [KN_REFERENCE_NEGATIVE] = &r->negative,
        [KN_REFERENCE_POSITIVE] = &r->positive,
        [KN_REFERENCE_EXTRAPOLATION] = &r->extrapolation,
        [KN_REFERENCE_LOO] = &r->loo_statistic,
        [KN_REFERENCE_DEVIANCE] = &r->deviance.ref,
        [KN_REFERENCE_DEVIANCE_NOISE] = &r->deviance_noise.ref,
    };
    return at[kind];
}

kn_status kn_reference_spread(kn_ctx *ctx, kn_reference *r, int kind)
{
    const kn_quantiles *q = &r->quantiles[kind];
    double **values = kn_reference_values(r, kind);
    kn_status status = *values ? KN_OK : kn_alloc_d(ctx, r->n, values);
    if (status != KN_OK)
        return status;
    kn_quantiles_spread(q, kn_reference_kinds[kind].whole, *values);
    for (ptrdiff_t i = q->n; i < r->n; i++)
        (*values)[i] = NAN;
    return KN_OK;
}

/* Set d->sorted from d->ref, which is ascending with NaN at the end; q->n values are numbers. */
static void rebuild_sorted(kn_deviance *d, const kn_quantiles *q)
{
    d->n_sorted = q->K > 0 ? q->n : 0;
    for (ptrdiff_t i = 0; i < d->n_sorted; i++)
        d->sorted[i] = d->ref[i];
}

kn_status kn_reference_deidentify(kn_ctx *ctx, kn_reference *r)
{
    kn_status status = KN_OK;
    r->shared = true;
    for (ptrdiff_t i = 0; r->mean_z && i < r->n; i++)
        r->mean_z[i] = fabs(r->mean_z[i]);
    for (int k = 0; k < KN_REFERENCE_KINDS; k++) {
        if (!*kn_reference_values(r, k))
            continue;
        KN_TRY(kn_quantiles_new(ctx, *kn_reference_values(r, k), r->n, &r->quantiles[k]));
        KN_TRY(kn_reference_spread(ctx, r, k));
    }
    if (r->has_deviance) {
        rebuild_sorted(&r->deviance, &r->quantiles[KN_REFERENCE_DEVIANCE]);
        rebuild_sorted(&r->deviance_noise, &r->quantiles[KN_REFERENCE_DEVIANCE_NOISE]);
    }
    kn_free(r->sample);
    kn_free(r->y_sum);
    kn_free(r->z);
    r->sample = NULL;
    r->y_sum = NULL;
    r->z = NULL;
out:
    return status;
}
