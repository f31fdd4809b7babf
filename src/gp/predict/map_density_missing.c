/* Implements map_density_missing.h: an eigenproblem of size K for each set of missing responses if
 * K < T, a Cholesky factor of size |u| if K = T. It gives the same density over the observed
 * responses of a map. */
#include "gp/predict/map_density_missing.h"

#include <math.h>

#include "la/la.h"

enum { WORD = 64, CHUNK = 512 };

/* Directions with lam below LEFT carry no information on J; those kept have a relative error of
 * eps/LEFT. */
static const double LEFT = 1e-10;

void kn_map_density_missing_clear(kn_map_density_missing *g)
{
    kn_mat *m[] = {&g->Vu, &g->Q, &g->X, &g->M, &g->S, &g->w};
    for (size_t k = 0; k < sizeof m / sizeof *m; k++)
        kn_mat_clear(m[k]);
    kn_free(g->u);
    kn_free(g->lam);
    kn_free(g->spread);
    *g = (kn_map_density_missing){0};
}

/* True if the coordinates span all responses, K = T, so that nothing is outside the basis. */
static bool is_square(const kn_map_density_missing *g)
{
    return g->density->K == g->T;
}

kn_status kn_map_density_missing_new(kn_ctx *ctx, const kn_map_density *density, kn_mat V,
                                     kn_map_density_missing *out)
{
    kn_status status;
    ptrdiff_t T = V.rows, K = density->K, half = T / 2;
    *out = (kn_map_density_missing){.density = density, .V = V, .T = T};
    ptrdiff_t size = is_square(out) ? half : K;
    ptrdiff_t rows = is_square(out) ? half : kn_min_size(half, CHUNK);
    KN_TRY(kn_alloc_i(ctx, half, &out->u));
    KN_TRY(kn_mat_new(ctx, rows, K, &out->Vu));
    KN_TRY(kn_mat_new(ctx, is_square(out) ? half : K, K, &out->X));
    KN_TRY(kn_mat_new(ctx, size, size, &out->M));
    KN_TRY(kn_mat_new(ctx, size, 1, &out->w));
    KN_TRY(kn_alloc_d(ctx, K, &out->spread));
    if (density->W.data)
        KN_TRY(kn_mat_new(ctx, K, K, &out->S));
    if (!is_square(out)) {
        KN_TRY(kn_mat_new(ctx, K, K, &out->Q));
        KN_TRY(kn_alloc_d(ctx, K, &out->lam));
    }
out:
    if (status != KN_OK)
        kn_map_density_missing_clear(out);
    return status;
}

/* Decomposes V_J'V_J = I - V_u'V_u = Q diag(lam) Q' (K x K) over the observed responses J, u the
 * missing ones, and moves the directions with lam > LEFT to the front; sets g->rank. */
static kn_status decompose_observed(kn_ctx *ctx, kn_map_density_missing *g)
{
    kn_status status = KN_OK;
    ptrdiff_t K = g->density->K, gone = 0;
    kn_mat_zero(g->Q);
    for (ptrdiff_t k = 0; k < K; k++)
        kn_col(g->Q, k)[k] = 1;
    for (ptrdiff_t first = 0; first < g->n; first += CHUNK) {
        kn_mat rows = kn_sub(g->Vu, 0, 0, kn_min_size(g->n - first, CHUNK), K);
        kn_mat_rows(g->V, g->u + first, rows);
        kn_syrk(ctx, -1, KN_T, rows, 1, g->Q);
    }
    KN_TRY(kn_eig_reproducible(ctx, g->Q, g->lam));
    while (gone < K && !(g->lam[gone] > LEFT)) /* ascending */
        gone++;
    g->rank = K - gone;
    for (ptrdiff_t k = 0; k < g->rank; k++) {
        g->lam[k] = fmin(g->lam[gone + k], 1);
        for (ptrdiff_t i = 0; gone > 0 && i < K; i++)
            kn_col(g->Q, k)[i] = kn_at(g->Q, i, gone + k);
    }
out:
    return status;
}

