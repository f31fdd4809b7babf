/* Eigenproblems of a deviance fit (internal.h): rank r of n solves parts r, r + n, ... and
 * broadcasts them [METHOD 8b]. */
#include "norm/deviance/internal.h"

#include <math.h>

#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "la/eig_leading.h"
#include "la/la.h"

static const double PSI_FLOOR = 1e-6; /* of the mean square of z */
/* an eigenvalue stands out from noise if it exceeds the largest one of noise by this factor */
static const double CLEARLY = 1.25;

typedef kn_deviance_fitter fitter;
typedef kn_deviance_fold fold_fit;

typedef struct decomposing {
    fitter *f;
    int rank, ranks;
    int first, count;                /* parts to decompose */
    kn_eig_leading_work *work;       /* one per worker, in double or ... */
    kn_eig_leading_f32_work *single; /* ... single precision */
    kn_mat *V;                       /* one per worker */
    kn_mat S;                        /* T x T  z'z of all rows; by responses only */
    kn_mat *rows;                    /* one per worker: held-out rows of z; by responses only */
    int *failed;                     /* per part: -1 not finite, -2 all zero, > 0 not converged */
} decomposing;

/* A = zz' (n x n, lower triangle) of the n training participants of a fold, picked from that of all
 * participants, f->G. */
static void sample_products(const fitter *f, const fold_fit *pt, kn_mat A)
{
    for (ptrdiff_t j = 0; j < pt->n; j++) {
        ptrdiff_t b = f->order[j < pt->first ? j : j + pt->count];
        for (ptrdiff_t i = j; i < pt->n; i++) {
            ptrdiff_t a = f->order[i < pt->first ? i : i + pt->count];
            kn_col(A, j)[i] = a > b ? kn_at(f->G, a, b) : kn_at(f->G, b, a);
        }
    }
}

/* A = z'z (T x T, lower triangle; z: reference z-scores) of the training participants of a fold:
 * that of all less the held-out ones. */
static void response_products(const decomposing *d, int worker, const fold_fit *pt, kn_mat A)
{
    ptrdiff_t T = d->S.rows;
    kn_mat test_rows = kn_sub(d->rows[worker], 0, 0, pt->count, T);
    A = kn_sub(A, 0, 0, T, T);
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = j; i < T; i++)
            kn_col(A, j)[i] = kn_at(d->S, i, j);
    kn_mat_rows(d->f->z, d->f->order + pt->first, test_rows);
    if (pt->count > 0)
        kn_syrk(NULL, -1, KN_T, test_rows, 1, A);
}

/* Scale the eigenvectors V (T x Kmax) by the roots of their eigenvalues, in place: C_k = Q_k
 * s_k. */
static void scale_vectors(const fold_fit *pt, kn_mat V)
{
    for (ptrdiff_t k = 0; k < V.cols; k++)
        for (ptrdiff_t j = 0; j < V.rows; j++)
            kn_col(V, k)[j] *= sqrt(pt->s2[k]);
}

/* Worker of kn_deviance_decompose(): solves the eigenproblems at .. end - 1 of this MPI rank, each
 * of one fold or of the whole sample. Stores eigenvalues s2, the lower bound of psi and the
 * vectors; d->failed says which did not succeed. */
static void decompose_folds(void *self, int worker, ptrdiff_t at, ptrdiff_t end)
{
    decomposing *d = self;
    fitter *f = d->f;
    kn_mat A = f->single ? d->single[worker].A : d->work[worker].A;
    for (; at < end; at++) {
        ptrdiff_t p = d->first + d->rank + at * d->ranks;
        fold_fit *pt = &f->fold_fits[p];
        ptrdiff_t n = f->by_responses ? f->T : pt->n;
        kn_mat V = kn_sub(d->V[worker], 0, 0, n, f->Kmax);
        double trace = 0;
        f->by_responses ? response_products(d, worker, pt, A) : sample_products(f, pt, A);
        for (ptrdiff_t j = 0; j < n; j++)
            trace += kn_at(A, j, j);
        pt->floor = PSI_FLOOR * trace / ((double)pt->n * (double)f->T);
        d->failed[p] = trace == 0  ? -2
                       : f->single ? kn_eig_leading_f32(&d->single[worker], n, f->Kmax, pt->s2, V)
                                   : kn_eig_leading(&d->work[worker], n, f->Kmax, pt->s2, V);
        if (d->failed[p] != 0)
            continue;
        for (ptrdiff_t k = 0; k < f->Kmax; k++)
            /* Beyond the rank of z there is no direction to take: V = 0 leaves W_k = 0. */
            if (!(pt->s2[k] > (f->single ? 1e-10 : 1e-14) * (double)pt->n * pt->s2[0])) {
                pt->s2[k] = 0;
                kn_mat_zero(kn_cols(V, k, 1));
            }
        if (f->by_responses)
            scale_vectors(pt, V);
        kn_deviance_pass_vectors(f, (int)p, V);
    }
}

