/* How many components? Held-out log loss along a ladder of P, from one pass at the largest P,
 * because components are independent once R0 is fixed    [METHOD 2, components auto] */
#include "gp/components.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/reduce.h"
#include "gp/completion.h"
#include "gp/cv_deal.h"
#include "gp/pilot.h"
#include "gp/predict.h"
#include "gp/walk.h"
#include "gp/z.h"
#include "la/la.h"

enum { FOLDS = 5 };
enum { CURVE_FIRST = 100 }; /* components that are tried before the ladder is climbed to its end */
enum { SCORED = 20000 };    /* of more responses an even sample has as good a mean */
enum {
    CUT = 512,
    TILE = 128,
    TILES = CUT / TILE
}; /* responses of a block, of a worker at a time */
static const double LN_2PI = 1.8378770664093455;
static const double LEAST = 1e-10; /* of a response's variance: noise that is 0 up to rounding */
static const int LADDER[KN_MAX_CURVE] = {1,  2,  3,  5,   8,   12,  18,  25,
                                         35, 50, 70, 100, 140, 200, 280, 400};

typedef struct fold_fit {
    kn_fold rows;
    const kn_heldout *held; /* NULL, or whose basis and mean these are */
    kn_mat mean, var;       /* n_test x P, latent predictions of the held-out */
    double *d;              /* P  noise of a new group */
    double *s2;             /* P  variance of the training coordinates: |z_p|^2/n */
    ptrdiff_t at;           /* the held-out are rows at ... of the scores */
} fold_fit;

static void fold_fit_clear(fold_fit *f)
{
    kn_fold_clear(&f->rows);
    kn_mat_clear(&f->mean);
    kn_mat_clear(&f->var);
    kn_free(f->d);
    kn_free(f->s2);
}

/* The components of the training rows at R0's parameters, and what they say of the held-out. */
static kn_status fit_rows(kn_ctx *ctx, const kn_fit_problem *p, const double *r0, fold_fit *f)
{
    kn_status status;
    kn_mat X = p->X;
    kn_mat Xt = {0}, Xs = {0};
    kn_groups groups = {0};
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
    KN_TRY(kn_engine_new(ctx, &p->spec, &data, &e));
    KN_TRY(kn_engine_at(ctx, &e, r0, &lml));
    KN_TRY(kn_alloc_d(ctx, P, &f->d));
    KN_TRY(kn_alloc_d(ctx, P, &f->s2));
    for (ptrdiff_t k = 0; k < P; k++) {
        f->d[k] = e.d[k] * (1 + e.cell[e.in[k]].R0.gamma); /* of a new group */
        f->s2[k] = kn_sumsq(kn_cols(f->rows.Z_train, k, 1)) / (double)f->rows.n_train;
    }
    KN_TRY(kn_engine_latent(ctx, &Xt, &e, &model));
    KN_TRY(kn_mat_new(ctx, f->rows.n_test, P, &f->mean));
    KN_TRY(kn_mat_new(ctx, f->rows.n_test, P, &f->var));
    KN_TRY(kn_latent_predict(ctx, &model, &(kn_newcomers){.X = Xs}, f->mean, f->var, &clamped));
out:
    kn_groups_clear(&groups);
    kn_latent_clear(&model);
    kn_engine_clear(&e);
    kn_mat_clear(&Xs);
    kn_mat_clear(&Xt);
    return status;
}

/* Rows and coordinates of all folds, from the Gram matrix or the one held-out set. */
static kn_status lay_out(kn_ctx *ctx, const kn_fit_problem *p, const int *fold, int folds,
                         ptrdiff_t P, fold_fit *f)
{
    kn_status status = KN_OK;
    kn_fold *each[FOLDS];
    for (int k = 0; k < folds; k++) {
        each[k] = &f[k].rows;
        KN_TRY(kn_fold_rows(ctx, p->X.rows, fold, k, each[k]));
    }
    if (!p->held.mean) {
        KN_TRY(kn_folds_pca(ctx, &p->gram, P, each, folds));
        goto out;
    }
    f->held = &p->held;
    ptrdiff_t K = f->held->basis.Z.cols;
    KN_TRY(kn_mat_copy(ctx, kn_cols(f->held->basis.Z, 0, P < K ? P : K), &f->rows.Z_train));
out:
    return status;
}