kn_status kn_map_density_missing_set(kn_ctx *ctx, kn_map_density_missing *g, const uint64_t *gap)
{
    ptrdiff_t K = g->density->K;
    g->n = 0;
    for (ptrdiff_t j = 0; j < g->T; j++)
        if (gap[j / WORD] >> (j % WORD) & 1)
            g->u[g->n++] = j;
    if (!is_square(g))
        return K > 0 ? decompose_observed(ctx, g) : KN_OK;
    kn_mat rows = kn_sub(g->Vu, 0, 0, g->n, K);
    kn_mat_rows(g->V, g->u, rows);
    if (g->density->W.data) { /* X is work space here */
        kn_mat turned = kn_sub(g->X, 0, 0, g->n, K);
        kn_gemm(ctx, 1, KN_N, rows, KN_N, g->density->W, 0, turned);
        kn_mat_set(rows, turned);
    }
    return KN_OK;
}

/* Sets g->spread[k] (K) = v_k + d_k, the variances of the coordinates of participant r; model
 * false: d_k only. Returns false if one of them is not positive. */
static bool set_spread(kn_map_density_missing *g, const kn_map_density_row *r, bool model)
{
    bool sound = true;
    for (ptrdiff_t k = 0; k < g->density->K; k++) {
        g->spread[k] = kn_map_density_variance(g->density, r, k, model);
        sound = sound && g->spread[k] > 0;
    }
    return sound;
}

/* Sets X (K x rank) = C^1/2 Q lam^1/2 for some root of the covariance C of the coordinates: with
 * W, C^-1 = W D^-1 W' = LL' and X = L^-1 Q lam^1/2; without W, X = D^1/2 Q lam^1/2. */
static kn_status compute_covariance_root(kn_ctx *ctx, kn_map_density_missing *g, kn_mat X)
{
    kn_status status = KN_OK;
    kn_mat W = g->density->W;
    ptrdiff_t K = g->density->K;
    for (ptrdiff_t k = 0; k < g->rank; k++)
        for (ptrdiff_t i = 0; i < K; i++)
            kn_col(X, k)[i] =
                kn_at(g->Q, i, k) * sqrt(g->lam[k]) * (W.data ? 1 : sqrt(g->spread[i]));
    if (!W.data)
        return KN_OK;
    kn_mat scaled = kn_sub(g->M, 0, 0, K, K); /* M is work space here */
    for (ptrdiff_t k = 0; k < K; k++)
        for (ptrdiff_t i = 0; i < K; i++)
            kn_col(scaled, k)[i] = kn_at(W, i, k) / sqrt(g->spread[k]);
    kn_syrk(ctx, 1, KN_N, scaled, 0, g->S);
    KN_TRY(kn_chol(ctx, g->S, "precision of the coordinates of a map"));
    kn_trsm_left(ctx, KN_N, g->S, X);
out:
    return status;
}

/* Computes deviance and ln det of the observed responses of participant r if K < T; outside:
 * variance outside the basis. */
static kn_status evaluate_low_rank(kn_ctx *ctx, kn_map_density_missing *g,
                                   const kn_map_density_row *r, double outside, double *dev,
                                   double *log_det)
{
    kn_status status = KN_OK;
    ptrdiff_t K = g->density->K, m = g->rank;
    kn_mat X = kn_sub(g->X, 0, 0, K, m), M = kn_sub(g->M, 0, 0, m, m), w = kn_sub(g->w, 0, 0, m, 1);
    double inside = 0;
    *dev = r->q / outside;
    *log_det = (double)(g->T - g->n) * log(outside);
    if (m == 0)
        return KN_OK;
    KN_TRY(compute_covariance_root(ctx, g, X));
    kn_syrk(ctx, 1 / outside, KN_T, X, 0, M);
    for (ptrdiff_t k = 0; k < m; k++) {
        kn_col(M, k)[k] += 1 - g->lam[k];
        w.data[k] = 0;
        for (ptrdiff_t i = 0; i < K; i++)
            w.data[k] += kn_at(g->Q, i, k) * r->z[i * r->stride];
        w.data[k] /= sqrt(g->lam[k]);
        inside += w.data[k] * w.data[k];
    }
    KN_TRY(kn_chol(ctx, M, "density of a map with missing responses"));
    kn_trsm_left(ctx, KN_N, M, w);
    *dev = (fmax(r->q - inside, 0) + kn_sumsq(w)) / outside;
    for (ptrdiff_t k = 0; k < m; k++)
        *log_det += 2 * log(kn_at(M, k, k));
out:
    return status;
}

