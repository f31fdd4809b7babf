/* From latent predictions to responses: mean = mean_lat B', variance = v_lat (B.^2)' [METHOD 1b, 4]
 */
#include <math.h>

#include "gp/gp.h"
#include "la/la.h"

static void part_clear(kn_part *p)
{
    kn_free(p->rows);
    kn_free(p->train);
    kn_mat_clear(&p->mean);
    kn_mat_clear(&p->var);
    kn_mat_clear(&p->US);
    kn_mat_clear(&p->rotate);
}

void kn_gp_maps_clear(kn_gp_maps *maps)
{
    for (int k = 0; k < maps->n_parts; k++)
        part_clear(&maps->part[k]);
    kn_free(maps->part);
    kn_free(maps->fold);
    kn_free(maps->sample);
    kn_stgpr_maps_free(maps->stgpr);
    *maps = (kn_gp_maps){0};
}

static kn_status one_part(kn_ctx *ctx, const kn_gp *gp, ptrdiff_t n, kn_gp_maps *out)
{
    kn_status status;
    void *part;
    *out = (kn_gp_maps){.gp = gp, .n = n};
    KN_TRY(kn_alloc(ctx, 1, sizeof(kn_part), &part));
    out->part = part;
    out->n_parts = 1;
    out->part[0].n = n;
    KN_TRY(kn_mat_new(ctx, n, gp->latent.A.cols, &out->part[0].mean));
    KN_TRY(kn_mat_new(ctx, n, gp->latent.A.cols, &out->part[0].var));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

kn_status kn_gp_predict(kn_ctx *ctx, const kn_gp *gp, kn_mat Xs, kn_gp_maps *out)
{
    if (gp->method == KN_STGPR)
        return kn_stgpr_predict(ctx, gp, Xs, out);
    kn_status status;
    KN_TRY(one_part(ctx, gp, Xs.rows, out));
    KN_TRY(kn_latent_predict(ctx, &gp->latent, Xs, out->part[0].mean, out->part[0].var,
                             &out->clamped));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

kn_status kn_gp_coordinates(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_mat Z)
{
    kn_status status;
    kn_mat block = {0};
    KN_TRY(kn_mat_new(ctx, Y->N, Y->T < KN_BLOCK ? Y->T : KN_BLOCK, &block));
    for (ptrdiff_t j = 0; j < Y->T; j += KN_BLOCK) {
        kn_mat y = kn_cols(block, 0, Y->T - j < KN_BLOCK ? Y->T - j : KN_BLOCK);
        KN_TRY(kn_check_cancel(ctx));
        kn_responses_block(ctx, Y, j, y);
        kn_gemm(1, KN_N, y, KN_N, kn_sub(gp->B, j, 0, y.cols, gp->P), j > 0, Z);
    }
out:
    kn_mat_clear(&block);
    return status;
}

kn_status kn_gp_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out)
{
    if (gp->method == KN_STGPR)
        return kn_stgpr_loo(ctx, gp, Y, out);
    kn_status status;
    kn_mat Z = {0};
    KN_TRY(one_part(ctx, gp, gp->N, out));
    KN_TRY(kn_mat_new(ctx, gp->N, gp->latent.A.cols, &Z)); /* zero outside the basis */
    KN_TRY(kn_gp_coordinates(ctx, gp, Y, kn_cols(Z, 0, gp->P)));
    KN_TRY(kn_latent_loo(ctx, &gp->latent, Z, out->part[0].mean, out->part[0].var, &out->clamped));
out:
    kn_mat_clear(&Z);
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

/* Work space for one block of responses of one part. */
typedef struct block_work {
    kn_mat y;     /* N x count standardised responses (folds only) */
    kn_mat train; /* n_train x count, centred */
    kn_mat B, B2; /* count x P */
    kn_mat mean, var;
} block_work;

static void block_work_clear(block_work *w)
{
    kn_mat_clear(&w->y);
    kn_mat_clear(&w->train);
    kn_mat_clear(&w->B);
    kn_mat_clear(&w->B2);
    kn_mat_clear(&w->mean);
    kn_mat_clear(&w->var);
}

static kn_status block_work_new(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t count, block_work *w)
{
    kn_status status;
    ptrdiff_t n = 0, n_train = 0, P = 0;
    bool folds = false;
    for (int k = 0; k < maps->n_parts; k++) {
        const kn_part *p = &maps->part[k];
        n = p->n > n ? p->n : n;
        P = p->mean.cols > P && !p->direct ? p->mean.cols : P;
        n_train = p->n_train > n_train ? p->n_train : n_train;
        folds = folds || p->train;
    }
    *w = (block_work){0};
    if (folds) {
        KN_TRY(kn_mat_new(ctx, maps->Y.N, count, &w->y));
        KN_TRY(kn_mat_new(ctx, n_train, count, &w->train));
    }
    KN_TRY(kn_mat_new(ctx, count, P, &w->B));
    KN_TRY(kn_mat_new(ctx, count, P, &w->B2));
    KN_TRY(kn_mat_new(ctx, folds ? n : 0, count, &w->mean));
    KN_TRY(kn_mat_new(ctx, folds ? n : 0, count, &w->var));
out:
    if (status != KN_OK)
        block_work_clear(w);
    return status;
}

/* Centres the training rows of the block and returns the basis of the part for these responses.
 * The fold's mean is left in mean's columns. */
static kn_mat part_basis(const kn_gp *gp, const kn_part *p, const block_work *w, ptrdiff_t first,
                         kn_mat mean)
{
    ptrdiff_t count = w->B.rows, P = p->mean.cols - gp->complement_component;
    kn_mat B = p->direct ? kn_mat_none() : kn_sub(w->B, 0, 0, count, P);
    if (!p->train) {
        if (mean.data)
            kn_mat_zero(mean);
        return kn_sub(gp->B, first, 0, count, P);
    }
    kn_mat train = kn_sub(w->train, 0, 0, p->n_train, count);
    kn_mat_rows(w->y, p->train, train);
    for (ptrdiff_t j = 0; j < count; j++) {
        double *t = kn_col(train, j), mu = 0;
        for (ptrdiff_t i = 0; i < train.rows; i++)
            mu += t[i] / (double)train.rows;
        for (ptrdiff_t i = 0; i < train.rows; i++)
            t[i] -= mu;
        for (ptrdiff_t i = 0; i < mean.rows; i++)
            kn_col(mean, j)[i] = mu;
    }
    if (p->direct)
        return B;
    if (!p->US.data && !p->rotate.data)
        return kn_sub(gp->B, first, 0, count, P);
    if (!p->US.data) {
        kn_gemm(1, KN_N, kn_sub(gp->B, first, 0, count, P), KN_N, p->rotate, 0, B);
        return B;
    }
    kn_gemm(1, KN_T, train, KN_N, p->US, 0, B); /* B_f = (Y_tr - 1 mu')' U S^-1 */
    return B;
}

/* B2 = B.^2, count x P, and for a complement component 1 - |row j of B|^2 in one column more */
static void variance_weights(kn_mat B, kn_mat B2)
{
    for (ptrdiff_t q = 0; q < B.cols; q++)
        for (ptrdiff_t j = 0; j < B.rows; j++)
            kn_col(B2, q)[j] = kn_at(B, j, q) * kn_at(B, j, q);
    if (B2.cols == B.cols)
        return;
    double *rest = kn_col(B2, B.cols);
    for (ptrdiff_t j = 0; j < B.rows; j++) {
        rest[j] = 1;
        for (ptrdiff_t q = 0; q < B.cols; q++)
            rest[j] -= kn_at(B2, j, q);
        rest[j] = fmax(rest[j], 0); /* rounding */
    }
}

static void put_rows(const kn_part *p, kn_mat from, kn_mat to)
{
    for (ptrdiff_t j = 0; j < to.cols; j++)
        for (ptrdiff_t i = 0; i < p->n; i++)
            kn_col(to, j)[p->rows[i]] = kn_at(from, i, j);
}

static void add(kn_mat from, kn_mat to)
{
    for (ptrdiff_t j = 0; j < to.cols; j++)
        for (ptrdiff_t i = 0; i < to.rows; i++)
            kn_col(to, j)[i] += kn_at(from, i, j);
}

kn_status kn_gp_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat mean,
                           kn_mat var)
{
    if (maps->stgpr)
        return kn_stgpr_maps_block(ctx, maps, first, mean, var);
    kn_status status;
    block_work w;
    ptrdiff_t count = mean.data ? mean.cols : var.cols;
    KN_TRY(block_work_new(ctx, maps, count, &w));
    if (w.y.data)
        kn_responses_block(ctx, &maps->Y, first, w.y);
    for (int k = 0; k < maps->n_parts; k++) {
        const kn_part *p = &maps->part[k];
        /* a part that is all rows in order goes straight to its place */
        kn_mat m = p->rows || !mean.data ? kn_sub(w.mean, 0, 0, p->n, count) : mean;
        kn_mat v = p->rows || !var.data ? kn_sub(w.var, 0, 0, p->n, count) : var;
        kn_mat B = part_basis(maps->gp, p, &w, first, m);
        if (mean.data) {
            if (p->direct)
                add(kn_cols(p->mean, first, count), m);
            else
                kn_gemm(1, KN_N, kn_cols(p->mean, 0, B.cols), KN_T, B, 1, m);
            if (p->rows)
                put_rows(p, m, mean);
        }
        if (var.data) {
            if (p->direct) {
                kn_mat_set(v, kn_cols(p->var, first, count));
            } else {
                kn_mat B2 = kn_sub(w.B2, 0, 0, count, p->var.cols);
                variance_weights(B, B2);
                kn_gemm(1, KN_N, p->var, KN_T, B2, 0, v);
            }
            if (p->rows)
                put_rows(p, v, var);
        }
    }
out:
    block_work_clear(&w);
    return status;
}

/* STGPR's responses are independent: diagonal both. */
static kn_status diagonal_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                                     kn_mat model, kn_mat noise)
{
    kn_status status;
    kn_gp_maps maps = {0};
    ptrdiff_t n = model.data ? model.rows : noise.rows;
    KN_TRY(kn_gp_predict(ctx, gp, x, &maps));
    if (model.data)
        kn_mat_zero(model);
    if (noise.data)
        kn_mat_zero(noise);
    for (ptrdiff_t j = 0; j < n; j++) {
        double v;
        if (model.data) {
            KN_TRY(kn_gp_maps_block(ctx, &maps, J[j], kn_mat_none(), kn_mat_cols(&v, 1, 1)));
            kn_col(model, j)[j] = v;
        }
        if (noise.data)
            kn_col(noise, j)[j] = gp->noise[J[j]];
    }
out:
    kn_gp_maps_clear(&maps);
    return status;
}

