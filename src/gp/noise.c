/* Noise variance of each response, and how the cross-validated maps are calibrated [METHOD 1d] */
#include "gp/noise.h"

#include <math.h>

#include "la/la.h"

static const double FLOOR = 0.05; /* of the in-sample noise: held-out moments can be negative */

/* in_sample_j = (B.^2 d + psi)_j, psi_j = |y_j - (ZB')_j|^2 / N, for the block y (N x count) */
static void in_sample(kn_ctx *ctx, const kn_gp *gp, kn_mat B, kn_mat y, kn_mat Z, kn_mat work,
                      double *out)
{
    double N = (double)gp->N;
    kn_mat_set(work, y);
    if (gp->P < gp->T)
        kn_gemm(ctx, -1, KN_N, Z, KN_T, B, 1, work); /* y - Z B' */
    else
        kn_mat_zero(work); /* the basis spans everything */
    for (ptrdiff_t j = 0; j < y.cols; j++) {
        out[j] = kn_sumsq(kn_cols(work, j, 1)) / N;
        for (ptrdiff_t p = 0; p < gp->P; p++)
            out[j] += kn_at(B, j, p) * kn_at(B, j, p) * gp->latent.d[p];
    }
}

/* The same from sums alone, for principal components: |y_j - (ZB')_j|^2 = |y_j|^2 - (B.^2 s2)_j
 * with s2_p = |z_p|^2. Up to the residual of a range finder. */
static void in_sample_sums(const kn_gp *gp, const kn_scaling *s, ptrdiff_t first, kn_mat B,
                           const double *s2, double *out)
{
    for (ptrdiff_t j = 0; j < B.rows; j++) {
        double sd = s->sd[first + j], shift = (s->mean0[first + j] - s->mean[first + j]) / sd;
        out[j] = s->sd0[first + j] * s->sd0[first + j] / (sd * sd) + shift * shift;
    }
    for (ptrdiff_t p = 0; p < gp->P; p++)
        for (ptrdiff_t j = 0; j < B.rows; j++)
            out[j] += kn_at(B, j, p) * kn_at(B, j, p) * (gp->latent.d[p] - s2[p] / (double)gp->N);
    for (ptrdiff_t j = 0; j < B.rows; j++)
        out[j] = fmax(out[j], 0);
}

typedef struct totals {
    double z2, loss, inside, n;
} totals;

/* Adds the calibration of one response; the trivial model has its mean and sd [METHOD 8], which
 * are 0 and 1 when responses are standardised. */
static void add_calibration(totals *t, kn_mat y, kn_mat mean, kn_mat var, ptrdiff_t j, double noise,
                            double mean0, double sd0)
{
    for (ptrdiff_t i = 0; i < y.rows; i++) {
        double e = kn_at(y, i, j) - kn_at(mean, i, j), v = kn_at(var, i, j) + noise;
        double z2 = e * e / v, e0 = (kn_at(y, i, j) - mean0) / sd0;
        t->z2 += z2;
        t->loss += 0.5 * (log(v) + z2 - 2 * log(sd0) - e0 * e0);
        t->inside += z2 < 1.959963984540054 * 1.959963984540054;
        t->n++;
    }
}

/* Held-out moments of the responses first ... replace the in-sample noise [METHOD 1d] */
static void held_out(const kn_scaling *s, ptrdiff_t first, bool structured, kn_mat y, kn_mat mean,
                     kn_mat var, double *noise, totals *t)
{
    for (ptrdiff_t j = 0; j < y.cols; j++) {
        double moment = 0;
        for (ptrdiff_t i = 0; i < y.rows; i++) {
            double e = kn_at(y, i, j) - kn_at(mean, i, j);
            moment += (e * e - kn_at(var, i, j)) / (double)y.rows;
        }
        if (structured)
            noise[j] = fmax(moment, FLOOR * noise[j]);
        double sd = s->sd[first + j], mean0 = (s->mean0[first + j] - s->mean[first + j]) / sd;
        add_calibration(t, y, mean, var, j, noise[j], mean0, s->sd0[first + j] / sd);
    }
}

