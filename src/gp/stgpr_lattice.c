/* The cell of each response: a lattice of (rho, length) shared by all of them       [METHOD 7]
 *
 * Of R0 rho is the share of what is curved, beside what is straight; effects of categories have
 * their weights from elsewhere [cov/weights.h]. 8 x 8 cells and rho = 0 and 1 are evaluated for
 * every response: one eigenproblem, one product U'Y, one profile each. Then the step is halved
 * round the best cell of each response that has something to gain, and each new cell is evaluated
 * for the responses that ask. It is halved three times: over 4 x 100 simulated responses
 * (test_stgpr, KN_SEED 1 to 4) two halvings left 395 within 0.1 nat of their own optimum, three
 * 397. In the end responses move to cells that others use where that costs next to nothing:
 * predictions pay per cell. */
#include "gp/stgpr_lattice.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "gp/search.h"
#include "la/la.h"

enum {
    CELLS = 8,
    LEVELS = 3,          /* halvings */
    FINE = 1 << LEVELS,  /* lattice units per step of the 8 x 8 */
    SIDE = CELLS * FINE, /* coordinates 0 .. SIDE; cells in the middle of their steps */
    RHO_ZERO = -1,       /* beside the lattice */
    RHO_ONE = SIDE + 1,
    N_RHO = SIDE + 3,
    N_PLACES = N_RHO * (SIDE + 1) + 1, /* and one that the caller may give */
    AROUND = 8 + 2,                    /* of a place on the lattice, and of one at rho = 1 */
    N_FINE = AROUND * LEVELS,          /* fine cells that one response may try */
};
static const double WORTH = 0.02;  /* nats: a response with less to gain does not ask */
static const double NEAR = 0.5;    /* nats below the best that a second place is refined too */
static const double ENOUGH = 1e-3; /* nats: accuracy of the likelihoods compared */
static const double TIE = 1e-9;    /* nats by which a larger gamma must be better */
static const double MERGE = 0.01;  /* nats that a response gives up to share a cell */

typedef struct place {
    int i, k; /* logit rho, ln length in lattice units */
} place;

typedef struct lattice {
    const kn_cov *cov;
    kn_cov_family family;
    kn_box box;
    double lower[2], upper[2]; /* of (logit rho, ln length), as far as there are */
    kn_cell_work w;
    kn_stgpr *s;
    const ptrdiff_t *J; /* T  the responses; NULL: all */
    ptrdiff_t T;
    double gamma;
    int n_cells, n_coarse;
    place *at;     /* N_PLACES */
    kn_mat where;  /* N_PLACES x 2   rho, length */
    int *id;       /* N_PLACES   cell of a place, or -1 */
    kn_mat lml;    /* (n_coarse + N_FINE) x T   of each cell tried */
    int *fine;     /* T x N_FINE   which fine cells those were, -1: none */
    double *best;  /* T */
    int *best_at;  /* T   cell */
    bool *asks;    /* T   went on to the next level */
    double *tried; /* T   LML of the responses in the cell at hand */
    kn_cell_search *o;
} lattice;

static void lattice_clear(lattice *l)
{
    kn_cell_work_clear(&l->w);
    kn_mat_clear(&l->where);
    kn_mat_clear(&l->lml);
    kn_free(l->at);
    kn_free(l->id);
    kn_free(l->fine);
    kn_free(l->best);
    kn_free(l->best_at);
    kn_free(l->asks);
    kn_free(l->tried);
    *l = (lattice){0};
}

static int slot(place p)
{
    return (p.i + 1) * (SIDE + 1) + p.k;
}

static int add_cell(lattice *l, place p, double rho, double length)
{
    int c = l->n_cells++;
    l->at[c] = p;
    kn_col(l->where, 0)[c] = rho;
    kn_col(l->where, 1)[c] = length;
    return c;
}

/* Lattice units to a coordinate */
static double between(const lattice *l, int x, int u)
{
    return l->lower[x] + (l->upper[x] - l->lower[x]) * u / SIDE;
}

