/* Both whole-map deviances of the reference sample (internal.h). One measures the whole predictive
 * variance, the other the noise alone. */
#include "norm/reference/internal.h"

#include <math.h>

#include "base/memory/alloc.h"
#include "base/mpi/comm.h"
#include "data/responses/responses.h"
#include "norm/deviance/missing.h"
#include "norm/reference/memory.h"

void kn_reference_drop_deviances(kn_reference_build *w)
{
    for (int k = 0; k < 2; k++) {
        kn_deviance_fitter_free(w->deviance[k]);
        w->deviance[k] = NULL;
    }
    kn_deviance_clear(&w->r->deviance);
    kn_deviance_clear(&w->r->deviance_noise);
    w->r->neighbours = (kn_resemblance){0};
}

/* Handle the status of a whole-map deviance fit, after all MPI ranks have agreed on it:
 * KN_ERR_DATA, KN_ERR_NUMERIC or KN_ERR_ARGUMENT becomes a warning and all ranks drop the
 * deviances; others are returned. Collective. */
static kn_status no_deviance(kn_ctx *ctx, kn_status status, kn_reference_build *w)
{
    status = kn_comm_agree_status(ctx, status);
    if (status == KN_OK)
        return KN_OK;
    if (status != KN_ERR_DATA && status != KN_ERR_NUMERIC && status != KN_ERR_ARGUMENT)
        return status;
    kn_log(ctx, KN_LOG_WARNING, "no whole-map deviance: %s", kn_message(ctx));
    kn_comm_clear_error(ctx);
    kn_reference_drop_deviances(w);
    return KN_OK;
}

/* Allocate the cache for the z-scores of both whole-map deviances: of all responses if z itself is
 * kept, otherwise as far as the memory budget allows. It saves time only. With missing cells the
 * deviance is fitted to the cache, so only job->keep_z decides then. */
static kn_status new_keeper(kn_ctx *ctx, const kn_reference_job *job, kn_reference_build *w)
{
    kn_status status = KN_OK;
    const kn_responses *Y = &job->cv->Y;
    ptrdiff_t n = w->r->n;
    kn_deviance_sizes sizes = {n, job->gp->T, job->folds, kn_threads(ctx)};
    kn_z_cache *k = &w->keeper;
    void *memory;
    *k = (kn_z_cache){.n = n, .T = job->gp->T, .z = w->r->z};
    if (job->keep_z)
        k->own = kn_response_range(ctx, Y);
    else if (!Y->missing && !w->own)
        k->own = kn_reference_cached_range(ctx, Y, &sizes, job->top);
    for (int i = 0; i < 2 && k->own.last > k->own.first; i++) {
        KN_TRY(kn_alloc_raw(ctx, n * (k->own.last - k->own.first), sizeof(float), &memory));
        k->joint[i] = memory;
    }
out:
    return status;
}

/* Create the objects that fit both whole-map deviances of the reference; only the first, for zz',
 * if the method has its own deviance. Deviances that the data do not allow are dropped with a
 * warning. Collective. */
static kn_status new_fitters(kn_ctx *ctx, const kn_reference_job *job, kn_reference_build *w)
{
    kn_status status = KN_OK;
    kn_block_loop loop = kn_z_builder_loop(&w->z, NULL);
    kn_deviance_shape shape = {.N = w->r->n,
                               .T = w->z.gp->T,
                               .plan = kn_block_loop_plan_of(&loop),
                               .Y = loop.Y,
                               .fold = job->fold,
                               .folds = job->folds,
                               .K = KN_DEVIANCE_AUTO};
    for (int k = 0; k < (w->own ? 1 : 2) && status == KN_OK; k++) {
        shape.zz = k == 0 && !job->cv->sample; /* for the table-order test */
        status = kn_deviance_fitter_new(ctx, &shape, &w->deviance[k]);
    }
    return no_deviance(ctx, status, w);
}

kn_status kn_reference_new_deviances(kn_ctx *ctx, const kn_reference_job *job,
                                     kn_reference_build *w)
{
    kn_status status = new_keeper(ctx, job, w);
    return status == KN_OK && !job->cv->Y.missing ? new_fitters(ctx, job, w) : status;
}

/* Block visitor, called for each block of responses: feeds its z-scores to pass 1 of the fits of
 * both whole-map deviances. If a z is not finite, since its response has no noise, the deviances
 * are dropped; a warning follows after the loop. */
static kn_status first_deviance(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_status status = KN_OK;
    kn_reference_build *w = self;
    for (int k = 0; k < 2 && w->deviance[k] && status == KN_OK; k++)
        status = kn_deviance_first(ctx, w->deviance[k], b->first, k == 0 ? b->z_joint : b->z_noise);
    if (status ==
        KN_ERR_DATA) { /* a response without noise has no z; the warning follows after the loop */
        w->noiseless = true;
        kn_reference_drop_deviances(w);
        status = KN_OK;
    }
    return status;
}

