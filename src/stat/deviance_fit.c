/* Fit of the joint deviance: see deviance.h for the formulas and the cost [METHOD 8b].
 *
 * Rows are put in order of fold, so that a fold's held-out rows are contiguous and its training
 * rows are two pieces, above and below. For training rows z_tr = V S Q' (n x T):
 *
 *     G_tr,tr = V S^2 V'  (part of zz')     C = z_tr' V = Q S     lam = S^2/n
 *     psi_j(K) = (sum_i z_ij^2 - sum_{k<K} C_jk^2) / (n - K)
 *
 * Each block of responses gives its rows of C for every fold, and with them, for each K of the
 * ladder, its share of C' Psi^-1 C, C' Psi^-1 z_te', z_te Psi^-1 z_te', C.^2' psi, sum ln psi. */
#include <math.h>

#include "la/la.h"
#include "stat/deviance.h"

static const double PSI_FLOOR = 1e-6;   /* of the mean square of z */
static const double LADDER_SHARE = 0.8; /* K stays below this share of N */

typedef struct stage { /* what one K of one fold gathers over the blocks */
    ptrdiff_t K;
    kn_mat H;       /* K x K: C' Psi^-1 C, lower triangle */
    kn_mat A;       /* held-out x K: z_te Psi^-1 C */
    double *q;      /* held-out: sum z^2/psi */
    double *own;    /* K: sum_j C_jk^2 psi_j */
    double log_psi; /* sum_j ln psi_j */
} stage;

typedef struct part {       /* a fold; or, with no held-out rows, the whole sample */
    ptrdiff_t first, count; /* held-out rows, in fold order */
    ptrdiff_t n;            /* training rows */
    kn_mat V;               /* n x Kmax, leading eigenvectors, in the order of training rows */
    double *s2;             /* Kmax eigenvalues of the Gram matrix, descending */
    double floor;           /* of psi */
    stage *stages;
} part;

typedef struct fitting {
    const kn_z_source *z;
    ptrdiff_t N, T, Kmax, block;
    int folds, n_stages;
    ptrdiff_t ladder[KN_DEVIANCE_LADDER];
    ptrdiff_t *order;      /* order[i]: the row of z that comes i-th */
    part *parts;           /* folds, then the whole */
    kn_mat G;              /* zz' in fold order */
    kn_mat raw, z_block;   /* N x block: as delivered; in fold order */
    kn_mat C, Cs, zs;      /* block x Kmax, the same psi^-1/2, held-out x block psi^-1/2 */
    double *rest, *scale;  /* block: residual sum of squares so far; psi^-1/2 */
    double *ss;            /* T: sum of squares of each response over all rows */
    double *dev, *density; /* N x n_stages: deviance and log density held out */
} fitting;

static void clear_fitting(fitting *f)
{
    for (int p = 0; f->parts && p <= f->folds; p++) {
        part *pt = &f->parts[p];
        for (int l = 0; pt->stages && l < f->n_stages; l++) {
            kn_mat_clear(&pt->stages[l].H);
            kn_mat_clear(&pt->stages[l].A);
            kn_free(pt->stages[l].q);
            kn_free(pt->stages[l].own);
        }
        kn_free(pt->stages);
        kn_free(pt->s2);
        kn_mat_clear(&pt->V);
    }
    kn_free(f->parts);
    kn_free(f->order);
    kn_mat_clear(&f->G);
    kn_mat_clear(&f->raw);
    kn_mat_clear(&f->z_block);
    kn_mat_clear(&f->C);
    kn_mat_clear(&f->Cs);
    kn_mat_clear(&f->zs);
    kn_free(f->rest);
    kn_free(f->scale);
    kn_free(f->ss);
    kn_free(f->dev);
    kn_free(f->density);
}

