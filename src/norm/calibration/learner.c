/* Implements learner.h: the fit of one response after the other. learn_structure.c chooses the
 * components before that. */
#include "norm/calibration/learner.h"

#include <math.h>

#include "la/vec.h"
#include "norm/calibration/internal.h"

void kn_learner_free(kn_learner *l)
{
    if (!l)
        return;
    for (int f = 0; l->without && f < l->job.folds; f++)
        kn_noise_scale_prior_clear(&l->without[f]);
    kn_free(l->without);
    kn_noise_scale_prior_clear(&l->prior);
    kn_mat *mats[] = {&l->D, &l->e, &l->v, &l->others, &l->factor};
    for (size_t i = 0; i < sizeof mats / sizeof *mats; i++)
        kn_mat_clear(mats[i]);
    kn_free(l->order);
    kn_free(l->fold);
    kn_free(l->start);
    kn_free(l->shift);
    kn_free(l);
}

/* Set the order of participants by fold, and the first position of each fold; within a fold they
 * stay in the order of the data. */
static kn_status put_in_order(kn_ctx *ctx, kn_learner *l)
{
    kn_status status;
    const kn_learner_job *job = &l->job;
    ptrdiff_t at = 0;
    KN_TRY(kn_alloc_i(ctx, job->n, &l->order));
    KN_TRY(kn_alloc_int(ctx, job->n, &l->fold));
    KN_TRY(kn_alloc_i(ctx, job->folds + 1, &l->start));
    for (int f = 0; f < job->folds; f++) {
        l->start[f] = at;
        for (ptrdiff_t i = 0; i < job->n; i++)
            if (job->fold[i] == f) {
                l->fold[at] = f;
                l->order[at++] = i;
            }
    }
    l->start[job->folds] = at;
out:
    return status;
}

kn_status kn_learner_new(kn_ctx *ctx, const kn_learner_job *job,
                         kn_calibration_transform *calibration, kn_learner **out)
{
    kn_status status;
    kn_learner *l = NULL;
    void *memory;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *l, &memory));
    l = memory;
    *l = (kn_learner){.job = *job, .calibration = calibration};
    kn_calibration_clear(calibration);
    calibration->nu = job->how == KN_CALIBRATE_NONE ? 0 : (double)(job->n - 1);
    KN_TRY(kn_calibration_prepare(ctx, calibration));
    KN_TRY(put_in_order(ctx, l));
    *out = l;
    l = NULL;
out:
    kn_learner_free(l);
    return status;
}

/* ---- shared with learn_structure.c ---------------------------------------------------------- */

void kn_learner_in_order(const kn_learner *l, const double *from, double *out)
{
    for (ptrdiff_t i = 0; i < l->job.n; i++)
        out[i] = from[l->order[i]];
}

void kn_learner_loo_noise(const kn_learner *l, const kn_block *b, ptrdiff_t j,
                          kn_heldout_residuals residuals, double *sums, double *noise)
{
    const kn_learner_job *job = &l->job;
    residuals.n = job->n;
    for (ptrdiff_t i = 0; i < job->n; i++)
        noise[i] = job->noise_of_all[b->first + j];
    residuals.known = NAN;
    if (job->noise)
        kn_noise_block_leave_one_out(job->noise, b, j, job->exclusions, residuals, sums, noise);
    else if (job->mean_square)
        kn_noise_leave_one_out(&residuals, job->exclusions, sums, noise);
}

void kn_learner_factors(const kn_learner *l, kn_mat D, kn_mat beta, double *factor)
{
    for (int f = 0; f < l->job.folds; f++) {
        ptrdiff_t from = l->start[f], n = l->start[f + 1] - from;
        const double *shift = l->shift ? l->shift + from : NULL;
        kn_calibration_factor(kn_sub(D, from, 0, n, D.cols), kn_col(beta, f), n, shift,
                              factor + from);
    }
}

