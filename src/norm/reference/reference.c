/* Implements kn_reference_make() in two block loops over the cross-validated maps: the first for
 * everything that is a sum over responses, the second for the whole-map deviances
 * (norm/reference/deviance.c) [METHOD 8, 8b]. Before them a loop over a subsample chooses the
 * calibration. */
#include "norm/reference/reference.h"

#include <math.h>

#include "base/memory/alloc.h"
#include "base/mpi/comm.h"
#include "data/mpi/partition_responses.h"
#include "gp/method.h"
#include "norm/calibration/learn_subsample.h"
#include "norm/metrics/extrapolation.h"
#include "norm/reference/deviance.h"
#include "norm/reference/distribution.h"
#include "stats/sort_select.h"

void kn_reference_clear(kn_reference *r)
{
    kn_free(r->statistic);
    kn_free(r->mean_z);
    kn_free(r->negative);
    kn_free(r->positive);
    kn_free(r->loo_statistic);
    kn_free(r->y_sum);
    kn_free(r->sample);
    kn_free(r->extrapolation);
    kn_free(r->z);
    for (int k = 0; k < KN_REFERENCE_KINDS; k++)
        kn_quantiles_clear(&r->quantiles[k]);
    kn_deviance_clear(&r->deviance);
    kn_deviance_clear(&r->deviance_noise);
    *r = (kn_reference){0};
}

double kn_reference_iso_share(const kn_gp *gp, ptrdiff_t j)
{
    double sum = 0, row = 0, unit = gp->psi ? gp->psi[j] : 1;
    if (!(gp->latent.iso > 0))
        return 0;
    for (ptrdiff_t p = 0; p < gp->P; p++) {
        double b2 = kn_at(gp->B, j, p) * kn_at(gp->B, j, p);
        sum += b2 * gp->latent.c[p];
        row += b2;
    }
    if (gp->complement_component)
        sum += (gp->outside ? gp->outside[j] : 1 - row) * gp->latent.c[gp->P];
    return sum * gp->latent.iso * unit;
}

bool kn_reference_keeps_z(ptrdiff_t n, ptrdiff_t T)
{
    static const double MOST = 1e9; /* bytes */
    return (double)sizeof(float) * (double)n * (double)T <= MOST;
}

