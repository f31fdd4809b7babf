/* Implements missing.h: imputation of z in rounds, then directions and deviances, for the whole
 * sample and without each fold. */
#include "norm/deviance/missing.h"

#include <math.h>

#include "la/eig_leading.h"
#include "la/la.h"
#include "norm/deviance/fit.h"

enum { ROUNDS = 20, P_MOST = 10 };
static const double TOLERANCE = 1e-3, LEAST_PSI = 0.05, LEAST_D = 1e-6, PSI_FLOOR = 1e-6;

typedef struct filling {
    const kn_deviance_missing_cells *from;
    float *z;    /* n x T, column-major, imputed */
    kn_mat G;    /* n x n  zz' */
    kn_mat work; /* n x width */
} filling;

static ptrdiff_t width_of(ptrdiff_t T)
{
    return kn_block_loop_width(0, T);
}

static kn_mat block_of(const filling *f, const float *z, ptrdiff_t first)
{
    ptrdiff_t n = f->from->n, T = f->from->T, width = width_of(T);
    kn_mat b = kn_cols(f->work, 0, T - first < width ? T - first : width);
    for (ptrdiff_t j = 0; j < b.cols; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(b, j)[i] = (double)z[(first + j) * n + i];
    return b;
}

static void make_gram(kn_ctx *ctx, filling *f)
{
    kn_mat_zero(f->G);
    for (ptrdiff_t first = 0; first < f->from->T; first += width_of(f->from->T))
        kn_syrk(ctx, 1, KN_N, block_of(f, f->z, first), 1, f->G);
}

static bool is_hole(const filling *f, ptrdiff_t i, ptrdiff_t j)
{
    return isnan(f->from->z[j * f->from->n + i]);
}

/* ---- K directions of some rows -------------------------------------------------------------- */

typedef struct directions {
    kn_mat Q;          /* T x K */
    double *lam, *psi; /* K, T */
} directions;

static void directions_clear(directions *d)
{
    kn_mat_clear(&d->Q);
    kn_free(d->lam);
    kn_free(d->psi);
    *d = (directions){0};
}

/* V (n x K) and s2 (K): eigenvectors of the Gram matrix of the rows in `use`, 0 in the other
 * rows. */
static kn_status decompose(kn_ctx *ctx, const filling *f, const bool *use, kn_mat V, double *s2)
{
    kn_status status;
    kn_eig_top_work w = {0};
    kn_mat own = {0};
    ptrdiff_t n = f->from->n, m = 0, *row = NULL;
    KN_TRY(kn_alloc_i(ctx, n, &row));
    for (ptrdiff_t i = 0; i < n; i++)
        if (use[i])
            row[m++] = i;
    KN_TRY(kn_eig_top_new(ctx, m, V.cols, &w));
    KN_TRY(kn_mat_new(ctx, m, V.cols, &own));
    for (ptrdiff_t j = 0; j < m; j++)
        for (ptrdiff_t i = j; i < m; i++)
            kn_col(w.A, j)[i] = kn_at(f->G, row[i], row[j]);
    if (kn_eig_top(&w, m, V.cols, s2, own) != 0) {
        status = kn_fail(ctx, KN_ERR_NUMERIC, "deviance: the eigenproblem did not converge");
        goto out;
    }
    kn_mat_zero(V);
    for (ptrdiff_t k = 0; k < V.cols; k++) {
        bool some = s2[k] > 1e-14 * (double)m * s2[0];
        for (ptrdiff_t i = 0; some && i < m; i++)
            kn_col(V, k)[row[i]] = kn_at(own, i, k);
        s2[k] = some ? s2[k] : 0;
    }
out:
    kn_eig_top_clear(&w);
    kn_mat_clear(&own);
    kn_free(row);
    return status;
}

/* psi_j from the observed cells of the rows in `use`; shrink = 1 - K/n. */
static double own_variance(const filling *f, const bool *use, ptrdiff_t j, const double *z,
                           const double *fitted, double shrink)
{
    double sum = 0, count = 0;
    for (ptrdiff_t i = 0; i < f->from->n; i++)
        if (use[i] && !is_hole(f, i, j)) {
            sum += (z[i] - fitted[i]) * (z[i] - fitted[i]);
            count++;
        }
    return count > 0 ? sum / (count * shrink) : 0;
}

/* Q, lam and psi of the rows in `use`. */
static kn_status directions_of(kn_ctx *ctx, const filling *f, const bool *use, ptrdiff_t K,
                               directions *d)
{
    kn_status status;
    kn_mat V = {0}, fitted = {0};
    ptrdiff_t n = f->from->n, T = f->from->T;
    double rows = 0, trace = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        rows += use[i];
        trace += use[i] ? kn_at(f->G, i, i) : 0;
    }
    KN_TRY(kn_mat_new(ctx, T, K, &d->Q));
    KN_TRY(kn_alloc_d(ctx, K, &d->lam));
    KN_TRY(kn_alloc_d(ctx, T, &d->psi));
    KN_TRY(kn_mat_new(ctx, n, K, &V));
    KN_TRY(kn_mat_new(ctx, n, width_of(T), &fitted));
    if (K > 0)
        KN_TRY(decompose(ctx, f, use, V, d->lam));
    for (ptrdiff_t first = 0; first < T; first += width_of(T)) {
        kn_mat z = block_of(f, f->z, first), Q = kn_sub(d->Q, first, 0, z.cols, K);
        kn_mat of = kn_cols(fitted, 0, z.cols);
        kn_mat_zero(of);
        if (K > 0) { /* Q = z'V/s, and for the rows in `use` zQQ' = V V'z */
            kn_gemm(ctx, 1, KN_T, z, KN_N, V, 0, Q);
            kn_gemm(ctx, 1, KN_N, V, KN_T, Q, 0, of);
        }
        for (ptrdiff_t j = 0; j < z.cols; j++)
            d->psi[first + j] = fmax(own_variance(f, use, first + j, kn_col(z, j), kn_col(of, j),
                                                  1 - (double)K / rows),
                                     PSI_FLOOR * trace / (rows * (double)T));
        for (ptrdiff_t k = 0; k < K; k++)
            for (ptrdiff_t j = 0; j < z.cols; j++)
                kn_col(Q, k)[j] /= d->lam[k] > 0 ? sqrt(d->lam[k]) : 1;
    }
    for (ptrdiff_t k = 0; k < K; k++)
        d->lam[k] /= rows;
out:
    kn_mat_clear(&V);
    kn_mat_clear(&fitted);
    if (status != KN_OK)
        directions_clear(d);
    return status;
}

