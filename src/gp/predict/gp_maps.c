/* Implements gp_maps.h: mean = mean_lat B', variance = v_lat (B.^2)' [METHOD 1b, 4]; for whitened
 * responses the complement has a mean of its own [METHOD 1f]. Predictions of all responses never
 * exist at once. */
#include <math.h>
#include <string.h>

#include "base/parallel/parallel_for.h"
#include "gp/basis/basis.h"
#include "gp/basis/user_span.h"
#include "gp/method.h"
#include "gp/predict/gp_maps.h"
#include "gp/predict/loo.h"
#include "gp/predict/predict.h"
#include "la/la.h"

void kn_fold_prediction_clear(kn_fold_prediction *p)
{
    kn_free(p->rows);
    kn_free(p->train);
    kn_mat_clear(&p->mean);
    kn_mat_clear(&p->mean_without_site);
    kn_mat_clear(&p->var);
    kn_mat_clear(&p->US);
    kn_mat_clear(&p->rotate);
    kn_mat_clear(&p->B);
    kn_free(p->mu);
    kn_free(p->d);
    kn_free(p->psi);
    kn_free(p->outside);
    kn_mat_clear(&p->RU);
    kn_mat_clear(&p->RU_without_site);
    kn_mat_clear(&p->D0);
    kn_mat_clear(&p->smooth);
    kn_mat_clear(&p->smooth_without_site);
}

void kn_gp_maps_clear(kn_gp_maps *maps)
{
    for (int k = 0; k < maps->n_parts; k++)
        kn_fold_prediction_clear(&maps->part[k]);
    kn_free(maps->part);
    kn_free(maps->fold);
    kn_free(maps->sample);
    kn_free(maps->known);
    kn_free(maps->extrapolation);
    if (maps->own)
        maps->own_free(maps->own);
    *maps = (kn_gp_maps){0};
}

