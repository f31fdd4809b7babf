/* Implements missing.h: imputation of z in rounds, then directions and deviances, for the whole
 * sample and without each fold. It replaces the two passes of fit.c if cells are missing. */
#include "norm/deviance/missing.h"

#include <math.h>

#include "la/eig_leading.h"
#include "la/la.h"
#include "norm/deviance/fit.h"

enum { ROUNDS = 20, P_MAX = 10 };
static const double TOLERANCE = 1e-3, MIN_PSI = 0.05, MIN_D = 1e-6, PSI_FLOOR = 1e-6;

typedef struct imputation {
    const kn_deviance_missing_cells *from;
    float *z;          /* n x T, column-major, imputed */
    bool by_responses; /* T < n: directions from z'z, T x T */
    ptrdiff_t width;   /* responses per block; T by responses */
    kn_mat G;          /* n x n  zz'; not by responses */
    kn_mat work;       /* n x width */
} imputation;

/* Copy the responses from `first` on, at most f->width, of z (n x T floats, column-major) to
 * f->work, and return that view (n x count, borrowed). */
static kn_mat read_block(const imputation *f, const float *z, ptrdiff_t first)
{
    ptrdiff_t n = f->from->n, T = f->from->T;
    kn_mat b = kn_cols(f->work, 0, kn_min_size(T - first, f->width));
    for (ptrdiff_t j = 0; j < b.cols; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            kn_col(b, j)[i] = (double)z[(first + j) * n + i];
    return b;
}

/* G = zz' (n x n, lower triangle) of the imputed z. */
static void make_gram(kn_ctx *ctx, const imputation *f, kn_mat G)
{
    kn_mat_zero(G);
    for (ptrdiff_t first = 0; first < f->from->T; first += f->width)
        kn_syrk(ctx, 1, KN_N, read_block(f, f->z, first), 1, G);
}

/* True if participant i has no z at response j. */
static bool is_missing(const imputation *f, ptrdiff_t i, ptrdiff_t j)
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

/* Leading eigenvectors V (n x K) and eigenvalues s2 (K) of the Gram matrix f->G restricted to the
 * rows in `use` (n); V is 0 in the other rows and for directions without variance. KN_ERR_NUMERIC
 * without convergence. */
static kn_status decompose_rows(kn_ctx *ctx, const imputation *f, const bool *use, kn_mat V,
                                double *s2)
{
    kn_status status;
    kn_eig_leading_work w = {0};
    kn_mat own = {0};
    ptrdiff_t n = f->from->n, m = 0, *row = NULL;
    KN_TRY(kn_alloc_i(ctx, n, &row));
    for (ptrdiff_t i = 0; i < n; i++)
        if (use[i])
            row[m++] = i;
    KN_TRY(kn_eig_leading_new(ctx, m, V.cols, &w));
    KN_TRY(kn_mat_new(ctx, m, V.cols, &own));
    for (ptrdiff_t j = 0; j < m; j++)
        for (ptrdiff_t i = j; i < m; i++)
            kn_col(w.A, j)[i] = kn_at(f->G, row[i], row[j]);
    if (kn_eig_leading(&w, m, V.cols, s2, own) != 0) {
        status = kn_fail(ctx, KN_ERR_NUMERIC, "deviance: the eigenproblem did not converge");
        goto out;
    }
    kn_mat_zero(V);
    for (ptrdiff_t k = 0; k < V.cols; k++) {
        bool positive = s2[k] > 1e-14 * (double)m * s2[0];
        for (ptrdiff_t i = 0; positive && i < m; i++)
            kn_col(V, k)[row[i]] = kn_at(own, i, k);
        s2[k] = positive ? s2[k] : 0;
    }
out:
    kn_eig_leading_clear(&w);
    kn_mat_clear(&own);
    kn_free(row);
    return status;
}

/* psi_j: mean squared residual z - fitted (n each) of response j over the observed cells of the
 * rows in `use`, divided by shrink = 1 - K/n; 0 without a cell. */
static double own_variance(const imputation *f, const bool *use, ptrdiff_t j, const double *z,
                           const double *fitted, double shrink)
{
    double sum = 0, count = 0;
    for (ptrdiff_t i = 0; i < f->from->n; i++)
        if (use[i] && !is_missing(f, i, j)) {
            sum += (z[i] - fitted[i]) * (z[i] - fitted[i]);
            count++;
        }
    return count > 0 ? sum / (count * shrink) : 0;
}

/* Set psi of the responses of block z (n x count) from `first` on, from the residuals z - fitted,
 * at least 1e-6 of the mean square. trace: sum of all z^2. */
static void set_psi(const imputation *f, const bool *use, ptrdiff_t first, kn_mat z, kn_mat fitted,
                    double trace, directions *d)
{
    double rows = 0, K = (double)d->Q.cols;
    for (ptrdiff_t i = 0; i < f->from->n; i++)
        rows += use[i];
    for (ptrdiff_t j = 0; j < z.cols; j++)
        d->psi[first + j] =
            fmax(own_variance(f, use, first + j, kn_col(z, j), kn_col(fitted, j), 1 - K / rows),
                 PSI_FLOOR * trace / (rows * (double)f->from->T));
}

/* Estimate directions Q, their variances lam and the residual variances psi from the imputed z of
 * the rows in `use`, by the T x T problem z'z = Q S^2 Q'; for T < n. KN_ERR_NUMERIC if it does not
 * converge. */
static kn_status directions_by_responses(kn_ctx *ctx, const imputation *f, const bool *use,
                                         directions *d)
{
    kn_status status;
    kn_eig_leading_work w = {0};
    kn_mat Z = {0}, fitted = {0}, z = read_block(f, f->z, 0);
    ptrdiff_t n = f->from->n, T = f->from->T, K = d->Q.cols;
    double rows = 0, trace = 0;
    KN_TRY(kn_eig_leading_new(ctx, T, K, &w));
    KN_TRY(kn_mat_new(ctx, n, K, &Z));
    KN_TRY(kn_mat_new(ctx, n, T, &fitted));
    for (ptrdiff_t i = 0; i < n; i++) {
        rows += use[i];
        for (ptrdiff_t j = 0; !use[i] && j < T; j++)
            kn_col(z, j)[i] = 0;
    }
    kn_mat A = kn_sub(w.A, 0, 0, T, T);
    kn_syrk(ctx, 1, KN_T, z, 0, A);
    for (ptrdiff_t j = 0; j < T; j++)
        trace += kn_at(A, j, j);
    if (kn_eig_leading(&w, T, K, d->lam, d->Q) != 0) {
        status = kn_fail(ctx, KN_ERR_NUMERIC, "deviance: the eigenproblem did not converge");
        goto out;
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        if (!(d->lam[k] > 1e-14 * rows * d->lam[0])) {
            d->lam[k] = 0;
            kn_mat_zero(kn_cols(d->Q, k, 1));
        }
    }
    kn_gemm(ctx, 1, KN_N, z, KN_N, d->Q, 0, Z);
    kn_gemm(ctx, 1, KN_N, Z, KN_T, d->Q, 0, fitted);
    set_psi(f, use, 0, z, fitted, trace, d);
    for (ptrdiff_t k = 0; k < K; k++)
        d->lam[k] /= rows;
out:
    kn_eig_leading_clear(&w);
    kn_mat_clear(&Z);
    kn_mat_clear(&fitted);
    return status;
}

/* Estimate directions Q, their variances lam and the residual variances psi from the imputed z of
 * the rows in `use`, by the n x n problem zz' = V S^2 V' in f->G, Q = z'V S^-1, one block of
 * responses at a time. */
static kn_status directions_by_samples(kn_ctx *ctx, const imputation *f, const bool *use,
                                       directions *d)
{
    kn_status status;
    kn_mat V = {0}, fitted = {0};
    ptrdiff_t n = f->from->n, T = f->from->T, K = d->Q.cols;
    double rows = 0, trace = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        rows += use[i];
        trace += use[i] ? kn_at(f->G, i, i) : 0;
    }
    KN_TRY(kn_mat_new(ctx, n, K, &V));
    KN_TRY(kn_mat_new(ctx, n, f->width, &fitted));
    if (K > 0)
        KN_TRY(decompose_rows(ctx, f, use, V, d->lam));
    for (ptrdiff_t first = 0; first < T; first += f->width) {
        kn_mat z = read_block(f, f->z, first), Q = kn_sub(d->Q, first, 0, z.cols, K);
        kn_mat fitted_block = kn_cols(fitted, 0, z.cols);
        kn_mat_zero(fitted_block);
        if (K > 0) { /* Q = z'V/s, and for the rows in `use` zQQ' = V V'z */
            kn_gemm(ctx, 1, KN_T, z, KN_N, V, 0, Q);
            kn_gemm(ctx, 1, KN_N, V, KN_T, Q, 0, fitted_block);
        }
        set_psi(f, use, first, z, fitted_block, trace, d);
        for (ptrdiff_t k = 0; k < K; k++)
            for (ptrdiff_t j = 0; j < z.cols; j++)
                kn_col(Q, k)[j] /= d->lam[k] > 0 ? sqrt(d->lam[k]) : 1;
    }
    for (ptrdiff_t k = 0; k < K; k++)
        d->lam[k] /= rows;
out:
    kn_mat_clear(&V);
    kn_mat_clear(&fitted);
    return status;
}