typedef struct score_work { /* one worker's, of one fold and tile */
    kn_mat train, error, var, B, B2;
    double trivial[TILE], noise[TILE], mu[TILE]; /* variance and mean in training; what is noise */
    double floored[TILE];
    double *product, *loss; /* of each held-out sample */
} score_work;

typedef struct scoring {
    const kn_responses *Y; /* all samples */
    fold_fit fit[FOLDS];
    int folds, steps;
    bool missing;     /* some cells are: the scores are of the others, and a column counts them */
    ptrdiff_t rows;   /* held out, of all folds */
    ptrdiff_t scored; /* responses */
    /* rows x (steps + 1, and one more where cells are missing): loss at each step of the ladder,
     * and the trivial model's; summed over a tile, a block and all of them */
    kn_mat tile[TILES];
    kn_slots blocks;
    kn_mat score;
    int workers;
    score_work *work;
    const kn_block *block; /* under way */
} scoring;

/* Variance about w->mu of the training cells that have a value; of very few, none. */
static void observed_variance(const scoring *c, const fold_fit *f, ptrdiff_t first, kn_mat train,
                              score_work *w)
{
    const kn_holes *h = c->Y->holes;
    for (ptrdiff_t j = 0; j < train.cols; j++) {
        ptrdiff_t n = 0;
        double s2 = 0, *t = kn_col(train, j);
        if (kn_holes_in(h, first + j) == 0)
            continue;
        for (ptrdiff_t i = 0; i < train.rows; i++)
            if (!kn_is_hole(h, f->rows.train[i], first + j)) {
                s2 += t[i] * t[i];
                n++;
            }
        w->trivial[j] = n < KN_FILL_LEAST ? 0 : s2 / (double)n;
    }
}

/* B_f, mu and the trivial model's variance from the training rows of y (N x count), the responses
 * first ... */
static void fold_basis(const scoring *c, const fold_fit *f, ptrdiff_t first, kn_mat y,
                       score_work *w, kn_mat B)
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
        observed_variance(c, f, first, train, w);
    kn_gemm(NULL, 1, KN_T, train, KN_N, f->rows.US, 0, B);
}

/* Of `values` cells with mean square `all` those that the held-out y do not have, about mu. A mean
 * that is not known is that of too few. */
static double rest_variance(const double *y, ptrdiff_t rows, double all, ptrdiff_t values,
                            double mu)
{
    double sum = all * (double)values;
    ptrdiff_t n = values;
    for (ptrdiff_t i = 0; i < rows; i++)
        if (isfinite(y[i])) {
            sum -= y[i] * y[i];
            n--;
        }
    return isfinite(mu) && n >= KN_FILL_LEAST ? fmax(sum / (double)n - mu * mu, 0) : 0;
}

/* The same without the training rows, y being the held-out ones: what all samples have, less
 * theirs. */
static void heldout_basis(const scoring *c, ptrdiff_t first, kn_mat y, score_work *w, kn_mat B)
{
    const fold_fit *f = &c->fit[0];
    const kn_scaling *s = c->Y->scaling;
    double N = (double)c->Y->N, n = (double)f->rows.n_train;
    kn_mat_set(B, kn_sub(f->held->basis.B, first, 0, B.rows, B.cols));
    for (ptrdiff_t j = 0; j < y.cols; j++) {
        double sd = s->sd[first + j], shift = (s->mean0[first + j] - s->mean[first + j]) / sd;
        double all = s->sd0[first + j] * s->sd0[first + j] / (sd * sd) + shift * shift;
        w->mu[j] = f->held->mean[first + j];
        if (c->missing)
            w->trivial[j] = rest_variance(kn_col(y, j), y.rows, all, s->n[first + j], w->mu[j]);
        else
            w->trivial[j] =
                fmax((N * all - kn_sumsq(kn_cols(y, j, 1))) / n - w->mu[j] * w->mu[j], 0);
    }
}