kn_visitor kn_reference_deviances_visitor(kn_reference_build *w)
{
    return (kn_visitor){w, 0, NULL, first_deviance, NULL};
}

/* Block visitor, called for each block of responses: feeds its z-scores to pass 2 of the fits of
 * both whole-map deviances, or of the one that is not finished yet. */
static kn_status second_deviance(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_status status = KN_OK;
    kn_reference_build *w = self;
    for (int k = 0; k < 2; k++)
        if (w->deviance[k])
            KN_TRY(kn_deviance_second(ctx, w->deviance[k], b->first,
                                      k == 0 ? b->z_joint : b->z_noise));
out:
    return status;
}

/* Block visitor, called for each block of responses: repeats pass 1 of the fit of the whole-map
 * deviance of z. */
static kn_status repeat_pass1_z(kn_ctx *ctx, void *self, kn_block *b)
{
    return kn_deviance_first(ctx, ((kn_reference_build *)self)->deviance[0], b->first, b->z_joint);
}

/* Block visitor, called for each block of responses: repeats pass 1 of the fit of the whole-map
 * deviance by noise variance alone. */
static kn_status repeat_pass1_noise(kn_ctx *ctx, void *self, kn_block *b)
{
    return kn_deviance_first(ctx, ((kn_reference_build *)self)->deviance[1], b->first, b->z_noise);
}

/* Run another block loop over the reference z-scores for this visitor. Blocks in the cache are
 * read; the others are computed again from the maps. */
static kn_status repeat_z_loop(kn_ctx *ctx, const kn_reference_job *job, kn_reference_build *w,
                               kn_visitor visitor)
{
    kn_status status = KN_OK;
    kn_block_loop loop = kn_z_builder_loop(&w->z, "deviance");
    kn_visitor recall[] = {kn_z_replay(&w->keeper), visitor}, make[3];
    kn_index_range all = kn_response_range(ctx, &loop.Y), kept = w->keeper.own;
    int n = 0;
    if (w->keeper.joint[0]) {
        loop.to = kept.last;
        KN_TRY(kn_block_loop_run(ctx, &loop, recall, 2));
        kn_z_cache_clear(&w->keeper);
        loop.from = kept.last;
        loop.to = all.last;
    }
    if (loop.from >= all.last)
        return KN_OK;
    if (job->noise)
        make[n++] = kn_noise_visitor(job->noise);
    make[n++] = kn_z_builder_again(&w->z);
    make[n++] = visitor;
    KN_TRY(kn_block_loop_run(ctx, &loop, make, n));
out:
    return status;
}

/* Set the result of one whole-map deviance and free its fitter; or begin its pass 2 again, because
 * its ladder of K was too short. Collective. */
static kn_status finish_deviance(kn_ctx *ctx, kn_deviance_fitter **f, kn_deviance *out)
{
    kn_status status;
    bool again;
    KN_TRY(kn_deviance_finish(ctx, *f, &again, out));
    if (again) {
        KN_TRY(kn_deviance_begin_pass2(ctx, *f));
    } else {
        kn_deviance_fitter_free(*f);
        *f = NULL;
    }
out:
    return status;
}

/* Runs pass 2 of the fits of two whole-map deviances: of z (w->deviance[0]) and of z divided by the
 * noise alone ([1]); one loop over all responses per round. A fit whose list of candidate numbers
 * of directions K was too short takes part in another round. Sets w->r->deviance, deviance_noise
 * and has_deviance, and frees the fitters. Collective. */
static kn_status run_pass2(kn_ctx *ctx, const kn_reference_job *job, kn_reference_build *w)
{
    kn_status status;
    kn_deviance *out[2] = {&w->r->deviance, &w->r->deviance_noise};
    while (w->deviance[0] || w->deviance[1]) {
        KN_TRY(repeat_z_loop(ctx, job, w, (kn_visitor){w, 0, NULL, second_deviance, NULL}));
        for (int k = 0; k < 2; k++)
            if (w->deviance[k])
                KN_TRY(finish_deviance(ctx, &w->deviance[k], out[k]));
    }
    w->r->has_deviance = true;
out:
    return status;
}

/* Finish both whole-map deviances after pass 1: sum zz', test the table order, solve the
 * eigenproblems, run pass 2 over the responses, and store the results in the reference.
 * Collective. */