/* Estimate K directions Q (T x K), their variances lam and the residual variances psi (T) from the
 * imputed z of the rows in `use` (n); by the smaller of both problems. d is owned by the caller,
 * empty on failure. */
static kn_status directions_of(kn_ctx *ctx, const imputation *f, const bool *use, ptrdiff_t K,
                               directions *d)
{
    kn_status status;
    KN_TRY(kn_mat_new(ctx, f->from->T, K, &d->Q));
    KN_TRY(kn_alloc_d(ctx, K, &d->lam));
    KN_TRY(kn_alloc_d(ctx, f->from->T, &d->psi));
    KN_TRY((f->by_responses ? directions_by_responses : directions_by_samples)(ctx, f, use, d));
out:
    if (status != KN_OK)
        directions_clear(d);
    return status;
}

/* ---- imputation ----------------------------------------------------------------------------- */

/* P_fill of [METHOD 0b], the number of components for imputation: floor(min(n/20, observed cells
 * per participant/7)), 1 to 10. */
static ptrdiff_t count_components(const imputation *f)
{
    double observed = 0, n = (double)f->from->n;
    for (ptrdiff_t k = 0; k < f->from->n * f->from->T; k++)
        observed += !isnan(f->from->z[k]);
    double P = floor(fmin(n / 20, observed / n / 7));
    P = P < 1 ? 1 : fmin(P, P_MAX);
    return kn_min_size((ptrdiff_t)P, kn_min_size(f->from->n - 1, f->from->T));
}

