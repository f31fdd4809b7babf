/* Implements learn_site_prior.h. Ranks take the residuals of their own blocks; the moments and the
 * kept responses are exchanged at the end of the loop. */
#include "norm/sites/learn_site_prior.h"

#include <math.h>

#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "base/random.h"
#include "data/canonical_order.h"
#include "data/mpi/gather_responses.h"
#include "gp/block_visitor.h"
#include "gp/method.h"
#include "norm/calibration/learn_subsample.h"

enum { COLUMNS = 16 };                /* chunk size of the parallel loop */
static const uint64_t STREAM = 0x517; /* stream of the random generator */

/* ---- subsample of responses ----------------------------------------------------------------- */

/* Draw t of T responses without replacement by the seed, into sample (t) in ascending order
 * (sequential sampling). */
static void draw_sample(uint64_t seed, ptrdiff_t T, ptrdiff_t t, ptrdiff_t *sample)
{
    kn_rng rng;
    ptrdiff_t drawn = 0;
    kn_rng_init(&rng, seed, STREAM);
    for (ptrdiff_t j = 0; drawn < t; j++)
        if (kn_rng_below(&rng, T - j) < t - drawn)
            sample[drawn++] = j;
}

/* Position of the first response with index >= j among those drawn for T_eff, the effective number
 * of responses; m->t if there is none. */