/* Row order and the parts' ranges, by counting. */
static kn_status lay_out_folds(kn_ctx *ctx, fitting *f, const int *fold)
{
    kn_status status;
    void *parts;
    KN_TRY(kn_alloc(ctx, f->folds + 1, sizeof *f->parts, &parts));
    f->parts = parts;
    KN_TRY(kn_alloc_i(ctx, f->N, &f->order));
    for (ptrdiff_t i = 0; i < f->N; i++) {
        if (fold[i] < 0 || fold[i] >= f->folds) {
            status = kn_fail(ctx, KN_ERR_ARGUMENT,
                             "deviance: sample %td is in fold %d, expected 0 to %d", i + 1, fold[i],
                             f->folds - 1);
            goto out;
        }
        f->parts[fold[i]].count++;
    }
    ptrdiff_t at = 0;
    for (int p = 0; p < f->folds; p++) {
        part *pt = &f->parts[p];
        if (pt->count == 0 || f->N - pt->count < 2) {
            status = kn_fail(ctx, KN_ERR_ARGUMENT,
                             "deviance: fold %d has %td of %td samples, expected at least 1 in it "
                             "and 2 outside",
                             p, pt->count, f->N);
            goto out;
        }
        pt->first = at;
        pt->n = f->N - pt->count;
        for (ptrdiff_t i = 0; i < f->N; i++)
            if (fold[i] == p)
                f->order[at++] = i;
    }
    f->parts[f->folds] = (part){.first = f->N, .n = f->N};
out:
    return status;
}

static kn_status lay_out_ladder(kn_ctx *ctx, fitting *f, ptrdiff_t K)
{
    ptrdiff_t least = f->N; /* the smallest training size */
    for (int p = 0; p < f->folds; p++)
        least = f->parts[p].n < least ? f->parts[p].n : least;
    if (K != KN_DEVIANCE_AUTO) {
        if (K < 0 || K >= least || K > f->T)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "deviance: %td components, expected 0 to %td for %td samples (%td "
                           "outside the largest fold) and %td responses",
                           K, least - 1 < f->T ? least - 1 : f->T, f->N, least, f->T);
        f->ladder[0] = f->Kmax = K;
        f->n_stages = 1;
        return KN_OK;
    }
    for (int l = 0; l < KN_DEVIANCE_LADDER; l++) {
        ptrdiff_t k = l == 0 ? 0 : (ptrdiff_t)1 << (l - 1);
        if (k > 0 && ((double)k >= LADDER_SHARE * (double)f->N || k >= least || k > f->T))
            break;
        f->ladder[f->n_stages++] = f->Kmax = k;
    }
    return KN_OK;
}

static kn_status allocate(kn_ctx *ctx, fitting *f)
{
    kn_status status;
    ptrdiff_t most = 0; /* held-out rows of a fold */
    for (int p = 0; p < f->folds; p++) {
        part *pt = &f->parts[p];
        most = pt->count > most ? pt->count : most;
        void *stages;
        KN_TRY(kn_alloc(ctx, f->n_stages, sizeof *pt->stages, &stages));
        pt->stages = stages;
        for (int l = 0; l < f->n_stages; l++) {
            stage *st = &pt->stages[l];
            st->K = f->ladder[l];
            KN_TRY(kn_mat_new(ctx, st->K, st->K, &st->H));
            KN_TRY(kn_mat_new(ctx, pt->count, st->K, &st->A));
            KN_TRY(kn_alloc_d(ctx, pt->count, &st->q));
            KN_TRY(kn_alloc_d(ctx, st->K, &st->own));
        }
    }
    KN_TRY(kn_mat_new(ctx, f->N, f->N, &f->G));
    KN_TRY(kn_mat_new(ctx, f->N, f->block, &f->raw));
    KN_TRY(kn_mat_new(ctx, f->N, f->block, &f->z_block));
    KN_TRY(kn_mat_new(ctx, f->block, f->Kmax, &f->C));
    KN_TRY(kn_mat_new(ctx, f->block, f->Kmax, &f->Cs));
    KN_TRY(kn_mat_new(ctx, most, f->block, &f->zs));
    KN_TRY(kn_alloc_d(ctx, f->block, &f->rest));
    KN_TRY(kn_alloc_d(ctx, f->block, &f->scale));
    KN_TRY(kn_alloc_d(ctx, f->T, &f->ss));
    KN_TRY(kn_alloc_d(ctx, f->N * f->n_stages, &f->dev));
    KN_TRY(kn_alloc_d(ctx, f->N * f->n_stages, &f->density));
out:
    return status;
}

/* z_block = responses first .. first + nb - 1, rows in fold order. */
static kn_status fetch(kn_ctx *ctx, fitting *f, ptrdiff_t first, ptrdiff_t nb)
{
    kn_status status = kn_check_cancel(ctx);
    if (status == KN_OK)
        status = f->z->block(f->z->self, ctx, first, nb, kn_cols(f->raw, 0, nb));
    if (status == KN_OK)
        kn_mat_rows(f->raw, f->order, kn_cols(f->z_block, 0, nb));
    return status;
}

