/* The loss curve: a block visitor adds the components of one candidate after the other to error,
 * variance and noise, and scores each step. All candidates cost one pass over the held-out
 * responses. */
#include "gp/components/internal.h"

#include <math.h>
#include <string.h>

#include "base/parallel/parallel_for.h"
#include "gp/missing/completion.h"
#include "gp/predict/predict.h"
#include "gp/zscore.h"
#include "la/la.h"
#include "la/vec.h"

enum { SCORED = 20000 }; /* with more responses an even subset has as good a mean */
enum { CUT = 512, TILE = CUT / KN_CURVE_TILES }; /* responses per block, and per tile of a worker */
/* smallest noise, relative to the variance of the response: 0 up to rounding */
static const double MIN = 1e-10;

const int kn_ladder[KN_MAX_CURVE] = {1,  2,  3,  5,   8,   12,  18,  25,
                                     35, 50, 70, 100, 140, 200, 280, 400};

typedef struct kn_curve_work { /* work space of one worker, for one fold and tile */
    kn_mat train, error, var, B, B2;
    /* training variance, current noise variance, training mean */
    double trivial[TILE], noise[TILE], mu[TILE];
    double floored[TILE];
    double *product, *loss; /* per held-out row */
} curve_work;

/* Frees the arrays of one fold of the loss curve and sets it to {0}. */
static void curve_fold_clear(kn_curve_fold *f)
{
    kn_fold_clear(&f->rows);
    kn_mat_clear(&f->mean);
    kn_mat_clear(&f->var);
    kn_free(f->d);
    kn_free(f->s2);
}

kn_status kn_curve_fold_fit(kn_ctx *ctx, const kn_fit_problem *p, const double *r0,
                            kn_curve_fold *f)
{
    kn_status status;
    kn_mat X = p->X;
    kn_mat Xt = {0}, Xs = {0};
    kn_groups groups = {0};
    kn_pairs pairs = {0};
    kn_engine e = {0};
    kn_latent model = {0};
    kn_engine_data data = {
        .Z = f->rows.Z_train, .groups = &groups, .T = p->Y.T, .total = 1, .N_ref = X.rows};
    double lml, clamped = 0;
    ptrdiff_t P = f->rows.Z_train.cols;
    KN_TRY(kn_mat_new(ctx, f->rows.n_train, X.cols, &Xt));
    KN_TRY(kn_mat_new(ctx, f->rows.n_test, X.cols, &Xs));
    kn_mat_rows(X, f->rows.train, Xt);
    kn_mat_rows(X, f->rows.test, Xs);
    data.X = Xt;
    KN_TRY(kn_groups_subset(ctx, &p->groups, f->rows.train, f->rows.n_train, &groups));
    if (p->core && p->core->pairs.n > 0 && p->spec.rank == 0) {
        kn_cov cov = kn_cov_between(&p->spec.sample);
        KN_TRY(kn_pairs_select(ctx, &p->core->pairs, f->rows.train, Xt, &cov.stats, &pairs));
        data.pairs = &pairs;
    }
    KN_TRY(kn_engine_new(ctx, &p->spec, &data, &e));
    KN_TRY(kn_engine_at(ctx, &e, r0, &lml));
    KN_TRY(kn_alloc_d(ctx, P, &f->d));
    KN_TRY(kn_alloc_d(ctx, P, &f->s2));
    for (ptrdiff_t k = 0; k < P; k++) {
        f->d[k] = e.d[k] * (1 + e.cell[e.in[k]].R0.gamma); /* noise of a new group */
        f->s2[k] = kn_sumsq(kn_cols(f->rows.Z_train, k, 1)) / (double)f->rows.n_train;
    }
    KN_TRY(kn_engine_latent(ctx, &Xt, &e, &model));
    KN_TRY(kn_mat_new(ctx, f->rows.n_test, P, &f->mean));
    KN_TRY(kn_mat_new(ctx, f->rows.n_test, P, &f->var));
    KN_TRY(kn_latent_predict(ctx, &model, &(kn_predict_input){.X = Xs}, f->mean, f->var, &clamped));
out:
    kn_pairs_clear(&pairs);
    kn_groups_clear(&groups);
    kn_latent_clear(&model);
    kn_engine_clear(&e);
    kn_mat_clear(&Xs);
    kn_mat_clear(&Xt);
    return status;
}