static ptrdiff_t response(const lattice *l, ptrdiff_t j)
{
    return l->J ? l->J[j] : j;
}

/* The cell at a place, made where there was none. */
static int cell_at(lattice *l, place p)
{
    int *id = &l->id[slot(p)];
    if (*id < 0) {
        double rho = p.i == RHO_ZERO ? 0 : p.i == RHO_ONE ? 1 : 1 / (1 + exp(-between(l, 0, p.i)));
        double length = l->family.has_length ? exp(between(l, 1, p.k)) : 1;
        *id = add_cell(l, p, rho, length);
    }
    return *id;
}

/* rho = 0 has one cell, whatever the length. */
static place canonical(place p)
{
    if (p.i < 0)
        return (place){RHO_ZERO, 0};
    if (p.i > SIDE)
        p.i = RHO_ONE;
    return p;
}

static void coarse_cells(lattice *l)
{
    const kn_cell_search *o = l->o;
    place apart = {RHO_ZERO, -FINE}; /* far from every neighbour */
    bool given = isfinite(o->rho) || isfinite(o->length) || !o->optimise;
    if (given) {
        double rho, length;
        kn_family_rho_length(&l->family, &l->box.middle, &rho, &length);
        if (l->family.has_rho && isfinite(o->rho))
            rho = o->rho;
        add_cell(l, apart, rho, isfinite(o->length) ? o->length : length);
    }
    if (o->optimise) {
        bool has_rho = l->family.has_rho, has_length = l->family.has_length;
        if (has_rho || !has_length)
            cell_at(l, (place){RHO_ZERO, 0});
        for (int k = FINE / 2; has_length && k < SIDE; k += FINE) {
            cell_at(l, (place){RHO_ONE, k});
            for (int i = FINE / 2; has_rho && i < SIDE; i += FINE)
                cell_at(l, (place){i, k});
        }
    }
    l->n_coarse = l->n_cells;
}

static kn_status lattice_new(kn_ctx *ctx, const kn_cell_samples *samples,
                             const kn_cell_class *which, kn_cell_search *o, kn_stgpr *s, lattice *l)
{
    kn_status status;
    void *p;
    ptrdiff_t T = which->n, width = T < KN_BLOCK ? T : KN_BLOCK;
    *l = (lattice){.cov = samples->cov,
                   .family = o->family,
                   .s = s,
                   .J = which->J,
                   .T = T,
                   .gamma = which->gamma,
                   .o = o};
    KN_TRY(kn_box_new(ctx, l->cov, samples->pairs, kn_mat_none(), &l->box));
    kn_family_box(&l->family, &l->box, l->lower, l->upper);
    KN_TRY(kn_cell_work_new(ctx, s->alpha.rows, samples, width, &l->w));
    KN_TRY(kn_alloc(ctx, N_PLACES, sizeof(place), &p));
    l->at = p;
    KN_TRY(kn_alloc(ctx, N_PLACES, sizeof(int), &p));
    l->id = p;
    for (int k = 0; k < N_PLACES; k++)
        l->id[k] = -1;
    KN_TRY(kn_mat_new(ctx, N_PLACES, 2, &l->where));
    coarse_cells(l);
    KN_TRY(kn_alloc(ctx, T * N_FINE, sizeof(int), &p));
    l->fine = p;
    KN_TRY(kn_alloc(ctx, T, sizeof(int), &p));
    l->best_at = p;
    KN_TRY(kn_alloc(ctx, T, sizeof(bool), &p));
    l->asks = p;
    KN_TRY(kn_alloc_d(ctx, T, &l->best));
    KN_TRY(kn_alloc_d(ctx, T, &l->tried));
    KN_TRY(kn_mat_new(ctx, l->n_coarse + N_FINE, T, &l->lml));
    for (ptrdiff_t j = 0; j < T; j++) {
        l->best[j] = -INFINITY;
        l->asks[j] = true;
        for (int k = 0; k < N_FINE; k++)
            l->fine[j * N_FINE + k] = -1;
        for (int k = 0; k < l->n_coarse + N_FINE; k++)
            kn_col(l->lml, j)[k] = -INFINITY;
    }
out:
    if (status != KN_OK)
        lattice_clear(l);
    return status;
}

