/* The products of both passes, in two precisions: passes.c includes this file twice and defines
 * REAL, the matrix type MAT and the operations on it. Sums over chunks are added in double. No
 * header guard. */

enum { NAME(CHUNK) = 2048 / sizeof(REAL) }; /* responses */

typedef struct NAME(scratch) {  /* buffers of one worker */
    MAT C, C2, Cs;              /* CHUNK x Kmax: C, its squares, C psi^-1/2 */
    MAT zs;                     /* held-out x CHUNK: z squared, then z psi^-1/2 */
    MAT psi, inverse;           /* CHUNK x stages */
    MAT product;                /* C' Psi^-1 C, or z_te Psi^-1 C */
    double *remaining, *column; /* CHUNK: residual sum of squares so far; psi of one K */
} NAME(scratch);

typedef struct NAME(space) {
    MAT z;  /* N x block: rows in fold order (pass 2) */
    MAT G;  /* N x N: zz' of one block (pass 1); not by responses */
    MAT *V; /* folds + 1: n x Kmax, or by responses C, T x Kmax */
    NAME(scratch) * scratch;
} NAME(space);

typedef struct NAME(job) { /* a block of responses */
    kn_deviance_fitter *f;
    ptrdiff_t first, width;
    kn_mat given;
} NAME(job);

/* Frees the work space, f->space; also if it is partly allocated. */
static void NAME(space_free)(kn_deviance_fitter *f)
{
    NAME(space) *s = f->space;
    if (!s)
        return;
    for (int w = 0; s->scratch && w < f->workers; w++) {
        NAME(scratch) *c = &s->scratch[w];
        MAT *m[] = {&c->C, &c->C2, &c->Cs, &c->zs, &c->psi, &c->inverse, &c->product};
        for (size_t i = 0; i < sizeof m / sizeof *m; i++)
            CLEAR(m[i]);
        kn_free(c->remaining);
        kn_free(c->column);
    }
    for (int p = 0; s->V && p <= f->folds; p++)
        CLEAR(&s->V[p]);
    kn_free(s->V);
    kn_free(s->scratch);
    CLEAR(&s->z);
    CLEAR(&s->G);
    kn_free(s);
    f->space = NULL;
}

/* Allocates the work space of one worker for chunks of responses. limit: most held-out rows of a
 * fold. */
static kn_status NAME(scratch_new)(kn_ctx *ctx, const kn_deviance_fitter *f, ptrdiff_t limit,
                                   NAME(scratch) * c)
{
    kn_status status;
    ptrdiff_t side = f->Kmax, rows = side > limit ? side : limit;
    KN_TRY(NEW(ctx, NAME(CHUNK), f->Kmax, &c->C));
    KN_TRY(NEW(ctx, NAME(CHUNK), f->Kmax, &c->C2));
    KN_TRY(NEW(ctx, NAME(CHUNK), f->Kmax, &c->Cs));
    KN_TRY(NEW(ctx, limit, NAME(CHUNK), &c->zs));
    KN_TRY(NEW(ctx, NAME(CHUNK), f->n_stages, &c->psi));
    KN_TRY(NEW(ctx, NAME(CHUNK), f->n_stages, &c->inverse));
    KN_TRY(NEW(ctx, rows, side > f->n_stages ? side : f->n_stages, &c->product));
    KN_TRY(kn_alloc_d(ctx, NAME(CHUNK), &c->remaining));
    KN_TRY(kn_alloc_d(ctx, NAME(CHUNK), &c->column));
out:
    return status;
}

/* Allocates f->space: z of a block (N x block), the Gram matrix, V of each fold, and the workers'
 * space. On error it is partly filled; the caller frees it. */