/* Returns the sum of the squares of the finite values of e (n), and their number in *count. */
static double sum_finite_squares(ptrdiff_t n, const double *e, double *count)
{
    double sum = 0, finite = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        bool is = fabs(e[i]) < INFINITY;
        double x = is ? e[i] : 0;
        sum += x * x;
        finite += is ? 1 : 0;
    }
    *count = finite;
    return sum;
}

void kn_learner_spread(const kn_learner *l, const double *e, double *spread)
{
    double all = 0, n = 0;
    for (int f = 0; f < l->job.folds; f++) {
        double some;
        all += sum_finite_squares(l->start[f + 1] - l->start[f], e + l->start[f], &some);
        n += some;
    }
    for (int f = 0; f < l->job.folds; f++) {
        double some, own, remaining, left;
        own = sum_finite_squares(l->start[f + 1] - l->start[f], e + l->start[f], &some);
        remaining = all - own;
        left = n - some;
        spread[f] = left > 0 && remaining > 0 ? sqrt(all / n * left / remaining) : 1;
    }
}

/* Copy the finite ones of n values x, times `factor`, to out, and return their number. */
KN_CLONES
static ptrdiff_t scale_finite(ptrdiff_t n, const double *x, double factor, double *out)
{
    ptrdiff_t finite = 0;
#pragma omp simd reduction(+ : finite)
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = x[i] * factor;
        finite += fabs(x[i]) < INFINITY;
    }
    if (finite == n)
        return n;
    finite = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            out[finite++] = x[i] * factor;
    return finite;
}

ptrdiff_t kn_learner_training_z(const kn_learner *l, const double *z1, int f, double spread,
                                double *zt)
{
    ptrdiff_t from = f >= 0 ? l->start[f] : l->job.n, end = f >= 0 ? l->start[f + 1] : l->job.n;
    ptrdiff_t n = scale_finite(from, z1, spread, zt);
    n += scale_finite(l->job.n - end, z1 + end, spread, zt + n);
    if (l->calibration->map)
        kn_student_map_apply(l->calibration->map, n, zt);
    return n;
}

/* Copy n values from fold order back to the order of the data; the inverse of
 * kn_learner_in_order(). */
static void restore_order(const kn_learner *l, const double *from, double *out)
{
    for (ptrdiff_t i = 0; i < l->job.n; i++)
        out[l->order[i]] = from[i];
}

/* ---- one response after the other ----------------------------------------------------------- */

/* Columns of n doubles in the work array of a thread, followed by 3 n for kn_learner_loo_noise(),
 * the work of the noise scale, and PER_FOLD for each fold: spread, theta without it. */
enum { E, V_MODEL, OTHERS, Z0, FACTOR, TOTAL, ZT, LOSS, COLUMNS, PER_FOLD = 3 };

/* Most folds whose distributions are kept between the kinds of z of a response. */
enum { KEPT_FOLDS = 64 };

ptrdiff_t kn_learner_work_of(ptrdiff_t n, ptrdiff_t F, int folds)
{
    ptrdiff_t scale = F > 0 ? kn_noise_scale_refit_work(n, F, folds) + F * folds : 0;
    return COLUMNS * n + 3 * n + scale + PER_FOLD * folds;
}

ptrdiff_t kn_learner_work(const kn_learner *l)
{
    return kn_learner_work_of(l->job.n, l->D.cols, l->job.folds);
}

/* Column k (n doubles; an enum such as FACTOR) of the work array of a thread. */
static double *column_of_worker(const kn_learner *l, double *work, int k)
{
    return work + k * l->job.n;
}

/* Set the FACTOR column (n) of work, the noise factor of each participant by coefficients without
 * its fold, and the coefficients beta_j of the calibration from all participants. spread (folds):
 * from kn_learner_spread(). */