/* kn_sample_losses of the cells that have a value. */
static void observed_losses(kn_mat e, kn_mat v, const double *noise, double *work, double *loss)
{
    (void)work;
    for (ptrdiff_t i = 0; i < e.rows; i++)
        loss[i] = 0;
    for (ptrdiff_t j = 0; j < e.cols; j++)
        for (ptrdiff_t i = 0; noise[j] > 0 && i < e.rows; i++) {
            double s2 = noise[j] + (v.data ? kn_at(v, i, j) : 0);
            if (isfinite(kn_at(e, i, j)))
                loss[i] += 0.5 * (log(s2) + kn_z2(kn_at(e, i, j), s2));
        }
}

/* How many cells that is of each sample. */
static void count_cells(kn_mat e, const double *noise, double *count)
{
    for (ptrdiff_t j = 0; j < e.cols; j++)
        for (ptrdiff_t i = 0; noise[j] > 0 && i < e.rows; i++)
            count[i] += isfinite(kn_at(e, i, j)) != 0;
}

/* Column l of the held-out's scores = their losses with w->noise and v */
static void score_step(const fold_fit *f, bool missing, kn_mat e, kn_mat v, score_work *w,
                       double *score)
{
    for (ptrdiff_t j = 0; j < e.cols; j++)
        w->floored[j] = w->trivial[j] > 0 ? fmax(w->noise[j], LEAST * w->trivial[j]) : 0;
    (missing ? observed_losses : kn_sample_losses)(e, v, w->floored, w->product, w->loss);
    memcpy(score + f->at, w->loss, (size_t)f->rows.n_test * sizeof *score);
}

/* The scores of fold f's held-out over y, the responses first ... Components enter a step of the
 * ladder at a time. */