kn_status kn_gp_maps_one_part(kn_ctx *ctx, const kn_gp *gp, ptrdiff_t n, kn_gp_maps *out)
{
    kn_status status;
    void *part;
    *out = (kn_gp_maps){.gp = gp, .n = n};
    KN_TRY(kn_alloc(ctx, 1, sizeof(kn_fold_prediction), &part));
    out->part = part;
    out->n_parts = 1;
    out->part[0].n = n;
    KN_TRY(kn_mat_new(ctx, n, gp->latent.P, &out->part[0].mean));
    KN_TRY(kn_mat_new(ctx, n, gp->latent.P, &out->part[0].var));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

kn_status kn_gp_maps_folds(kn_ctx *ctx, const kn_gp *gp, kn_responses Y, int folds, kn_gp_maps *out)
{
    kn_status status;
    void *part;
    *out = (kn_gp_maps){.gp = gp, .Y = Y};
    KN_TRY(kn_alloc(ctx, folds, sizeof(kn_fold_prediction), &part));
    out->part = part;
    out->n_parts = folds;
    if (gp->P == 0)
        KN_TRY(kn_alloc_d(ctx, gp->N, &out->extrapolation));
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

kn_status kn_gp_coordinates(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_mat Z)
{
    kn_status status;
    double total;
    kn_mat B = {0};
    if (!gp->psi)
        return kn_project(ctx, Y, NULL, kn_cols(gp->W.data ? gp->W : gp->B, 0, gp->P), Z, &total);
    KN_TRY(kn_mat_copy(ctx, gp->B, &B));
    for (ptrdiff_t p = 0; p < B.cols; p++)
        for (ptrdiff_t j = 0; j < B.rows; j++)
            kn_col(B, p)[j] /= sqrt(gp->psi[j]);
    KN_TRY(kn_project(ctx, Y, NULL, B, Z, &total));
out:
    kn_mat_clear(&B);
    return status;
}

/* ---- blocks of responses ----------------------------------------------------------------------
 *
 * Basis and mean of a fold are both products of the uncentred responses, because the columns of U
 * S^-1 sum to zero:
 *
 *     [B_f mu] = Y' [US0 1_tr/n]     US0, 1_tr: zero in the rows held out
 *     mean = [mean_lat 1] [B_f mu]'     variance = v_lat (B_f.^2)'
 *
 * The smoother of a fold subtracts the mean of its training rows: smooth (I - 11'/n) y. Threads
 * process chunks of responses. */

enum { CHUNK = 256 }; /* responses at a time: [B_f mu] stays in cache */

typedef struct part_factors {
    kn_mat W;      /* N x (P + 1), or N x 1 for a fixed basis: [US0 1_tr/n]; none: no fold */
    kn_mat mean;   /* n x (P + 1)   [mean_lat 1] */
    kn_mat smooth; /* n x N   zero in the columns of held-out rows; none: no smoother, or used as
                    * it is */
} part_factors;

typedef struct block_work {
    const kn_gp_maps *maps;
    ptrdiff_t first;
    kn_mat mean, var;      /* outputs */
    part_factors *factors; /* n_parts */
    kn_mat y;              /* N x count standardised responses (folds and smoothers only) ... */
    kn_mat own_y;          /* ... read here if the caller has not passed them */
    int workers;
    ptrdiff_t grain;    /* responses per worker: a multiple of CHUNK */
    struct chunk_work { /* of one worker */
        kn_mat B, B2;   /* CHUNK x (P + 1) */
        kn_mat rows;    /* n x CHUNK: rows of a part that are not contiguous in the maps */
    } * chunk;
} block_work;

/* Frees the work space of one block. */
static void block_work_clear(block_work *w)
{
    for (int k = 0; w->factors && k < w->maps->n_parts; k++) {
        kn_mat_clear(&w->factors[k].W);
        kn_mat_clear(&w->factors[k].mean);
        kn_mat_clear(&w->factors[k].smooth);
    }
    for (int k = 0; w->chunk && k < w->workers; k++) {
        kn_mat_clear(&w->chunk[k].B);
        kn_mat_clear(&w->chunk[k].B2);
        kn_mat_clear(&w->chunk[k].rows);
    }
    kn_free(w->factors);
    kn_free(w->chunk);
    kn_mat_clear(&w->own_y);
}

/* Returns the number of components of a part of the maps, 0 if it holds predictions of the
 * responses themselves. A part with its own B may have a complement component (all directions
 * outside the basis) where the model has none. */
static ptrdiff_t count_components(const kn_gp_maps *maps, const kn_fold_prediction *p)
{
    if (p->B.data)
        return p->B.cols;
    return p->direct ? 0 : p->mean.cols - maps->gp->complement_component;
}

/* Computes *out (n x N, owned by the caller) = smooth (I - 11'/n_train), the smoother of part p
 * for centred responses, with zero columns for the rows of Y that are held out. */
static kn_status spread_smoother(kn_ctx *ctx, const kn_gp_maps *maps, const kn_fold_prediction *p,
                                 kn_mat *out)
{
    kn_status status = kn_mat_new(ctx, p->n, maps->Y.N, out);
    for (ptrdiff_t i = 0; status == KN_OK && i < p->n; i++) {
        double mean = 0;
        for (ptrdiff_t t = 0; t < p->n_train; t++)
            mean += kn_at(p->smooth, i, t) / (double)p->n_train;
        for (ptrdiff_t t = 0; t < p->n_train; t++)
            kn_col(*out, p->train[t])[i] = kn_at(p->smooth, i, t) - mean;
    }
    return status;
}

/* Computes the factors of a part that do not depend on the block of responses: smoother, [US
 * 1/n] (N x P + 1), whose product with the responses is the fold's basis and mean, and [mean 1].
 * The caller frees f, also after an error. */
static kn_status make_factors(kn_ctx *ctx, const kn_gp_maps *maps, const kn_fold_prediction *p,
                              part_factors *f)
{
    kn_status status = KN_OK;
    ptrdiff_t P = count_components(maps, p), own = p->US.data ? P : 0;
    if (!p->train && !p->mu)
        return KN_OK;
    if (p->smooth.data && p->train)
        KN_TRY(spread_smoother(ctx, maps, p, &f->smooth));
    if (p->train && !p->mu) {
        KN_TRY(kn_mat_new(ctx, maps->Y.N, own + 1, &f->W));
        for (ptrdiff_t q = 0; q <= own; q++)
            for (ptrdiff_t i = 0; i < p->n_train; i++)
                kn_col(f->W, q)[p->train[i]] =
                    q < own ? kn_at(p->US, i, q) : 1 / (double)p->n_train;
    }
    if (p->direct)
        return KN_OK;
    KN_TRY(kn_mat_new(ctx, p->n, P + 1, &f->mean));
    kn_mat_set(f->mean, kn_cols(p->mean, 0, P));
    for (ptrdiff_t i = 0; i < p->n; i++)
        kn_col(f->mean, P)[i] = 1;
out:
    return status;
}

/* Prepares the prediction of a block of `count` responses from w->first on: factors of each fold
 * prediction (mean, W), per worker chunks (width x P + 1), and the block's responses where folds or
 * smoothers need them and the caller has none. w->y is borrowed or w->own_y. On error w is partly
 * filled; the caller clears it. */
static kn_status block_work_new(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t count, block_work *w)
{
    kn_status status;
    void *memory;
    ptrdiff_t rows = 0, P = 0, width = count < CHUNK ? count : CHUNK, flops = 0;
    bool folds = false, smoothers = false;
    w->workers = kn_workers(ctx, count, CHUNK);
    KN_TRY(kn_alloc(ctx, maps->n_parts, sizeof *w->factors, &memory));
    w->factors = memory;
    KN_TRY(kn_alloc(ctx, w->workers, sizeof *w->chunk, &memory));
    w->chunk = memory;
    for (int k = 0; k < maps->n_parts; k++) {
        const kn_fold_prediction *p = &maps->part[k];
        rows = p->rows && p->n > rows ? p->n : rows;
        P = count_components(maps, p) > P ? count_components(maps, p) : P;
        bool own = p->train && !p->mu; /* basis and mean are computed from y */
        folds = folds || own;
        smoothers = smoothers || p->smooth.data;
        flops += 4 * (count_components(maps, p) + 1) * (1 + p->n + (own ? p->n_train : 0));
        KN_TRY(make_factors(ctx, maps, p, &w->factors[k]));
    }
    w->grain = kn_chunk_size(CHUNK, flops);
    if (smoothers && maps->Y.missing)
        w->y = kn_mat_none(); /* the caller's block may have missing cells; imputed values are
                               * read here */
    if ((folds || smoothers) && !w->y.data) {
        KN_TRY(kn_mat_new(ctx, maps->Y.N, count, &w->own_y));
        kn_responses_block(ctx, &maps->Y, w->first, w->own_y);
        w->y = w->own_y;
    }
    for (int k = 0; k < w->workers; k++) {
        KN_TRY(kn_mat_new(ctx, width, P + 1, &w->chunk[k].B));
        KN_TRY(kn_mat_new(ctx, width, P + 1, &w->chunk[k].B2));
        KN_TRY(kn_mat_new(ctx, rows, width, &w->chunk[k].rows));
    }
out:
    return status;
}

/* Returns [B mu] (n x P + 1) of part k for the n responses from w->first + at on, written to B;
 * if the part is no fold, a view of the model's basis without mu. */
static kn_mat compute_part_basis(const block_work *w, int k, ptrdiff_t at, kn_mat B)
{
    const kn_gp_maps *maps = w->maps;
    const kn_fold_prediction *p = &maps->part[k];
    ptrdiff_t n = B.rows, P = count_components(maps, p);
    kn_mat columns = p->rotate.data ? kn_user_span_fixed(maps->gp) : maps->gp->B;
    kn_mat fixed = p->direct
                       ? kn_mat_none()
                       : kn_sub(columns, w->first + at, 0, n, p->rotate.data ? p->rotate.rows : P);
    if (!p->train && !p->mu)
        return fixed;
    kn_mat inside = kn_cols(B, 0, P), W = w->factors[k].W;
    if (p->mu) /* stored mean of a single held-out set or of a fold that imputed its own rows */
        memcpy(kn_col(B, P), p->mu + w->first + at, (size_t)n * sizeof(double));
    else
        kn_gemm(NULL, 1, KN_T, kn_cols(w->y, at, n), KN_N, W, 0,
                kn_cols(B, P + 1 - W.cols, W.cols));
    if (p->B.data) /* stored basis */
        kn_mat_set(inside, kn_sub(p->B, w->first + at, 0, n, P));
    else if (!p->US.data && p->rotate.data && !p->direct)
        kn_gemm(NULL, 1, KN_N, fixed, KN_N, p->rotate, 0, inside);
    else if (!p->US.data && !p->direct)
        kn_mat_set(inside, fixed);
    return B;
}

/* Sets B2 = B.^2 (count x P), by which latent variances are multiplied; with a complement
 * component (all directions outside the basis) one more column has 1 - |row j of B|^2 (at least
 * 0). */
static void compute_variance_weights(kn_mat B, kn_mat B2)
{
    for (ptrdiff_t q = 0; q < B.cols; q++) {
        const double *b = kn_col(B, q);
        double *b2 = kn_col(B2, q);
        for (ptrdiff_t j = 0; j < B.rows; j++)
            b2[j] = b[j] * b[j];
    }
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

/* Adapts the variance weights B2 (count x P + 1) to whitened responses: row j is multiplied by
 * psi_j; `outside` replaces the column of the complement. Either may be NULL. */
static void whiten_weights(const double *psi, const double *outside, kn_mat B2)
{
    for (ptrdiff_t j = 0; outside && j < B2.rows; j++)
        kn_col(B2, B2.cols - 1)[j] = outside[j];
    for (ptrdiff_t q = 0; psi && q < B2.cols; q++)
        for (ptrdiff_t j = 0; j < B2.rows; j++)
            kn_col(B2, q)[j] *= psi[j];
}

/* Copies the rows of `from` (n x count) to the rows p->rows of `to`, which has all participants
 * of the maps. */
static void put_rows(const kn_fold_prediction *p, kn_mat from, kn_mat to)
{
    for (ptrdiff_t j = 0; j < to.cols; j++) {
        const double *f = kn_col(from, j);
        double *t = kn_col(to, j);
        for (ptrdiff_t i = 0; i < p->n; i++)
            t[p->rows[i]] = f[i];
    }
}

/* Shrinks the means m (n x count) towards the training mean: mean_j <- mu_j + slope_j (mean_j -
 * mu_j), mu the fold's mean (last column of B), or 0, the training mean of all [METHOD 1d].
 * Participants in known groups are left out. */
static void apply_slope(const block_work *w, const kn_fold_prediction *p, ptrdiff_t at, kn_mat B,
                        kn_mat m)
{
    const double *slope = w->maps->gp->slope;
    bool fold = p->train || p->mu;
    for (ptrdiff_t j = 0; slope && j < m.cols; j++) {
        double s = slope[w->first + at + j], mu = fold ? kn_at(B, j, B.cols - 1) : 0;
        for (ptrdiff_t i = 0; i < m.rows; i++)
            if (!w->maps->known || !w->maps->known[i])
                kn_col(m, j)[i] = mu + s * (kn_at(m, i, j) - mu);
    }
}

/* A chunk of n responses of part k, from first + at on. */
typedef struct part_chunk {
    const kn_fold_prediction *p;
    int k;
    ptrdiff_t at, n, P;
    kn_mat B;                    /* [B mu], or the model's B itself */
    const double *psi, *outside; /* n, or NULL */
    kn_mat rows;                 /* n of the part x n, if they are not contiguous in the maps */
} part_chunk;

/* Writes the model variances of a chunk of responses to w->var: v_lat (B.^2)', or the stored
 * variances of a direct part. B2: work space. */
static void compute_chunk_variance(const block_work *w, const part_chunk *c, kn_mat B2)
{
    const kn_fold_prediction *p = c->p;
    kn_mat v = p->rows ? c->rows : kn_cols(w->var, c->at, c->n);
    if (p->direct) {
        kn_mat_set(v, kn_cols(p->var, w->first + c->at, c->n));
    } else {
        compute_variance_weights(kn_cols(c->B, 0, c->P), B2);
        whiten_weights(c->psi, c->outside, B2);
        kn_gemm(NULL, 1, KN_N, p->var, KN_T, B2, 0, v);
    }
    if (p->rows)
        put_rows(p, v, kn_cols(w->var, c->at, c->n));
}

/* Computes m (n x count), the mean of a chunk of whitened responses: psi_j^1/2 (mean_lat B_j' +
 * RU D0_j) + mu_j + smooth y_j. */
static void compute_whitened_mean(const block_work *w, const part_chunk *c, kn_mat m)
{
    const kn_fold_prediction *p = c->p;
    kn_mat D0 = p->D0.data ? p->D0 : w->maps->gp->D0;
    kn_mat smooth = w->factors[c->k].smooth.data ? w->factors[c->k].smooth : p->smooth;
    kn_gemm(NULL, 1, KN_N, kn_cols(p->mean, 0, c->P), KN_T, kn_cols(c->B, 0, c->P), 0, m);
    if (p->RU.cols > 0 && D0.data)
        kn_gemm(NULL, 1, KN_N, p->RU, KN_N, kn_cols(D0, w->first + c->at, c->n), 1, m);
    for (ptrdiff_t j = 0; j < c->n; j++) {
        double unit = c->psi ? sqrt(c->psi[j]) : 1;
        double mu = p->train || p->mu ? kn_at(c->B, j, c->P) : 0;
        for (ptrdiff_t i = 0; i < m.rows; i++)
            kn_col(m, j)[i] = unit * kn_at(m, i, j) + mu;
    }
    if (smooth.data)
        kn_gemm(NULL, 1, KN_N, smooth, KN_N, kn_cols(w->y, c->at, c->n), 1, m);
}

/* Writes the predictive means (participants x responses) of one chunk of responses of one part
 * to w->mean: latent mean times B' plus mu; for a direct part the stored means; for whitened
 * responses as compute_whitened_mean; then applies the slope. */
static void compute_chunk_mean(const block_work *w, const part_chunk *c)
{
    const kn_fold_prediction *p = c->p;
    kn_mat m = p->rows ? c->rows : kn_cols(w->mean, c->at, c->n);
    if (p->direct) {
        kn_mat_set(m, kn_cols(p->mean, w->first + c->at, c->n));
        for (ptrdiff_t j = 0; j < c->n; j++)
            for (ptrdiff_t i = 0; i < p->n; i++)
                kn_col(m, j)[i] += kn_at(c->B, j, 0);
    } else if (c->psi || p->RU.data || p->smooth.data) {
        compute_whitened_mean(w, c, m);
    } else {
        kn_mat mean = w->factors[c->k].mean;
        kn_gemm(NULL, 1, KN_N, mean.data ? mean : kn_cols(p->mean, 0, c->P), KN_T, c->B, 0, m);
    }
    apply_slope(w, p, c->at, c->B, m);
    if (p->rows)
        put_rows(p, m, kn_cols(w->mean, c->at, c->n));
}

/* Computes mean and variance of part k for the n responses from w->first + at on, as the outputs
 * request. A part whose rows are all in order writes directly to the output. c: work space of
 * this worker. */
static void compute_part_block(const block_work *w, int k, ptrdiff_t at, ptrdiff_t n,
                               struct chunk_work *c)
{
    const kn_gp *gp = w->maps->gp;
    const kn_fold_prediction *p = &w->maps->part[k];
    const double *psi = p->psi ? p->psi : gp->psi;
    const double *outside = p->outside ? p->outside : gp->outside;
    ptrdiff_t P = count_components(w->maps, p);
    part_chunk chunk = {.p = p,
                        .k = k,
                        .at = at,
                        .n = n,
                        .P = P,
                        .B = compute_part_basis(w, k, at, kn_sub(c->B, 0, 0, n, P + 1)),
                        .psi = psi ? psi + w->first + at : NULL,
                        .outside = outside ? outside + w->first + at : NULL,
                        .rows = kn_sub(c->rows, 0, 0, p->n, n)};
    if (w->mean.data)
        compute_chunk_mean(w, &chunk);
    if (w->var.data)
        compute_chunk_variance(w, &chunk, kn_sub(c->B2, 0, 0, n, p->direct ? 0 : p->var.cols));
}

/* Parallel task (self: block_work): mean and variance of the responses first .. last - 1 of the
 * block in all parts, CHUNK responses at a time. */
static void process_chunks(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    block_work *w = self;
    for (ptrdiff_t at = first; at < last; at += CHUNK)
        for (int k = 0; k < w->maps->n_parts; k++)
            compute_part_block(w, k, at, last - at < CHUNK ? last - at : CHUNK, &w->chunk[worker]);
}

kn_status kn_components_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y,
                              kn_mat mean, kn_mat var)
{
    kn_status status;
    block_work w = {.maps = maps, .first = first, .mean = mean, .var = var, .y = y};
    ptrdiff_t count = mean.data ? mean.cols : var.cols;
    KN_TRY(block_work_new(ctx, maps, count, &w));
    kn_la_parallel(ctx, count, w.grain, process_chunks, &w);
out:
    block_work_clear(&w);
    return status;
}

typedef struct basis_work {
    block_work w; /* of one part */
    kn_mat B;     /* output */
} basis_work;

/* Parallel task (self: basis_work): copies rows first .. last - 1 of the basis of part 0 to the
 * output, CHUNK rows at a time. */
static void copy_basis_chunks(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    basis_work *b = self;
    ptrdiff_t P = b->B.cols;
    for (ptrdiff_t at = first; at < last; at += CHUNK) {
        ptrdiff_t n = last - at < CHUNK ? last - at : CHUNK;
        kn_mat B = compute_part_basis(&b->w, 0, at, kn_sub(b->w.chunk[worker].B, 0, 0, n, P + 1));
        kn_mat_set(kn_sub(b->B, at, 0, n, P), kn_cols(B, 0, P));
    }
}

kn_status kn_components_basis(kn_ctx *ctx, const kn_gp_maps *maps, int part, ptrdiff_t first,
                              kn_mat y, kn_mat B)
{
    kn_status status;
    kn_gp_maps one = *maps; /* maps of this part alone */
    one.part = &maps->part[part];
    one.n_parts = 1;
    basis_work b = {.w = {.maps = &one, .first = first, .y = y}, .B = B};
    KN_TRY(block_work_new(ctx, &one, B.rows, &b.w));
    kn_la_parallel(ctx, B.rows, b.w.grain, copy_basis_chunks, &b);
out:
    block_work_clear(&b.w);
    return status;
}

kn_status kn_gp_maps_from(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y,
                          kn_mat mean, kn_mat var)
{
    return maps->gp->method->block(ctx, maps, first, y, mean, var);
}

void kn_gp_maps_set_without_site(kn_gp_maps *maps)
{
    for (int k = 0; k < maps->n_parts; k++) {
        kn_fold_prediction *p = &maps->part[k];
        kn_mat_clear(&p->mean);
        kn_mat_clear(&p->RU);
        kn_mat_clear(&p->smooth);
        p->mean = p->mean_without_site;
        p->RU = p->RU_without_site;
        p->smooth = p->smooth_without_site;
        p->mean_without_site = p->RU_without_site = p->smooth_without_site = kn_mat_none();
    }
    maps->without_site = true;
}

kn_status kn_gp_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat mean,
                           kn_mat var)
{
    return kn_gp_maps_from(ctx, maps, first, kn_mat_none(), mean, var);
}

kn_responses kn_gp_maps_y(const kn_gp_maps *maps)
{
    return maps->sample ? kn_responses_rows(&maps->Y, maps->sample, maps->n) : maps->Y;
}

void kn_components_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind,
                             ptrdiff_t n)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, n, 2 * (s->P + 1));
    if (kind == KN_MAPS_LOO)
        kn_latent_loo_need(r, s);
    else
        kn_latent_predict_need(r, s, n);
}

void kn_components_block_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind,
                              ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    ptrdiff_t width = kn_min_size(s->T, KN_BLOCK), chunk = kn_min_size(width, CHUNK);
    bool direct = s->method->identity && s->rotated; /* maps of a fold are of the responses */
    ptrdiff_t P = direct && kind == KN_MAPS_CV ? 0 : s->P, rows = 0;
    if (kind == KN_MAPS_CV && s->folds > 1) {
        rows = (n + s->folds - 1) / s->folds;
        for (int k = 0; k < s->folds; k++)
            kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->given_basis ? 1 : P + 1);
    }
    if (kind == KN_MAPS_CV && !direct)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, P + 1);
    for (int k = 0; k < kn_workers_of(s->threads, width, CHUNK); k++)
        kn_plan_alloc_d(r, KN_NEED_WORK, chunk, 2 * (P + 1) + rows);
    kn_plan_free_to(r, mark);
}
