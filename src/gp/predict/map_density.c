/* Implements map_density.h as a block visitor: blocks accumulate z = e_w V, the end of the loop
 * evaluates deviance and density. The density of a whole map takes the correlation of responses
 * into account. */
#include "gp/predict/map_density.h"

#include <math.h>
#include <string.h>

#include "base/parallel/parallel_for.h"
#include "base/sum/block_sums.h"
#include "gp/method.h"
#include "gp/predict/map_density_missing.h"
#include "gp/predict/noise.h"
#include "la/la.h"

enum { ROWS = 32, WORD = 64 };
static const double LN_2PI = 1.8378770664093454836;

void kn_map_density_clear(kn_map_density *l)
{
    kn_mat_clear(&l->v);
    kn_free(l->d);
    kn_free(l->d_known);
    kn_free(l->v0);
    kn_mat_clear(&l->W);
    *l = (kn_map_density){0};
}

/* Frees the work space of the block loop, but not the results (dev, dev_noise, log_p, log_null). */
static void clear_work(kn_map_density_state *w)
{
    for (int k = 0; w->density && k < w->job.maps->n_parts; k++) {
        kn_map_density_clear(&w->density[k]);
        kn_mat_clear(&w->z[k]);
    }
    kn_free(w->density);
    kn_free(w->z);
    kn_free(w->q);
    kn_free(w->log_scale);
    kn_free(w->missing);
    kn_free(w->gap);
    kn_free(w->known);
    kn_free(w->weight);
    kn_mat_clear(&w->e);
    kn_mat_clear(&w->V);
    kn_mat_clear(&w->null);
    kn_free(w->scale);
    kn_free(w->logs);
    w->density = NULL;
    w->z = NULL;
    w->q = w->log_scale = w->known = w->weight = w->scale = w->logs = NULL;
    w->missing = NULL;
    w->gap = NULL;
}

void kn_map_density_state_clear(kn_map_density_state *w)
{
    clear_work(w);
    kn_free(w->dev);
    kn_free(w->dev_noise);
    kn_free(w->log_p);
    kn_free(w->log_null);
    *w = (kn_map_density_state){0};
}

/* ---- begin ---- */

/* Allocates the results of n participants: deviance, deviance by noise, log density and that of
 * the trivial model. */
static kn_status new_results(kn_ctx *ctx, ptrdiff_t n, kn_map_density_state *w)
{
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, n, &w->dev));
    KN_TRY(kn_alloc_d(ctx, n, &w->dev_noise));
    KN_TRY(kn_alloc_d(ctx, n, &w->log_p));
    KN_TRY(kn_alloc_d(ctx, n, &w->log_null));
out:
    return status;
}

/* Allocates and computes, for each part of the maps, the distribution of a map
 * (kn_method.map_density), and allocates its coordinates z (rows x K) and the buffers of a
 * block. */
static kn_status allocate_parts(kn_ctx *ctx, const kn_block_loop_plan *plan,
                                kn_map_density_state *w)
{
    kn_status status;
    const kn_gp_maps *maps = w->job.maps;
    void *memory;
    ptrdiff_t K = 0, rows = 0;
    KN_TRY(kn_alloc(ctx, maps->n_parts, sizeof *w->z, &memory));
    w->z = memory;
    KN_TRY(kn_alloc(ctx, maps->n_parts, sizeof *w->density, &memory));
    w->density = memory;
    for (int k = 0; k < maps->n_parts; k++) {
        KN_TRY(maps->gp->method->map_density(ctx, maps, k, &w->density[k]));
        KN_TRY(kn_mat_new(ctx, maps->part[k].n, w->density[k].K, &w->z[k]));
        K = w->density[k].K > K ? w->density[k].K : K;
        rows = maps->part[k].n > rows ? maps->part[k].n : rows;
    }
    KN_TRY(kn_mat_new(ctx, rows, plan->width, &w->e));
    KN_TRY(kn_mat_new(ctx, plan->width, K, &w->V));
    KN_TRY(kn_alloc_d(ctx, plan->width, &w->scale));
    KN_TRY(kn_alloc_d(ctx, plan->width, &w->logs));
out:
    return status;
}