static void keep(lattice *l, ptrdiff_t j, int cell, int column, double lml)
{
    kn_col(l->lml, j)[column] = isnan(lml) ? -INFINITY : lml;
    if (lml > l->best[j]) {
        l->best[j] = lml;
        l->best_at[j] = cell;
    }
}

/* True when the search has to end; something is known of every response by then. */
static bool stopped(kn_ctx *ctx, kn_cell_search *o)
{
    if (kn_cancelled(ctx))
        o->stop = KN_STOP_CANCELLED;
    else if (o->limits.evals_left == 0)
        o->stop = KN_STOP_MAX_EVALS;
    else if (o->limits.deadline > 0 && kn_clock() > o->limits.deadline)
        o->stop = KN_STOP_MAX_SECONDS;
    else
        return false;
    return true;
}

typedef struct wish {
    ptrdiff_t response;
    int cell, column;
} wish;

static kn_cov_point point_of(const lattice *l, int cell)
{
    return kn_family_at(&l->family, kn_at(l->where, cell, 0), kn_at(l->where, cell, 1));
}

/* What a step with a cell is handed, for the journal. */
typedef struct asked {
    kn_cov_point at;
    double gamma, responses;
} asked;

/* l->tried = LML in a cell of the n responses that asked for it; w NULL: of all of them. */
static kn_status evaluate(kn_ctx *ctx, lattice *l, int cell, const wish *w, ptrdiff_t n)
{
    kn_status status;
    kn_cov_point at = point_of(l, cell);
    bool all = !w && !l->J;
    KN_TRY(kn_cell_decompose(ctx, &l->w, &at, l->gamma));
    for (ptrdiff_t j = 0; j < n; j += l->w.width) {
        ptrdiff_t some = n - j < l->w.width ? n - j : l->w.width;
        kn_mat Y = all ? kn_cols(l->s->alpha, j, some) : kn_cols(l->w.Y, 0, some);
        for (ptrdiff_t k = 0; !all && k < some; k++) {
            ptrdiff_t t = response(l, w ? w[j + k].response : j + k);
            kn_mat_set(kn_cols(Y, k, 1), kn_cols(l->s->alpha, t, 1));
        }
        KN_TRY(kn_cell_fit(ctx, &l->w, Y, ENOUGH));
        memcpy(l->tried + j, l->w.lml, (size_t)some * sizeof *l->tried);
    }
out:
    return status;
}

/* The same by way of the journal, and kept. */
static kn_status try_cell(kn_ctx *ctx, lattice *l, int cell, const wish *w, ptrdiff_t n)
{
    kn_status status;
    asked in = {point_of(l, cell), l->gamma, (double)n};
    kn_step step = {KN_STEP_CELL, &in, sizeof in, l->tried, n * (ptrdiff_t)sizeof *l->tried, false};
    l->o->evals++;
    if (l->o->limits.evals_left > 0)
        l->o->limits.evals_left--;
    KN_TRY(kn_journal_recall(ctx, l->o->journal, &step));
    if (!step.known) {
        KN_TRY(evaluate(ctx, l, cell, w, n));
        KN_TRY(kn_journal_note(ctx, l->o->journal, &step));
    }
    for (ptrdiff_t j = 0; j < n; j++)
        keep(l, w ? w[j].response : j, cell, w ? w[j].column : cell, l->tried[j]);
out:
    return status;
}

static kn_status coarse(kn_ctx *ctx, lattice *l)
{
    kn_status status = kn_check_cancel(ctx);
    for (int c = 0; c < l->n_coarse && status == KN_OK; c++) {
        if (c > 0 && stopped(ctx, l->o))
            break;
        KN_TRY(try_cell(ctx, l, c, NULL, l->T));
        kn_tell(ctx, "grid", c + 1, l->n_coarse, NAN);
    }
out:
    return status;
}

