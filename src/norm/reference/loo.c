/* Implements loo.h: one block loop over the leave-one-out maps. The maps are those of
 * gp/predict/loo.h. */
#include "norm/reference/loo.h"

#include "gp/predict/loo.h"
#include "norm/reference/internal.h"
#include "stats/gev.h"

/* Select the noise-scale columns D and the site terms of the participants in r->sample for z.
 * *selected (n x F + 1, owned by the caller) holds both, the site terms in its last column. */
static kn_status select_rows(kn_ctx *ctx, const kn_loo_job *job, const kn_reference *r,
                             kn_mat *selected, kn_z_builder *z)
{
    ptrdiff_t F = job->D.data ? job->D.cols : 0;
    kn_status status = kn_mat_new(ctx, r->n, F + 1, selected);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < r->n; i++) {
        for (ptrdiff_t f = 0; f < F; f++)
            kn_col(*selected, f)[i] = kn_at(job->D, r->sample[i], f);
        kn_col(*selected, F)[i] = job->shift ? job->shift[r->sample[i]] : 0;
    }
    z->D = F > 0 ? kn_cols(*selected, 0, F) : kn_mat_none();
    z->shift = job->shift ? kn_col(*selected, F) : NULL;
    return KN_OK;
}

kn_status kn_reference_loo(kn_ctx *ctx, const kn_loo_job *job, kn_reference *r,
                           kn_cv_summary *summary)
{
    kn_status status;
    const kn_gp *gp = job->gp;
    kn_gp_maps loo = {0};
    kn_mat selected = {0};
    kn_z_builder z = {.gp = gp,
                      .maps = &loo,
                      .proportion = r->top,
                      .calibration = job->calibration,
                      .D = job->D,
                      .shift = job->shift};
    kn_visitor visitor = kn_z_builder_visitor(&z);
    kn_gev_estimate e;
    double losses[KN_N_LOSSES];
    if (r->sample)
        KN_TRY(select_rows(ctx, job, r, &selected, &z));
    KN_TRY(kn_gp_loo(ctx, gp, job->Y, &loo));
    loo.Y = kn_responses_as_given(job->Y); /* observed cells only [METHOD 0b] */
    if (r->sample)
        KN_TRY(kn_gp_maps_select(ctx, &loo, r->sample, r->n));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->loo_statistic));
    kn_block_loop loop = kn_z_builder_loop(&z, "leave-one-out");
    KN_TRY(kn_block_loop_run(ctx, &loop, &visitor, 1));
    KN_TRY(kn_extreme_stream_join(ctx, &z.top));
    kn_extreme_stream_result(&z.top, r->loo_statistic);
    KN_TRY(kn_slots_sum(ctx, &z.losses, losses));
    *summary = kn_losses_summary(losses, (int)gp->N);
    if (r->has_gev) { /* a GEV fit is possible here if it is for the folds */
        status = kn_gev_fit(ctx, r->loo_statistic, r->n, &e);
        r->has_loo_gev = status == KN_OK;
        if (r->has_loo_gev)
            r->loo_gev = e.gev;
        if (status == KN_ERR_DATA || status == KN_ERR_NUMERIC)
            status = KN_OK;
    }
out:
    if (status != KN_OK) {
        kn_free(r->loo_statistic);
        r->loo_statistic = NULL;
    }
    kn_mat_clear(&selected);
    kn_z_builder_clear(&z);
    kn_gp_maps_clear(&loo);
    return status;
}
