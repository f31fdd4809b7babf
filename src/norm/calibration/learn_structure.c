/* Chooses the components of the calibration on the response subsample; see learner.h [METHOD 8c].
 * A component is kept if it lowers the held-out loss by more than its standard error. */
#include "norm/calibration/internal.h"

#include <math.h>

#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "gp/assign_folds.h"
#include "norm/calibration/learn_subsample.h"
#include "stats/normal.h"

enum { PARTICIPANTS_PER_COLUMN = 10, GRAIN = 8 };

/* A candidate noise scale. */
typedef struct candidate {
    kn_noise_scale_columns columns;
    kn_mat D;
    kn_noise_scale_prior prior, *without;
    kn_mat factor; /* n x sampled, of each participant without its fold */
    double *score; /* n: mean loss over the subsample */
} candidate;

/* Free a candidate noise scale with its `folds` priors; it can be filled again. */
static void candidate_clear(candidate *t, int folds)
{
    kn_noise_scale_columns_clear(&t->columns);
    kn_mat_clear(&t->D);
    kn_noise_scale_prior_clear(&t->prior);
    for (int f = 0; t->without && f < folds; f++)
        kn_noise_scale_prior_clear(&t->without[f]);
    kn_free(t->without);
    kn_mat_clear(&t->factor);
    kn_free(t->score);
    *t = (candidate){0};
}

void kn_learner_score(const kn_learner *l, kn_mat factor, double *score)
{
    for (ptrdiff_t i = 0; i < l->job.n; i++) {
        double sum = 0, cells = 0;
        for (ptrdiff_t j = 0; j < l->sampled; j++) {
            double e = kn_at(l->e, i, j), f = factor.data ? kn_at(factor, i, j) : 1;
            double V = kn_at(l->v, i, j) + kn_at(l->others, i, j) * f;
            if (!isfinite(e) || !(V > 0))
                continue;
            sum += 0.5 * (log(V) + e * e / V);
            cells++;
        }
        score[i] = cells > 0 ? sum / cells : NAN;
    }
}

double kn_learner_gain(ptrdiff_t n, const double *before, const double *after, double *se)
{
    double count = 0, mean = 0, square = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double d = before[i] - after[i];
        if (!isfinite(d))
            continue;
        count++;
        double step = d - mean;
        mean += step / count;
        square += step * (d - mean);
    }
    *se = count > 1 ? sqrt(square / (count - 1) / count) : NAN;
    return mean;
}

kn_status kn_learner_squares(kn_ctx *ctx, const kn_learner *l, kn_mat z, int fold,
                             kn_noise_scale_prior *out)
{
    kn_z2_moments s = {0};
    kn_mat column = {0};
    ptrdiff_t from = fold < 0 ? 0 : l->start[fold], end = fold < 0 ? 0 : l->start[fold + 1];
    kn_status status = kn_check_cancel(ctx);
    if (status == KN_OK)
        status = kn_z2_moments_init(ctx, l->job.n, &s);
    if (status == KN_OK)
        status = kn_mat_new(ctx, l->job.n, 1, &column);
    for (ptrdiff_t j = 0; status == KN_OK && j < z.cols; j++) {
        for (ptrdiff_t i = 0; i < l->job.n; i++)
            column.data[i] = i >= from && i < end ? NAN : kn_at(z, i, j);
        kn_z2_moments_add(&s, column);
    }
    if (status == KN_OK) {
        out->kurt = kn_z2_moments_kurt(&s);
        out->T_sq = kn_effective_responses(&s);
    }
    kn_mat_clear(&column);
    kn_z2_moments_clear(&s);
    return status;
}

typedef struct factor_job {
    const kn_learner *l;
    candidate *t;
    kn_mat z0, beta;
    kn_mat work; /* one column per worker */
} factor_job;

/* Worker: noise factors (n) of responses first .. last - 1 under the candidate scale; each fold by
 * coefficients without that fold. */