/* LML of response j at a place, NaN where it was not tried. */
static double known(const lattice *l, ptrdiff_t j, place p)
{
    p = canonical(p);
    if (p.k < 0 || p.k > SIDE)
        return NAN;
    int c = l->id[slot(p)];
    if (c < 0)
        return NAN;
    if (c < l->n_coarse)
        return kn_at(l->lml, c, j);
    for (int f = 0; f < N_FINE; f++)
        if (l->fine[j * N_FINE + f] == c)
            return kn_at(l->lml, l->n_coarse + f, j);
    return NAN;
}

/* How much more there may be between f0 and its neighbours on one axis. A parabola through three
 * points whose middle is the highest rises above it by at most an eighth of its second difference;
 * at the edge of what is known half the drop on the other side stands in. */
static double rise(double f0, double left, double right)
{
    if (isnan(left) && isnan(right))
        return INFINITY;
    if (isnan(left) || isnan(right))
        return 0.5 * (f0 - (isnan(left) ? right : left));
    return 0.125 * (2 * f0 - left - right);
}

/* Does response j gain from a finer step round a place, whose neighbours are `step` away? */
static bool worth_asking(const lattice *l, ptrdiff_t j, place p, int step)
{
    double f0 = known(l, j, p), r = 0;
    if (p.i != RHO_ONE)
        r += rise(f0, known(l, j, (place){p.i - step, p.k}), known(l, j, (place){p.i + step, p.k}));
    r += rise(f0, known(l, j, (place){p.i, p.k - step}), known(l, j, (place){p.i, p.k + step}));
    return r > WORTH - (l->best[j] - f0);
}

/* The best place of response j on the lattice, or at rho = 1, where a ridge often ends: the better
 * of the two may not be seen before both are refined. False when it is far below the best. */
static bool best_place(const lattice *l, ptrdiff_t j, bool at_one, place *out)
{
    double top = l->best[j] - NEAR;
    bool found = false;
    for (int k = 0; k < l->n_coarse + N_FINE; k++) {
        int c = k < l->n_coarse ? k : l->fine[j * N_FINE + k - l->n_coarse];
        if (c < 0 || l->at[c].i == RHO_ZERO || (l->at[c].i == RHO_ONE) != at_one ||
            !(kn_at(l->lml, k, j) >= top))
            continue;
        top = kn_at(l->lml, k, j);
        *out = l->at[c];
        found = true;
    }
    return found;
}

/* What response j asks for round a place: its neighbours at the new step. */
static int wishes_round(lattice *l, ptrdiff_t j, place p, int level, int step, wish *out)
{
    int n = 0, slots = p.i == RHO_ONE ? 8 : 0;
    for (int a = -step; a <= step; a += step)
        for (int b = -step; b <= step; b += step) {
            place q = {p.i + a, p.k + b};
            bool off_rho = p.i == RHO_ONE ? a != 0 : q.i < 0 || q.i > SIDE;
            if ((a == 0 && b == 0) || off_rho || q.k < 0 || q.k > SIDE)
                continue;
            int f = level * AROUND + slots + n;
            out[n] = (wish){j, cell_at(l, q), l->n_coarse + f};
            l->fine[j * N_FINE + f] = out[n++].cell;
        }
    return n;
}

static int wishes_of(lattice *l, ptrdiff_t j, int level, int step, wish *out)
{
    place p[2];
    bool ask[2];
    int n = 0;
    for (int one = 0; one < 2; one++) /* both before either adds cells */
        ask[one] = best_place(l, j, one, &p[one]) && worth_asking(l, j, p[one], 2 * step);
    for (int one = 0; one < 2; one++)
        if (ask[one])
            n += wishes_round(l, j, p[one], level, step, out + n);
    return n;
}

