/* Implements noise.h as a block visitor that writes to gp->noise. Noise variances come from
 * held-out residuals, and each participant may be left out of its own. */
#include "gp/predict/noise.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory/alloc.h"
#include "base/parallel/parallel_for.h"
#include "data/mpi/gather_responses.h"
#include "gp/basis/basis.h"
#include "gp/method.h"
#include "la/la.h"
#include "la/vec.h"

static const double FLOOR = 0.5; /* proportion of the mean squared residual */

enum { TILE = 256, COLUMNS = 16 }; /* responses per parallel task */

struct kn_noise_builder {
    kn_gp *gp;
    kn_responses Y; /* all N training participants */
    bool known;     /* the fit has set gp->noise */
    bool held_out;  /* blocks have mean and variance of held-out participants */
    bool in_sample; /* no cross-validated maps: estimate from training residuals */
    bool made;      /* ... and the estimate is computed here, not by the fit */
    /* The in-sample estimate needs the coordinates or, for principal components, only their
     * energies. */
    const double *s2; /* P  |z_p|^2; NULL: Z is used */
    kn_mat Z;         /* N x P; Z = U A if U spans everything, which avoids a pass over Y */
    kn_mat y;         /* N x width, used if the blocks have some participants only */
    bool subset;      /* the maps are of some participants only */
    int workers;
    kn_mat *work; /* workers of N x TILE */
};

/* Frees the work space of a block loop. */
static void clear_work(kn_noise_builder *m)
{
    for (int w = 0; m->work && w < m->workers; w++)
        kn_mat_clear(&m->work[w]);
    kn_free(m->work);
    kn_mat_clear(&m->y);
    m->work = NULL;
}

void kn_noise_builder_free(kn_noise_builder *m)
{
    if (!m)
        return;
    clear_work(m);
    kn_mat_clear(&m->Z);
    kn_free(m);
}

/* Computes m->Z (N x P), the coordinates of the training sample, for the in-sample estimate: U A
 * if U spans everything, else from the responses. Collective. */
static kn_status compute_coordinates(kn_ctx *ctx, kn_noise_builder *m)
{
    kn_status status;
    const kn_gp *gp = m->gp;
    KN_TRY(kn_mat_new(ctx, gp->N, gp->P, &m->Z));
    const kn_latent_cell *cell = &gp->latent.cell[0];
    if (gp->latent.groups.n > 0 || kn_decomp_is_low(&cell->R0) || !cell->R0.U.data)
        KN_TRY(kn_gp_coordinates(ctx, gp, &m->Y, m->Z));
    else
        kn_gemm(ctx, 1, KN_N, cell->R0.U, KN_N, cell->A, 0, m->Z);
out:
    return status;
}

kn_status kn_noise_builder_new(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gp_maps *cv,
                               kn_noise_builder **out)
{
    kn_status status;
    void *memory;
    kn_noise_builder *m;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *m, &memory));
    *out = m = memory;
    *m = (kn_noise_builder){.gp = gp,
                            .Y = *Y,
                            .known = (gp->method->known_noise && gp->method->known_noise(gp)) ||
                                     (!cv && gp->method->training_noise),
                            .held_out = cv != NULL,
                            .in_sample = !cv,
                            .subset = cv && cv->sample,
                            .s2 = gp->energy};
    m->made = !m->known && m->in_sample && !gp->method->training_noise;
    if (m->made && !m->s2 && !gp->psi)
        KN_TRY(compute_coordinates(ctx, m));
out:
    if (status != KN_OK) {
        kn_noise_builder_free(*out);
        *out = NULL;
    }
    return status;
}

/* Begins a block loop (self: kn_noise_builder): work space per worker, unless the estimate needs
 * none (known, from energies, or whitened). */