ptrdiff_t kn_reference_row(const kn_reference *r, ptrdiff_t t)
{
    if (!r->sample)
        return t >= 0 && t < r->n ? t : -1;
    ptrdiff_t low = 0, high = r->n; /* sample[low - 1] < t <= sample[high] */
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        if (r->sample[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n && r->sample[low] == t ? low : -1;
}

static void walk_clear(kn_reference_walk *w)
{
    for (int k = 0; k < 2; k++)
        kn_deviance_fitter_free(w->deviance[k]);
    kn_z_builder_clear(&w->z);
    kn_z_cache_clear(&w->keeper);
    kn_free(w->keeper.joint[0]);
    kn_free(w->keeper.joint[1]);
    kn_exclusion_groups_clear(&w->apart);
    kn_learner_free(w->learner);
    kn_calibration_clear(&w->layer);
    kn_map_density_walk_clear(&w->law);
}

/* All-gather what the first loop has set per response. If any rank found a response without
 * noise, which has no z, all ranks drop the deviances. */
static kn_status bring_together(kn_ctx *ctx, const kn_reference_job *job, kn_reference_walk *w)
{
    kn_status status;
    const kn_responses *Y = &job->cv->Y;
    const kn_calibration_transform *layer = job->layer ? job->layer : &w->layer;
    double noiseless = w->noiseless;
    ptrdiff_t element = sizeof(float), T = job->gp->T;
    KN_TRY(kn_allgather_responses_d(ctx, Y, job->gp->noise));
    KN_TRY(kn_allgather_response_cols(ctx, Y, layer->beta));
    KN_TRY(kn_allgather_response_cols(ctx, Y, layer->theta));
    KN_TRY(
        kn_allgather_responses(ctx, Y, (kn_of_responses){w->r->z, w->r->n, T * element, element}));
    KN_TRY(kn_extreme_stream_join(ctx, &w->z.top));
    KN_TRY(kn_comm_max(ctx, &noiseless, 1));
    if (noiseless > 0 && !w->noiseless) {
        w->noiseless = true;
        kn_reference_drop_deviances(w);
    }
out:
    return status;
}

/* mean_z and counts from the sums over blocks. */
static kn_status take_burden(kn_ctx *ctx, kn_reference_walk *w)
{
    kn_status status;
    double *sums = NULL;
    kn_reference *r = w->r;
    KN_TRY(kn_alloc_d(ctx, 3 * r->n, &sums));
    KN_TRY(kn_slots_sum(ctx, &w->z.burden, sums));
    for (ptrdiff_t i = 0; i < r->n; i++) {
        r->mean_z[i] = sums[i] / (double)w->z.top.finite[i];
        r->negative[i] = sums[r->n + i];
        r->positive[i] = sums[2 * r->n + i];
    }
out:
    kn_free(sums);
    return status;
}

/* First block loop: noise, z, cache and pass 1 of the deviances; then the sums over all ranks.
 * *finite: every response has a z. */
static kn_status first_walk(kn_ctx *ctx, const kn_reference_job *job, kn_reference_walk *w,
                            bool *finite)
{
    kn_status status;
    kn_reference *r = w->r;
    kn_z_builder *z = &w->z;
    kn_block_loop walk = kn_z_builder_walk(z, "reference");
    kn_visitor visitor[5];
    double noise;
    int n = 0;
    if (job->noise)
        visitor[n++] = kn_noise_visitor(job->noise);
    if (w->own) /* before the visitor that overwrites the block with z */
        visitor[n++] = kn_map_density_visitor(&w->law);
    visitor[n++] = kn_z_builder_visitor(z);
    visitor[n++] = kn_z_keep(&w->keeper);
    visitor[n++] = kn_reference_deviances_visitor(w);
    KN_TRY(kn_block_loop_run(ctx, &walk, visitor, n));
    KN_TRY(bring_together(ctx, job, w));
    KN_TRY(kn_slots_sum(ctx, &z->noise_sum, &noise));
    KN_TRY(take_burden(ctx, w));
    KN_TRY(kn_slots_sum(ctx, &z->y, r->y_sum));
    KN_TRY(kn_slots_sum(ctx, &z->model, r->extrapolation));
    *finite = true;
    for (ptrdiff_t i = 0; !job->cv->Y.holes && i < r->n; i++)
        *finite = *finite && z->top.finite[i] == z->gp->T;
    for (ptrdiff_t j = 0; job->cv->Y.holes && j < z->gp->T;
         j++) /* missing cells have no z either */
        *finite = *finite && !(z->gp->noise[j] <= 0);
    kn_extreme_stream_result(&z->top, r->statistic);
    kn_extrapolation_ratio(r->extrapolation, r->n, noise);
    for (ptrdiff_t i = 0; job->cv->far && i < r->n; i++)
        r->extrapolation[i] = job->cv->far[i];
    kn_sort(r->extrapolation, r->n);
out:
    return status;
}

static kn_status reference_new(kn_ctx *ctx, const kn_reference_job *job, kn_reference *r)
{
    kn_status status;
    const kn_gp_maps *cv = job->cv;
    *r = (kn_reference){.n = cv->n, .top = job->top};
    KN_TRY(kn_alloc_d(ctx, r->n, &r->statistic));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->mean_z));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->negative));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->positive));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->extrapolation));
    KN_TRY(kn_alloc_d(ctx, r->n, &r->y_sum));
    if (cv->sample) {
        KN_TRY(kn_alloc_i(ctx, r->n, &r->sample));
        for (ptrdiff_t i = 0; i < r->n; i++)
            r->sample[i] = cv->sample[i];
    }
    if (job->keep_z)
        KN_TRY(kn_alloc_f(ctx, r->n * job->gp->T, &r->z));
out:
    return status;
}

/* Set the groups that are left out together, and the number of independent units. */
static kn_status part_groups(kn_ctx *ctx, const kn_reference_job *job, kn_reference_walk *w)
{
    kn_status status = KN_OK;
    void *memory = NULL;
    const kn_gp_maps *cv = job->cv;
    int *of = NULL;
    if (job->group) {
        KN_TRY(kn_alloc(ctx, cv->n, sizeof(int), &memory));
        of = memory;
        for (ptrdiff_t i = 0; i < cv->n; i++)
            of[i] = job->group[cv->sample ? cv->sample[i] : i];
    }
    KN_TRY(kn_exclusion_groups_new(ctx, cv->n, of, &w->apart));
    w->r->units = w->apart.n_groups;
out:
    kn_free(memory);
    return status;
}

