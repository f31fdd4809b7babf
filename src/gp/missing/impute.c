/* Implements impute.h: the rounds. Each round reads the completed responses twice, for the
 * eigenvectors and for the sums over responses. */
#include "gp/missing/impute.h"

#include <math.h>
#include <string.h>

#include "gp/missing/internal.h"
#include "la/la.h"

const double kn_impute_tolerance = 1e-3;
static const double MIN_PSI = 0.05; /* proportion of the variance of a response */
static const double MIN_D = 1e-6;

/* State of an imputation. */
typedef struct imputation {
    const kn_impute_problem *p;
    kn_responses Y; /* completed */
    double *imputed, *delta;
    ptrdiff_t *place; /* index of each row of the data */
    kn_mat U;         /* n x k  R0 = U diag(r) U' */
    double *r;
    kn_mat y, A, UA, alpha, effect; /* of one block */
    /* of one round */
    kn_mat F, B;      /* n x P, T x P */
    double *s2, *psi; /* P, T */
    /* P x n  B_o'Psi^-1 (y_o - G_o), and the same with the effect of empty levels */
    kn_mat rhs, rhs_n;
    /* P P x n  part of B'Psi^-1 B that missing cells have; P x P  B'Psi^-1 B of all cells */
    kn_mat less, all;
    kn_mat a, a_n; /* P x n  factor scores with G, and with Gn */
    double *g;     /* cells  G, or Gn, of the missing cells */
} imputation;

ptrdiff_t kn_impute_components(const kn_responses *Y)
{
    double observed = (double)Y->N * (double)Y->T;
    for (ptrdiff_t j = 0; j < Y->T; j++)
        for (ptrdiff_t i = 0; kn_missing_in(Y->missing, j) > 0 && i < Y->N; i++)
            observed -= kn_is_missing(Y->missing, Y->rows ? Y->rows[i] : i, j);
    double P = floor(fmin((double)Y->N / 20, observed / (double)Y->N / 7));
    return P < 1 ? 1 : P > KN_IMPUTE_MAX ? KN_IMPUTE_MAX : (ptrdiff_t)P;
}

kn_status kn_impute_row_index(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t **place)
{
    kn_status status = kn_alloc_i(ctx, Y->missing->N, place);
    for (ptrdiff_t i = 0; status == KN_OK && i < Y->missing->N; i++)
        (*place)[i] = Y->rows ? -1 : i;
    for (ptrdiff_t i = 0; status == KN_OK && Y->rows && i < Y->N; i++)
        (*place)[Y->rows[i]] = i;
    return status;
}

/* Frees the work space of the imputation. */
static void imputation_clear(imputation *f)
{
    kn_mat *m[] = {&f->U, &f->y,   &f->A,     &f->UA,   &f->alpha, &f->effect, &f->F,
                   &f->B, &f->rhs, &f->rhs_n, &f->less, &f->all,   &f->a,      &f->a_n};
    double *d[] = {f->r, f->s2, f->psi, f->g};
    for (size_t k = 0; k < sizeof m / sizeof *m; k++)
        kn_mat_clear(m[k]);
    for (size_t k = 0; k < sizeof d / sizeof *d; k++)
        kn_free(d[k]);
    kn_free(f->place);
}

/* True if a category has a level that is empty for some response. */
static bool levels_matter(const imputation *f)
{
    return f->p->levels && f->p->levels->any;
}

/* Allocates the work space of the imputation's rounds (EM-like passes of a P-factor model of the
 * residuals) for n participants, T responses and blocks of at most KN_BLOCK responses, and
 * decomposes R0 (covariance between participants, n x n). The caller clears f, also after an
 * error. */