/* For eigenproblems of size T: compute S = z'z (T x T) of all reference participants, and allocate
 * space for the held-out rows of each worker. */
static kn_status prepare_products(kn_ctx *ctx, int workers, decomposing *d)
{
    kn_status status;
    const fitter *f = d->f;
    void *memory;
    KN_TRY(kn_mat_new(ctx, f->T, f->T, &d->S));
    kn_syrk(ctx, 1, KN_T, f->z, 0, d->S);
    KN_TRY(kn_alloc(ctx, workers, sizeof *d->rows, &memory));
    d->rows = memory;
    for (int w = 0; w < workers; w++)
        KN_TRY(kn_mat_new(ctx, kn_deviance_largest_fold(f), f->T, &d->rows[w]));
out:
    return status;
}

/* Broadcast the eigenvalues and vectors of each fold from the MPI rank that solved its problem.
 * Collective. */
static kn_status broadcast_folds(kn_ctx *ctx, const decomposing *d)
{
    kn_status status = KN_OK;
    fitter *f = d->f;
    for (int at = 0; d->ranks > 1 && at < d->count; at++) {
        int root = at % d->ranks, p = d->first + at;
        fold_fit *pt = &f->fold_fits[p];
        KN_TRY(kn_comm_broadcast(ctx, &d->failed[p], sizeof d->failed[p], root));
        KN_TRY(kn_comm_broadcast(ctx, &pt->floor, sizeof pt->floor, root));
        KN_TRY(kn_comm_broadcast(ctx, pt->s2, f->Kmax * (ptrdiff_t)sizeof *pt->s2, root));
        KN_TRY(kn_deviance_pass_broadcast(ctx, f, p, root));
    }
out:
    return status;
}

/* Turns d->failed of the parts into an error. */
static kn_status check_parts(kn_ctx *ctx, const decomposing *d)
{
    for (int p = d->first; p < d->first + d->count; p++) {
        if (d->failed[p] == -2)
            return kn_fail(ctx, KN_ERR_DATA, "deviance: every reference z-score is zero");
        if (d->failed[p] == -1)
            return kn_fail(ctx, KN_ERR_NUMERIC,
                           "deviance: the sums of squares of the z-scores overflow");
        if (d->failed[p] != 0)
            return kn_fail(ctx, KN_ERR_NUMERIC,
                           "deviance: the eigenproblem of fold %d did not converge (info %d)", p,
                           d->failed[p]);
    }
    return KN_OK;
}