/* Computes deviance and ln det of the observed responses of participant r if K = T: those of all
 * responses, corrected for the missing ones. */
static kn_status evaluate_square(kn_ctx *ctx, kn_map_density_missing *g,
                                 const kn_map_density_row *r, double *dev, double *log_det)
{
    kn_status status = KN_OK;
    ptrdiff_t K = g->density->K, n = g->n;
    kn_mat H = kn_sub(g->X, 0, 0, n, K), M = kn_sub(g->M, 0, 0, n, n), w = kn_sub(g->w, 0, 0, n, 1);
    kn_mat W = g->density->W;
    *dev = 0;
    *log_det = g->density->log_det;
    kn_mat_zero(w);
    for (ptrdiff_t k = 0; k < K; k++) {
        double a = 0, s = sqrt(g->spread[k]);
        for (ptrdiff_t i = 0; W.data && i < K; i++)
            a += r->z[i * r->stride] * kn_at(W, i, k);
        a = (W.data ? a : r->z[k * r->stride]) / s;
        *dev += a * a;
        *log_det += 2 * log(s);
        for (ptrdiff_t i = 0; i < n; i++) {
            kn_col(H, k)[i] = kn_at(g->Vu, i, k) / s;
            w.data[i] += kn_at(H, i, k) * a;
        }
    }
    kn_syrk(ctx, 1, KN_N, H, 0, M);
    KN_TRY(kn_chol(ctx, M, "density of a map with missing responses"));
    kn_trsm_left(ctx, KN_N, M, w);
    *dev = fmax(*dev - kn_sumsq(w), 0);
    for (ptrdiff_t i = 0; i < n; i++)
        *log_det += 2 * log(kn_at(M, i, i));
out:
    return status;
}

kn_status kn_map_density_missing_evaluate(kn_ctx *ctx, kn_map_density_missing *g,
                                          const kn_map_density_row *r, bool model, double *dev,
                                          double *log_det)
{
    kn_status status = KN_OK;
    double outside = is_square(g) ? 1 : kn_map_density_outside(g->density, r->i, model);
    *dev = *log_det = NAN;
    if (!set_spread(g, r, model) || !(outside > 0))
        return KN_OK;
    status = is_square(g) ? evaluate_square(ctx, g, r, dev, log_det)
                          : evaluate_low_rank(ctx, g, r, outside, dev, log_det);
    if (status == KN_ERR_NUMERIC) { /* no density for this participant */
        *dev = *log_det = NAN;
        status = KN_OK;
    }
    return status;
}

void kn_map_density_missing_need(kn_mem_plan *r, ptrdiff_t T, ptrdiff_t K)
{
    kn_mem_usage mark = r->now;
    ptrdiff_t half = T / 2, size = K == T ? half : K,
              rows = K == T ? half : kn_min_size(half, CHUNK);
    kn_plan_alloc_d(r, KN_NEED_WORK, T, K + 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, rows, K);
    kn_plan_alloc_d(r, KN_NEED_WORK, half, 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, size, K + size + 1);
    if (K == T) /* methods with K = T have a W, which needs its own root */
        kn_plan_alloc_d(r, KN_NEED_WORK, K, K + 1);
    if (K < T) {
        kn_plan_alloc_d(r, KN_NEED_WORK, K, K + 2);
        kn_eig_need(r, KN_NEED_WORK, K);
    }
    kn_plan_free_to(r, mark);
}