static void try_columns(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    const factor_job *job = self;
    const kn_learner *l = job->l;
    ptrdiff_t F = job->t->D.cols;
    double *work = kn_col(job->work, worker);
    kn_mat without_fold = {work, F, l->job.folds, F};
    double *spread = work + F * l->job.folds, *scratch = spread + l->job.folds;
    kn_noise_scale_folds rows = {l->fold, l->job.folds, job->t->without, spread};
    for (ptrdiff_t j = first; j < last; j++) {
        kn_learner_spread(l, kn_col(l->e, j), spread);
        kn_noise_scale_refit(job->t->D, kn_col(job->z0, j), &rows, kn_col(job->beta, j), scratch,
                             without_fold);
        kn_learner_factors(l, job->t->D, without_fold, kn_col(job->t->factor, j));
    }
}

/* Fit the priors of a candidate scale from all participants and without each fold. z0: n x sampled;
 * b (F x sampled) receives the coefficients of each response. */
static kn_status candidate_priors(kn_ctx *ctx, const kn_learner *l, kn_mat z0, kn_mat b,
                                  candidate *t)
{
    kn_status status;
    void *memory;
    int folds = l->job.folds;
    KN_TRY(kn_noise_scale_prior_init(ctx, t->columns.F, &t->prior));
    KN_TRY(kn_alloc(ctx, folds, sizeof *t->without, &memory));
    t->without = memory;
    for (int f = 0; f < folds; f++)
        t->without[f] = (kn_noise_scale_prior){0};
    for (int f = 0; f < folds; f++) {
        KN_TRY(kn_noise_scale_prior_init(ctx, t->columns.F, &t->without[f]));
        KN_TRY(kn_learner_squares(ctx, l, z0, f, &t->without[f]));
    }
    KN_TRY(kn_learner_squares(ctx, l, z0, -1, &t->prior));
    KN_TRY(kn_noise_scale_prior_fit(ctx, t->D, z0, b, &t->prior));
    kn_noise_scale_folds rows = {l->fold, folds, t->without, NULL};
    kn_noise_scale_sample sample = {t->D, z0, b, {0}};
    KN_TRY(kn_mat_new(ctx, folds, l->sampled, &sample.spread));
    for (ptrdiff_t j = 0; j < l->sampled; j++)
        kn_learner_spread(l, kn_col(l->e, j), kn_col(sample.spread, j));
    status = kn_noise_scale_priors_without(ctx, &sample, &rows, t->without);
    kn_mat_clear(&sample.spread);
out:
    return status;
}

/* Fit the candidate scale t (its columns are set) to the subsample z0 (n x sampled), and compute
 * the loss of each participant without its fold. The caller clears t, after a failure too. */
static kn_status candidate_new(kn_ctx *ctx, const kn_learner *l, kn_mat z0, candidate *t)
{
    kn_status status;
    ptrdiff_t n = l->job.n, F = t->columns.F;
    int folds = l->job.folds;
    kn_mat b = {0}, D = {0};
    factor_job job = {.l = l, .t = t, .z0 = z0};
    KN_TRY(kn_mat_new(ctx, n, F, &D));
    KN_TRY(kn_mat_new(ctx, n, F, &t->D));
    kn_noise_scale_columns_apply(&t->columns, l->job.x, D);
    for (ptrdiff_t f = 0; f < F; f++)
        kn_learner_in_order(l, kn_col(D, f), kn_col(t->D, f));
    KN_TRY(kn_mat_new(ctx, F, l->sampled, &b));
    KN_TRY(candidate_priors(ctx, l, z0, b, t));
    KN_TRY(kn_noise_scale_fit(ctx, t->D, z0, &t->prior, b));
    KN_TRY(kn_mat_new(ctx, n, l->sampled, &t->factor));
    KN_TRY(kn_mat_new(ctx, (F + 1) * folds + kn_noise_scale_refit_work(n, F, folds),
                      kn_workers(ctx, l->sampled, GRAIN), &job.work));
    job.beta = b;
    KN_TRY(kn_parallel_or_stop(ctx, l->sampled, GRAIN, try_columns, &job));
    KN_TRY(kn_alloc_d(ctx, n, &t->score));
    kn_learner_score(l, t->factor, t->score);
out:
    kn_mat_clear(&job.work);
    kn_mat_clear(&b);
    kn_mat_clear(&D);
    return status;
}