static kn_status NAME(space_new)(kn_ctx *ctx, kn_deviance_fitter *f)
{
    kn_status status;
    NAME(space) * s;
    void *memory;
    ptrdiff_t limit = kn_deviance_largest_fold(f);
    KN_TRY(kn_alloc(ctx, 1, sizeof *s, &f->space));
    s = f->space;
    KN_TRY(kn_alloc(ctx, f->workers, sizeof *s->scratch, &memory));
    s->scratch = memory;
    KN_TRY(kn_alloc(ctx, f->folds + 1, sizeof *s->V, &memory));
    s->V = memory;
    KN_TRY(NEW(ctx, f->N, f->block, &s->z));
    if (!f->by_responses)
        KN_TRY(NEW(ctx, f->N, f->N, &s->G));
    for (int p = 0; p <= f->folds; p++)
        KN_TRY(NEW(ctx, f->by_responses ? f->T : f->fold_fits[p].n, f->Kmax, &s->V[p]));
    for (int w = 0; w < f->workers; w++)
        KN_TRY(NAME(scratch_new)(ctx, f, limit, &s->scratch[w]));
out:
    return status;
}

/* Predicted memory of space_new, without the Gram matrix. */
static void NAME(space_need)(kn_mem_plan *r, const kn_deviance_fitter *f, ptrdiff_t limit)
{
    ptrdiff_t side = f->Kmax, rows = side > limit ? side : limit;
    kn_plan_alloc(r, KN_NEED_WORK, f->N * f->block, sizeof(REAL));
    kn_plan_alloc(r, KN_NEED_WORK,
                  (f->by_responses ? f->T * (f->folds + 1) : f->N * f->folds) * f->Kmax,
                  sizeof(REAL)); /* V */
    for (int w = 0; w < f->workers; w++) {
        kn_plan_alloc(r, KN_NEED_WORK, NAME(CHUNK) * (3 * f->Kmax + limit + 2 * f->n_stages),
                      sizeof(REAL));
        kn_plan_alloc(r, KN_NEED_WORK, rows * (side > f->n_stages ? side : f->n_stages),
                      sizeof(REAL));
        kn_plan_alloc_d(r, KN_NEED_WORK, NAME(CHUNK), 2);
    }
}

/* Free the N x N buffer of pass 1. */
static void NAME(end_gram)(kn_deviance_fitter *f)
{
    NAME(space) *s = f->space;
    CLEAR(&s->G);
}

/* Store the vectors V of a fold (n x Kmax, or T x Kmax by responses) in REAL precision. */
static void NAME(put_vectors)(kn_deviance_fitter *f, int fold_fit, kn_mat V)
{
    NAME(space) *s = f->space;
    for (ptrdiff_t k = 0; k < V.cols; k++)
        for (ptrdiff_t i = 0; i < V.rows; i++)
            COL(s->V[fold_fit], k)[i] = (REAL)kn_at(V, i, k);
}

/* Broadcast the stored vectors of a fold from MPI rank `root`. Collective. */
static kn_status NAME(broadcast_vectors)(kn_ctx *ctx, kn_deviance_fitter *f, int fold_fit, int root)
{
    NAME(space) *s = f->space;
    MAT V = s->V[fold_fit];
    return kn_comm_broadcast(ctx, V.data, V.ld * V.cols * (ptrdiff_t)sizeof *V.data, root);
}

/* ---- pass 1: G += zz'   N^2 width flops; by responses z is stored
 * ------------------------------------------------------ */

/* Worker: columns from .. to - 1 of a block. Stores their sums of squares, and copies them to REAL
 * precision, or to f->z by responses. */
static void NAME(take_columns)(void *self, ptrdiff_t from, ptrdiff_t to)
{
    NAME(job) *b = self;
    NAME(space) *s = b->f->space;
    for (ptrdiff_t j = from; j < to; j++) {
        const double *z = kn_col(b->given, j);
        REAL *out = COL(s->z, j);
        b->f->ss[b->first + j] = kn_vec_dot(b->f->N, z, z);
        if (b->f->by_responses) {
            memcpy(kn_col(b->f->z, b->first + j), z, (size_t)b->f->N * sizeof *z);
            continue;
        }
        for (ptrdiff_t i = 0; i < b->f->N; i++)
            out[i] = (REAL)z[i];
    }
}