/* For the block y (N x count) of responses from `first` on: computes the fold's basis B (count x
 * P), training means w->mu and training variances w->trivial from the training rows. With
 * missing cells the variances are those of observed cells. */
static void set_fold_basis(const kn_curve *c, const kn_curve_fold *f, ptrdiff_t first, kn_mat y,
                           curve_work *w, kn_mat B)
{
    ptrdiff_t n = f->rows.n_train;
    kn_mat train = kn_sub(w->train, 0, 0, n, y.cols);
    kn_mat_rows(y, f->rows.train, train);
    for (ptrdiff_t j = 0; j < y.cols; j++) {
        double *t = kn_col(train, j), mu = 0, s2 = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            mu += t[i] / (double)n;
        for (ptrdiff_t i = 0; i < n; i++) {
            t[i] -= mu;
            s2 += t[i] * t[i] / (double)n;
        }
        w->mu[j] = mu;
        w->trivial[j] = s2;
    }
    if (c->missing)
        kn_observed_variance(c->Y->missing, f->rows.train, first, train, w->trivial);
    if (f->rows.B.data)
        kn_mat_set(B, kn_sub(f->rows.B, first, 0, B.rows, B.cols));
    else
        kn_gemm(NULL, 1, KN_T, train, KN_N, f->rows.US, 0, B);
}

/* The same as set_fold_basis for a single held-out set, whose rows alone are y (n_test x count): B
 * is copied, the mean is known, and the training variance w->trivial is that of all
 * participants, from the scaling, less that of y. */
static void set_heldout_basis(const kn_curve *c, ptrdiff_t first, kn_mat y, curve_work *w, kn_mat B)
{
    const kn_curve_fold *f = &c->fit[0];
    const kn_scaling *s = c->Y->scaling;
    double N = (double)c->Y->N, n = (double)f->rows.n_train;
    kn_mat_set(B, kn_sub(f->held_out->basis.B, first, 0, B.rows, B.cols));
    for (ptrdiff_t j = 0; j < y.cols; j++) {
        double sd = s->sd[first + j], shift = (s->mean0[first + j] - s->mean[first + j]) / sd;
        double all = s->sd0[first + j] * s->sd0[first + j] / (sd * sd) + shift * shift;
        w->mu[j] = f->held_out->mean[first + j];
        if (c->missing)
            w->trivial[j] =
                kn_observed_training_variance(kn_col(y, j), y.rows, all, s->n[first + j], w->mu[j]);
        else
            w->trivial[j] =
                fmax((N * all - kn_sumsq(kn_cols(y, j, 1))) / n - w->mu[j] * w->mu[j], 0);
    }
}

/* Writes to score, from row f->at on, the log loss of each held-out row summed over the
 * responses of a tile: e (n_test x count) are the errors, v the model variances, w->noise the
 * noise variances (count), with a floor relative to the training variance. */
static void score_step(const kn_curve_fold *f, bool missing, kn_mat e, kn_mat v, curve_work *w,
                       double *score)
{
    for (ptrdiff_t j = 0; j < e.cols; j++)
        w->floored[j] = w->trivial[j] > 0 ? fmax(w->noise[j], MIN * w->trivial[j]) : 0;
    (missing ? kn_observed_losses : kn_sample_losses)(e, v, w->floored, w->product, w->loss);
    memcpy(score + f->at, w->loss, (size_t)f->rows.n_test * sizeof *score);
}

/* Scores the held-out rows of fold f on a tile of responses y (rows x count, from `first` on):
 * starts from the training mean, adds one component after the other to error, model variance and
 * noise, and adds the losses at each candidate number of components to a column of score;
 * further columns: the trivial model, and observed cells. */