static kn_status begin_noise(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_noise_builder *m = self;
    kn_status status = KN_OK;
    void *memory;
    clear_work(m); /* of an earlier block loop */
    if (!m->made || m->s2 || m->gp->psi)
        goto out;
    m->workers = kn_workers(ctx, plan->width, TILE);
    KN_TRY(kn_alloc(ctx, m->workers, sizeof *m->work, &memory));
    m->work = memory;
    for (int w = 0; w < m->workers; w++)
        KN_TRY(kn_mat_new(ctx, m->Y.N, plan->width < TILE ? plan->width : TILE, &m->work[w]));
    if (m->subset)
        KN_TRY(kn_mat_new(ctx, m->Y.N, plan->width, &m->y));
out:
    return status;
}

typedef struct block_job {
    kn_noise_builder *m;
    const kn_block *b;
    kn_mat y; /* N x count: all participants */
} block_job;

/* Returns psi_j: mean squared residual of response j over its observed cells; rest (N x 1):
 * residuals outside the basis [METHOD 0b]. */
static double compute_in_sample_variance(const kn_responses *Y, kn_mat rest, ptrdiff_t j)
{
    double sum = 0;
    if (!Y->missing || kn_missing_in(Y->missing, j) == 0)
        return kn_sumsq(rest) / (double)Y->N;
    for (ptrdiff_t i = 0; i < Y->N; i++)
        if (!kn_is_missing(Y->missing, i, j))
            sum += rest.data[i] * rest.data[i];
    return sum / (double)Y->scaling->n[j];
}

/* Parallel task (self: block_job) for columns from .. to - 1 of the block: in-sample noise
 * gp->noise[j] = (B.^2 d + psi)_j. */
static void set_in_sample(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    const kn_gp *gp = job->m->gp;
    ptrdiff_t first = job->b->first + from, n = to - from;
    kn_mat B = kn_sub(gp->B, first, 0, n, gp->P), y = kn_cols(job->y, from, n);
    kn_mat rest = kn_cols(job->m->work[worker], 0, n);
    if (gp->P < gp->T) {
        kn_mat_set(rest, y);
        kn_gemm(NULL, -1, KN_N, job->m->Z, KN_T, B, 1, rest); /* y - Z B' */
    } else {
        kn_mat_zero(rest); /* the basis spans everything */
    }
    for (ptrdiff_t j = 0; j < n; j++) {
        double noise = compute_in_sample_variance(&job->m->Y, kn_cols(rest, j, 1), first + j);
        for (ptrdiff_t p = 0; p < gp->P; p++)
            noise += kn_at(B, j, p) * kn_at(B, j, p) * kn_latent_noise(&gp->latent, p);
        gp->noise[first + j] = noise;
    }
}

/* Sets the in-sample noise of the block's responses from sums only, for principal components:
 * |y_j - (ZB')_j|^2 = |y_j|^2 - (B.^2 s2)_j with s2_p = |z_p|^2; exact up to the residual of a
 * range finder. */
static void set_in_sample_sums(const kn_noise_builder *m, const kn_block *b)
{
    const kn_gp *gp = m->gp;
    const kn_scaling *s = m->Y.scaling;
    for (ptrdiff_t j = b->first; j < b->first + b->count; j++) {
        double sd = s->sd0[j] / s->sd[j], shift = (s->mean0[j] - s->mean[j]) / s->sd[j];
        gp->noise[j] = sd * sd + shift * shift;
    }
    for (ptrdiff_t p = 0; p < gp->P; p++) {
        double less = kn_latent_noise(&gp->latent, p) - m->s2[p] / (double)gp->N;
        for (ptrdiff_t j = b->first; j < b->first + b->count; j++)
            gp->noise[j] += kn_at(gp->B, j, p) * kn_at(gp->B, j, p) * less;
    }
    for (ptrdiff_t j = b->first; j < b->first + b->count; j++)
        gp->noise[j] = fmax(gp->noise[j], 0);
}

/* Parallel task (self: block_job) for columns from .. to - 1 of the block: noise from the
 * moments of held-out residuals, max(mean(e^2 - v), 0.5 mean e^2); without any, the response's
 * own variance. */