/* A component that loses so much held-out density, in nats per response, describes nothing: one
 * value that is far off has bent it. */
static const double FAILED = 1;

/* Decide whether a component is kept: if its held-out gain is above its standard error, or always
 * with --calibrate full. A component that loses a nat or more has failed and is not kept. */
static bool keeps_component(const kn_learner *l, kn_calibration_component *component)
{
    component->failed = !(component->gain > -FAILED);
    component->kept =
        !component->failed && (l->job.how == KN_CALIBRATE_FULL || component->gain > component->se);
    return component->kept;
}

/* True if the columns of a noise scale contain a squared covariate. */
static bool has_square(const kn_noise_scale_columns *c)
{
    for (ptrdiff_t f = 0; f < c->F; f++)
        if (c->column[f].kind == KN_SCALE_SQUARE)
            return true;
    return false;
}

/* Try a linear or quadratic noise scale. If it lowers the held-out loss it replaces *best; the
 * loser of the comparison is freed. Nothing without a new column or with too few participants.
 * Collective. */
static kn_status try_scale(kn_ctx *ctx, kn_learner *l, kn_mat z0, bool quadratic, candidate *best)
{
    kn_status status;
    candidate t = {0};
    kn_calibration_component *component =
        &l->calibration->component[quadratic ? KN_CALIBRATION_SQUARE : KN_CALIBRATION_LINE];
    KN_TRY(kn_noise_scale_columns_new(ctx, l->job.x, quadratic, &t.columns));
    if (t.columns.F < 2 || t.columns.F * PARTICIPANTS_PER_COLUMN > l->job.n ||
        (quadratic && !has_square(&t.columns)))
        goto out; /* no covariate that varies, too few participants, or no new column */
    KN_TRY(candidate_new(ctx, l, z0, &t));
    component->tried = true;
    component->gain = kn_learner_gain(l->job.n, best->score, t.score, &component->se);
    KN_TRY(kn_comm_broadcast(ctx, component, sizeof *component, 0));
    if (keeps_component(l, component)) {
        candidate old = *best;
        *best = t;
        t = old;
    }
out:
    candidate_clear(&t, l->job.folds);
    return status;
}

double kn_learner_plain_z(const kn_learner *l, ptrdiff_t i, ptrdiff_t j)
{
    double V = kn_at(l->v, i, j) + kn_at(l->others, i, j) * kn_at(l->factor, i, j);
    return V > 0 ? kn_at(l->e, i, j) / sqrt(V) : NAN;
}

/* Overwrite z (n x sampled) with the z-scores after the Student step of the subsample of
 * responses. */
static void student_sample(const kn_learner *l, kn_mat z)
{
    for (ptrdiff_t j = 0; j < z.cols; j++) {
        double *zj = kn_col(z, j);
        for (ptrdiff_t i = 0; i < z.rows; i++)
            zj[i] = kn_learner_plain_z(l, i, j);
        if (l->calibration->map)
            kn_student_map_apply(l->calibration->map, z.rows, zj);
    }
}

/* Loss of each participant (n): after_i = mean_j -ln density of zt by the sinh-arcsinh distribution
 * without its fold, before_i by the normal one. theta (2 x sampled): shapes from all participants.
 * Can be cancelled. */