/* Pass 1: G = zz', N^2 T flops. z of the reference are finite by construction: a missing one is an
 * error, because leaving it out would bias the covariance towards 0. */
static kn_status make_gram(kn_ctx *ctx, fitting *f)
{
    kn_status status = KN_OK;
    for (ptrdiff_t first = 0; first < f->T; first += f->block) {
        ptrdiff_t nb = f->T - first < f->block ? f->T - first : f->block;
        KN_TRY(fetch(ctx, f, first, nb));
        for (ptrdiff_t j = 0; j < nb; j++) {
            const double *z = kn_col(f->z_block, j);
            double ss = 0;
            for (ptrdiff_t i = 0; i < f->N; i++)
                ss += z[i] * z[i];
            f->ss[first + j] = ss;
            for (ptrdiff_t i = 0; !isfinite(ss) && i < f->N; i++)
                if (!isfinite(z[i])) {
                    status = kn_fail(ctx, KN_ERR_DATA,
                                     "deviance: z of reference sample %td, response %td is not "
                                     "finite",
                                     f->order[i] + 1, first + j + 1);
                    goto out;
                }
        }
        kn_syrk(1, KN_N, kn_cols(f->z_block, 0, nb), 1, f->G);
        kn_tell(ctx, "deviance", first + nb, 2 * f->T, NAN);
    }
    kn_mirror(f->G);
out:
    return status;
}

/* Leading eigenvectors of the Gram matrix of a part's training rows. */
static kn_status decompose(kn_ctx *ctx, fitting *f, part *pt)
{
    kn_status status;
    kn_mat U = {0};
    double *w = NULL, trace = 0;

    KN_TRY(kn_check_cancel(ctx));
    KN_TRY(kn_mat_new(ctx, pt->n, pt->n, &U));
    KN_TRY(kn_alloc_d(ctx, pt->n, &w));
    KN_TRY(kn_mat_new(ctx, pt->n, f->Kmax, &pt->V));
    KN_TRY(kn_alloc_d(ctx, f->Kmax, &pt->s2));
    for (ptrdiff_t j = 0; j < pt->n; j++) {
        const double *g = kn_col(f->G, j < pt->first ? j : j + pt->count);
        for (ptrdiff_t i = 0; i < pt->n; i++)
            kn_col(U, j)[i] = g[i < pt->first ? i : i + pt->count];
        trace += kn_at(U, j, j);
    }
    if (!(trace > 0)) {
        status = kn_fail(ctx, KN_ERR_DATA, "deviance: every reference z is zero");
        goto out;
    }
    pt->floor = PSI_FLOOR * trace / ((double)pt->n * (double)f->T);
    KN_TRY(kn_eig(ctx, U, w));
    for (ptrdiff_t k = 0; k < f->Kmax; k++) {
        ptrdiff_t from = pt->n - 1 - k;
        /* Beyond the rank of z there is no direction to take: V = 0 leaves W_k = 0. */
        if (w[from] > 1e-14 * (double)pt->n * w[pt->n - 1]) {
            kn_mat_set(kn_cols(pt->V, k, 1), kn_cols(U, from, 1));
            pt->s2[k] = w[from];
        }
    }
out:
    kn_mat_clear(&U);
    kn_free(w);
    return status;
}

/* C = z_tr' V   nb x Kmax, from the rows above and below the held-out ones. */
static void project(const fitting *f, const part *pt, ptrdiff_t nb, kn_mat C)
{
    ptrdiff_t below = pt->n - pt->first;
    kn_gemm(1, KN_T, kn_sub(f->z_block, 0, 0, pt->first, nb), KN_N,
            kn_sub(pt->V, 0, 0, pt->first, f->Kmax), 0, C);
    if (below > 0)
        kn_gemm(1, KN_T, kn_sub(f->z_block, pt->first + pt->count, 0, below, nb), KN_N,
                kn_sub(pt->V, pt->first, 0, below, f->Kmax), 1, C);
}