static void set_from_moments(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const block_job *job = self;
    const kn_block *b = job->b;
    for (ptrdiff_t j = from; j < to; j++) {
        const double *y = kn_col(b->y, j), *mean = kn_col(b->mean, j), *v = kn_col(b->var, j);
        double *noise = &job->m->gp->noise[b->first + j], moment = 0, square = 0, n = 0;
        for (ptrdiff_t i = 0; i < b->y.rows; i++) {
            double e2 = (y[i] - mean[i]) * (y[i] - mean[i]);
            if (!isfinite(e2)) /* missing, or not predicted [METHOD 0b] */
                continue;
            n++;
            moment += e2 - v[i];
            square += e2;
        }
        if (n == 0) { /* no observed cell was predicted: use the variance of the response */
            const kn_scaling *s = job->m->Y.scaling;
            double sd = s->sd0[b->first + j] / s->sd[b->first + j];
            *noise = sd * sd;
            continue;
        }
        *noise = fmax(moment / n, FLOOR * square / n);
    }
}

/* Sets the in-sample noise of the block's whitened responses: psi_j [B.^2 d + d0 (1 - |row j of
 * B|^2)]_j [METHOD 1f]. */
static void set_in_sample_whitened(const kn_gp *gp, const kn_block *b)
{
    const kn_latent *l = &gp->latent;
    for (ptrdiff_t j = b->first; j < b->first + b->count; j++) {
        double noise = 0, outside = 1;
        for (ptrdiff_t p = 0; p < gp->P; p++) {
            double b2 = kn_at(gp->B, j, p) * kn_at(gp->B, j, p);
            noise += b2 * kn_latent_noise(l, p);
            outside -= b2;
        }
        if (gp->complement_component)
            noise += fmax(outside, 0) * l->d[gp->P];
        gp->noise[j] = gp->psi[j] * noise;
    }
}

/* Block visitor (self: kn_noise_builder): sets gp->noise of the block's responses, in-sample
 * first if needed, then from held-out moments. */
static kn_status set_block(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_noise_builder *m = self;
    block_job job = {m, b, b->y};
    if (m->known)
        return KN_OK;
    if (m->gp->psi && m->made) {
        set_in_sample_whitened(m->gp, b);
    } else if (m->s2 && m->made) {
        set_in_sample_sums(m, b);
    } else if (m->made) {
        if (m->subset) {
            job.y = kn_cols(m->y, 0, b->count);
            kn_responses_block(ctx, &m->Y, b->first, job.y);
        }
        kn_la_parallel(ctx, b->count, TILE, set_in_sample, &job);
    }
    if (m->held_out)
        kn_parallel(ctx, b->count, COLUMNS, set_from_moments, &job);
    return KN_OK;
}

kn_visitor kn_noise_visitor(kn_noise_builder *m)
{
    unsigned y = !m->known && (m->held_out || !m->s2) ? (unsigned)KN_BLOCK_Y : 0;
    unsigned maps = !m->known && m->held_out ? (unsigned)KN_BLOCK_MAPS : 0;
    return (kn_visitor){m, y | maps, begin_noise, set_block, NULL};
}

/* If the fit determines the noise of each response separately (method->independent_responses), that
 * noise depends on the participant's own residuals and is corrected; a noise variance common to all
 * responses is used unchanged. */
void kn_noise_block_leave_one_out(const kn_noise_builder *m, const kn_block *b, ptrdiff_t j,
                                  const kn_exclusion_groups *apart, kn_heldout_residuals residuals,
                                  double *work, double *noise)
{
    const kn_gp *gp = m->gp;
    residuals.known = m->known ? gp->noise[b->first + j] : NAN;
    for (ptrdiff_t i = 0; m->known && !gp->method->independent_responses && i < residuals.n; i++)
        noise[i] = residuals.known;
    if (!m->known || gp->method->independent_responses)
        kn_noise_leave_one_out(&residuals, apart, work, noise);
}

