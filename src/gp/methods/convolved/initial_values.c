/* Start of the search for convolved processes [METHOD 1i]. Each task, scaled by its standard
 * deviation, is smoothed by ridge regression on the inducing functions; the leading directions of
 * the smoothed tasks are the latent processes, and S is the weight of each in each task.
 * Deterministic. */
#include "gp/methods/convolved/internal.h"

#include <math.h>

#include "la/la.h"

static const double JITTER = 1e-6; /* on the diagonal of K_uu: inducing inputs may be closer
                                    * than a width */
static const double RIDGE = 10;    /* as much noise as the signal of so many participants */
static const double MIN = 0.05;    /* proportion of a task's standard deviation: the gradient
                                    * vanishes at S = 0 */
static const double STEP = 8;      /* factor between the widths of two starts */

kn_status kn_conv_scale_new(kn_ctx *ctx, kn_mat X, kn_mat Y, kn_conv_scale *out)
{
    static const double MIN_PROPORTION = 1e-10; /* proportion of the largest variance below which it
                                                 * is rounding */
    kn_status status;
    double limit = 0;
    *out = (kn_conv_scale){0};
    KN_TRY(kn_alloc_d(ctx, Y.cols, &out->variance));
    KN_TRY(kn_conv_distance_scale(ctx, X, &out->distance2));
    for (ptrdiff_t t = 0; t < Y.cols; t++) {
        out->variance[t] = kn_sumsq(kn_cols(Y, t, 1)) / (double)Y.rows;
        limit = fmax(limit, out->variance[t]);
    }
    for (ptrdiff_t t = 0; t < Y.cols; t++)
        out->variance[t] = fmax(out->variance[t], limit > 0 ? MIN_PROPORTION * limit : 1);
out:
    return status;
}

void kn_conv_scale_clear(kn_conv_scale *s)
{
    kn_free(s->variance);
    *s = (kn_conv_scale){0};
}

/* Ridge regression on H = K L^-T (N x M): w (M x T) = (H'H + RIDGE)^-1 H'Y/sd; e (M x M)
 * eigenvectors of ww', ascending; size (M) root mean square of H e_q. */
typedef struct smooth {
    kn_mat H, w, L, e, G, h;
    double *size, *value;
} smooth;

/* Frees the work space of the smoothing. */
static void smooth_clear(smooth *s)
{
    kn_mat_clear(&s->H);
    kn_mat_clear(&s->w);
    kn_mat_clear(&s->L);
    kn_mat_clear(&s->e);
    kn_mat_clear(&s->G);
    kn_mat_clear(&s->h);
    kn_free(s->size);
    kn_free(s->value);
}

/* Computes the features s->H = K_fu L^-T (N x M) of a ridge regression, LL' = K_uu, with one
 * process of squared width `width` for all tasks. */
static kn_status compute_features(kn_ctx *ctx, const kn_conv_data *d, double width, smooth *s)
{
    kn_status status;
    ptrdiff_t N = d->fu.rows, M = d->fu.cols;
    kn_conv one = {0};
    KN_TRY(kn_conv_new(ctx, 1, 1, M, 1, &one));
    one.S.data[0] = 1;
    one.tau.data[0] = one.nu[0] = width;
    one.jitter = JITTER;
    KN_TRY(kn_mat_new(ctx, N, M, &s->H));
    KN_TRY(kn_mat_new(ctx, M, M, &s->L));
    kn_conv_cross(&one, 0, d->fu, s->H);
    kn_conv_inducing(&one, d->uu, s->L);
    KN_TRY(kn_chol(ctx, s->L, "the covariance of the inducing values"));
    kn_trsm_right(ctx, KN_T, s->L, s->H);
out:
    kn_conv_clear(&one);
    return status;
}

/* Computes the ridge regression of all tasks on s->H, scaled to unit variance (s->w, M x T), and
 * the principal directions of its coefficients (s->e, M x M, ascending): the start of the latent
 * processes. */
static kn_status compute_directions(kn_ctx *ctx, const kn_conv_data *d, const kn_conv_scale *scale,
                                    smooth *s)
{
    kn_status status;
    ptrdiff_t N = d->fu.rows, M = d->fu.cols, T = d->Y.cols;
    KN_TRY(kn_mat_new(ctx, M, T, &s->w));
    KN_TRY(kn_mat_new(ctx, M, M, &s->G));
    KN_TRY(kn_mat_new(ctx, M, M, &s->e));
    KN_TRY(kn_mat_new(ctx, N, 1, &s->h));
    KN_TRY(kn_alloc_d(ctx, M, &s->size));
    KN_TRY(kn_alloc_d(ctx, M, &s->value));
    kn_gemm(ctx, 1, KN_T, s->H, KN_N, d->Y, 0, s->w);
    for (ptrdiff_t t = 0; t < T; t++)
        for (ptrdiff_t i = 0; i < M; i++)
            kn_col(s->w, t)[i] /= sqrt(scale->variance[t]);
    kn_syrk(ctx, 1, KN_T, s->H, 0, s->G);
    for (ptrdiff_t i = 0; i < M; i++)
        kn_col(s->G, i)[i] += RIDGE;
    KN_TRY(kn_chol(ctx, s->G, "the start of convolved processes"));
    kn_trsm_left(ctx, KN_N, s->G, s->w);
    kn_trsm_left(ctx, KN_T, s->G, s->w);
    kn_syrk(ctx, 1, KN_N, s->w, 0, s->e);
    KN_TRY(kn_eig_reproducible(ctx, s->e, s->value));
    for (ptrdiff_t q = 0; q < M; q++) { /* |H e_q|^2/N = e_q'H'H e_q/N */
        kn_gemm(ctx, 1, KN_N, s->H, KN_N, kn_cols(s->e, q, 1), 0, s->h);
        s->size[q] = sqrt(kn_sumsq(s->h) / (double)N);
    }
out:
    return status;
}

kn_status kn_conv_set_start(kn_ctx *ctx, const kn_conv_data *d, const kn_conv_scale *scale,
                            int number, kn_conv *c)
{
    kn_status status;
    smooth s = {0};
    ptrdiff_t M = c->M;
    double width = scale->distance2 * pow(STEP, (number % 2 ? -1 : 1) * ((number + 1) / 2));
    KN_TRY(compute_features(ctx, d, width, &s));
    KN_TRY(compute_directions(ctx, d, scale, &s));
    c->jitter = JITTER;
    for (ptrdiff_t t = 0; t < c->T; t++)
        c->s2[t] = scale->variance[t];
    for (ptrdiff_t q = 0; q < c->Q; q++) {
        const double *e = q < M ? kn_col(s.e, M - 1 - q) : NULL;
        c->nu[q] = width * pow(0.5, (double)q);
        for (ptrdiff_t t = 0; t < c->T; t++) {
            double S = 0, lowest = MIN * (t % 2 && !e ? -1 : 1), v = scale->variance[t];
            for (ptrdiff_t i = 0; e && i < M; i++)
                S += e[i] * kn_at(s.w, i, t) * s.size[M - 1 - q];
            S = fabs(S) < MIN ? (S < 0 ? -lowest : lowest) : S;
            kn_col(c->S, q)[t] = S * sqrt(v);
            kn_col(c->tau, q)[t] = c->nu[q];
            c->s2[t] = fmax(c->s2[t] - S * S * v, v / 2);
        }
    }
out:
    smooth_clear(&s);
    return status;
}

void kn_conv_set_start_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t M)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, N, M + 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, M, T + 3 * M + 2);
    kn_eig_need(r, KN_NEED_WORK, M);
    kn_plan_free_to(r, mark);
}