/* One K of one fold over one block: rest holds the residual sums of squares beyond K. */
static void gather(fitting *f, const part *pt, stage *st, ptrdiff_t nb)
{
    kn_mat Cs = kn_sub(f->Cs, 0, 0, nb, st->K), zs = kn_sub(f->zs, 0, 0, pt->count, nb);
    double dof = (double)(pt->n - st->K);
    for (ptrdiff_t j = 0; j < nb; j++) {
        double psi = fmax(f->rest[j] / dof, pt->floor);
        st->log_psi += log(psi);
        f->scale[j] = 1 / sqrt(psi);
        const double *z = kn_col(f->z_block, j) + pt->first;
        for (ptrdiff_t i = 0; i < pt->count; i++) {
            double v = z[i] * f->scale[j];
            kn_col(zs, j)[i] = v;
            st->q[i] += v * v;
        }
    }
    for (ptrdiff_t k = 0; k < st->K; k++) {
        const double *c = kn_col(f->C, k);
        double *cs = kn_col(Cs, k), own = 0;
        for (ptrdiff_t j = 0; j < nb; j++) {
            double v = c[j] / f->scale[j];
            own += v * v;
            cs[j] = c[j] * f->scale[j];
        }
        st->own[k] += own;
    }
    if (st->K > 0) {
        kn_syrk(1, KN_T, Cs, 1, st->H);           /* H += C' Psi^-1 C        K x K */
        kn_gemm(1, KN_N, zs, KN_N, Cs, 1, st->A); /* A += z_te Psi^-1 C   held-out x K */
    }
}

static void sum_training_squares(const fitting *f, const part *pt, ptrdiff_t nb)
{
    for (ptrdiff_t j = 0; j < nb; j++) {
        const double *z = kn_col(f->z_block, j);
        double ss = 0;
        for (ptrdiff_t i = 0; i < pt->first; i++)
            ss += z[i] * z[i];
        for (ptrdiff_t i = pt->first + pt->count; i < f->N; i++)
            ss += z[i] * z[i];
        f->rest[j] = ss;
    }
}

/* Pass 2. Q of the whole sample lands in d->Q (T x Kmax), still scaled by S. */
static kn_status stream(kn_ctx *ctx, fitting *f, kn_deviance *d)
{
    kn_status status = KN_OK;
    for (ptrdiff_t first = 0; first < f->T; first += f->block) {
        ptrdiff_t nb = f->T - first < f->block ? f->T - first : f->block;
        KN_TRY(fetch(ctx, f, first, nb));
        for (int p = 0; p < f->folds; p++) {
            part *pt = &f->parts[p];
            ptrdiff_t k = 0;
            project(f, pt, nb, kn_sub(f->C, 0, 0, nb, f->Kmax));
            sum_training_squares(f, pt, nb);
            for (int l = 0; l < f->n_stages; l++) {
                for (; k < f->ladder[l]; k++)
                    for (ptrdiff_t j = 0; j < nb; j++)
                        f->rest[j] -= kn_at(f->C, j, k) * kn_at(f->C, j, k);
                gather(f, pt, &pt->stages[l], nb);
            }
        }
        project(f, &f->parts[f->folds], nb, kn_sub(d->Q, first, 0, nb, f->Kmax));
        kn_tell(ctx, "deviance", f->T + first + nb, 2 * f->T, NAN);
    }
out:
    return status;
}

/* Deviance and log density of a fold's held-out rows for one K:
 *     M = I + w s^-1 H s^-1 w,  a = A s^-1 w,  Q = C s^-1. */
static kn_status finish_stage(kn_ctx *ctx, fitting *f, const part *pt, stage *st, int l)
{
    kn_status status = KN_OK;
    double *w = st->own, log_det = st->log_psi; /* w_k / s_k takes the place of sum C^2 psi */
    for (ptrdiff_t k = 0; k < st->K; k++) {
        double s2 = pt->s2[k];
        w[k] = s2 > 0 ? sqrt(fmax(s2 / (double)pt->n - st->own[k] / s2, 0) / s2) : 0;
    }
    for (ptrdiff_t k = 0; k < st->K; k++) {
        for (ptrdiff_t i = k; i < st->K; i++)
            kn_col(st->H, k)[i] = w[i] * w[k] * kn_at(st->H, i, k) + (i == k);
        for (ptrdiff_t i = 0; i < pt->count; i++)
            kn_col(st->A, k)[i] *= w[k];
    }
    if (st->K > 0) {
        KN_TRY(kn_chol(ctx, st->H, "deviance matrix M of a fold"));
        kn_trsm_right(KN_T, st->H, st->A); /* a L^-T */
    }
    for (ptrdiff_t k = 0; k < st->K; k++)
        log_det += 2 * log(kn_at(st->H, k, k));
    for (ptrdiff_t i = 0; i < pt->count; i++) {
        ptrdiff_t at = f->order[pt->first + i] + l * f->N;
        f->dev[at] = st->q[i] - kn_sumsq(kn_sub(st->A, i, 0, 1, st->K));
        f->density[at] = -0.5 * ((double)f->T * log(2 * M_PI) + log_det + f->dev[at]);
    }
out:
    return status;
}