/* ---- imputation ----------------------------------------------------------------------------- */

/* P_fill of [METHOD 0b]: floor(min(n/20, observed cells per participant/7)), 1 to 10. */
static ptrdiff_t components(const filling *f)
{
    double observed = 0, n = (double)f->from->n;
    for (ptrdiff_t k = 0; k < f->from->n * f->from->T; k++)
        observed += !isnan(f->from->z[k]);
    double P = floor(fmin(n / 20, observed / n / 7));
    P = P < 1 ? 1 : fmin(P, P_MOST);
    return kn_min_size((ptrdiff_t)P, kn_min_size(f->from->n - 1, f->from->T));
}

/* Coordinates a of participant i from its observed cells; M (P x P) and a (P) are scratch. */
static kn_status coordinates(kn_ctx *ctx, const filling *f, const directions *d, ptrdiff_t i,
                             kn_mat M, kn_mat a)
{
    ptrdiff_t P = d->Q.cols;
    kn_mat_zero(M);
    kn_mat_zero(a);
    for (ptrdiff_t p = 0; p < P; p++)
        kn_col(M, p)[p] = 1 / d->lam[p];
    for (ptrdiff_t j = 0; j < f->from->T; j++) {
        if (is_hole(f, i, j))
            continue;
        double z = (double)f->from->z[j * f->from->n + i] / d->psi[j];
        for (ptrdiff_t p = 0; p < P; p++) {
            double b = kn_at(d->Q, j, p);
            kn_col(a, p)[0] += b * z;
            for (ptrdiff_t q = p; q < P; q++)
                kn_col(M, p)[q] += b * kn_at(d->Q, j, q) / d->psi[j];
        }
    }
    kn_status status = kn_chol(ctx, M, "matrix of a sample with missing values");
    if (status == KN_OK) {
        kn_trsm_right(ctx, KN_T, M, a);
        kn_trsm_right(ctx, KN_N, M, a);
    }
    return status;
}