static kn_status shape_scores(kn_ctx *ctx, const kn_learner *l, kn_mat zt, kn_mat theta,
                              double *before, double *after)
{
    kn_status status;
    int folds = l->job.folds;
    double *cells = NULL, *z1, *training, *spread;
    KN_TRY(kn_alloc_d(ctx, 3 * l->job.n + folds, &cells));
    z1 = cells + l->job.n;
    training = z1 + l->job.n;
    spread = training + l->job.n;
    for (ptrdiff_t i = 0; i < l->job.n; i++)
        before[i] = after[i] = cells[i] = 0;
    for (ptrdiff_t j = 0; j < zt.cols; j++) {
        KN_TRY(kn_check_cancel(ctx));
        const double *z = kn_col(zt, j);
        kn_learner_spread(l, kn_col(l->e, j), spread);
        for (ptrdiff_t i = 0; i < l->job.n; i++)
            z1[i] = kn_learner_plain_z(l, i, j);
        kn_shash_point at = kn_shash_point_at(&l->calibration->nodes, kn_col(theta, j));
        for (int f = 0; f < folds; f++) {
            double own[2];
            ptrdiff_t n = kn_learner_training_z(l, z1, f, spread[f], training);
            kn_shash_step(&at, &l->shape, n, training, kn_col(theta, j), own);
            kn_shash shash = kn_shash_at(&l->calibration->nodes, own);
            for (ptrdiff_t i = l->start[f]; i < l->start[f + 1]; i++) {
                if (isnan(z[i]))
                    continue;
                before[i] += 0.5 * (z[i] * z[i] + KN_LOG_2PI);
                after[i] += kn_shash_nll(&shash, z[i]);
                cells[i]++;
            }
        }
    }
    for (ptrdiff_t i = 0; i < l->job.n; i++) {
        before[i] = cells[i] > 0 ? before[i] / cells[i] : NAN;
        after[i] = cells[i] > 0 ? after[i] / cells[i] : NAN;
    }
out:
    kn_free(cells);
    return status;
}

/* Fit skew and tails of each response to the subsample, and decide whether to keep them (*kept); zt
 * (n x sampled) is overwritten. Collective. */
static kn_status try_shape(kn_ctx *ctx, kn_learner *l, kn_mat zt, bool *kept)
{
    kn_status status;
    kn_mat theta = {0};
    double *scores = NULL;
    kn_noise_scale_prior squares;
    kn_calibration_component *component = &l->calibration->component[KN_CALIBRATION_SHAPE];
    student_sample(l, zt);
    KN_TRY(kn_learner_squares(ctx, l, zt, -1, &squares));
    KN_TRY(kn_mat_new(ctx, 2, l->sampled, &theta));
    KN_TRY(kn_shash_prior_fit(ctx, &l->calibration->nodes, zt, squares.T_sq, theta, &l->shape));
    KN_TRY(kn_alloc_d(ctx, 2 * l->job.n, &scores));
    KN_TRY(shape_scores(ctx, l, zt, theta, scores, scores + l->job.n));
    component->tried = true;
    component->gain = kn_learner_gain(l->job.n, scores, scores + l->job.n, &component->se);
    KN_TRY(kn_comm_broadcast(ctx, component, sizeof *component, 0));
    *kept = keeps_component(l, component);
out:
    kn_free(scores);
    kn_mat_clear(&theta);
    return status;
}

/* Move the chosen noise scale from t to the learner and the calibration. */
static void move_scale(kn_learner *l, candidate *t)
{
    kn_noise_scale_columns_clear(&l->calibration->columns);
    l->calibration->columns = t->columns;
    l->D = t->D;
    l->prior = t->prior;
    l->without = t->without;
    t->columns = (kn_noise_scale_columns){0};
    t->D = kn_mat_none();
    t->prior = (kn_noise_scale_prior){0};
    t->without = NULL;
}