/* Pass 1: adds zz' of the block (N x count, from response `first` on) to the exact sum f->sum; by
 * responses z is stored instead. */
static void NAME(gram)(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z)
{
    NAME(job) b = {f, first, z.cols, z};
    NAME(space) *s = f->space;
    kn_parallel(ctx, z.cols, 1 + 50000 / f->N, NAME(take_columns), &b);
    if (f->by_responses)
        return;
    SYRK(ctx, 1, KN_N, SUB(s->z, 0, 0, f->N, z.cols), 0, s->G);
    ADD(ctx, &f->sum, s->G);
}

/* ---- pass 2 ---------------------------------------------------------------------------------- */

/* Worker: copies columns from .. to - 1 of a block with rows in fold order, and computes the sum of
 * squares of each fold in each column. */
static void NAME(sort_columns)(void *self, ptrdiff_t from, ptrdiff_t to)
{
    NAME(job) *b = self;
    kn_deviance_fitter *f = b->f;
    NAME(space) *s = f->space;
    for (ptrdiff_t j = from; j < to; j++) {
        const double *z = kn_col(b->given, j);
        REAL *out = COL(s->z, j);
        for (int p = 0; p < f->folds; p++) {
            double ss = 0;
            ptrdiff_t last = f->fold_fits[p].first + f->fold_fits[p].count;
            for (ptrdiff_t i = f->fold_fits[p].first; i < last; i++) {
                double v = z[f->order[i]];
                ss += v * v;
                out[i] = (REAL)v;
            }
            kn_col(f->fold_ss, p)[j] = ss;
        }
    }
}

/* C (count x Kmax) = rows of the stored `all` (T x Kmax) from response `first` on. */
static void NAME(recall)(MAT all, ptrdiff_t first, MAT C)
{
    for (ptrdiff_t k = 0; k < C.cols; k++)
        memcpy(COL(C, k), COL(all, k) + first, (size_t)C.rows * sizeof(REAL));
}

/* C = z_tr' V   n x Kmax, from the rows above and below the held-out ones; by responses it is
 * stored. The responses are first + at ... */
static void NAME(project)(const kn_deviance_fitter *f, int p, ptrdiff_t first, ptrdiff_t at, MAT C)
{
    const NAME(space) *s = f->space;
    if (f->by_responses) {
        NAME(recall)(s->V[p], first + at, C);
        return;
    }
    const kn_deviance_fold *pt = &f->fold_fits[p];
    ptrdiff_t below = pt->n - pt->first;
    if (pt->first > 0)
        GEMM(NULL, 1, KN_T, SUB(s->z, 0, at, pt->first, C.rows), KN_N,
             SUB(s->V[p], 0, 0, pt->first, f->Kmax), 0, C);
    if (below > 0)
        GEMM(NULL, 1, KN_T, SUB(s->z, pt->first + pt->count, at, below, C.rows), KN_N,
             SUB(s->V[p], pt->first, 0, below, f->Kmax), pt->first > 0, C);
}

/* to = squares of the entries of from; shape of `to`. */
KN_CLONES static void NAME(square)(MAT from, MAT to)
{
    for (ptrdiff_t j = 0; j < to.cols; j++) {
        const REAL *a = COL(from, j);
        REAL *b = COL(to, j);
        for (ptrdiff_t i = 0; i < to.rows; i++)
            b[i] = a[i] * a[i];
    }
}

/* Add a matrix, or its lower triangle, column by column to the exact sums from index `at` on. */
static void NAME(add_product)(MAT product, bool lower, kn_exact_sum *sums, ptrdiff_t at)
{
    for (ptrdiff_t j = 0; j < product.cols; j++) {
        ptrdiff_t top = lower ? j : 0;
        EXACT(sums, at + j * product.rows + top, product.rows - top, COL(product, j) + top);
    }
}