/* One round of imputation; *change: rms change of the missing cells. */
static kn_status fill_round(kn_ctx *ctx, filling *f, const bool *use, ptrdiff_t P, double *change)
{
    kn_status status;
    directions d = {0};
    kn_mat M = {0}, a = {0};
    double sum = 0, cells = 0;
    ptrdiff_t n = f->from->n, T = f->from->T;
    make_gram(ctx, f);
    KN_TRY(directions_of(ctx, f, use, P, &d));
    KN_TRY(kn_mat_new(ctx, P, P, &M));
    KN_TRY(kn_mat_new(ctx, 1, P, &a));
    for (ptrdiff_t j = 0; j < T; j++)
        d.psi[j] = fmax(d.psi[j] * (1 - (double)P / (double)n), LEAST_PSI);
    for (ptrdiff_t p = 0; p < P; p++) {
        for (ptrdiff_t j = 0; j < T; j++)
            d.lam[p] -= kn_at(d.Q, j, p) * kn_at(d.Q, j, p) * d.psi[j];
        d.lam[p] = fmax(d.lam[p], LEAST_D);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        bool solved = false;
        for (ptrdiff_t j = 0; use[i] && j < T; j++) {
            if (!is_hole(f, i, j))
                continue;
            if (!solved)
                KN_TRY(coordinates(ctx, f, &d, i, M, a));
            solved = true;
            double z = 0, before = (double)f->z[j * n + i];
            for (ptrdiff_t p = 0; p < P; p++)
                z += kn_at(d.Q, j, p) * kn_at(a, 0, p);
            f->z[j * n + i] = (float)z;
            sum += (z - before) * (z - before);
            cells++;
        }
    }
    *change = cells > 0 ? sqrt(sum / cells) : 0;
out:
    directions_clear(&d);
    kn_mat_clear(&M);
    kn_mat_clear(&a);
    return status;
}

/* Impute the rows in `use` from these rows alone: held-out rows must not influence them. */
static kn_status complete(kn_ctx *ctx, filling *f, const bool *use)
{
    kn_status status = KN_OK;
    double change = INFINITY;
    ptrdiff_t P = components(f);
    for (ptrdiff_t k = 0; k < f->from->n * f->from->T; k++)
        f->z[k] = isnan(f->from->z[k]) ? 0 : f->from->z[k];
    for (int round = 0; round < ROUNDS && change >= TOLERANCE && status == KN_OK; round++) {
        status = kn_check_cancel(ctx);
        if (status == KN_OK)
            status = fill_round(ctx, f, use, P, &change);
    }
    make_gram(ctx, f);
    return status;
}

/* ---- deviances ------------------------------------------------------------------------------ */

typedef struct some_rows {
    const filling *f;
    const float *z;
    const ptrdiff_t *row; /* rows to take; NULL: all */
} some_rows;

static kn_status rows_block(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z)
{
    const some_rows *s = self;
    (void)ctx;
    for (ptrdiff_t j = 0; j < count; j++)
        for (ptrdiff_t i = 0; i < z.rows; i++)
            kn_col(z, j)[i] = (double)s->z[(first + j) * s->f->from->n + (s->row ? s->row[i] : i)];
    return KN_OK;
}

static kn_deviance take(directions *d, ptrdiff_t T, ptrdiff_t K)
{
    kn_deviance out = {.T = T, .K = K, .Q = d->Q, .lam = d->lam, .psi = d->psi};
    *d = (directions){0};
    return out;
}