/* Log which components of the calibration were tried and kept. */
static void say_layer(kn_ctx *ctx, const kn_calibration_transform *l)
{
    const kn_calibration_component *batch = &l->part[KN_CALIBRATION_SITE];
    for (int k = 0; k < KN_CALIBRATION_COMPONENTS; k++)
        if (l->part[k].tried)
            kn_log(ctx, KN_LOG_DETAIL,
                   "calibration: %s %s (held-out gain %.4f, standard error %.4f)",
                   kn_calibration_component_words[k], l->part[k].kept ? "kept" : "not kept",
                   l->part[k].gain, l->part[k].se);
    if (batch->tried && batch->gain < -batch->se)
        kn_log(ctx, KN_LOG_INFO,
               "calibration: %s is kept where there is a batch, although people held out lose by "
               "it",
               kn_calibration_component_words[KN_CALIBRATION_SITE]);
}

/* Choose the calibration components and fit their priors, on the subsample of responses. */
static kn_status learn(kn_ctx *ctx, const kn_reference_job *job, kn_reference_walk *w)
{
    kn_status status;
    kn_visitor visitor[2];
    int n = 0;
    ptrdiff_t every = 1;
    kn_learner_job of = {.how = job->layer ? job->calibrate : KN_CALIBRATE_NONE,
                         .x = job->x,
                         .n = job->cv->n,
                         .T = job->gp->T,
                         .fold = job->fold,
                         .folds = job->folds,
                         .noise = job->noise,
                         .apart = &w->apart,
                         .noise_of_all = job->gp->noise,
                         .site = job->site,
                         .S = job->S};
    KN_TRY(kn_learner_new(ctx, &of, job->layer ? job->layer : &w->layer, &w->learner));
    w->z.learner = w->learner;
    if (kn_learner_sample(w->learner, &every) == 0)
        goto out;
    kn_block_loop walk = kn_z_builder_walk(&w->z, NULL);
    walk.cut = every > 1 ? KN_LEARNER_CUT : 0;
    walk.every = every;
    if (job->noise)
        visitor[n++] = kn_noise_visitor(job->noise);
    visitor[n++] = kn_learner_visitor(w->learner);
    KN_TRY(kn_block_loop_run(ctx, &walk, visitor, n));
    KN_TRY(kn_learner_choose(ctx, w->learner));
    say_layer(ctx, w->learner->layer);
out:
    return status;
}

kn_status kn_reference_make(kn_ctx *ctx, const kn_reference_job *job, kn_reference *out,
                            kn_cv_summary *summary)
{
    kn_status status;
    bool finite;
    double losses[KN_N_LOSSES];
    kn_reference_walk w = {.r = out,
                           .own = job->gp->method->own_deviance,
                           .law = {.job = {.maps = job->cv, .scaling = job->cv->Y.scaling}},
                           .z = {.gp = job->gp, .maps = job->cv, .share = job->top, .whole = true}};
    KN_TRY(reference_new(ctx, job, out));
    KN_TRY(part_groups(ctx, job, &w));
    KN_TRY(learn(ctx, job, &w));
    KN_TRY(kn_reference_new_deviances(ctx, job, &w));
    KN_TRY(first_walk(ctx, job, &w, &finite));
    KN_TRY(kn_slots_sum(ctx, &w.z.losses, losses));
    *summary = kn_losses_summary(losses, job->cv->folds);
    if (!finite) { /* a response without any noise has no z */
        kn_log(ctx, KN_LOG_WARNING,
               "some responses have no noise at all, so their z are undefined: "
               "no abnormality statistics");
        goto out;
    }
    kn_extreme_stream_clear(&w.z.top);
    KN_TRY(kn_reference_distribution(ctx, out, job->gp->T));
    KN_TRY(kn_reference_findings(ctx, out, job->gp->T));
    KN_TRY(kn_reference_deviances(ctx, job, &w));
out:
    walk_clear(&w);
    if (status != KN_OK) {
        kn_reference_clear(out);
        if (job->layer) /* no partial calibration after an error */
            kn_calibration_clear(job->layer);
    }
    return status;
}