/* to = diag(scale) from: row j is multiplied by scale[j]; shape of `to`. */
KN_CLONES static void NAME(scale_rows)(MAT from, const REAL *scale, MAT to)
{
    for (ptrdiff_t k = 0; k < to.cols; k++) {
        const REAL *a = COL(from, k);
        REAL *b = COL(to, k);
        for (ptrdiff_t j = 0; j < to.rows; j++)
            b[j] = a[j] * scale[j];
    }
}

/* to = from diag(scale): column j is multiplied by scale[j]; shape of `to`. */
KN_CLONES static void NAME(scale_columns)(MAT from, const REAL *scale, MAT to)
{
    for (ptrdiff_t j = 0; j < to.cols; j++) {
        const REAL *a = COL(from, j);
        REAL *b = COL(to, j), f = scale[j];
        for (ptrdiff_t i = 0; i < to.rows; i++)
            b[i] = a[i] * f;
    }
}

/* b -= a, n values; b in double precision. */
KN_CLONES static void NAME(subtract)(const REAL *a, ptrdiff_t n, double *b)
{
    for (ptrdiff_t j = 0; j < n; j++)
        b[j] -= (double)a[j];
}

/* psi and 1/psi (n x stages) of fold p at responses at .. at + n - 1 of the block for every K, from
 * the squares C2, at least the floor of the fold; adds sum ln psi to the exact sums. */
static void NAME(make_psi)(kn_deviance_fitter *f, int p, NAME(scratch) * c, ptrdiff_t at,
                           ptrdiff_t n)
{
    kn_deviance_fold *pt = &f->fold_fits[p];
    double *remaining = c->remaining, *psi = c->column;
    ptrdiff_t k = 0;
    for (ptrdiff_t j = 0; j < n; j++)
        remaining[j] = 0;
    for (int g = 0; g < f->folds; g++)
        for (ptrdiff_t j = 0; g != p && j < n; j++)
            remaining[j] += kn_col(f->fold_ss, g)[at + j];
    for (int l = 0; l < f->n_stages; l++) {
        double dof = (double)(pt->n - f->ladder[l]);
        for (; k < f->ladder[l]; k++)
            NAME(subtract)(COL(c->C2, k), n, remaining);
        for (ptrdiff_t j = 0; j < n; j++) {
            psi[j] = remaining[j] / dof > pt->floor ? remaining[j] / dof : pt->floor;
            COL(c->psi, l)[j] = (REAL)psi[j];
            COL(c->inverse, l)[j] = (REAL)(1 / psi[j]);
        }
        double logs = kn_vec_sum_log(n, psi);
        kn_exact_sum_add(&f->gathered[KN_GATHER_LOG], kn_gathered_at(f, KN_GATHER_LOG, p, l), 1,
                         &logs);
    }
}

/* Add n responses of the block, from `at` on, to H += C' Psi^-1 C (K x K) and A += z_te Psi^-1 C
 * (held-out x K) of fold p, for K = ladder[l]. */
static void NAME(stage)(kn_deviance_fitter *f, int p, int l, NAME(scratch) * c, ptrdiff_t at,
                        ptrdiff_t n)
{
    const NAME(space) *s = f->space;
    kn_deviance_fold *pt = &f->fold_fits[p];
    ptrdiff_t K = f->ladder[l];
    MAT Cs = SUB(c->Cs, 0, 0, n, K), zs = SUB(c->zs, 0, 0, pt->count, n);
    MAT H = SUB(c->product, 0, 0, K, K), A = SUB(c->product, 0, 0, pt->count, K);
    REAL scale[NAME(CHUNK)];
    for (ptrdiff_t j = 0; j < n; j++)
        scale[j] = (REAL)sqrt((double)COL(c->inverse, l)[j]);
    NAME(scale_rows)(c->C, scale, Cs);
    NAME(scale_columns)(SUB(s->z, pt->first, at, pt->count, n), scale, zs);
    SYRK(NULL, 1, KN_T, Cs, 0, H);
    NAME(add_product)(H, true, &f->gathered[KN_GATHER_H], kn_gathered_at(f, KN_GATHER_H, p, l));
    GEMM(NULL, 1, KN_N, zs, KN_N, Cs, 0, A);
    NAME(add_product)(A, false, &f->gathered[KN_GATHER_A], kn_gathered_at(f, KN_GATHER_A, p, l));
}