static void score_tile(const kn_curve *c, const kn_curve_fold *f, ptrdiff_t first, kn_mat y,
                       curve_work *w, kn_mat score)
{
    ptrdiff_t count = y.cols, ns = f->rows.n_test, P = f->mean.cols;
    kn_mat e = kn_sub(w->error, 0, 0, ns, count), v = kn_sub(w->var, 0, 0, ns, count);
    kn_mat B = kn_sub(w->B, 0, 0, count, P), B2 = kn_sub(w->B2, 0, 0, count, P);
    if (f->held_out) {
        set_heldout_basis(c, first, y, w, B);
        kn_mat_set(e, y);
    } else {
        set_fold_basis(c, f, first, y, w, B);
        kn_mat_rows(y, f->rows.test, e);
    }
    kn_mat_zero(v);
    for (ptrdiff_t j = 0; j < count; j++) {
        w->noise[j] = w->trivial[j];
        for (ptrdiff_t i = 0; i < ns; i++)
            kn_col(e, j)[i] -= w->mu[j];
    }
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t j = 0; j < count; j++)
            kn_col(B2, p)[j] = kn_at(B, j, p) * kn_at(B, j, p);
    score_step(f, c->missing, e, kn_mat_none(), w, kn_col(score, c->steps));
    if (c->missing) {
        memset(kn_col(score, c->steps + 1) + f->at, 0, (size_t)ns * sizeof(double));
        kn_observed_count(e, w->floored, kn_col(score, c->steps + 1) + f->at);
    }
    for (int l = 0; l < c->steps; l++) {
        ptrdiff_t p0 = l > 0 ? kn_ladder[l - 1] : 0, p1 = kn_ladder[l];
        p0 = p0 < P ? p0 : P;
        p1 = p1 < P ? p1 : P;
        ptrdiff_t np = p1 - p0;
        kn_gemm(NULL, -1, KN_N, kn_cols(f->mean, p0, np), KN_T, kn_cols(B, p0, np), 1, e);
        kn_gemm(NULL, 1, KN_N, kn_cols(f->var, p0, np), KN_T, kn_cols(B2, p0, np), 1, v);
        /* noise_j = (B.^2 d + psi)_j, psi_j = s_j^2 - (B.^2 s2)_j */
        for (ptrdiff_t p = p0; p < p1; p++)
            for (ptrdiff_t j = 0; j < count; j++)
                w->noise[j] += kn_at(B2, j, p) * (f->d[p] - f->s2[p]);
        score_step(f, c->missing, e, v, w, kn_col(score, l));
    }
}

/* Parallel task (self: kn_curve): scores the columns from .. to - 1 of the current block in
 * every fold, with the work space of this worker; `from` is a multiple of TILE. */
static void score_tiles(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    const kn_curve *c = self;
    kn_mat y = kn_cols(c->block->y, from, to - from);
    for (int k = 0; k < c->folds; k++)
        score_tile(c, &c->fit[k], c->block->first + from, y, &c->work[worker],
                   c->tile[from / TILE]);
}

/* Block visitor (self: kn_curve): computes the losses of the held-out rows on the block's
 * responses at every step of the curve, one tile per worker, and adds them up in the order of
 * tiles. */
static kn_status score_block(kn_ctx *ctx, void *self, kn_block *b)
{
    kn_curve *c = self;
    c->block = b;
    kn_la_parallel(ctx, b->count, TILE, score_tiles, c);
    double *sum = kn_slot(&c->blocks, b->number);
    for (ptrdiff_t t = 0; t * TILE < b->count; t++)
        for (ptrdiff_t i = 0; i < c->blocks.n; i++)
            sum[i] += c->tile[t].data[i];
    c->scored += b->count;
    return KN_OK;
}

/* Begins the block loop of the loss curve: score (rows x columns, where columns are steps, null
 * model and counts of missing cells), slots per block, and work space per worker for the largest
 * fold. On error the curve is partly allocated; the caller clears it. */