/* One halving: new cells at half the step, each for the responses that ask. */
static kn_status halve(kn_ctx *ctx, lattice *l, int level)
{
    kn_status status = KN_OK;
    int step = FINE >> (level + 1), old = l->n_cells;
    void *p = NULL, *q = NULL;
    ptrdiff_t *start = NULL, n = 0;
    if (step == 0)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, l->T * AROUND, sizeof(wish), &p));
    KN_TRY(kn_alloc(ctx, l->T * AROUND, sizeof(wish), &q));
    KN_TRY(kn_alloc_i(ctx, N_PLACES + 2, &start));
    wish *all = p, *sorted = q;
    for (ptrdiff_t j = 0; j < l->T; j++) {
        int more = l->asks[j] ? wishes_of(l, j, level, step, all + n) : 0;
        l->asks[j] = more > 0;
        n += more;
    }
    for (ptrdiff_t k = 0; k < n; k++)
        start[all[k].cell + 2]++;
    for (ptrdiff_t c = 2; c < N_PLACES + 2; c++)
        start[c] += start[c - 1];
    for (ptrdiff_t k = 0; k < n; k++)
        sorted[start[all[k].cell + 1]++] = all[k];
    for (int c = old; c < l->n_cells; c++) {
        if (stopped(ctx, l->o))
            break;
        KN_TRY(try_cell(ctx, l, c, sorted + start[c], start[c + 1] - start[c]));
        kn_tell(ctx, "fit", c + 1 - old, l->n_cells - old, NAN);
    }
out:
    kn_free(start);
    kn_free(q);
    kn_free(p);
    return status;
}

/* The cell behind a try, if response j gives up next to nothing there; else -1. */
static int acceptable(const lattice *l, ptrdiff_t j, int column)
{
    if (!(kn_at(l->lml, column, j) >= l->best[j] - MERGE))
        return -1;
    return column < l->n_coarse ? column : l->fine[j * N_FINE + column - l->n_coarse];
}

/* suits[c] += by for every cell c that suits response j */
static void count_suitable(const lattice *l, ptrdiff_t j, ptrdiff_t by, ptrdiff_t *suits)
{
    for (int k = 0; k < l->n_coarse + N_FINE; k++) {
        int c = acceptable(l, j, k);
        if (c >= 0)
            suits[c] += by;
    }
}

static bool suitable(const lattice *l, ptrdiff_t j, int cell)
{
    for (int k = 0; k < l->n_coarse + N_FINE; k++)
        if (acceptable(l, j, k) == cell)
            return true;
    return false;
}

/* Few cells that suit all: the one that suits most of the responses left, again and again. */
static kn_status share_cells(kn_ctx *ctx, lattice *l)
{
    kn_status status;
    ptrdiff_t *suits = NULL, left = l->T, used = 0, had = l->s->cells.rows;
    double *cell = l->s->cell;
    kn_mat cells = {0};
    KN_TRY(kn_alloc_i(ctx, l->n_cells, &suits));
    KN_TRY(kn_mat_new(ctx, l->n_cells, kn_cell_columns(l->cov), &cells));
    for (ptrdiff_t j = 0; j < l->T; j++) {
        cell[response(l, j)] = -1;
        count_suitable(l, j, 1, suits);
    }
    while (left > 0) {
        int top = 0;
        for (int c = 1; c < l->n_cells; c++)
            if (suits[c] > suits[top])
                top = c;
        for (ptrdiff_t j = 0; j < l->T; j++) {
            ptrdiff_t t = response(l, j);
            if (cell[t] >= 0 || !suitable(l, j, top))
                continue;
            cell[t] = (double)(had + used);
            left--;
            count_suitable(l, j, -1, suits);
        }
        kn_cov_point at = point_of(l, top);
        kn_cell_put(l->cov, &at, cells, used++);
    }
    KN_TRY(kn_stgpr_add_cells(ctx, l->s, cells, used));
out:
    kn_mat_clear(&cells);
    kn_free(suits);
    return status;
}

kn_status kn_cells_choose(kn_ctx *ctx, const kn_cell_samples *samples, const kn_cell_class *which,
                          kn_cell_search *o, kn_stgpr *s)
{
    kn_status status;
    lattice l = {0};
    if (!o->optimise) {
        o->stop = KN_STOP_NOT_OPTIMISED;
        o->limits.evals_left = -1; /* one cell is evaluated whatever the limit */
    }
    KN_TRY(lattice_new(ctx, samples, which, o, s, &l));
    KN_TRY(coarse(ctx, &l));
    for (int level = 0; o->optimise && level < LEVELS && o->stop == KN_STOP_CONVERGED; level++)
        KN_TRY(halve(ctx, &l, level));
    KN_TRY(share_cells(ctx, &l));
out:
    lattice_clear(&l);
    return status;
}