/* Decomposes parts first .. first + count - 1, with f->Kmax eigenvectors each. Collective. */
static kn_status decompose_parts(kn_ctx *ctx, decomposing *d, int first, int count)
{
    kn_status status;
    fitter *f = d->f;
    d->first = first;
    d->count = count;
    ptrdiff_t problems = (count - 1 + d->ranks - d->rank) / d->ranks; /* parts of this rank */
    int workers = problems > 0 ? kn_workers(ctx, problems, 1) : 0;
    void *work = NULL, *V = NULL;
    ptrdiff_t size = f->by_responses ? f->T : f->N;
    if (f->by_responses)
        KN_TRY(prepare_products(ctx, workers, d));
    KN_TRY(kn_alloc(ctx, workers, f->single ? sizeof *d->single : sizeof *d->work, &work));
    if (f->single)
        d->single = work;
    else
        d->work = work;
    KN_TRY(kn_alloc(ctx, workers, sizeof *d->V, &V));
    d->V = V;
    for (int w = 0; w < workers; w++) {
        KN_TRY(f->single ? kn_eig_leading_f32_new(ctx, size, f->Kmax, &d->single[w])
                         : kn_eig_leading_new(ctx, size, f->Kmax, &d->work[w]));
        KN_TRY(kn_mat_new(ctx, size, f->Kmax, &d->V[w]));
    }
    if (problems > 0)
        KN_TRY(kn_la_parallel_or_stop(ctx, problems, 1, decompose_folds, d));
    KN_TRY(broadcast_folds(ctx, d));
    KN_TRY(check_parts(ctx, d));
out:
    for (int w = 0; w < workers; w++) {
        if (d->rows)
            kn_mat_clear(&d->rows[w]);
        if (d->work)
            kn_eig_leading_clear(&d->work[w]);
        if (d->single)
            kn_eig_leading_f32_clear(&d->single[w]);
        if (d->V)
            kn_mat_clear(&d->V[w]);
    }
    kn_free(d->rows);
    kn_mat_clear(&d->S);
    kn_free(work);
    kn_free(V);
    d->rows = d->V = NULL;
    d->work = NULL;
    d->single = NULL;
    return status;
}

/* Number of directions of z that clearly stand out from noise, at most Kmax. The largest eigenvalue
 * of zz' of noise is s2 (sqrt(N) + sqrt(T))^2, s2 its mean square, here outside the directions
 * before. */
static ptrdiff_t count_directions(const fitter *f)
{
    const fold_fit *all = &f->fold_fits[f->folds];
    double N = (double)f->N, T = (double)f->T, left = 0;
    ptrdiff_t k = 0;
    for (ptrdiff_t j = 0; j < f->T; j++)
        left += f->ss[j];
    for (; k < f->Kmax; k++) {
        double edge = sqrt(N - (double)k) + sqrt(T);
        if (all->s2[k] <= CLEARLY * left / ((N - (double)k) * T) * edge * edge)
            break;
        left -= all->s2[k];
    }
    return k;
}

/* Shortens the ladder to the first K of at least twice as many directions as stand out. */
static void shorten_ladder(fitter *f)
{
    ptrdiff_t enough = 2 * count_directions(f);
    int n = 1;
    while (n < f->n_stages && f->ladder[n - 1] < enough)
        n++;
    n = f->try_stages > 0 ? f->try_stages : n < KN_DEVIANCE_SHORTEST ? KN_DEVIANCE_SHORTEST : n;
    if (n >= f->n_stages)
        return;
    f->shortened = true;
    f->n_stages = n;
    f->Kmax = f->ladder[n - 1];
}

kn_status kn_deviance_decompose(kn_ctx *ctx, fitter *f)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    decomposing d = {.f = f, .rank = c->rank, .ranks = c->size};
    void *failed = NULL;
    KN_TRY(kn_alloc(ctx, f->folds + 1, sizeof *d.failed, &failed));
    d.failed = failed;
    if (f->shortened) { /* that was too short */
        f->shortened = false;
        f->n_stages = f->all_stages;
        f->Kmax = f->ladder[f->n_stages - 1];
        KN_TRY(decompose_parts(ctx, &d, 0, f->folds));
    } else if (kn_deviance_may_shorten(f)) {
        KN_TRY(decompose_parts(ctx, &d, f->folds, 1));
        shorten_ladder(f);
        KN_TRY(decompose_parts(ctx, &d, 0, f->folds));
    } else {
        KN_TRY(decompose_parts(ctx, &d, 0, f->folds + 1));
    }
out:
    kn_mat_clear(&f->z);
    kn_free(failed);
    return status;
}

void kn_deviance_decompose_need(kn_mem_plan *r, const fitter *f, int threads)
{
    ptrdiff_t size = f->by_responses ? f->T : f->N;
    if (f->by_responses)
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, f->T, f->T);
    ptrdiff_t test_rows = f->by_responses ? (f->N + f->folds - 1) / f->folds : 0;
    for (int w = 0; w < kn_workers_of(threads, f->folds + 1, 1); w++) {
        (f->single ? kn_eig_leading_f32_need : kn_eig_leading_need)(r, KN_NEED_SAMPLES, size,
                                                                    f->Kmax);
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, size, f->Kmax);
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, test_rows, f->T);
    }
}