/* The smallest K with the highest mean density; its deviances are the reference. */
static kn_status choose(kn_ctx *ctx, const fitting *f, bool automatic, kn_deviance *d, int *chosen)
{
    *chosen = 0;
    for (int l = 0; l < f->n_stages; l++) {
        double mean = 0;
        for (ptrdiff_t i = 0; i < f->N; i++)
            mean += f->density[i + l * f->N] / (double)f->N;
        d->ladder[l] = f->ladder[l];
        d->density[l] = mean;
        if (mean > d->density[*chosen])
            *chosen = l;
    }
    d->n_ladder = automatic ? f->n_stages : 0;
    d->n_ref = f->N;
    kn_status status = kn_alloc_d(ctx, f->N, &d->ref);
    for (ptrdiff_t i = 0; status == KN_OK && i < f->N; i++)
        d->ref[i] = f->dev[i + *chosen * f->N];
    return status;
}

/* The model of all samples at the K chosen: psi from C, then C to Q, cut to K columns. */
static kn_status finish_whole(kn_ctx *ctx, const fitting *f, ptrdiff_t K, kn_deviance *d)
{
    kn_status status;
    const part *all = &f->parts[f->folds];
    kn_mat Q = {0};
    d->K = K;
    KN_TRY(kn_alloc_d(ctx, K, &d->lam));
    KN_TRY(kn_alloc_d(ctx, f->T, &d->psi));
    for (ptrdiff_t j = 0; j < f->T; j++)
        d->psi[j] = f->ss[j];
    for (ptrdiff_t k = 0; k < K; k++) {
        double *c = kn_col(d->Q, k), s = all->s2[k] > 0 ? 1 / sqrt(all->s2[k]) : 0;
        d->lam[k] = all->s2[k] / (double)f->N;
        for (ptrdiff_t j = 0; j < f->T; j++) {
            d->psi[j] -= c[j] * c[j];
            c[j] *= s;
        }
    }
    for (ptrdiff_t j = 0; j < f->T; j++)
        d->psi[j] = fmax(d->psi[j] / (double)(f->N - K), all->floor);
    if (K < f->Kmax) {
        KN_TRY(kn_mat_copy(ctx, kn_cols(d->Q, 0, K), &Q));
        kn_mat_clear(&d->Q);
        d->Q = Q;
    }
    KN_TRY(kn_deviance_prepare(ctx, d));
out:
    return status;
}

kn_status kn_deviance_fit(kn_ctx *ctx, const kn_z_source *z, const int *fold, int folds,
                          ptrdiff_t K, kn_deviance *out)
{
    fitting f = {.z = z, .N = z->rows, .T = z->cols, .folds = folds};
    kn_deviance d = {.T = z->cols};
    int chosen;
    kn_status status;

    *out = (kn_deviance){0};
    if (z->cols < 1 || z->rows < 3 || folds < 2)
        return kn_fail(ctx, KN_ERR_SHAPE,
                       "deviance: %td samples, %td responses, %d folds; expected at least 3, 1, 2",
                       z->rows, z->cols, folds);
    f.block = kn_z_block_size(z);
    KN_TRY(lay_out_folds(ctx, &f, fold));
    KN_TRY(lay_out_ladder(ctx, &f, K));
    KN_TRY(allocate(ctx, &f));
    KN_TRY(kn_mat_new(ctx, f.T, f.Kmax, &d.Q));
    KN_TRY(make_gram(ctx, &f));
    for (int p = 0; p <= folds; p++)
        KN_TRY(decompose(ctx, &f, &f.parts[p]));
    KN_TRY(stream(ctx, &f, &d));
    for (int p = 0; p < folds; p++)
        for (int l = 0; l < f.n_stages; l++)
            KN_TRY(finish_stage(ctx, &f, &f.parts[p], &f.parts[p].stages[l], l));
    KN_TRY(choose(ctx, &f, K == KN_DEVIANCE_AUTO, &d, &chosen));
    KN_TRY(finish_whole(ctx, &f, f.ladder[chosen], &d));
    *out = d;
    d = (kn_deviance){0};
out:
    kn_deviance_clear(&d);
    clear_fitting(&f);
    return status;
}