/* ---- gamma ------------------------------------------------------------------------------------
 */

/* lml = of all responses at a point, by way of the journal. */
static kn_status lml_of_all(kn_ctx *ctx, kn_cell_work *w, const asked *in, kn_cell_search *o,
                            kn_mat Y, double *lml)
{
    kn_status status;
    size_t n = (size_t)Y.cols * sizeof *lml;
    kn_step step = {KN_STEP_CELL, in, sizeof *in, lml, (ptrdiff_t)n, false};
    o->evals++;
    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_journal_recall(ctx, o->journal, &step));
    if (step.known)
        return KN_OK;
    KN_TRY(kn_cell_decompose(ctx, w, &in->at, in->gamma));
    for (ptrdiff_t j = 0; j < Y.cols; j += w->width) {
        ptrdiff_t some = Y.cols - j < w->width ? Y.cols - j : w->width;
        KN_TRY(kn_cell_fit(ctx, w, kn_cols(Y, j, some), 0));
        memcpy(lml + j, w->lml, (size_t)some * sizeof *lml);
    }
    KN_TRY(kn_journal_note(ctx, o->journal, &step));
out:
    return status;
}

kn_status kn_cells_gamma(kn_ctx *ctx, const kn_cell_samples *samples, const kn_cov_point *at,
                         kn_cell_search *o, kn_stgpr *s)
{
    kn_status status;
    kn_cell_work w = {0};
    double *lml = NULL, *best = NULL;
    ptrdiff_t T = s->alpha.cols;
    KN_TRY(kn_alloc_d(ctx, T, &s->gamma));
    KN_TRY(kn_alloc_d(ctx, T, &lml));
    KN_TRY(kn_alloc_d(ctx, T, &best));
    KN_TRY(kn_cell_work_new(ctx, s->alpha.rows, samples, T < KN_BLOCK ? T : KN_BLOCK, &w));
    for (int k = 0; k < KN_GAMMAS; k++) {
        asked in = {*at, kn_gamma[k], (double)T};
        KN_TRY(lml_of_all(ctx, &w, &in, o, s->alpha, lml));
        for (ptrdiff_t j = 0; j < T; j++) {
            if (k > 0 && !(lml[j] > best[j] + TIE))
                continue;
            best[j] = lml[j];
            s->gamma[j] = kn_gamma[k];
        }
        kn_tell(ctx, "groups", k + 1, KN_GAMMAS, NAN);
    }
out:
    kn_cell_work_clear(&w);
    kn_free(best);
    kn_free(lml);
    return status;
}

void kn_cells_choose_need(kn_rehearsal *r, const kn_need_shape *s)
{
    enum { COARSE = CELLS * CELLS + CELLS + 2 }; /* rho = 0, rho = 1, and one that is given */
    kn_held mark = r->now;
    kn_distances_need(r, s->N);
    kn_hold(r, KN_NEED_WORK, N_PLACES, sizeof(place) + sizeof(int) + 2 * sizeof(double));
    kn_hold(r, KN_NEED_WORK, s->T * (N_FINE + 1), sizeof(int));
    kn_hold(r, KN_NEED_WORK, s->T, sizeof(bool) + 2 * sizeof(double));
    kn_hold_d(r, KN_NEED_WORK, COARSE + N_FINE, s->T);
    kn_cell_work_need(r, s, s->N, kn_at_most(s->T, KN_BLOCK));
    kn_hold(r, KN_NEED_WORK, 2 * s->T * AROUND, sizeof(wish));
    kn_hold_d(r, KN_NEED_WORK, N_PLACES, KN_COV_THETA);
    kn_decomp_need(r, s->N);
    kn_let_go(r, mark);
}