/* Expected coordinates a (1 x P) of participant i in the directions d, given its observed cells. M
 * (P x P) is overwritten. KN_ERR_NUMERIC if M is not positive definite. */
static kn_status solve_coordinates(kn_ctx *ctx, const imputation *f, const directions *d,
                                   ptrdiff_t i, kn_mat M, kn_mat a)
{
    ptrdiff_t P = d->Q.cols;
    kn_mat_zero(M);
    kn_mat_zero(a);
    for (ptrdiff_t p = 0; p < P; p++)
        kn_col(M, p)[p] = 1 / d->lam[p];
    for (ptrdiff_t j = 0; j < f->from->T; j++) {
        if (is_missing(f, i, j))
            continue;
        double z = (double)f->from->z[j * f->from->n + i] / d->psi[j];
        for (ptrdiff_t p = 0; p < P; p++) {
            double b = kn_at(d->Q, j, p);
            kn_col(a, p)[0] += b * z;
            for (ptrdiff_t q = p; q < P; q++)
                kn_col(M, p)[q] += b * kn_at(d->Q, j, q) / d->psi[j];
        }
    }
    kn_status status = kn_chol(ctx, M, "matrix of a participant with missing values");
    if (status == KN_OK) {
        kn_trsm_right(ctx, KN_T, M, a);
        kn_trsm_right(ctx, KN_N, M, a);
    }
    return status;
}

/* One round of imputation: replace the missing cells of the rows in `use` by their expectation
 * under P directions of the current values. *change: root mean square change of these cells. */