/* Begins the block loop (self: kn_map_density_state): allocates results and work space. */
static kn_status begin_density(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_status status;
    kn_map_density_state *w = self;
    const kn_gp_maps *maps = w->job.maps;
    void *memory;
    w->T = plan->T;
    w->words = (plan->T + WORD - 1) / WORD;
    KN_TRY(new_results(ctx, plan->n, w));
    KN_TRY(kn_alloc_d(ctx, plan->n, &w->q));
    KN_TRY(kn_alloc_d(ctx, plan->n, &w->log_scale));
    KN_TRY(kn_alloc_i(ctx, plan->n, &w->missing));
    KN_TRY(kn_mat_new(ctx, plan->width, 3, &w->null));
    if (maps->gp->method->map_density) {
        KN_TRY(kn_alloc(ctx, w->words * plan->n, sizeof *w->gap, &memory));
        w->gap = memory;
        KN_TRY(allocate_parts(ctx, plan, w));
        goto out;
    }
    KN_TRY(kn_alloc_d(ctx, plan->n, &w->weight));
    if (maps->known) {
        KN_TRY(kn_alloc_d(ctx, plan->T, &w->known));
        kn_noise_known_group(maps->gp, w->known);
    }
out:
    return status;
}

/* ---- blocks ---- */

typedef struct block_job {
    kn_map_density_state *w;
    const kn_block *b;
    int part; /* -1: independent responses */
} block_job;

/* Returns the row of the maps that participant i of this part is; part -1: i itself. */
static ptrdiff_t find_row(const kn_map_density_state *w, int part, ptrdiff_t i)
{
    const ptrdiff_t *rows = part >= 0 ? w->job.maps->part[part].rows : NULL;
    return rows ? rows[i] : i;
}

/* Returns how many of n rows are to be evaluated: all, or the first w->job.participants. */
static ptrdiff_t count_participants(const kn_map_density_state *w, ptrdiff_t n)
{
    return w->job.participants > 0 ? kn_min_size(n, w->job.participants) : n;
}

/* Returns (y - mean - offset)/scale of participant i in response j of the block, offset and
 * scale of the site effect if the job has one, and its ln scale; NaN if y or mean is missing. */
static double scale_residual(const kn_map_density_state *w, const kn_block *b, ptrdiff_t i,
                             ptrdiff_t j, double *log_scale)
{
    double e = kn_at(b->y, i, j) - kn_at(b->mean, i, j);
    *log_scale = 0;
    if (!isfinite(e))
        return NAN;
    if (!w->job.place)
        return e;
    kn_map_density_shift at = w->job.place(w->job.self, i, b->first + j);
    if (at.scale != 1)
        *log_scale = log(at.scale);
    return (e - at.offset) / at.scale;
}

/* Sets, for each response of the block, mean, 1/sd and ln sd of the training sample, the trivial
 * model. */
static void set_null(kn_map_density_state *w, const kn_block *b)
{
    const kn_scaling *s = w->job.scaling;
    for (ptrdiff_t j = 0; s && j < b->count; j++) {
        ptrdiff_t t = b->first + j;
        kn_col(w->null, 0)[j] = (s->mean0[t] - s->mean[t]) / s->sd[t];
        kn_col(w->null, 1)[j] = s->sd[t] / s->sd0[t];
        kn_col(w->null, 2)[j] = log(s->sd0[t] / s->sd[t]);
    }
}

/* Returns the log density of value y of response j of the block under the trivial model, without
 * the constant -1/2 ln 2pi. */
static double compute_null_density(const kn_map_density_state *w, ptrdiff_t j, double y)
{
    double d = (y - kn_at(w->null, j, 0)) * kn_at(w->null, j, 1);
    return -kn_at(w->null, j, 2) - 0.5 * d * d;
}

/* Parallel task (self: block_job): for rows from .. to - 1 (participants) and each response of a
 * block, writes the scaled residual e_w = (y - mean)/sd (0 where y is missing), and adds to the
 * row's totals: q += e_w^2, the log of the scale, the log density of the null model; missing
 * responses are counted and marked instead. */
static void whiten_rows(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    kn_map_density_state *w = job->w;
    const kn_block *b = job->b;
    for (ptrdiff_t j = 0; j < b->count; j++)
        for (ptrdiff_t i = from; i < to; i++) {
            ptrdiff_t row = find_row(w, job->part, i), t = b->first + j;
            double log_scale, e = scale_residual(w, b, row, j, &log_scale) / w->scale[j];
            kn_col(w->e, j)[i] = isnan(e) ? 0 : e;
            if (isnan(e)) {
                w->missing[row]++;
                w->gap[row * w->words + t / WORD] |= UINT64_C(1) << (t % WORD);
                continue;
            }
            w->q[row] += e * e;
            w->log_scale[row] += w->logs[j] + log_scale;
            if (w->job.scaling)
                w->log_null[row] += compute_null_density(w, j, kn_at(b->y, row, j));
        }
}