static kn_status rounds_new(kn_ctx *ctx, imputation *f, ptrdiff_t P)
{
    kn_status status;
    kn_block_features block = {0};
    ptrdiff_t n = f->Y.N, T = f->Y.T, width = T < KN_BLOCK ? T : KN_BLOCK;
    if (f->p->block.count > 0 && f->p->Phi.rows >= f->p->Phi.cols) {
        KN_TRY(kn_block_features_new(ctx, &f->p->block, f->p->Phi, &block));
        KN_TRY(kn_block_features_decompose(ctx, &block, &f->U, &f->r));
    } else {
        KN_TRY(kn_impute_decompose(ctx, f->p->Phi, &f->U, &f->r));
    }
    KN_TRY(kn_mat_new(ctx, n, width, &f->y));
    KN_TRY(kn_mat_new(ctx, f->U.cols, width, &f->A));
    KN_TRY(kn_mat_new(ctx, n, P, &f->F));
    KN_TRY(kn_mat_new(ctx, T, P, &f->B));
    KN_TRY(kn_alloc_d(ctx, P, &f->s2));
    KN_TRY(kn_alloc_d(ctx, T, &f->psi));
    KN_TRY(kn_mat_new(ctx, P, n, &f->rhs));
    KN_TRY(kn_mat_new(ctx, P, n, &f->a));
    KN_TRY(kn_mat_new(ctx, P * P, n, &f->less));
    KN_TRY(kn_mat_new(ctx, P, P, &f->all));
    KN_TRY(kn_alloc_d(ctx, f->Y.missing->cells, &f->g));
    if (levels_matter(f)) {
        KN_TRY(kn_mat_new(ctx, n, width, &f->UA));
        KN_TRY(kn_mat_new(ctx, n, width, &f->alpha));
        KN_TRY(kn_mat_new(ctx, n, width, &f->effect));
        KN_TRY(kn_mat_new(ctx, P, n, &f->rhs_n));
        KN_TRY(kn_mat_new(ctx, P, n, &f->a_n));
    }
out:
    kn_block_features_clear(&block);
    return status;
}

/* Callback of kn_impute_eigen (self: imputation): E (n x count) = y - G, completed responses
 * from `first` on minus their predicted means; f->y keeps y, and f->effect the effects of empty
 * levels. */
static kn_status compute_residuals(kn_ctx *ctx, void *self, ptrdiff_t first, kn_mat E)
{
    imputation *f = self;
    ptrdiff_t n = E.rows, count = E.cols;
    kn_mat A = kn_cols(f->A, 0, count);
    kn_status status = kn_check_cancel(ctx);
    if (status != KN_OK)
        return status;
    kn_responses_block(ctx, &f->Y, first, E);
    kn_mat_set(kn_cols(f->y, 0, count), E);
    for (ptrdiff_t j = 0; j < count; j++) {
        double mean = 0, *e = kn_col(E, j);
        for (ptrdiff_t i = 0; i < n; i++)
            mean += e[i] / (double)n;
        for (ptrdiff_t i = 0; i < n; i++)
            e[i] -= mean;
    }
    kn_gemm(ctx, 1, KN_T, f->U, KN_N, E, 0, A);
    if (levels_matter(f)) { /* alpha = U (A ./ (r + delta)) + (y - m - U A)/delta */
        kn_mat UA = kn_cols(f->UA, 0, count), alpha = kn_cols(f->alpha, 0, count);
        kn_gemm(ctx, 1, KN_N, f->U, KN_N, A, 0, UA);
        for (ptrdiff_t j = 0; j < count; j++)
            for (ptrdiff_t i = 0; i < n; i++)
                kn_col(alpha, j)[i] = (kn_at(E, i, j) - kn_at(UA, i, j)) / f->delta[first + j];
    }
    for (ptrdiff_t j = 0; j < count; j++)
        for (ptrdiff_t k = 0; k < A.rows; k++)
            kn_col(A, j)[k] /= f->r[k] + f->delta[first + j];
    if (levels_matter(f)) {
        kn_mat alpha = kn_cols(f->alpha, 0, count);
        kn_gemm(ctx, 1, KN_N, f->U, KN_N, A, 1, alpha);
        status = kn_impute_level_effects(ctx, f->p->levels, alpha, kn_cols(f->effect, 0, count));
    }
    for (ptrdiff_t j = 0; j < count; j++)
        for (ptrdiff_t k = 0; k < A.rows; k++)
            kn_col(A, j)[k] *= f->r[k];
    kn_gemm(ctx, -1, KN_N, f->U, KN_N, A, 1, E);
    return status;
}