static kn_status begin_scoring(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_status status;
    kn_curve *c = self;
    void *memory;
    ptrdiff_t P = 0, n = 0, ns = 0, width = plan->width < TILE ? plan->width : TILE;
    ptrdiff_t columns = c->steps + 1 + c->missing;
    for (int k = 0; k < c->folds; k++) {
        const kn_curve_fold *f = &c->fit[k];
        P = f->mean.cols > P ? f->mean.cols : P;
        n = f->rows.n_train > n && !f->held_out ? f->rows.n_train : n;
        ns = f->rows.n_test > ns ? f->rows.n_test : ns;
    }
    KN_TRY(kn_mat_new(ctx, c->rows, columns, &c->score));
    KN_TRY(kn_slots_new(ctx, plan->blocks, c->rows * columns, &c->blocks));
    for (int t = 0; t < KN_CURVE_TILES; t++)
        KN_TRY(kn_mat_new(ctx, c->rows, columns, &c->tile[t]));
    c->workers = kn_workers(ctx, plan->width, TILE);
    KN_TRY(kn_alloc(ctx, c->workers, sizeof *c->work, &memory));
    c->work = memory;
    for (int k = 0; k < c->workers; k++) {
        curve_work *w = &c->work[k];
        KN_TRY(kn_mat_new(ctx, n, width, &w->train));
        KN_TRY(kn_mat_new(ctx, ns, width, &w->error));
        KN_TRY(kn_mat_new(ctx, ns, width, &w->var));
        KN_TRY(kn_mat_new(ctx, width, P, &w->B));
        KN_TRY(kn_mat_new(ctx, width, P, &w->B2));
        KN_TRY(kn_alloc_d(ctx, ns, &w->product));
        KN_TRY(kn_alloc_d(ctx, ns, &w->loss));
    }
out:
    return status;
}

/* Ends the block loop (self: kn_curve): score(i, l) becomes the mean over responses, or over the
 * observed cells of row i, of its loss minus the loss of the trivial model. Collective. */
static kn_status end_scoring(kn_ctx *ctx, void *self)
{
    kn_curve *c = self;
    double scored = (double)c->scored;
    kn_status status = kn_slots_sum(ctx, &c->blocks, c->score.data);
    if (status == KN_OK)
        status = kn_reduce(ctx, &scored, 1);
    for (int l = 0; l < c->steps; l++)
        for (ptrdiff_t i = 0; i < c->rows; i++) {
            double cells = c->missing ? kn_at(c->score, i, c->steps + 1) : scored;
            kn_col(c->score, l)[i] =
                cells > 0 ? (kn_at(c->score, i, l) - kn_at(c->score, i, c->steps)) / cells : 0;
        }
    return status;
}

void kn_curve_clear(kn_curve *c)
{
    for (int k = 0; k < KN_CURVE_FOLDS; k++)
        curve_fold_clear(&c->fit[k]);
    for (int k = 0; c->work && k < c->workers; k++) {
        curve_work *w = &c->work[k];
        kn_mat *m[] = {&w->train, &w->error, &w->var, &w->B, &w->B2};
        for (size_t i = 0; i < sizeof m / sizeof *m; i++)
            kn_mat_clear(m[i]);
        kn_free(w->product);
        kn_free(w->loss);
    }
    kn_free(c->work);
    for (int t = 0; t < KN_CURVE_TILES; t++)
        kn_mat_clear(&c->tile[t]);
    kn_slots_clear(&c->blocks);
    kn_mat_clear(&c->score);
}

kn_status kn_curve_score(kn_ctx *ctx, const kn_responses *Y, kn_curve *c)
{
    const kn_fold *rows = &c->fit[0].rows;
    kn_block_loop loop = {.Y = *Y,
                          .stage = "components",
                          .cut = CUT,
                          .every = (Y->T + SCORED - 1) / SCORED};
    kn_visitor visitor = {c, KN_BLOCK_Y, begin_scoring, score_block, end_scoring};
    if (c->fit[0].held_out)
        loop.Y = kn_responses_rows(Y, rows->test, rows->n_test);
    return kn_block_loop_run(ctx, &loop, &visitor, 1);
}