/* Add n responses of the block, from `at` on, to all sums of fold p; c: buffers of this worker. */
static void NAME(chunk)(const NAME(job) * b, int p, NAME(scratch) * c, ptrdiff_t at, ptrdiff_t n)
{
    kn_deviance_fitter *f = b->f;
    const NAME(space) *s = f->space;
    kn_deviance_fold *pt = &f->fold_fits[p];
    ptrdiff_t L = f->n_stages;
    MAT C2 = SUB(c->C2, 0, 0, n, f->Kmax), z2 = SUB(c->zs, 0, 0, pt->count, n);
    MAT own = SUB(c->product, 0, 0, f->Kmax, L), q = SUB(c->product, 0, 0, pt->count, L);
    NAME(project)(f, p, b->first, at, SUB(c->C, 0, 0, n, f->Kmax));
    NAME(square)(c->C, C2);
    NAME(make_psi)(f, p, c, at, n);
    GEMM(NULL, 1, KN_T, C2, KN_N, SUB(c->psi, 0, 0, n, L), 0, own);
    NAME(add_product)
    (own, false, &f->gathered[KN_GATHER_OWN], kn_gathered_at(f, KN_GATHER_OWN, p, 0));
    NAME(square)(SUB(s->z, pt->first, at, pt->count, n), z2);
    GEMM(NULL, 1, KN_N, z2, KN_N, SUB(c->inverse, 0, 0, n, L), 0, q);
    NAME(add_product)(q, false, &f->gathered[KN_GATHER_Q], kn_gathered_at(f, KN_GATHER_Q, p, 0));
    for (int l = 0; l < L; l++)
        if (f->ladder[l] > 0)
            NAME(stage)(f, p, l, c, at, n);
}

/* Worker of pass 2: adds the block to the sums of folds p .. end - 1. Number f->folds is the whole
 * sample, whose C becomes rows of f->Q (T x Kmax). */
static void NAME(parts)(void *self, int worker, ptrdiff_t p, ptrdiff_t end)
{
    NAME(job) *b = self;
    kn_deviance_fitter *f = b->f;
    NAME(scratch) *c = &((NAME(space) *)f->space)->scratch[worker];
    for (; p < end; p++)
        for (ptrdiff_t at = 0; at < b->width; at += NAME(CHUNK)) {
            ptrdiff_t n = b->width - at < NAME(CHUNK) ? b->width - at : NAME(CHUNK);
            if (p < f->folds) {
                NAME(chunk)(b, (int)p, c, at, n);
                continue;
            }
            MAT C = SUB(c->C, 0, 0, n, f->Kmax);
            NAME(project)(f, f->folds, b->first, at, C);
            for (ptrdiff_t k = 0; k < f->Kmax; k++)
                for (ptrdiff_t j = 0; j < n; j++)
                    kn_col(f->Q, k)[b->first + at + j] = (double)COL(C, k)[j];
        }
}

/* Pass 2: adds a block of responses (N x count, from `first` on) to the sums of every fold. Can be
 * cancelled. */
static kn_status NAME(gather)(kn_ctx *ctx, kn_deviance_fitter *f, ptrdiff_t first, kn_mat z)
{
    NAME(job) b = {f, first, z.cols, z};
    kn_parallel(ctx, z.cols, 1 + 50000 / f->N, NAME(sort_columns), &b);
    return kn_la_parallel_or_stop(ctx, f->folds + 1, 1, NAME(parts), &b);
}