kn_status kn_gp_set_noise(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gp_maps *cv)
{
    kn_status status;
    kn_noise_builder *m = NULL;
    /* In-sample noise is cheap and completes a cancelled fit, so that loop cannot be cancelled. */
    kn_block_loop loop = {.Y = cv ? kn_gp_maps_y(cv) : *Y, .maps = cv, .to_the_end = !cv};
    KN_TRY(kn_noise_builder_new(ctx, gp, Y, cv, &m));
    kn_visitor visitor = kn_noise_visitor(m);
    KN_TRY(kn_block_loop_run(ctx, &loop, &visitor, 1));
    KN_TRY(kn_allgather_responses_d(ctx, &loop.Y, gp->noise));
out:
    kn_noise_builder_free(m);
    return status;
}

void kn_noise_known_group(const kn_gp *gp, double *noise)
{
    gp->method->group_noise(gp, noise);
}

void kn_components_group_noise(const kn_gp *gp, double *noise)
{
    for (ptrdiff_t j = 0; j < gp->T; j++) {
        double known = 0;
        for (ptrdiff_t p = 0; p < gp->P; p++)
            known += kn_at(gp->B, j, p) * kn_at(gp->B, j, p) * gp->latent.d[p] *
                     kn_latent_gamma(&gp->latent, p);
        noise[j] = fmax(gp->noise[j] - known, 0.5 * gp->noise[j]);
    }
}

double kn_components_group_proportion(const kn_gp *gp)
{
    const kn_latent *l = &gp->latent;
    double own = 0, all = 0;
    for (ptrdiff_t p = 0; p < l->P; p++) {
        own += l->d[p] * kn_latent_gamma(l, p);
        all += kn_latent_noise(l, p);
    }
    return all > 0 ? own / all : 0;
}

void kn_noise_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    ptrdiff_t width = kn_block_loop_width(0, s->T);
    if (s->iso || s->method->independent_responses || s->method->training_noise || s->range > 0 ||
        s->folds > 0)
        return; /* determined by the fit, from energies, or from moments alone */
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->P);
    if (s->M < s->N || s->method->own_covariance)
        kn_project_need(r, s->N, s->T, s->P);
    for (int w = 0; w < kn_workers_of(s->threads, width, TILE); w++)
        kn_plan_alloc_d(r, KN_NEED_WORK, s->N, kn_min_size(width, TILE));
    if (n < s->N)
        kn_plan_alloc_d(r, KN_NEED_WORK, s->N, width);
}

/* ---- leave-one-out noise ---- */

/* Sums over some rows: count, e^2, v. */
typedef struct sums {
    double n, square, model;
} sums;

/* Comparison for qsort: integers in ascending order. */
static int compare_numbers(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

kn_status kn_exclusion_groups_new(kn_ctx *ctx, ptrdiff_t n, const int *numbers,
                                  kn_exclusion_groups *out)
{
    kn_status status = KN_OK;
    void *memory = NULL, *group = NULL;
    *out = (kn_exclusion_groups){NULL, n};
    if (!numbers)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, n, sizeof(int), &memory));
    KN_TRY(kn_alloc(ctx, n, sizeof(int), &group));
    int *sorted = memory;
    ptrdiff_t different = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        sorted[i] = numbers[i];
    qsort(sorted, (size_t)n, sizeof *sorted, compare_numbers);
    for (ptrdiff_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            sorted[different++] = sorted[i];
    out->group = group;
    out->n_groups = different;
    for (ptrdiff_t i = 0; i < n; i++) {
        const int *at =
            bsearch(&numbers[i], sorted, (size_t)different, sizeof *sorted, compare_numbers);
        out->group[i] = (int)(at - sorted);
    }
out:
    kn_free(memory);
    return status;
}

void kn_exclusion_groups_clear(kn_exclusion_groups *a)
{
    kn_free(a->group);
    *a = (kn_exclusion_groups){0};
}

/* Returns the noise variance from the sums `rest` over the remaining rows, or, if the fit
 * determines it, the known noise scaled by the ratio of mean squared residuals; NaN if no row
 * remains. */