/* Parallel task (self: block_job) for independent responses, participants from .. to - 1: q and
 * weight accumulate the two deviances, log_p half of ln det. */
static void evaluate_independent(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    kn_map_density_state *w = job->w;
    const kn_block *b = job->b;
    const kn_gp_maps *maps = w->job.maps;
    for (ptrdiff_t j = 0; j < b->count; j++)
        for (ptrdiff_t i = from; i < to; i++) {
            bool known = w->known && maps->known[i];
            double noise = (known ? w->known : maps->gp->noise)[b->first + j];
            double log_scale, e = scale_residual(w, b, i, j, &log_scale),
                              v = kn_at(b->var, i, j) + noise;
            if (isnan(e)) {
                w->missing[i]++;
                continue;
            }
            w->q[i] += v > 0 ? e * e / v : NAN;
            w->weight[i] += noise > 0 ? e * e / noise : NAN;
            w->log_p[i] += 0.5 * log(v);
            w->log_scale[i] += log_scale;
            if (w->job.scaling)
                w->log_null[i] += compute_null_density(w, j, kn_at(b->y, i, j));
        }
}

/* Block visitor (self: kn_map_density_state): independent responses cell by cell, else z += e_w
 * V (rows x K) for each part. */
static kn_status add_density_block(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_status status = KN_OK;
    kn_map_density_state *w = self;
    const kn_gp_maps *maps = w->job.maps;
    block_job job = {w, b, -1};
    set_null(w, b);
    if (!w->density) {
        kn_parallel(ctx, count_participants(w, b->y.rows), ROWS, evaluate_independent, &job);
        return KN_OK;
    }
    /* Folds compute V from the responses of all participants; b->y has these only if the maps are
     * of all of them. */
    kn_mat y = maps->sample || !maps->fold ? kn_mat_none() : b->y;
    for (job.part = 0; job.part < maps->n_parts; job.part++) {
        ptrdiff_t n = maps->part[job.part].n, K = w->density[job.part].K;
        kn_mat V = kn_sub(w->V, 0, 0, b->count, K), e = kn_sub(w->e, 0, 0, n, b->count);
        KN_TRY(maps->gp->method->map_density_block(ctx, maps, job.part, b->first, y, V, w->scale));
        for (ptrdiff_t j = 0; j < b->count; j++)
            w->logs[j] = log(w->scale[j]);
        kn_parallel(ctx, count_participants(w, n), ROWS, whiten_rows, &job);
        if (K > 0)
            kn_gemm(ctx, 1, KN_N, e, KN_N, V, 1, w->z[job.part]);
    }
out:
    return status;
}

/* ---- end ---- */

/* Computes deviance *dev and *log_det of one participant without missing responses, in the
 * distribution l of T responses; model false: with noise variance only. */
static void evaluate_whole(const kn_map_density *l, ptrdiff_t T, const kn_map_density_row *r,
                           bool model, double *dev, double *log_det)
{
    double inside = 0;
    *dev = 0;
    *log_det = l->log_det;
    for (ptrdiff_t k = 0; k < l->K; k++) {
        double a = 0, v = kn_map_density_variance(l, r, k, model), z = r->z[k * r->stride];
        for (ptrdiff_t i = 0; l->W.data && i < l->K; i++)
            a += r->z[i * r->stride] * kn_at(l->W, i, k);
        a = l->W.data ? a : z;
        *dev += v > 0 ? a * a / v : NAN;
        *log_det += log(v);
        inside += z * z;
    }
    if (l->K == T)
        return;
    double outside = kn_map_density_outside(l, r->i, model);
    *dev += outside > 0 ? fmax(r->q - inside, 0) / outside : NAN;
    *log_det += (double)(T - l->K) * log(outside);
}

/* Sets the results of participant `row` from deviances and ln det of its observed responses;
 * deviances are scaled to T responses; NaN if more than half are missing. */
static void set_results(kn_map_density_state *w, ptrdiff_t row, double dev, double dev_noise,
                        double log_det)
{
    double T = (double)w->T, n = T - (double)w->missing[row];
    bool enough = n > 0 && 2 * n >= T;
    w->dev[row] = enough ? dev * (T / n) : NAN;
    w->dev_noise[row] = enough ? dev_noise * (T / n) : NAN;
    w->log_p[row] =
        enough && isfinite(dev) ? -0.5 * (n * LN_2PI + log_det + dev) - w->log_scale[row] : NAN;
    w->log_null[row] = enough && w->job.scaling ? w->log_null[row] - 0.5 * n * LN_2PI : NAN;
}