/* ref of the participants of fold k, by the covariance of the other folds. */
static kn_status judge_fold(kn_ctx *ctx, filling *f, int k, ptrdiff_t K, bool *use, double *ref)
{
    kn_status status;
    const kn_deviance_missing_cells *from = f->from;
    directions d = {0};
    kn_deviance judge = {0};
    ptrdiff_t *row = NULL, m = 0;
    double *dev = NULL;
    KN_TRY(kn_alloc_i(ctx, from->n, &row));
    KN_TRY(kn_alloc_d(ctx, from->n, &dev));
    for (ptrdiff_t i = 0; i < from->n; i++) {
        use[i] = from->fold[i] != k;
        if (!use[i])
            row[m++] = i;
    }
    KN_TRY(complete(ctx, f, use));
    KN_TRY(directions_of(ctx, f, use, K, &d));
    judge = take(&d, from->T, K);
    KN_TRY(kn_deviance_prepare(ctx, &judge));
    some_rows rows = {f, from->z, row};
    kn_z_source source = {.self = &rows, .rows = m, .cols = from->T, .block = rows_block};
    KN_TRY(kn_deviance_score(ctx, &judge, &source, dev));
    for (ptrdiff_t i = 0; i < m; i++)
        ref[row[i]] = dev[i];
out:
    kn_deviance_clear(&judge);
    directions_clear(&d);
    kn_free(row);
    kn_free(dev);
    return status;
}

/* Choose K as for complete maps, on the imputed ones. */
static kn_status choose(kn_ctx *ctx, const filling *f, kn_deviance *chosen)
{
    some_rows rows = {f, f->z, NULL};
    kn_z_source source = {.self = &rows,
                          .rows = f->from->n,
                          .cols = f->from->T,
                          .block = rows_block};
    return kn_deviance_fit(ctx, &source, f->from->fold, f->from->folds, KN_DEVIANCE_AUTO, chosen);
}

/* Fit to the whole sample first, which also chooses K; then reference values fold by fold. */
static kn_status fit(kn_ctx *ctx, filling *f, bool *use, kn_mat *gram, kn_deviance *out)
{
    kn_status status;
    const kn_deviance_missing_cells *from = f->from;
    kn_deviance chosen = {0};
    directions d = {0};
    double *ref = NULL;
    KN_TRY(complete(ctx, f, use));
    KN_TRY(choose(ctx, f, &chosen));
    KN_TRY(directions_of(ctx, f, use, chosen.K, &d));
    KN_TRY(kn_alloc_d(ctx, from->n, &ref));
    if (gram)
        KN_TRY(kn_mat_copy(ctx, f->G, gram));
    for (int k = 0; k < from->folds; k++)
        KN_TRY(judge_fold(ctx, f, k, chosen.K, use, ref));
    *out = take(&d, from->T, chosen.K);
    out->n_ref = from->n;
    out->ref = ref;
    ref = NULL;
    out->n_ladder = chosen.n_ladder;
    for (int l = 0; l < chosen.n_ladder; l++) {
        out->ladder[l] = chosen.ladder[l];
        out->density[l] = chosen.density[l];
    }
    KN_TRY(kn_deviance_prepare(ctx, out));
out:
    kn_free(ref);
    directions_clear(&d);
    kn_deviance_clear(&chosen);
    return status;
}

kn_status kn_deviance_fit_missing(kn_ctx *ctx, const kn_deviance_missing_cells *from, kn_mat *gram,
                                  kn_deviance *out)
{
    kn_status status;
    filling f = {.from = from};
    void *memory = NULL;
    *out = (kn_deviance){0};
    KN_TRY(kn_alloc_f(ctx, from->n * from->T, &f.z));
    KN_TRY(kn_mat_new(ctx, from->n, from->n, &f.G));
    KN_TRY(kn_mat_new(ctx, from->n, width_of(from->T), &f.work));
    KN_TRY(kn_alloc(ctx, from->n, sizeof(bool), &memory));
    bool *use = memory;
    for (ptrdiff_t i = 0; i < from->n; i++)
        use[i] = true;
    KN_TRY(fit(ctx, &f, use, gram, out));
out:
    if (status != KN_OK)
        kn_deviance_clear(out);
    kn_free(memory);
    kn_mat_clear(&f.G);
    kn_mat_clear(&f.work);
    kn_free(f.z);
    return status;
}