/* Returns the row of the data that participant i of this imputation is. */
static ptrdiff_t find_data_row(const imputation *f, ptrdiff_t i)
{
    return f->Y.rows ? f->Y.rows[i] : i;
}

/* Returns psi_j, the mean square of what the factors leave of column `at` of E (n x count), over
 * its observed cells, at least MIN_PSI; j = first + at. */
static double compute_noise(const imputation *f, kn_mat E, ptrdiff_t first, ptrdiff_t at)
{
    double sum = 0;
    ptrdiff_t observed = 0, j = first + at;
    for (ptrdiff_t i = 0; i < E.rows; i++) {
        if (kn_is_missing(f->Y.missing, find_data_row(f, i), j))
            continue;
        double e = kn_at(E, i, at);
        for (ptrdiff_t p = 0; p < f->F.cols; p++)
            e -= kn_at(f->F, i, p) * kn_at(f->B, j, p);
        sum += e * e;
        observed++;
    }
    return fmax(observed > 0 ? sum / (double)observed : 0, MIN_PSI);
}

/* Removes the missing cells of column `at` (response first + at) from the sums: stores their
 * predicted mean, adds their part to f->less, and sets E and effect to 0 there. */
static void remove_missing(imputation *f, kn_mat E, ptrdiff_t first, ptrdiff_t at)
{
    ptrdiff_t j = first + at, P = f->F.cols;
    if (kn_missing_in(f->Y.missing, j) == 0)
        return;
    for (ptrdiff_t i = 0; i < E.rows; i++) {
        ptrdiff_t row = find_data_row(f, i);
        if (!kn_is_missing(f->Y.missing, row, j))
            continue;
        double *e = &kn_col(E, at)[i], *less = kn_col(f->less, i);
        double mean = kn_at(f->y, i, at) - *e;
        if (levels_matter(f)) {
            if (kn_impute_empty(f->p->levels, i, j))
                mean -= kn_at(f->effect, i, at);
            kn_col(f->effect, at)[i] = 0;
        }
        f->g[kn_missing_at(f->Y.missing, row, j)] = mean;
        *e = 0;
        for (ptrdiff_t q = 0; q < P; q++)
            for (ptrdiff_t p = q; p < P; p++)
                less[q * P + p] += kn_at(f->B, j, q) * kn_at(f->B, j, p) / f->psi[j];
    }
}

/* In one pass over the completed responses, computes what a round of the imputation takes from
 * all of them, with the residuals e and factors F (n x P): loadings B (T x P), noise variances
 * psi (T), and for the factor scores the sums over responses rhs = B'Psi^-1 e of observed cells
 * (P x n), all = B'Psi^-1 B (P x P) and less, the part of it that missing cells have (P P x n). */