static void learn_scale(const kn_learner *l, const kn_learner_column *c, const double *spread,
                        double *work)
{
    ptrdiff_t n = l->job.n, F = l->D.cols;
    double *beta, *z0 = column_of_worker(l, work, Z0), *factor = column_of_worker(l, work, FACTOR);
    double *scratch = work + (COLUMNS + 3) * n;
    if (F == 0) {
        if (l->shift)
            kn_calibration_factor(kn_mat_none(), NULL, n, l->shift, factor);
        for (ptrdiff_t i = 0; !l->shift && i < n; i++)
            factor[i] = 1;
        return;
    }
    beta = kn_col(l->calibration->beta, c->b->first + c->j);
    kn_mat without_fold = {scratch, F, l->job.folds, F};
    kn_noise_scale_penalty penalty = {l->prior.mu, l->prior.weight};
    kn_noise_scale_folds rows = {l->fold, l->job.folds, l->without, spread};
    scratch += F * l->job.folds;
    if (!c->known && isnan(kn_noise_scale_newton(l->D, z0, &penalty, scratch, beta)))
        for (ptrdiff_t f = 0; f < F; f++)
            beta[f] = l->prior.mu[f];
    kn_noise_scale_refit(l->D, z0, &rows, beta, scratch, without_fold);
    kn_learner_factors(l, l->D, without_fold, factor);
}

/* z1 = e / sqrt(V) for n participants, NaN unless V > 0. */
KN_CLONES
static void divide_by_root(ptrdiff_t n, const double *e, const double *V, double *z1)
{
#pragma omp simd
    for (ptrdiff_t i = 0; i < n; i++) {
        double q = e[i] / sqrt(V[i] > 0 ? V[i] : 1);
        z1[i] = V[i] > 0 ? q : NAN;
    }
}

/* True if any kind of z-score is wanted for a response, not only its parameters. */
static bool makes_z(const kn_learner_column *c)
{
    return c->z || c->joint || c->noise_only;
}

/* Set skew and tail (theta_j) of the calibration from all participants and, if z-scores are
 * wanted, without_fold (2 x folds), the same without each fold. spread (folds): from
 * kn_learner_spread(). */
static void learn_shape(const kn_learner *l, const kn_learner_column *c, const double *spread,
                        double *work, kn_mat without_fold)
{
    ptrdiff_t n = l->job.n;
    const double *e = column_of_worker(l, work, E), *total = column_of_worker(l, work, TOTAL);
    double *z1 = column_of_worker(l, work, ZT), *observed = column_of_worker(l, work, LOSS);
    double *theta = kn_col(l->calibration->theta, c->b->first + c->j);
    divide_by_root(n, e, total, z1);
    ptrdiff_t finite = kn_learner_training_z(l, z1, -1, 1, observed);
    if (!c->known) {
        theta[0] = l->shape.mu[0];
        theta[1] = l->shape.mu[1];
        kn_shash_newton(&l->calibration->nodes, &l->shape, finite, observed, theta);
    }
    if (!makes_z(c))
        return;
    kn_shash_point at = kn_shash_point_at(&l->calibration->nodes, theta);
    for (int f = 0; f < l->job.folds; f++) {
        finite = kn_learner_training_z(l, z1, f, spread[f], observed);
        kn_shash_step(&at, &l->shape, finite, observed, theta, kn_col(without_fold, f));
    }
}

/* The distributions without each fold, for all kinds of z of a response: theta (2 x folds); none:
 * there is no shape. */
typedef struct fold_shapes {
    kn_mat theta;
    kn_shash kept[KEPT_FOLDS];
} fold_shapes;

/* Set s->kept, the sinh-arcsinh distributions without each fold, from their skews and tails
 * s->theta (2 x folds). */
static void keep_shapes(const kn_learner *l, fold_shapes *s)
{
    for (int f = 0; s->theta.data && f < l->job.folds && f < KEPT_FOLDS; f++)
        s->kept[f] = kn_shash_at(&l->calibration->nodes, kn_col(s->theta, f));
}