kn_status kn_gp_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J, kn_mat model,
                           kn_mat noise)
{
    if (gp->method == KN_STGPR)
        return diagonal_covariance(ctx, gp, x, J, model, noise);
    kn_status status;
    kn_mat BJ = {0}, scaled = {0};
    kn_gp_maps maps = {0};
    ptrdiff_t n = model.data ? model.rows : noise.rows, P = gp->P;
    KN_TRY(kn_gp_predict(ctx, gp, x, &maps));
    /* a complement component adds v0 (I - B_J B_J') */
    double v0 = gp->complement_component ? kn_at(maps.part[0].var, 0, P) : 0;
    KN_TRY(kn_mat_new(ctx, n, P, &BJ));
    KN_TRY(kn_mat_new(ctx, n, P, &scaled));
    for (ptrdiff_t p = 0; p < P; p++)
        for (ptrdiff_t j = 0; j < n; j++) {
            kn_col(BJ, p)[j] = kn_at(gp->B, J[j], p);
            kn_col(scaled, p)[j] = kn_at(gp->B, J[j], p) * (kn_at(maps.part[0].var, 0, p) - v0);
        }
    if (model.data) {
        kn_gemm(1, KN_N, scaled, KN_T, BJ, 0, model);
        for (ptrdiff_t j = 0; j < n; j++)
            kn_col(model, j)[j] += v0;
    }
    if (noise.data) {
        kn_mat_zero(noise);
        if (gp->spec.noise == KN_NOISE_STRUCTURED) {
            for (ptrdiff_t p = 0; p < P; p++)
                for (ptrdiff_t j = 0; j < n; j++)
                    kn_col(scaled, p)[j] = kn_at(BJ, j, p) * gp->latent.d[p];
            kn_gemm(1, KN_N, scaled, KN_T, BJ, 0, noise);
        }
        for (ptrdiff_t j = 0; j < n; j++)
            kn_col(noise, j)[j] = gp->noise[J[j]];
    }
out:
    kn_gp_maps_clear(&maps);
    kn_mat_clear(&scaled);
    kn_mat_clear(&BJ);
    return status;
}