/* Fills V (T x K), all rows of the basis of a part, which participants with missing responses
 * need. */
static kn_status assemble_basis(kn_ctx *ctx, const kn_map_density_state *w, int part, kn_mat V)
{
    kn_status status = KN_OK;
    const kn_gp_maps *maps = w->job.maps;
    for (ptrdiff_t first = 0; first < w->T; first += w->V.rows) {
        ptrdiff_t n = kn_min_size(w->T - first, w->V.rows);
        KN_TRY(maps->gp->method->map_density_block(ctx, maps, part, first, kn_mat_none(),
                                                   kn_sub(V, first, 0, n, V.cols), w->scale));
    }
out:
    return status;
}

/* Returns true if participant `row` lacks some responses, but not more than half. */
static bool has_gaps(const kn_map_density_state *w, ptrdiff_t row)
{
    return w->missing[row] > 0 && 2 * w->missing[row] <= w->T;
}

/* Sets the results of the participants of a part that have missing responses; consecutive
 * participants with the same missing set share its decomposition. */
static kn_status evaluate_missing(kn_ctx *ctx, kn_map_density_state *w, int part)
{
    kn_status status;
    const kn_gp_maps *maps = w->job.maps;
    const kn_map_density *l = &w->density[part];
    kn_mat V = {0};
    kn_map_density_missing g = {0};
    const uint64_t *last = NULL;
    KN_TRY(kn_mat_new(ctx, w->T, l->K, &V));
    KN_TRY(assemble_basis(ctx, w, part, V));
    KN_TRY(kn_map_density_missing_new(ctx, l, V, &g));
    for (ptrdiff_t i = 0; i < count_participants(w, maps->part[part].n); i++) {
        ptrdiff_t row = find_row(w, part, i);
        const uint64_t *gap = w->gap + row * w->words;
        kn_map_density_row r = {i, kn_sub(w->z[part], i, 0, 1, 1).data, w->z[part].ld, w->q[row],
                                maps->known && maps->known[row]};
        double dev, noise, log_det, unused;
        if (!has_gaps(w, row))
            continue;
        if (!last || memcmp(last, gap, (size_t)w->words * sizeof *gap) != 0)
            KN_TRY(kn_map_density_missing_set(ctx, &g, gap));
        last = gap;
        KN_TRY(kn_map_density_missing_evaluate(ctx, &g, &r, true, &dev, &log_det));
        KN_TRY(kn_map_density_missing_evaluate(ctx, &g, &r, false, &noise, &unused));
        set_results(w, row, dev, noise, log_det);
        KN_TRY(kn_check_cancel(ctx));
    }
out:
    kn_map_density_missing_clear(&g);
    kn_mat_clear(&V);
    return status;
}

/* Sums z over MPI ranks, then sets the results of all participants of a part. Collective. */
static kn_status evaluate_part(kn_ctx *ctx, kn_map_density_state *w, int part)
{
    const kn_gp_maps *maps = w->job.maps;
    bool gaps = false;
    kn_status status = kn_reduce(ctx, w->z[part].data, w->z[part].rows * w->z[part].cols);
    for (ptrdiff_t i = 0; status == KN_OK && i < count_participants(w, maps->part[part].n); i++) {
        ptrdiff_t row = find_row(w, part, i);
        kn_map_density_row r = {i, kn_sub(w->z[part], i, 0, 1, 1).data, w->z[part].ld, w->q[row],
                                maps->known && maps->known[row]};
        double dev = NAN, noise = NAN, log_det = NAN, unused;
        if (has_gaps(w, row)) {
            gaps = true;
            continue;
        }
        if (w->missing[row] == 0) {
            evaluate_whole(&w->density[part], w->T, &r, true, &dev, &log_det);
            evaluate_whole(&w->density[part], w->T, &r, false, &noise, &unused);
        }
        set_results(w, row, dev, noise, log_det);
    }
    return status == KN_OK && gaps ? evaluate_missing(ctx, w, part) : status;
}

/* Ends the block loop (self: kn_map_density_state): sets the results of each participant from
 * the sums, part by part unless responses are independent; frees the work space. Collective. */
static kn_status finish_density(kn_ctx *ctx, void *self)
{
    kn_status status = KN_OK;
    kn_map_density_state *w = self;
    for (ptrdiff_t i = 0; !w->density && i < count_participants(w, w->job.maps->n); i++)
        set_results(w, i, w->q[i], w->weight[i], 2 * w->log_p[i]);
    for (int k = 0; w->density && k < w->job.maps->n_parts; k++)
        KN_TRY(evaluate_part(ctx, w, k));
out:
    clear_work(w);
    return status;
}