/* What the in-sample noise of structured models needs: the coordinates, or only their energies. */
typedef struct inside {
    kn_mat Z; /* N x P; Z = U A when U spans everything, which spares a pass over Y */
    kn_mat y, work;
    const double *s2; /* P, instead of all this */
} inside;

static void inside_clear(inside *in)
{
    kn_mat_clear(&in->Z);
    kn_mat_clear(&in->y);
    kn_mat_clear(&in->work);
}

static kn_status inside_new(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, ptrdiff_t width,
                            inside *in)
{
    kn_status status;
    if (gp->energy) {
        in->s2 = gp->energy;
        return KN_OK;
    }
    KN_TRY(kn_mat_new(ctx, Y->N, width, &in->y));
    KN_TRY(kn_mat_new(ctx, Y->N, width, &in->work));
    KN_TRY(kn_mat_new(ctx, Y->N, gp->P, &in->Z));
    if (gp->latent.R0.n_pivots > 0)
        KN_TRY(kn_gp_coordinates(ctx, gp, Y, in->Z));
    else
        kn_gemm(ctx, 1, KN_N, gp->latent.R0.U, KN_N, gp->latent.A, 0, in->Z);
out:
    return status;
}

kn_status kn_gp_set_noise(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gp_maps *cv,
                          kn_cv_summary *summary)
{
    kn_status status = KN_OK;
    kn_mat y = {0}, mean = {0}, var = {0};
    inside in = {0};
    ptrdiff_t width = Y->T < KN_BLOCK ? Y->T : KN_BLOCK, rows = cv ? cv->n : 0;
    bool structured = gp->spec.noise == KN_NOISE_STRUCTURED && gp->method != KN_STGPR;
    totals t = {0};
    KN_TRY(kn_mat_new(ctx, rows, width, &y));
    KN_TRY(kn_mat_new(ctx, rows, width, &mean));
    KN_TRY(kn_mat_new(ctx, rows, width, &var));
    if (structured)
        KN_TRY(inside_new(ctx, gp, Y, width, &in));
    for (ptrdiff_t first = 0; first < Y->T; first += KN_BLOCK) {
        ptrdiff_t n = Y->T - first < KN_BLOCK ? Y->T - first : KN_BLOCK;
        kn_mat yb = kn_cols(y, 0, n), mb = kn_cols(mean, 0, n), vb = kn_cols(var, 0, n);
        double *noise = gp->noise + first;
        if (cv) /* without it this pass is short, and finishes what a cancelled fit has found */
            KN_TRY(kn_check_cancel(ctx));
        if (in.s2) {
            in_sample_sums(gp, Y->scaling, first, kn_sub(gp->B, first, 0, n, gp->P), in.s2, noise);
        } else if (structured) {
            kn_responses_block(ctx, Y, first, kn_cols(in.y, 0, n));
            in_sample(ctx, gp, kn_sub(gp->B, first, 0, n, gp->P), kn_cols(in.y, 0, n), in.Z,
                      kn_cols(in.work, 0, n), noise);
        }
        for (ptrdiff_t j = 0; j < n && !structured; j++)
            noise[j] = gp->method == KN_STGPR ? gp->stgpr.d[first + j] : gp->s2;
        if (!cv)
            continue;
        KN_TRY(kn_gp_maps_with_y(ctx, cv, first, yb, mb, vb));
        held_out(Y->scaling, first, structured, yb, mb, vb, noise, &t);
        kn_tell(ctx, "reference", first + n, Y->T, NAN);
    }
    if (cv)
        *summary = (kn_cv_summary){cv->folds, t.z2 / t.n, t.loss / t.n, t.inside / t.n};
out:
    inside_clear(&in);
    kn_mat_clear(&var);
    kn_mat_clear(&mean);
    kn_mat_clear(&y);
    return status;
}