static kn_status run_second_loop(kn_ctx *ctx, const kn_reference_job *job, kn_reference_build *w)
{
    kn_status status;
    for (int k = 0; k < 2 && w->deviance[k]; k++) {
        kn_mat zz;
        bool again;
        KN_TRY(kn_deviance_gram(ctx, w->deviance[k], &again, &zz));
        while (again) { /* z exceeded the assumed bound: only this zz' is computed again */
            kn_visitor it = {w, 0, NULL, k == 0 ? repeat_pass1_z : repeat_pass1_noise, NULL};
            KN_TRY(repeat_z_loop(ctx, job, w, it));
            KN_TRY(kn_deviance_gram(ctx, w->deviance[k], &again, &zz));
        }
        if (k == 0 && !job->cv->sample)
            KN_TRY(
                kn_table_order_test(ctx, zz, job->order, job->group, job->seed, &w->r->neighbours));
        if (w->own)
            return KN_OK;
        KN_TRY(kn_deviance_begin_pass2(ctx, w->deviance[k]));
    }
    KN_TRY(run_pass2(ctx, job, w));
out:
    return status;
}

/* With missing cells: fit both deviances to the cached z (n x T floats), and test the table order.
 * Without a cache there is no deviance, with a warning. */
static kn_status deviances_with_missing(kn_ctx *ctx, const kn_reference_job *job,
                                        kn_reference_build *w)
{
    kn_status status = KN_OK;
    kn_reference *r = w->r;
    kn_mat zz = {0};
    kn_deviance *deviance[2] = {&r->deviance, &r->deviance_noise};
    if (!w->keeper.joint[0]) {
        kn_log(ctx, KN_LOG_WARNING,
               "no whole-map deviance: responses are missing, and the z-scores of all participants "
               "do not fit in memory");
        return KN_OK;
    }
    for (int k = 0; k < (w->own ? 1 : 2); k++) {
        kn_deviance_missing_cells from = {r->n,      job->gp->T, w->keeper.joint[k],
                                          job->fold, job->folds, job->cv->Y.side};
        KN_TRY(kn_deviance_fit_missing(ctx, &from, k == 0 ? &zz : NULL, deviance[k]));
        if (k == 0 && !job->cv->sample)
            KN_TRY(kn_table_order_test(ctx, zz, job->order, job->group, job->seed, &r->neighbours));
    }
    if (w->own) /* only the table-order test was needed */
        kn_deviance_clear(&r->deviance);
    r->has_deviance = !w->own;
out:
    kn_mat_clear(&zz);
    return status;
}

/* Set both deviances from the method's own density of whole maps, each participant's by the model
 * of the other folds [METHOD 8j]. None, with a warning, if a response has no noise. */
static kn_status own_deviances(kn_ctx *ctx, const kn_reference_job *job, kn_reference_build *w)
{
    kn_status status = KN_OK;
    kn_reference *r = w->r;
    bool sound = true, any = false;
    for (ptrdiff_t i = 0; i < r->n; i++) {
        any = any || isfinite(w->map_density.dev_noise[i]);
        sound = sound && (job->cv->Y.missing || isfinite(w->map_density.dev_noise[i]));
    }
    if (!sound || !any) {
        kn_log(ctx, KN_LOG_WARNING, "no whole-map deviance: some responses have no noise");
        return KN_OK;
    }
    kn_deviance_clear(&r->deviance);
    kn_deviance_clear(&r->deviance_noise);
    KN_TRY(kn_deviance_of_values(ctx, w->map_density.dev, r->n, &r->deviance));
    KN_TRY(kn_deviance_of_values(ctx, w->map_density.dev_noise, r->n, &r->deviance_noise));
    r->has_deviance = r->own_deviance = true;
out:
    return status;
}

/* x, or 0 where %.2f would print -0.00. */
static double round_hundredths(double x)
{
    return fabs(x) < 0.005 ? 0 : x;
}

/* Warn if maps of adjacent rows of the table resemble each other more than by chance. */
static void warn_of_neighbours(kn_ctx *ctx, const kn_resemblance *n)
{
    if (n->resemble)
        kn_log(ctx, KN_LOG_WARNING,
               "the residual maps of participants in adjacent rows have a correlation of %.2f "
               "(%.2f by chance); if the table is ordered by site, scanner or session, add that as "
               "a covariate",
               round_hundredths(n->correlation), round_hundredths(n->chance));
}

kn_status kn_reference_deviances(kn_ctx *ctx, const kn_reference_job *job, kn_reference_build *w)
{
    kn_status status = KN_OK;
    if (w->noiseless && !w->own)
        kn_log(ctx, KN_LOG_WARNING, "no whole-map deviance: some responses have no noise");
    if (job->cv->Y.missing)
        KN_TRY(no_deviance(ctx, deviances_with_missing(ctx, job, w), w));
    if (w->deviance[0])
        KN_TRY(no_deviance(ctx, run_second_loop(ctx, job, w), w));
    if (w->own)
        KN_TRY(own_deviances(ctx, job, w));
    warn_of_neighbours(ctx, &w->r->neighbours);
out:
    return status;
}
