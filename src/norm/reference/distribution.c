/* Implements distribution.h. */
#include "norm/reference/distribution.h"

#include <math.h>

#include "stats/fdr.h"
#include "stats/gev_fit.h"
#include "stats/tail_probability.h"

kn_status kn_reference_distribution(kn_ctx *ctx, kn_reference *r, ptrdiff_t T)
{
    kn_gev_estimate e;
    const char *what = r->units < r->n ? "groups of samples" : "samples";
    if (r->units < KN_GEV_FROM || T == 1) {
        kn_log(ctx, KN_LOG_WARNING,
               "%td reference %s%s: probabilities are ranks among them, and no p can be below %.2g",
               r->units, what, T == 1 ? " and one response" : ", fewer than 30",
               kn_tail_p_smallest(&(kn_tail_p_reference){.n = r->n, .units = r->units}));
        return KN_OK;
    }
    kn_status status = kn_gev_fit(ctx, r->statistic, r->n, &e);
    if (status == KN_ERR_DATA || status == KN_ERR_NUMERIC) {
        kn_log(ctx, KN_LOG_WARNING, "probabilities are ranks among the reference: %s",
               kn_message(ctx));
        return KN_OK;
    }
    if (status != KN_OK)
        return status;
    r->has_gev = true;
    r->gev = e.gev;
    r->gev_se = e.se;
    r->gev_at_bound = e.at_bound;
    if (e.at_bound)
        kn_log(ctx, KN_LOG_WARNING,
               "the extreme value fit ended at the bound of its shape (%.2f): read abnormality "
               "probabilities near 0 and 1 with care",
               e.gev.xi);
    if (r->units < KN_SAY_BELOW)
        kn_log(ctx, KN_LOG_INFO, "%td reference %s: no p_upper is said to be below %.2g", r->units,
               what, kn_tail_p_least(r->units));
    return KN_OK;
}

kn_status kn_reference_findings(kn_ctx *ctx, kn_reference *r, ptrdiff_t T)
{
    double *work = NULL, found = 0;
    r->fdr_share = NAN;
    if (!r->z)
        return KN_OK;
    kn_status status = kn_alloc_d(ctx, T, &work);
    for (ptrdiff_t i = 0; status == KN_OK && i < r->n; i++) {
        kn_fdr f = kn_fdr_row(r->z + i * T, T, KN_FDR_Q, work);
        found += f.negative + f.positive > 0;
    }
    if (status == KN_OK)
        r->fdr_share = found / (double)r->n;
    kn_free(work);
    return status;
}