static kn_status compute_round_sums(kn_ctx *ctx, imputation *f)
{
    kn_status status = KN_OK;
    kn_mat E = {0}, weighted = {0};
    ptrdiff_t n = f->Y.N, T = f->Y.T, P = f->F.cols, width = f->y.cols;
    KN_TRY(kn_mat_new(ctx, n, width, &E));
    KN_TRY(kn_mat_new(ctx, width, P, &weighted));
    kn_mat_zero(f->rhs);
    kn_mat_zero(f->less);
    kn_mat_zero(f->all);
    if (f->rhs_n.data)
        kn_mat_zero(f->rhs_n);
    for (ptrdiff_t first = 0; first < T; first += width) {
        ptrdiff_t count = T - first < width ? T - first : width;
        kn_mat e = kn_cols(E, 0, count), B = kn_sub(f->B, first, 0, count, P);
        kn_mat w = kn_sub(weighted, 0, 0, count, P);
        KN_TRY(compute_residuals(ctx, f, first, e));
        kn_gemm(ctx, 1, KN_T, e, KN_N, f->F, 0, B);
        for (ptrdiff_t p = 0; p < P; p++)
            for (ptrdiff_t j = 0; j < count; j++)
                kn_col(B, p)[j] /= f->s2[p];
        for (ptrdiff_t j = 0; j < count; j++) {
            f->psi[first + j] = compute_noise(f, e, first, j);
            remove_missing(f, e, first, j);
            for (ptrdiff_t p = 0; p < P; p++)
                kn_col(w, p)[j] = kn_at(B, j, p) / f->psi[first + j];
        }
        kn_gemm(ctx, 1, KN_T, B, KN_N, w, 1, kn_sub(f->all, 0, 0, P, P));
        kn_gemm(ctx, 1, KN_T, w, KN_T, e, 1, kn_sub(f->rhs, 0, 0, P, n));
        if (f->rhs_n.data) /* y - Gn = E + effect */
            kn_gemm(ctx, 1, KN_T, w, KN_T, kn_cols(f->effect, 0, count), 1,
                    kn_sub(f->rhs_n, 0, 0, P, n));
    }
out:
    kn_mat_clear(&weighted);
    kn_mat_clear(&E);
    return status;
}

/* Solves M x = b in place by Cholesky (M P x P, positive definite, lower triangle; P at most
 * 10); L is work space. */
static void solve_small(ptrdiff_t P, double *M, double *L, double *b)
{
    for (ptrdiff_t j = 0; j < P; j++) {
        double d = M[j * P + j];
        for (ptrdiff_t k = 0; k < j; k++)
            d -= L[k * P + j] * L[k * P + j];
        L[j * P + j] = sqrt(d);
        for (ptrdiff_t i = j + 1; i < P; i++) {
            double x = M[j * P + i];
            for (ptrdiff_t k = 0; k < j; k++)
                x -= L[k * P + i] * L[k * P + j];
            L[j * P + i] = x / L[j * P + j];
        }
    }
    for (ptrdiff_t i = 0; i < P; i++) {
        for (ptrdiff_t k = 0; k < i; k++)
            b[i] -= L[k * P + i] * b[k];
        b[i] /= L[i * P + i];
    }
    for (ptrdiff_t i = P; i-- > 0;) {
        for (ptrdiff_t k = i + 1; k < P; k++)
            b[i] -= L[i * P + k] * b[k];
        b[i] /= L[i * P + i];
    }
}

/* Computes the factor scores f->a (P x n) of every participant from its observed cells, and
 * f->a_n for cells of empty levels. */
static void compute_scores(imputation *f)
{
    ptrdiff_t n = f->Y.N, P = f->F.cols;
    double inverse[KN_IMPUTE_MAX], M[KN_IMPUTE_MAX * KN_IMPUTE_MAX],
        L[KN_IMPUTE_MAX * KN_IMPUTE_MAX];
    for (ptrdiff_t p = 0; p < P; p++) {
        double d = f->s2[p] / (double)n;
        for (ptrdiff_t j = 0; j < f->Y.T; j++)
            d -= kn_at(f->B, j, p) * kn_at(f->B, j, p) * f->psi[j];
        inverse[p] = 1 / fmax(d, MIN_D);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t q = 0; q < P; q++)
            for (ptrdiff_t p = q; p < P; p++)
                M[q * P + p] =
                    kn_at(f->all, p, q) - kn_col(f->less, i)[q * P + p] + (p == q ? inverse[p] : 0);
        for (ptrdiff_t p = 0; p < P; p++) {
            kn_col(f->a, i)[p] = kn_at(f->rhs, p, i);
            if (f->a_n.data)
                kn_col(f->a_n, i)[p] = kn_at(f->rhs, p, i) + kn_at(f->rhs_n, p, i);
        }
        solve_small(P, M, L, kn_col(f->a, i));
        if (f->a_n.data)
            solve_small(P, M, L, kn_col(f->a_n, i));
    }
}