kn_status kn_learner_choose(kn_ctx *ctx, kn_learner *l)
{
    kn_status status;
    candidate best = {0};
    kn_mat z = {0}, sample[] = {l->e, l->v, l->others, l->factor};
    bool shape = false;
    KN_TRY(kn_mat_new(ctx, l->job.n, l->sampled, &z));
    for (ptrdiff_t j = 0; j < l->sampled; j++)
        for (ptrdiff_t i = 0; i < l->job.n; i++) {
            double V = kn_at(l->v, i, j) + kn_at(l->others, i, j);
            kn_col(z, j)[i] = V > 0 ? kn_at(l->e, i, j) / sqrt(V) : NAN;
            kn_col(l->factor, j)[i] = 1;
        }
    KN_TRY(kn_alloc_d(ctx, l->job.n, &best.score));
    kn_learner_score(l, kn_mat_none(), best.score);
    for (int quadratic = 0; l->job.x && quadratic < 2; quadratic++)
        KN_TRY(try_scale(ctx, l, z, quadratic, &best));
    if (best.columns.F > 0) {
        for (ptrdiff_t j = 0; j < l->sampled; j++)
            for (ptrdiff_t i = 0; i < l->job.n; i++)
                kn_col(l->factor, j)[i] = kn_at(best.factor, i, j);
        move_scale(l, &best);
        KN_TRY(kn_mat_new(ctx, l->calibration->columns.F, l->job.T, &l->calibration->beta));
    }
    if (l->job.site && l->job.S >= 2)
        KN_TRY(kn_learner_batch(ctx, l, best.score, z));
    KN_TRY(try_shape(ctx, l, z, &shape));
    if (shape)
        KN_TRY(kn_mat_new(ctx, 2, l->job.T, &l->calibration->theta));
out:
    for (size_t i = 0; i < sizeof sample / sizeof *sample; i++)
        kn_mat_clear(&sample[i]);
    l->e = l->v = l->others = l->factor = kn_mat_none();
    kn_mat_clear(&z);
    candidate_clear(&best, l->job.folds);
    return status;
}

ptrdiff_t kn_learner_columns_max(const kn_problem_size *s, ptrdiff_t n)
{
    ptrdiff_t F = kn_min_size(1 + s->F, n / PARTICIPANTS_PER_COLUMN);
    return kn_learner_chooses((kn_calibrate)s->calibrate, n) && F > 1 ? F : 0;
}

/* Add to the memory plan r the choice of the calibration on `sampled` responses: the best noise
 * scale so far and the one that is tried. */
static void choice_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t sampled)
{
    ptrdiff_t F = kn_learner_columns_max(s, n);
    int folds = s->folds == KN_HELD_OUT_ONCE ? KN_LEARNER_FOLDS : s->folds;
    kn_plan_alloc_d(r, KN_NEED_WORK, n, sampled); /* z */
    if (F > 0) {
        kn_mem_usage mark;
        kn_plan_alloc_d(r, KN_NEED_WORK, n, sampled + 3 * F);
        kn_plan_alloc_d(r, KN_NEED_WORK, F, sampled);
        mark = r->now;
        kn_plan_alloc_d(r, KN_NEED_WORK, F, folds * sampled);
        kn_plan_free_to(r, mark);
        kn_plan_alloc_d(r, KN_NEED_WORK, n, sampled);
        kn_plan_alloc_d(r, KN_NEED_WORK, (F + 1) * folds + kn_noise_scale_refit_work(n, F, folds),
                        kn_workers_of(s->threads, sampled, GRAIN));
    }
}

void kn_learner_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    kn_plan_alloc(r, KN_NEED_WORK, n, sizeof(ptrdiff_t) + sizeof(int));
    kn_plan_alloc_d(r, KN_NEED_WORK, n, kn_learner_columns_max(s, n) + 1); /* D and shift */
    if (!kn_learner_chooses((kn_calibrate)s->calibrate, n))
        return;
    kn_mem_usage mark = r->now;
    choice_need(r, s, n, kn_learner_sample_need(r, s, n));
    kn_plan_free_to(r, mark);
}

void kn_calibration_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    enum { OF_SHAPE = 2 };
    if (s->calibrate == KN_CALIBRATE_NONE)
        return;
    kn_plan_alloc_bytes(r, KN_NEED_REFERENCE, KN_STUDENT_MAP_BYTES);
    if (kn_learner_chooses((kn_calibrate)s->calibrate, n))
        kn_plan_alloc_d(r, KN_NEED_REFERENCE, kn_learner_columns_max(s, n) + OF_SHAPE, s->T);
}