kn_visitor kn_map_density_visitor(kn_map_density_state *w)
{
    bool joint = w->job.maps->gp->method->map_density != NULL;
    return (kn_visitor){w, KN_BLOCK_Y | (joint ? KN_BLOCK_MEAN : KN_BLOCK_MAPS), begin_density,
                        add_density_block, finish_density};
}

kn_status kn_map_density_evaluate(kn_ctx *ctx, const kn_gp_maps *maps, const kn_responses *Y,
                                  kn_map_density_state *out)
{
    kn_block_loop loop = {.Y = Y ? *Y : kn_gp_maps_y(maps), .maps = maps};
    *out = (kn_map_density_state){.job = {.maps = maps, .scaling = loop.Y.scaling}};
    kn_visitor visitor = kn_map_density_visitor(out);
    kn_status status = kn_block_loop_run(ctx, &loop, &visitor, 1);
    if (status != KN_OK)
        kn_map_density_state_clear(out);
    return status;
}

void kn_map_density_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t K)
{
    ptrdiff_t width = kn_block_loop_width(0, s->T);
    kn_plan_alloc_d(r, KN_NEED_WORK, n, 4 + 3);
    kn_plan_alloc_d(r, KN_NEED_WORK, width, 3);
    if (s->method->map_density) {
        kn_plan_alloc(r, KN_NEED_WORK, (s->T / WORD + 1) * n, sizeof(uint64_t));
        kn_plan_alloc_d(r, KN_NEED_WORK, n, 2 * K + 1 + width);
        kn_plan_alloc_d(r, KN_NEED_WORK, width, K + 2);
        kn_map_density_missing_need(r, s->T, K);
    } else {
        kn_plan_alloc_d(r, KN_NEED_WORK, n, 1);
    }
}

/* ---- density of methods with components ---- */

/* Sets the noise variances of the distribution l for structured noise: d (K) of the components,
 * d0 outside, d_known in known groups, from the fold if it has its own. */
static kn_status set_structured_noise(kn_ctx *ctx, const kn_gp_maps *maps,
                                      const kn_fold_prediction *p, kn_map_density *l)
{
    kn_status status = KN_OK;
    const kn_latent *latent = &maps->gp->latent;
    for (ptrdiff_t k = 0; k < l->K; k++)
        l->d[k] = p->d ? p->d[k] : kn_latent_noise(latent, k);
    double s2 = maps->gp->complement_component ? kn_latent_noise(latent, l->K) : maps->gp->s2;
    l->d0 = p->d ? p->s2 : s2;
    if (maps->known && latent->gamma) {
        KN_TRY(kn_alloc_d(ctx, l->K, &l->d_known));
        for (ptrdiff_t k = 0; k < l->K; k++)
            l->d_known[k] = latent->d[k];
    }
out:
    return status;
}

kn_status kn_components_map_density(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                    kn_map_density *out)
{
    kn_status status;
    const kn_gp *gp = maps->gp;
    const kn_fold_prediction *p = &maps->part[part];
    *out = (kn_map_density){.K = p->var.cols - gp->complement_component};
    if (p->direct)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "the task kernel rotates the responses and its folds do not keep the "
                       "rotation, so there is no whole-map density");
    KN_TRY(kn_mat_copy(ctx, kn_cols(p->var, 0, out->K), &out->v));
    KN_TRY(kn_alloc_d(ctx, out->K, &out->d));
    KN_TRY(kn_alloc_d(ctx, p->n, &out->v0));
    for (ptrdiff_t i = 0; gp->complement_component && i < p->n; i++)
        out->v0[i] = kn_at(p->var, i, out->K);
    if (gp->spec.noise == KN_NOISE_STRUCTURED) {
        KN_TRY(set_structured_noise(ctx, maps, p, out));
        goto out;
    }
    out->d0 = gp->s2;
    for (ptrdiff_t k = 0; k < out->K; k++)
        out->d[k] = gp->s2;
out:
    if (status != KN_OK)
        kn_map_density_clear(out);
    return status;
}

kn_status kn_components_map_density_block(kn_ctx *ctx, const kn_gp_maps *maps, int part,
                                          ptrdiff_t first, kn_mat y, kn_mat V, double *scale)
{
    const double *psi = maps->part[part].psi ? maps->part[part].psi : maps->gp->psi;
    for (ptrdiff_t j = 0; j < V.rows; j++)
        scale[j] = psi ? sqrt(psi[first + j]) : 1;
    return kn_components_basis(ctx, maps, part, first, y, V);
}