/* Imputes every missing cell anew from mean, loadings and scores; returns the root mean square
 * of the changes. */
static double impute_cells(imputation *f)
{
    double sum = 0;
    ptrdiff_t cells = 0, P = f->F.cols;
    for (ptrdiff_t j = 0; j < f->Y.T; j++)
        for (ptrdiff_t i = 0; kn_missing_in(f->Y.missing, j) > 0 && i < f->Y.N; i++) {
            ptrdiff_t row = find_data_row(f, i);
            if (!kn_is_missing(f->Y.missing, row, j))
                continue;
            ptrdiff_t at = kn_missing_at(f->Y.missing, row, j);
            bool empty = levels_matter(f) && kn_impute_empty(f->p->levels, i, j);
            const double *a = kn_col(empty ? f->a_n : f->a, i);
            double y = f->g[at];
            for (ptrdiff_t p = 0; p < P; p++)
                y += kn_at(f->B, j, p) * a[p];
            sum += (y - f->imputed[at]) * (y - f->imputed[at]);
            f->imputed[at] = y;
            cells++;
        }
    return cells > 0 ? sqrt(sum / (double)cells) : 0;
}

/* Imputes missing cells by rounds of factor scores and loadings until cells change by less than
 * the tolerance (root mean square) or the rounds are used up [METHOD 0b]. info gets P, rounds
 * and the last change. */
static kn_status impute_rounds(kn_ctx *ctx, imputation *f, kn_impute_info *info)
{
    kn_status status;
    ptrdiff_t P = f->p->P > 0 ? f->p->P : kn_impute_components(&f->Y);
    P = kn_min_size(kn_min_size(P, KN_IMPUTE_MAX), kn_min_size(f->Y.N - 1, f->Y.T));
    kn_mat before = kn_mat_none();
    KN_TRY(rounds_new(ctx, f, P));
    info->P = P;
    do {
        kn_impute_source from = {f->Y.N, f->Y.T, kn_responses_energy(&f->Y), f, compute_residuals};
        f->F.cols = P;
        KN_TRY(kn_impute_eigen(ctx, &from, before, f->p->seed, &f->F, f->s2));
        KN_TRY(compute_round_sums(ctx, f));
        compute_scores(f);
        info->rms_change = impute_cells(f);
        info->rounds++;
        kn_mat_clear(&before);
        KN_TRY(kn_mat_copy(ctx, f->F, &before));
    } while (info->rounds < f->p->rounds && info->rms_change >= f->p->tolerance);
out:
    kn_mat_clear(&before);
    return status;
}

kn_status kn_impute(kn_ctx *ctx, const kn_impute_problem *p, double *imputed, double *delta,
                    kn_impute_info *info)
{
    kn_status status;
    const kn_missing_mask *h = p->Y.missing;
    double *own = NULL;
    imputation f = {.p = p, .Y = p->Y, .imputed = imputed, .delta = delta};
    *info = (kn_impute_info){0};
    f.Y.imputed = imputed;
    for (ptrdiff_t k = 0; k < h->cells; k++)
        imputed[k] = NAN;
    if (!delta) {
        KN_TRY(kn_alloc_d(ctx, p->Y.T, &own));
        f.delta = own;
    }
    KN_TRY(kn_impute_row_index(ctx, &p->Y, &f.place));
    KN_TRY(kn_impute_start(ctx, p, f.place, imputed, f.delta));
    for (ptrdiff_t k = 0; k < h->cells; k++)
        info->cells += isfinite(imputed[k]) != 0;
    if (p->rounds > 0 && info->cells > 0)
        KN_TRY(impute_rounds(ctx, &f, info));
out:
    imputation_clear(&f);
    kn_free(own);
    return status;
}