/* The sinh-arcsinh distribution without fold f, from s->kept or else from s->theta. */
static kn_shash shape_without(const kn_learner *l, const fold_shapes *s, int f)
{
    return f < KEPT_FOLDS ? s->kept[f] : kn_shash_at(&l->calibration->nodes, kn_col(s->theta, f));
}

/* z-scores (n) and losses (n, may be NULL) of one response from the residuals and total variances
 * in work, each fold by its distribution in `shapes`; in the order of the data. */
static void score_by_fold(const kn_learner *l, const fold_shapes *shapes, double *work, double *z,
                          double *loss)
{
    const double *e = column_of_worker(l, work, E), *total = column_of_worker(l, work, TOTAL);
    double *made = column_of_worker(l, work, ZT), *losses = column_of_worker(l, work, LOSS);
    for (int f = 0; f < l->job.folds; f++) {
        ptrdiff_t from = l->start[f], n = l->start[f + 1] - from;
        kn_calibration_cells cells = {n, e + from, total + from, made + from,
                                      loss ? losses + from : NULL};
        if (shapes->theta.data) {
            kn_shash shash = shape_without(l, shapes, f);
            kn_calibration_z(l->calibration, &shash, &cells);
        } else {
            kn_calibration_z(l->calibration, NULL, &cells);
        }
    }
    restore_order(l, made, z);
    if (loss)
        restore_order(l, losses, loss);
}

/* Set the TOTAL column (n) of work: model variance (only if `model`) + noise times FACTOR. noise
 * (n): of each participant; NULL: the scalar `own` for all. */
static void total_variance(const kn_learner *l, const double *noise, double own, bool model,
                           double *work)
{
    const double *v = column_of_worker(l, work, V_MODEL),
                 *factor = column_of_worker(l, work, FACTOR);
    double *total = column_of_worker(l, work, TOTAL);
    for (ptrdiff_t i = 0; i < l->job.n; i++)
        total[i] = (model ? v[i] : 0) + (noise ? noise[i] : own) * factor[i];
}

void kn_learner_learn(const kn_learner *l, const kn_learner_column *c, double *work)
{
    ptrdiff_t n = l->job.n;
    double own = l->job.noise_of_all[c->b->first + c->j];
    double *others = column_of_worker(l, work, OTHERS), *z0 = column_of_worker(l, work, Z0);
    double *e = column_of_worker(l, work, E), *v = column_of_worker(l, work, V_MODEL);
    double *total = column_of_worker(l, work, TOTAL);
    fold_shapes shapes = {.theta = kn_mat_none()};
    bool shape = l->calibration->theta.data != NULL, scale = l->D.cols > 0;
    kn_learner_in_order(l, c->e, e);
    kn_learner_in_order(l, c->v, v);
    kn_learner_loo_noise(l, c->b, c->j, (kn_heldout_residuals){.e = c->e, .v = c->v},
                         work + COLUMNS * n, z0);
    kn_learner_in_order(l, z0, others);
    double *spread = work + kn_learner_work(l) - PER_FOLD * l->job.folds;
    if (scale || shape)
        kn_learner_spread(l, e, spread);
    if (scale) {
        for (ptrdiff_t i = 0; i < n; i++)
            total[i] = v[i] + others[i];
        divide_by_root(n, e, total, z0);
    }
    learn_scale(l, c, spread, work);
    total_variance(l, others, 0, true, work);
    if (shape) {
        shapes.theta = (kn_mat){spread + l->job.folds, 2, l->job.folds, 2};
        learn_shape(l, c, spread, work, shapes.theta);
        if (makes_z(c))
            keep_shapes(l, &shapes);
    }
    if (c->z)
        score_by_fold(l, &shapes, work, c->z, c->loss);
    if (c->joint) {
        total_variance(l, NULL, own, true, work);
        score_by_fold(l, &shapes, work, c->joint, NULL);
    }
    if (c->noise_only) {
        total_variance(l, NULL, own, false, work);
        score_by_fold(l, &shapes, work, c->noise_only, NULL);
    }
}