static double noise_from_sums(const kn_heldout_residuals *residuals, const sums *all, sums rest)
{
    if (!isnan(residuals->known)) {
        double mean = all->square / all->n;
        return rest.n > 0 && mean > 0 ? residuals->known * (rest.square / rest.n) / mean
                                      : residuals->known;
    }
    return rest.n > 0 ? fmax((rest.square - rest.model) / rest.n, FLOOR * rest.square / rest.n)
                      : NAN;
}

/* Returns the sums (count, e^2, v) of row i: zeros if its residual is missing. */
static sums sum_participant(const kn_heldout_residuals *residuals, ptrdiff_t i)
{
    return isfinite(residuals->e[i]) ? (sums){1, residuals->e[i] * residuals->e[i], residuals->v[i]}
                                     : (sums){0};
}

/* Adds count, e^2 and v of `more` to *total. */
static void add_sums(sums *total, sums more)
{
    total->n += more.n;
    total->square += more.square;
    total->model += more.model;
}

/* Returns the noise variance without group g, whose sums are `less`. If g holds more than half
 * of a sum, subtraction would leave mostly rounding error, so the other rows are summed instead;
 * this can happen for one g only. */
static double noise_without_group(const kn_heldout_residuals *residuals,
                                  const kn_exclusion_groups *apart, const sums *all,
                                  const sums *less, ptrdiff_t g)
{
    sums rest = {all->n - less->n, all->square - less->square, all->model - less->model};
    if (2 * less->square > all->square || 2 * less->model > all->model) {
        rest = (sums){0};
        for (ptrdiff_t i = 0; i < residuals->n; i++)
            if ((apart->group ? apart->group[i] : i) != g)
                add_sums(&rest, sum_participant(residuals, i));
    }
    return noise_from_sums(residuals, all, rest);
}

/* Computes noise (n): for each participant i the noise variance from the residuals of all others,
 * from sums `all` over all of them, where no noise is known and nobody is in a group (as
 * noise_from_sums does one by one). True if somebody holds more than half of a sum: the values are
 * then rounding, and not to be used. */
KN_CLONES
static bool compute_noise_without_each(const kn_heldout_residuals *residuals, const sums *all,
                                       double *noise)
{
    int dominates = 0;
#pragma omp simd reduction(+ : dominates)
    for (ptrdiff_t i = 0; i < residuals->n; i++) {
        int finite = fabs(residuals->e[i]) < INFINITY;
        double e = finite ? residuals->e[i] : 0, v = finite ? residuals->v[i] : 0, e2 = e * e;
        double n = all->n - (finite ? 1 : 0), square = all->square - e2, model = all->model - v;
        double moment = (square - model) / n, least = FLOOR * square / n;
        moment = moment > least ? moment : least;
        noise[i] = n > 0 ? moment : NAN;
        dominates += (2 * e2 > all->square) | (2 * v > all->model);
    }
    return dominates > 0;
}

void kn_noise_leave_one_out(const kn_heldout_residuals *residuals, const kn_exclusion_groups *apart,
                            double *work, double *noise)
{
    sums all = {0}, *group = (sums *)work;
    for (ptrdiff_t i = 0; i < residuals->n; i++)
        add_sums(&all, sum_participant(residuals, i));
    if (!apart->group) {
        if (isnan(residuals->known) && !compute_noise_without_each(residuals, &all, noise))
            return;
        for (ptrdiff_t i = 0; i < residuals->n; i++) {
            sums own = sum_participant(residuals, i);
            noise[i] = noise_without_group(residuals, apart, &all, &own, i);
        }
        return;
    }
    for (ptrdiff_t g = 0; g < apart->n_groups; g++)
        group[g] = (sums){0};
    for (ptrdiff_t i = 0; i < residuals->n; i++)
        add_sums(&group[apart->group[i]], sum_participant(residuals, i));
    for (ptrdiff_t g = 0; g < apart->n_groups; g++)
        group[g].n =
            noise_without_group(residuals, apart, &all, &group[g], g); /* overwrites n: computed
                                                                        * once per group */
    for (ptrdiff_t i = 0; i < residuals->n; i++)
        noise[i] = group[apart->group[i]].n;
}