static void score_tile(const scoring *c, const fold_fit *f, ptrdiff_t first, kn_mat y,
                       score_work *w, kn_mat score)
{
    ptrdiff_t count = y.cols, ns = f->rows.n_test, P = f->mean.cols;
    kn_mat e = kn_sub(w->error, 0, 0, ns, count), v = kn_sub(w->var, 0, 0, ns, count);
    kn_mat B = kn_sub(w->B, 0, 0, count, P), B2 = kn_sub(w->B2, 0, 0, count, P);
    if (f->held) {
        heldout_basis(c, first, y, w, B);
        kn_mat_set(e, y);
    } else {
        fold_basis(c, f, first, y, w, B);
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
        count_cells(e, w->floored, kn_col(score, c->steps + 1) + f->at);
    }
    for (int l = 0; l < c->steps; l++) {
        ptrdiff_t p0 = l > 0 ? LADDER[l - 1] : 0, p1 = LADDER[l];
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

static void score_tiles(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    const scoring *c = self;
    kn_mat y = kn_cols(c->block->y, from, to - from);
    for (int k = 0; k < c->folds; k++)
        score_tile(c, &c->fit[k], c->block->first + from, y, &c->work[worker],
                   c->tile[from / TILE]);
}

static kn_status score_block(kn_ctx *ctx, void *self, kn_block *b)
{
    scoring *c = self;
    c->block = b;
    kn_la_parallel(ctx, b->count, TILE, score_tiles, c);
    double *sum = kn_slot(&c->blocks, b->number);
    for (ptrdiff_t t = 0; t * TILE < b->count; t++)
        for (ptrdiff_t i = 0; i < c->blocks.n; i++)
            sum[i] += c->tile[t].data[i];
    c->scored += b->count;
    return KN_OK;
}

static kn_status begin_scoring(kn_ctx *ctx, void *self, const kn_walk_plan *plan)
{
    kn_status status;
    scoring *c = self;
    void *memory;
    ptrdiff_t P = 0, n = 0, ns = 0, width = plan->width < TILE ? plan->width : TILE;
    ptrdiff_t columns = c->steps + 1 + c->missing;
    for (int k = 0; k < c->folds; k++) {
        const fold_fit *f = &c->fit[k];
        P = f->mean.cols > P ? f->mean.cols : P;
        n = f->rows.n_train > n && !f->held ? f->rows.n_train : n;
        ns = f->rows.n_test > ns ? f->rows.n_test : ns;
    }
    KN_TRY(kn_mat_new(ctx, c->rows, columns, &c->score));
    KN_TRY(kn_slots_new(ctx, plan->blocks, c->rows * columns, &c->blocks));
    for (int t = 0; t < TILES; t++)
        KN_TRY(kn_mat_new(ctx, c->rows, columns, &c->tile[t]));
    c->workers = kn_workers(ctx, plan->width, TILE);
    KN_TRY(kn_alloc(ctx, c->workers, sizeof *c->work, &memory));
    c->work = memory;
    for (int k = 0; k < c->workers; k++) {
        score_work *w = &c->work[k];
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

/* From sums of losses to means of the standardised loss. */
static kn_status end_scoring(kn_ctx *ctx, void *self)
{
    scoring *c = self;
    kn_status status = kn_slots_sum(ctx, &c->blocks, c->score.data);
    for (int l = 0; l < c->steps; l++)
        for (ptrdiff_t i = 0; i < c->rows; i++) {
            double cells = c->missing ? kn_at(c->score, i, c->steps + 1) : (double)c->scored;
            kn_col(c->score, l)[i] =
                cells > 0 ? (kn_at(c->score, i, l) - kn_at(c->score, i, c->steps)) / cells : 0;
        }
    return status;
}

static void scoring_clear(scoring *c)
{
    for (int k = 0; k < FOLDS; k++)
        fold_fit_clear(&c->fit[k]);
    for (int k = 0; c->work && k < c->workers; k++) {
        score_work *w = &c->work[k];
        kn_mat *m[] = {&w->train, &w->error, &w->var, &w->B, &w->B2};
        for (size_t i = 0; i < sizeof m / sizeof *m; i++)
            kn_mat_clear(m[i]);
        kn_free(w->product);
        kn_free(w->loss);
    }
    kn_free(c->work);
    for (int t = 0; t < TILES; t++)
        kn_mat_clear(&c->tile[t]);
    kn_slots_clear(&c->blocks);
    kn_mat_clear(&c->score);
}

/* score(i, l) = mean_j MSLL of held-out sample i at ladder step l; every few blocks of very many
 * responses */
static kn_status score_all(kn_ctx *ctx, const kn_responses *Y, scoring *c)
{
    const kn_fold *rows = &c->fit[0].rows;
    kn_walk walk = {.Y = *Y,
                    .stage = "components",
                    .cut = CUT,
                    .every = (Y->T + SCORED - 1) / SCORED};
    kn_visitor visitor = {c, KN_WALK_Y, begin_scoring, score_block, end_scoring};
    if (c->fit[0].held)
        walk.Y = kn_responses_rows(Y, rows->test, rows->n_test);
    return kn_walk_run(ctx, &walk, &visitor, 1);
}

static void mean_and_error(const double *x, const double *y, ptrdiff_t n, double *mean, double *se)
{
    double m = 0, s = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        m += (x[i] - (y ? y[i] : 0)) / (double)n;
    for (ptrdiff_t i = 0; i < n; i++) {
        double e = x[i] - (y ? y[i] : 0) - m;
        s += e * e;
    }
    *mean = m;
    *se = n > 1 ? sqrt(s / ((double)n * (double)(n - 1))) : 0;
}

static int best_step(const kn_fit_info *info)
{
    int best = 0;
    for (int l = 1; l < info->n_curve; l++)
        if (info->curve[l].msll < info->curve[best].msll)
            best = l;
    return best;
}

/* The smallest P of the ladder that is as good as the best, up to a thousandth; by the rules of 0.1
 * one that is not clearly worse. -1: none, because no P predicts. */
static int choose(kn_mat score, int steps, kn_rules rules, kn_fit_info *info)
{
    /* Standard errors below 0 that one in twenty of no signal has. One, as 0.1 had it, lets a fifth
     * of pure noise pass where responses are few (bench/MEASURED.md). */
    static const double ONE_SIDED = 1.645;
    static const double ROUNDING = 1e-9; /* where no fold has any signal, all is 0 but for that */
    static const double AS_GOOD = 0.001, AS_GOOD_CLASSIC = 0.01; /* of the best score */
    bool classic = rules == KN_RULES_CLASSIC;
    for (int l = 0; l < steps; l++)
        mean_and_error(kn_col(score, l), NULL, score.rows, &info->curve[l].msll,
                       &info->curve[l].se);
    int best = best_step(info);
    /* Pure noise lands just below zero by chance about as often as above. */
    double least = classic ? 1 : ONE_SIDED;
    info->nothing_predicted = info->curve[best].msll + least * info->curve[best].se >= -ROUNDING;
    if (info->nothing_predicted)
        return classic ? 0 : -1;
    for (int l = 0; l < best; l++) {
        double mean, se, top = fabs(info->curve[best].msll);
        mean_and_error(kn_col(score, l), kn_col(score, best), score.rows, &mean, &se);
        if (mean <= (classic ? fmax(se, AS_GOOD_CLASSIC * top) : AS_GOOD * top))
            return l;
    }
    return best;
}

/* LML along the ladder at the same R0, for the record: of coordinates Z (n x P, all of
 * whose energy but the sum of squares of Z lies outside). */
static kn_status likelihoods(kn_ctx *ctx, const kn_fit_problem *p, const double *r0, kn_mat Z,
                             double total, kn_fit_info *info)
{
    kn_status status;
    kn_engine e = {0};
    kn_groups groups = {0};
    kn_engine_data data = {.X = p->X, .Z = Z, .groups = &groups, .T = p->Y.T, .total = 1};
    double lml, N = (double)p->X.rows;
    KN_TRY(kn_groups_subset(ctx, &p->groups, NULL, p->X.rows, &groups));
    KN_TRY(kn_engine_new(ctx, &p->spec, &data, &e));
    KN_TRY(kn_engine_at(ctx, &e, r0, &lml));
    double sum = 0, E = total;
    for (int l = 0, k = 0; l < info->n_curve; l++) {
        for (; k < LADDER[l]; k++) {
            sum += e.lml[k];
            E -= kn_sumsq(kn_cols(Z, k, 1));
        }
        double outside = N * (double)(p->Y.T - k);
        info->curve[l].lml = sum;
        if (outside > 0 && E > 1e-10 * total)
            info->curve[l].lml -= 0.5 * outside * (LN_2PI + log(E / outside) + 1);
    }
out:
    kn_groups_clear(&groups);
    kn_engine_clear(&e);
    return status;
}

/* Those of all samples, or of the training part of a held-out set. */
static kn_status record_likelihoods(kn_ctx *ctx, const kn_fit_problem *p, const double *r0,
                                    kn_fit_info *info)
{
    kn_status status;
    kn_fit_problem part = *p;
    kn_mat Z = {0}, Xt = {0};
    kn_groups train = {0};
    const kn_heldout *held = &p->held;
    ptrdiff_t P = LADDER[info->n_curve - 1];
    double total = 0;
    if (held->mean) {
        KN_TRY(kn_mat_new(ctx, held->rows.n_train, p->X.cols, &Xt));
        kn_mat_rows(p->X, held->rows.train, Xt);
        KN_TRY(kn_groups_subset(ctx, &p->groups, held->rows.train, held->rows.n_train, &train));
        part.X = Xt;
        part.groups = train;
        KN_TRY(likelihoods(ctx, &part, r0, kn_cols(held->basis.Z, 0, P), held->basis.total, info));
    } else {
        KN_TRY(kn_gram_coordinates(ctx, &p->gram, P, &Z));
        for (ptrdiff_t i = 0; i < p->X.rows; i++)
            total += p->gram.s2[i];
        KN_TRY(likelihoods(ctx, p, r0, Z, total, info));
    }
out:
    kn_groups_clear(&train);
    kn_mat_clear(&Xt);
    kn_mat_clear(&Z);
    return status;
}

static int steps_to(ptrdiff_t N, ptrdiff_t T, ptrdiff_t rank)
{
    ptrdiff_t most = kn_at_most(kn_at_most((N - 1) / 2, T), rank);
    int steps = 0;
    while (steps < KN_MAX_CURVE && LADDER[steps] <= most)
        steps++;
    return steps;
}

ptrdiff_t kn_components_most(ptrdiff_t N, ptrdiff_t T, ptrdiff_t rank)
{
    int steps = steps_to(N, T, rank);
    return LADDER[steps > 0 ? steps - 1 : 0];
}

/* How far the ladder goes. */
static int ladder_steps(const kn_fit_problem *p, kn_fit_info *info)
{
    ptrdiff_t rank = p->held.mean ? p->held.basis.Z.cols : p->gram.rank;
    int steps = steps_to(p->X.rows, p->Y.T, rank);
    for (int l = 0; l < steps; l++)
        info->curve[l].components = LADDER[l];
    return steps;
}

/* Who is held out when: other folds than those of the reference, which begin with the same seed; or
 * the one set, whose basis is there already. */
static kn_status deal(kn_ctx *ctx, const kn_fit_problem *p, int *folds, int *fold)
{
    const kn_gp_options *o = p->options;
    const kn_fold *held = &p->held.rows;
    uint64_t seed = o->rules == KN_RULES_CLASSIC ? o->search.seed : o->search.seed + 1;
    if (!p->held.mean)
        return kn_folds_deal(ctx, p->X.rows, o->groups, seed, folds, fold);
    for (ptrdiff_t i = 0; i < p->X.rows; i++)
        fold[i] = -1;
    for (ptrdiff_t i = 0; i < held->n_test; i++)
        fold[held->test[i]] = 0;
    return KN_OK;
}

/* A model without any component has structured noise. */
static kn_rules rules_of(const kn_fit_problem *p)
{
    return p->spec.noise == KN_NOISE_ISO ? KN_RULES_CLASSIC : p->options->rules;
}

/* score(i, l) where responses are missing: each fold fills in its own rows, and is scored by
 * itself. `all` holds the scores of every fold, one after the other. */
static kn_status score_completed(kn_ctx *ctx, const kn_fit_problem *p, const double *r0,
                                 const int *fold, int folds, int steps, kn_mat all)
{
    kn_status status = KN_OK;
    double *filled = NULL;
    scoring c = {0};
    for (int k = 0, at = 0; k < folds; k++, at += (int)c.rows) {
        fold_fit *f = &c.fit[0];
        kn_responses Y;
        scoring_clear(&c);
        c = (scoring){.Y = &Y, .steps = steps, .folds = 1, .missing = true};
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_fold_rows(ctx, p->X.rows, fold, k, &f->rows));
        KN_TRY(kn_completion_fold(ctx, p->completion, f->rows.train, f->rows.n_train, &filled, &Y));
        kn_responses train = kn_responses_rows(&Y, f->rows.train, f->rows.n_train);
        KN_TRY(kn_fold_completed(ctx, &train, LADDER[steps - 1], &f->rows));
        KN_TRY(fit_rows(ctx, p, r0, f));
        c.rows = f->rows.n_test;
        KN_TRY(score_all(ctx, &Y, &c));
        kn_mat_set(kn_sub(all, at, 0, c.rows, steps), kn_cols(c.score, 0, steps));
        kn_free(filled);
        filled = NULL;
    }
out:
    kn_free(filled);
    scoring_clear(&c);
    return status;
}

/* The curve along the first steps of the ladder, and where on it. */
static kn_status try_steps(kn_ctx *ctx, const kn_fit_problem *p, const double *r0, kn_rules rules,
                           int steps, kn_fit_info *info, int *step)
{
    kn_status status = KN_OK;
    kn_responses given = kn_responses_as_given(&p->Y);
    scoring c = {.Y = &given,
                 .steps = steps,
                 .folds = p->held.mean ? KN_HELD_OUT_ONCE : FOLDS,
                 .missing = p->completion != NULL};
    void *fold = NULL;
    KN_TRY(kn_alloc(ctx, p->X.rows, sizeof(int), &fold));
    KN_TRY(deal(ctx, p, &c.folds, fold));
    info->n_curve = steps;
    if (p->completion && !p->held.mean) {
        KN_TRY(kn_mat_new(ctx, p->X.rows, steps, &c.score));
        KN_TRY(score_completed(ctx, p, r0, fold, c.folds, steps, c.score));
        *step = choose(c.score, steps, rules, info);
        goto out;
    }
    KN_TRY(lay_out(ctx, p, fold, c.folds, LADDER[steps - 1], c.fit));
    for (int k = 0; k < c.folds; k++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(fit_rows(ctx, p, r0, &c.fit[k]));
        c.fit[k].at = c.rows;
        c.rows += c.fit[k].rows.n_test;
    }
    KN_TRY(score_all(ctx, &given, &c));
    *step = choose(c.score, steps, rules, info);
out:
    scoring_clear(&c);
    kn_free(fold);
    return status;
}

kn_status kn_choose_components(kn_ctx *ctx, const kn_fit_problem *problem, const kn_cov_point *at,
                               kn_fit_info *info, ptrdiff_t *P)
{
    kn_status status;
    kn_fit_problem p = *problem; /* components are independent under structured noise only */
    int all = ladder_steps(&p, info), step, first = all;
    double r0[KN_COV_THETA];
    p.spec.noise = KN_NOISE_STRUCTURED;
    p.spec.sample = kn_cov_between(&problem->spec.sample);
    kn_cov_theta(&p.spec.sample, at, r0);
    while (rules_of(problem) != KN_RULES_CLASSIC && first > 1 && LADDER[first - 1] > CURVE_FIRST)
        first--;
    KN_TRY(try_steps(ctx, &p, r0, rules_of(problem), first, info, &step));
    if (first < all && best_step(info) == first - 1) /* it still falls there */
        KN_TRY(try_steps(ctx, &p, r0, rules_of(problem), all, info, &step));
    KN_TRY(record_likelihoods(ctx, &p, r0, info));
    *P = step < 0 ? 0 : LADDER[step];
out:
    return status;
}

/* A fold of the curve: n to train on, h held out. */
static void fold_fit_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t n, ptrdiff_t h)
{
    kn_need_shape f = *s;
    f.N = n;
    f.M = s->M < s->N ? kn_at_most(s->M, n) : n;
    kn_fold_need(r, s, n);
    kn_hold_d(r, KN_NEED_WORK, h, 2 * s->P);
    kn_held mark = r->now;
    kn_hold_d(r, KN_NEED_WORK, s->N, s->F);
    kn_engine_need(r, &f, false, false); /* of which the latent model takes over a part */
    kn_latent_predict_need(r, &f, h);
    kn_let_go(r, mark);
}

/* The curve over the held-out: `rows` of them in all, h at most in a fold; y of n samples. */
static void scoring_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t rows, ptrdiff_t h,
                         ptrdiff_t n)
{
    ptrdiff_t steps = steps_to(s->N, s->T, s->P) + 1, width = kn_walk_width(CUT, s->T);
    ptrdiff_t every = (s->T + SCORED - 1) / SCORED, cuts = (s->T + CUT - 1) / CUT;
    kn_hold_d(r, KN_NEED_WORK, rows, steps);
    kn_slots_need(r, KN_NEED_WORK, (cuts + every - 1) / every, rows * steps);
    for (int t = 0; t < TILES; t++)
        kn_hold_d(r, KN_NEED_WORK, rows, steps);
    for (int w = 0; w < kn_workers_of(s->threads, width, TILE); w++)
        kn_hold_d(r, KN_NEED_WORK, kn_at_most(width, TILE), n + 2 * h + 2 * s->P);
    kn_held mark = r->now;
    kn_walk_need(r, n, width, KN_WALK_Y);
    kn_let_go(r, mark);
}

void kn_components_need(kn_rehearsal *r, const kn_need_shape *shape)
{
    kn_need_shape s = *shape, all;
    kn_held mark = r->now;
    bool once = s.range > 0;
    ptrdiff_t h = once ? kn_held_out(s.N) : (s.N + FOLDS - 1) / FOLDS, n = s.N - h;
    s.iso = s.rotated = false;
    s.given_basis = once; /* no fold makes its own */
    all = s;
    if (once)
        all.N = n;
    all.M = s.M < s.N ? kn_at_most(s.M, all.N) : all.N;
    kn_pilot_need(r, &all);
    kn_hold_d(r, KN_NEED_WORK, s.N, 1);
    if (!once)
        kn_folds_pca_need(r, &s, n, FOLDS);
    for (int k = 0; k < (once ? KN_HELD_OUT_ONCE : FOLDS); k++)
        fold_fit_need(r, &s, n, h);
    scoring_need(r, &s, once ? h : s.N, h, once ? h : s.N);
    kn_let_go(r, mark); /* then the likelihoods */
    kn_hold_d(r, KN_NEED_WORK, s.N, s.P);
    kn_engine_need(r, &all, false, false);
    kn_let_go(r, mark);
}