static kn_status impute_round(kn_ctx *ctx, imputation *f, const bool *use, ptrdiff_t P,
                              double *change)
{
    kn_status status;
    directions d = {0};
    kn_mat M = {0}, a = {0};
    double sum = 0, cells = 0, rows = 0;
    ptrdiff_t n = f->from->n, T = f->from->T;
    for (ptrdiff_t i = 0; i < n; i++)
        rows += use[i];
    if (!f->by_responses)
        make_gram(ctx, f, f->G);
    KN_TRY(directions_of(ctx, f, use, P, &d));
    KN_TRY(kn_mat_new(ctx, P, P, &M));
    KN_TRY(kn_mat_new(ctx, 1, P, &a));
    for (ptrdiff_t j = 0; j < T; j++)
        d.psi[j] = fmax(d.psi[j] * (1 - (double)P / rows), MIN_PSI); /* the mean, unshrunk */
    for (ptrdiff_t p = 0; p < P; p++) {
        for (ptrdiff_t j = 0; j < T; j++)
            d.lam[p] -= kn_at(d.Q, j, p) * kn_at(d.Q, j, p) * d.psi[j];
        d.lam[p] = fmax(d.lam[p], MIN_D);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        bool solved = false;
        for (ptrdiff_t j = 0; use[i] && j < T; j++) {
            if (!is_missing(f, i, j))
                continue;
            if (!solved)
                KN_TRY(solve_coordinates(ctx, f, &d, i, M, a));
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

/* Impute the missing cells of the rows in `use` from these rows alone, so that held-out rows do not
 * influence them; at most 20 rounds. f->z is overwritten. Can be cancelled. */
static kn_status impute_rows(kn_ctx *ctx, imputation *f, const bool *use)
{
    kn_status status = KN_OK;
    double change = INFINITY;
    ptrdiff_t P = count_components(f);
    for (ptrdiff_t k = 0; k < f->from->n * f->from->T; k++)
        f->z[k] = isnan(f->from->z[k]) ? 0 : f->from->z[k];
    for (int round = 0; round < ROUNDS && change >= TOLERANCE && status == KN_OK; round++) {
        status = kn_check_cancel(ctx);
        if (status == KN_OK)
            status = impute_round(ctx, f, use, P, &change);
    }
    if (!f->by_responses)
        make_gram(ctx, f, f->G);
    return status;
}

/* ---- deviances ------------------------------------------------------------------------------ */

typedef struct some_rows {
    const imputation *f;
    const float *z;
    const ptrdiff_t *row; /* rows to take; NULL: all */
} some_rows;

/* Block function of a source of z maps: z (rows x count) of the responses from `first` on, only the
 * rows that `self` lists, in double precision. */
static kn_status rows_block(void *self, kn_ctx *ctx, ptrdiff_t first, ptrdiff_t count, kn_mat z)
{
    const some_rows *s = self;
    (void)ctx;
    for (ptrdiff_t j = 0; j < count; j++)
        for (ptrdiff_t i = 0; i < z.rows; i++)
            kn_col(z, j)[i] = (double)s->z[(first + j) * s->f->from->n + (s->row ? s->row[i] : i)];
    return KN_OK;
}

/* A deviance with Q, lam and psi moved from d, which is empty afterwards; the caller prepares
 * it. */
static kn_deviance move_directions(directions *d, ptrdiff_t T, ptrdiff_t K)
{
    kn_deviance out = {.T = T, .K = K, .Q = d->Q, .lam = d->lam, .psi = d->psi};
    *d = (directions){0};
    return out;
}

/* ref (n) of the participants of fold k: their whole-map deviances under the covariance of the
 * other folds, which are imputed by themselves. use (n) is overwritten. */
static kn_status score_fold(kn_ctx *ctx, imputation *f, int k, ptrdiff_t K, bool *use, double *ref)
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
    KN_TRY(impute_rows(ctx, f, use));
    KN_TRY(directions_of(ctx, f, use, K, &d));
    judge = move_directions(&d, from->T, K);
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

/* Choose the number of components K of the deviance on the imputed maps, as for complete ones; the
 * result also has the held-out density of each candidate. */
static kn_status choose_k(kn_ctx *ctx, const imputation *f, kn_deviance *chosen)
{
    some_rows rows = {f, f->z, NULL};
    kn_z_source source = {.self = &rows,
                          .rows = f->from->n,
                          .cols = f->from->T,
                          .block = rows_block};
    return kn_deviance_fit(ctx, &source, f->from->fold, f->from->folds, KN_DEVIANCE_AUTO, chosen);
}

/* Fit to the whole sample, which also chooses K, then score each fold by the others. gram (may be
 * NULL): zz' of the imputed z. use (n): all true on entry, overwritten. */
static kn_status fit_with_folds(kn_ctx *ctx, imputation *f, bool *use, kn_mat *gram,
                                kn_deviance *out)
{
    kn_status status;
    const kn_deviance_missing_cells *from = f->from;
    kn_deviance chosen = {0};
    directions d = {0};
    double *ref = NULL;
    KN_TRY(impute_rows(ctx, f, use));
    KN_TRY(choose_k(ctx, f, &chosen));
    KN_TRY(directions_of(ctx, f, use, chosen.K, &d));
    KN_TRY(kn_alloc_d(ctx, from->n, &ref));
    if (gram) {
        KN_TRY(kn_mat_new(ctx, from->n, from->n, gram));
        make_gram(ctx, f, *gram);
    }
    for (int k = 0; k < from->folds; k++)
        KN_TRY(score_fold(ctx, f, k, chosen.K, use, ref));
    *out = move_directions(&d, from->T, chosen.K);
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
    imputation f = {.from = from, .by_responses = kn_by_responses(from->side, from->n, from->T)};
    bool *use = NULL;
    *out = (kn_deviance){0};
    KN_TRY(kn_alloc_f(ctx, from->n * from->T, &f.z));
    f.width = f.by_responses ? from->T : kn_block_loop_width(0, from->T);
    if (!f.by_responses)
        KN_TRY(kn_mat_new(ctx, from->n, from->n, &f.G));
    KN_TRY(kn_mat_new(ctx, from->n, f.width, &f.work));
    KN_TRY(kn_alloc_bool(ctx, from->n, &use));
    for (ptrdiff_t i = 0; i < from->n; i++)
        use[i] = true;
    KN_TRY(fit_with_folds(ctx, &f, use, gram, out));
out:
    if (status != KN_OK)
        kn_deviance_clear(out);
    kn_free(use);
    kn_mat_clear(&f.G);
    kn_mat_clear(&f.work);
    kn_free(f.z);
    return status;
}