static ptrdiff_t sample_lower_bound(const kn_sites_builder *m, ptrdiff_t j)
{
    ptrdiff_t low = 0, high = m->t; /* sample[low - 1] < j <= sample[high] */
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        if (m->sample[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Position of response j among those drawn for T_eff, the effective number of responses; -1: it was
 * not drawn. */
static ptrdiff_t sample_index(const kn_sites_builder *m, ptrdiff_t j)
{
    ptrdiff_t index = sample_lower_bound(m, j);
    return index < m->t && m->sample[index] == j ? index : -1;
}

/* ---- from residuals ------------------------------------------------------------------------- */

enum { OF_A_SITE = 3 }; /* arrays of kn_site_sums_of_response */

void kn_sites_builder_clear(kn_sites_builder *m)
{
    kn_free(m->sites);
    kn_slots_clear(&m->sums);
    kn_free(m->sample);
    for (int k = 0; k < 2; k++) {
        kn_mat_clear(&m->within[k]);
        kn_free(m->dof[k]);
    }
    kn_free(m->moments);
    kn_mat_clear(&m->ln_ratio);
    kn_mat_clear(&m->count);
    kn_mat_clear(&m->work);
    *m = (kn_sites_builder){0};
}

kn_status kn_sites_builder_new(kn_ctx *ctx, const kn_sites_shape *shape, kn_sites *out,
                               kn_sites_builder *m)
{
    kn_status status;
    void *memory;
    ptrdiff_t n = shape->of.n;
    *m = (kn_sites_builder){.shape = *shape, .out = out};
    *out = (kn_sites){0};
    KN_TRY(kn_sites_new(ctx, shape->T, out));
    KN_TRY(kn_alloc_d(ctx, shape->T, &m->sites));
    KN_TRY(kn_slots_new(ctx, shape->blocks, kn_site_sums(shape->of.S), &m->sums));
    m->t = kn_learner_sample_size(n, shape->T);
    KN_TRY(kn_alloc_i(ctx, m->t, &m->sample));
    if (shape->key && m->t < shape->T)
        KN_TRY(kn_responses_draw(ctx, shape->key, shape->T, shape->seed, m->t, m->sample));
    else
        draw_sample(shape->seed, shape->T, m->t, m->sample);
    for (int k = 0; k < (shape->scaled ? 2 : 1); k++) {
        KN_TRY(kn_mat_new(ctx, n, m->t, &m->within[k]));
        KN_TRY(kn_alloc_d(ctx, m->t, &m->dof[k]));
    }
    KN_TRY(kn_alloc(ctx, 2 * shape->width, sizeof *m->moments, &memory));
    m->moments = memory;
    KN_TRY(kn_mat_new(ctx, shape->of.S, shape->width, &m->ln_ratio));
    KN_TRY(kn_mat_new(ctx, shape->of.S, shape->width, &m->count));
    KN_TRY(kn_mat_new(ctx, n + OF_A_SITE * (ptrdiff_t)shape->of.S,
                      kn_workers(ctx, shape->width, COLUMNS), &m->work));
out:
    if (status != KN_OK) {
        kn_sites_builder_clear(m);
        kn_sites_clear(out);
    }
    return status;
}

typedef struct add_job {
    kn_sites_builder *m;
    const kn_site_block *b;
} add_job;

/* Moments of one response over the sites from e (n), unscaled (k = 0) or scaled (k = 1) residuals.
 * If it was drawn (index >= 0), e - ebar_s and its degrees of freedom are kept. work: n + 3 S
 * doubles. */
static kn_site_moments compute_moments(kn_sites_builder *m, int k, const double *e, double *work,
                                       ptrdiff_t index)
{
    ptrdiff_t n = m->shape.of.n;
    int S = m->shape.of.S;
    double *site = work + n;
    kn_site_sums_of_response sums = {site, site + S, site + 2 * (ptrdiff_t)S};
    kn_site_moments moments = kn_site_moments_of(&m->shape.of, e, &sums, work);
    if (index >= 0) {
        double *kept = kn_col(m->within[k], index);
        for (ptrdiff_t i = 0; i < n; i++)
            kept[i] = work[i];
        m->dof[k][index] = moments.N - moments.S;
    }
    return moments;
}

/* Worker of kn_sites_builder_add(): moments of responses from .. end - 1 of the block, into the
 * builder and its result. */
static void add_columns(void *self, int worker, ptrdiff_t from, ptrdiff_t end)
{
    const add_job *job = self;
    kn_sites_builder *m = job->m;
    kn_sites *out = m->out;
    ptrdiff_t n = m->shape.of.n;
    int S = m->shape.of.S;
    double *work = kn_col(m->work, worker), *site = work + n;
    kn_site_sums_of_response sums = {site, site + S, site + 2 * (ptrdiff_t)S};
    for (ptrdiff_t j = from; j < end; j++) {
        ptrdiff_t response = job->b->first + j, index = sample_index(m, response);
        kn_site_moments *moments = &m->moments[2 * j];
        moments[0] = compute_moments(m, 0, kn_col(job->b->e, j), work, index);
        moments[1] = moments[0];
        if (m->shape.scaled)
            moments[1] = compute_moments(m, 1, kn_col(job->b->scaled, j), work, index);
        kn_site_ln_ratio(&sums, S, moments[1].w, kn_col(m->ln_ratio, j));
        for (int s = 0; s < S; s++)
            kn_col(m->count, j)[s] = sums.count[s];
        m->sites[response] = moments[0].S;
        out->mu[response] = moments[0].mu;
        out->tau2[response] = moments[0].tau2;
        out->w[response] = moments[0].w;
        out->w_scale[response] = moments[1].w;
    }
}

void kn_sites_builder_add(kn_ctx *ctx, kn_sites_builder *m, const kn_site_block *b)
{
    double *sums = kn_slot(&m->sums, b->number);
    kn_parallel_workers(ctx, b->e.cols, COLUMNS, add_columns, &(add_job){m, b});
    for (ptrdiff_t j = 0; j < b->e.cols; j++) /* in order, for reproducible bits */
        kn_site_sums_add(sums, m->shape.of.S, &m->moments[2 * j], &m->moments[2 * j + 1],
                         kn_col(m->ln_ratio, j), kn_col(m->count, j));
}

kn_status kn_sites_builder_finish(kn_ctx *ctx, kn_sites_builder *m)
{
    kn_status status;
    double *sums = NULL;
    kn_sites *out = m->out;
    KN_TRY(kn_site_T_eff(ctx, m->within[0], m->dof[0], m->shape.T, &out->T_eff_offset));
    out->T_eff_scale = out->T_eff_offset;
    if (m->shape.scaled)
        KN_TRY(kn_site_T_eff(ctx, m->within[1], m->dof[1], m->shape.T, &out->T_eff_scale));
    KN_TRY(kn_alloc_d(ctx, kn_site_sums(m->shape.of.S), &sums));
    KN_TRY(kn_slots_sum(ctx, &m->sums, sums));
    KN_TRY(kn_sites_finish(ctx, sums, m->shape.of.S, m->sites, out));
out:
    kn_free(sums);
    return status;
}

/* ---- from maps ------------------------------------------------------------------------------ */

typedef struct sites_pass {
    const kn_sites_job *job;
    kn_sites *out;
    kn_sites_builder maker;
} sites_pass;

/* Block visitor, called before the first block: creates the builder of the site prior for the sizes
 * of the loop. */
static kn_status begin_sites(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    sites_pass *w = self;
    kn_sites_shape shape = {.of = {plan->n, w->job->site, w->job->S},
                            .T = plan->T,
                            .blocks = plan->blocks,
                            .width = plan->width,
                            .scaled = w->job->D.data != NULL,
                            .seed = w->job->seed,
                            .key = w->job->cv->Y.key};
    return kn_sites_builder_new(ctx, &shape, w->out, &w->maker);
}

typedef struct residual_job {
    const kn_sites_job *of;
    const kn_block *b;
} residual_job;

/* Worker: for responses from .. end - 1 of the block, overwrites y with e = y - mean, and the mean
 * with e exp(-eta/2); neither is needed after this. */
static void make_residuals(void *self, ptrdiff_t from, ptrdiff_t end)
{
    const residual_job *job = self;
    const kn_block *b = job->b;
    kn_mat D = job->of->D;
    for (ptrdiff_t j = from; j < end; j++) {
        double *e = kn_col(b->y, j), *scaled = kn_col(b->mean, j);
        for (ptrdiff_t i = 0; i < b->y.rows; i++)
            e[i] = isfinite(e[i]) ? e[i] - scaled[i] : NAN;
        if (!D.data)
            continue;
        kn_calibration_factor(D, kn_col(job->of->calibration->beta, b->first + j), b->y.rows, NULL,
                              scaled);
        for (ptrdiff_t i = 0; i < b->y.rows; i++)
            scaled[i] = e[i] / sqrt(scaled[i]);
    }
}

/* Block visitor, called for each block of responses: computes its residuals and adds them to the
 * builder of the site prior. */
static kn_status add_block(kn_ctx *ctx, void *self, kn_block *b)
{
    sites_pass *w = self;
    kn_parallel(ctx, b->count, COLUMNS, make_residuals, &(residual_job){w->job, b});
    kn_sites_builder_add(ctx, &w->maker, &(kn_site_block){b->number, b->first, b->y, b->mean});
    return KN_OK;
}

/* Broadcast the residuals of the drawn responses in the range `range`, which rank r has seen.
 * Collective. */
static kn_status broadcast_sample(kn_ctx *ctx, kn_sites_builder *m, kn_index_range range, int r)
{
    kn_status status = KN_OK;
    ptrdiff_t at = sample_lower_bound(m, range.first), n = sample_lower_bound(m, range.last) - at,
              bytes = sizeof(double);
    for (int k = 0; k < 2 && n > 0 && m->within[k].data; k++) {
        KN_TRY(kn_comm_broadcast(ctx, kn_col(m->within[k], at), n * m->within[k].ld * bytes, r));
        KN_TRY(kn_comm_broadcast(ctx, m->dof[k] + at, n * bytes, r));
    }
out:
    return status;
}

/* All-gather the moments of each response, and the residuals of the drawn ones. Collective. */
static kn_status exchange_results(kn_ctx *ctx, const kn_responses *Y, kn_sites_builder *m)
{
    kn_status status = KN_OK;
    double *of_each[] = {m->sites, m->out->mu, m->out->tau2, m->out->w, m->out->w_scale};
    int ranks = kn_ctx_comm(ctx)->size;
    for (size_t k = 0; k < sizeof of_each / sizeof *of_each; k++)
        KN_TRY(kn_allgather_responses_d(ctx, Y, of_each[k]));
    for (int r = 0; ranks > 1 && r < ranks; r++)
        KN_TRY(broadcast_sample(ctx, m, kn_response_range_of(Y, r, ranks), r));
out:
    return status;
}

/* Block visitor, called after the last block: exchanges the results of all MPI ranks and completes
 * the site prior. Collective. */
static kn_status end_sites(kn_ctx *ctx, void *self)
{
    sites_pass *w = self;
    kn_responses Y = kn_gp_maps_y(w->job->cv);
    kn_status status = exchange_results(ctx, &Y, &w->maker);
    return status == KN_OK ? kn_sites_builder_finish(ctx, &w->maker) : status;
}

kn_status kn_sites_make(kn_ctx *ctx, const kn_sites_job *job, kn_sites *out)
{
    sites_pass w = {.job = job, .out = out};
    kn_block_loop loop = {.Y = kn_gp_maps_y(job->cv), .maps = job->cv, .stage = "sites"};
    kn_visitor visitor = {&w, KN_BLOCK_Y | KN_BLOCK_MEAN, begin_sites, add_block, end_sites};
    *out = (kn_sites){0};
    kn_status status = kn_block_loop_run(ctx, &loop, &visitor, 1);
    kn_sites_builder_clear(&w.maker);
    if (status != KN_OK)
        kn_sites_clear(out);
    return status;
}

void kn_sites_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, int S)
{
    enum { OF_A_RESPONSE = 4 };
    ptrdiff_t blocks = 1 + s->T / KN_BLOCK, width = kn_block_loop_width(0, s->T);
    ptrdiff_t t = kn_learner_sample_size(n, s->T);
    kn_plan_stage(r, "sites");
    for (int k = 0; k < OF_A_RESPONSE; k++)
        kn_plan_alloc_d(r, KN_NEED_REFERENCE, s->T, 1);
    kn_mem_usage mark = r->now, sums;
    kn_block_loop_need(r, n, width, KN_BLOCK_Y | KN_BLOCK_MEAN);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1);
    kn_slots_need(r, KN_NEED_WORK, blocks, kn_site_sums(S));
    kn_plan_alloc_d(r, KN_NEED_WORK, kn_site_sums(S), 1);
    kn_plan_alloc(r, KN_NEED_WORK, t, sizeof(ptrdiff_t));
    if (t < s->T)
        kn_responses_draw_need(r, s->T);
    kn_plan_alloc(r, KN_NEED_WORK, 2 * width, sizeof(kn_site_moments));
    for (int k = 0; k < 2; k++) { /* unscaled and scaled residuals; ratios and counts */
        kn_plan_alloc_d(r, KN_NEED_WORK, n, t);
        kn_plan_alloc_d(r, KN_NEED_WORK, t, 1);
        kn_plan_alloc_d(r, KN_NEED_WORK, S, width);
    }
    kn_plan_alloc_d(r, KN_NEED_WORK, n + OF_A_SITE * (ptrdiff_t)S,
                    kn_workers_of(s->threads, width, COLUMNS));
    sums = r->now;
    s->method->need.block(r, s, KN_MAPS_CV, n);
    kn_site_T_eff_need(r, n, t);
    kn_plan_free(r, mark, sums);
}