void kn_curve_fold_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h)
{
    kn_problem_size f = *s;
    f.N = n;
    f.M = s->M < s->N ? kn_min_size(s->M, n) : n;
    kn_fold_need(r, s, n);
    kn_plan_alloc_d(r, KN_NEED_WORK, h, 2 * s->P);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->F);
    kn_engine_need(r, &f, false, false); /* part of it is moved to the latent form */
    kn_latent_predict_need(r, &f, h);
    kn_plan_free_to(r, mark);
}

void kn_curve_score_need(kn_mem_plan *r, const kn_problem_size *s, const kn_curve_shape *shape)
{
    ptrdiff_t rows = shape->rows, h = shape->held_out, n = shape->samples;
    ptrdiff_t steps = shape->steps + 1, width = kn_block_loop_width(CUT, s->T);
    ptrdiff_t every = (s->T + SCORED - 1) / SCORED, cuts = (s->T + CUT - 1) / CUT;
    kn_plan_alloc_d(r, KN_NEED_WORK, rows, steps);
    kn_slots_need(r, KN_NEED_WORK, (cuts + every - 1) / every, rows * steps);
    for (int t = 0; t < KN_CURVE_TILES; t++)
        kn_plan_alloc_d(r, KN_NEED_WORK, rows, steps);
    for (int w = 0; w < kn_workers_of(s->threads, width, TILE); w++)
        kn_plan_alloc_d(r, KN_NEED_WORK, kn_min_size(width, TILE), n + 2 * h + 2 * s->P);
    kn_mem_usage mark = r->now;
    kn_block_loop_need(r, n, width, KN_BLOCK_Y);
    kn_plan_free_to(r, mark);
}

/* ---- missing cells ---- */

void kn_observed_variance(const kn_missing_mask *h, const ptrdiff_t *row, ptrdiff_t first,
                          kn_mat train, double *variance)
{
    for (ptrdiff_t j = 0; j < train.cols; j++) {
        ptrdiff_t n = 0;
        double s2 = 0, *t = kn_col(train, j);
        if (kn_missing_in(h, first + j) == 0)
            continue;
        for (ptrdiff_t i = 0; i < train.rows; i++)
            if (!kn_is_missing(h, row[i], first + j)) {
                s2 += t[i] * t[i];
                n++;
            }
        variance[j] = n < KN_IMPUTE_MIN ? 0 : s2 / (double)n;
    }
}

double kn_observed_training_variance(const double *y, ptrdiff_t rows, double all, ptrdiff_t values,
                                     double mu)
{
    double sum = all * (double)values;
    ptrdiff_t n = values;
    for (ptrdiff_t i = 0; i < rows; i++)
        if (isfinite(y[i])) {
            sum -= y[i] * y[i];
            n--;
        }
    return isfinite(mu) && n >= KN_IMPUTE_MIN ? fmax(sum / (double)n - mu * mu, 0) : 0;
}

void kn_observed_losses(kn_mat e, kn_mat v, const double *noise, double *work, double *loss)
{
    (void)work;
    for (ptrdiff_t i = 0; i < e.rows; i++)
        loss[i] = 0;
    for (ptrdiff_t j = 0; j < e.cols; j++)
        for (ptrdiff_t i = 0; noise[j] > 0 && i < e.rows; i++) {
            double s2 = noise[j] + (v.data ? kn_at(v, i, j) : 0);
            if (isfinite(kn_at(e, i, j)))
                loss[i] += 0.5 * (log(s2) + fmin(kn_z2(kn_at(e, i, j), s2), KN_LOSS_Z2_MAX));
        }
}

void kn_observed_count(kn_mat e, const double *noise, double *count)
{
    for (ptrdiff_t j = 0; j < e.cols; j++)
        for (ptrdiff_t i = 0; noise[j] > 0 && i < e.rows; i++)
            count[i] += isfinite(kn_at(e, i, j)) != 0;
}
