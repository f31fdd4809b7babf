/* Implements decompose.h: rank r of n solves parts r, r + n, ... and broadcasts them
 * [METHOD 8b]. */
#include "norm/deviance/decompose.h"

#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "la/eig_leading.h"
#include "la/eig_leading_f32.h"

static const double PSI_FLOOR = 1e-6; /* of the mean square of z */

typedef kn_deviance_fitter fitter;
typedef kn_deviance_fold part;

typedef struct decomposing {
    fitter *f;
    int rank, ranks;
    kn_eig_top_work *work;     /* one per worker, in double or ... */
    kn_eig_top_single *single; /* ... single precision */
    kn_mat *V;                 /* one per worker */
    int *failed;               /* per part: -1 not finite, -2 all zero, > 0 not converged */
} decomposing;

/* Worker: copy the training rows of a part from G, decompose them, and store s2, floor and V. */
static void decompose_parts(void *self, int worker, ptrdiff_t at, ptrdiff_t end)
{
    decomposing *d = self;
    fitter *f = d->f;
    kn_mat A = f->single ? d->single[worker].A : d->work[worker].A;
    for (; at < end; at++) {
        ptrdiff_t p = d->rank + at * d->ranks;
        part *pt = &f->parts[p];
        kn_mat V = kn_sub(d->V[worker], 0, 0, pt->n, f->Kmax);
        double trace = 0;
        for (ptrdiff_t j = 0; j < pt->n; j++) {
            ptrdiff_t b = f->order[j < pt->first ? j : j + pt->count];
            for (ptrdiff_t i = j; i < pt->n; i++) {
                ptrdiff_t a = f->order[i < pt->first ? i : i + pt->count];
                kn_col(A, j)[i] = a > b ? kn_at(f->G, a, b) : kn_at(f->G, b, a);
            }
            trace += kn_at(A, j, j);
        }
        pt->floor = PSI_FLOOR * trace / ((double)pt->n * (double)f->T);
        d->failed[p] = trace == 0 ? -2
                       : f->single
                           ? kn_eig_top_single_of(&d->single[worker], pt->n, f->Kmax, pt->s2, V)
                           : kn_eig_top(&d->work[worker], pt->n, f->Kmax, pt->s2, V);
        if (d->failed[p] != 0)
            continue;
        for (ptrdiff_t k = 0; k < f->Kmax; k++)
            /* Beyond the rank of z there is no direction to take: V = 0 leaves W_k = 0. */
            if (!(pt->s2[k] > (f->single ? 1e-10 : 1e-14) * (double)pt->n * pt->s2[0])) {
                pt->s2[k] = 0;
                kn_mat_zero(kn_cols(V, k, 1));
            }
        kn_deviance_pass_vectors(f, (int)p, V);
    }
}

/* Broadcast the results of each part from the rank that solved it. */
static kn_status share_parts(kn_ctx *ctx, const decomposing *d)
{
    kn_status status = KN_OK;
    fitter *f = d->f;
    for (int p = 0; d->ranks > 1 && p <= f->folds; p++) {
        part *pt = &f->parts[p];
        int root = p % d->ranks;
        KN_TRY(kn_comm_broadcast(ctx, &d->failed[p], sizeof d->failed[p], root));
        KN_TRY(kn_comm_broadcast(ctx, &pt->floor, sizeof pt->floor, root));
        KN_TRY(kn_comm_broadcast(ctx, pt->s2, f->Kmax * (ptrdiff_t)sizeof *pt->s2, root));
        KN_TRY(kn_deviance_pass_share(ctx, f, p, root));
    }
out:
    return status;
}

kn_status kn_deviance_decompose(kn_ctx *ctx, fitter *f)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    decomposing d = {.f = f, .rank = c->rank, .ranks = c->size};
    ptrdiff_t parts = (f->folds + c->size - c->rank) / c->size; /* parts of this rank */
    int workers = parts > 0 ? kn_workers(ctx, parts, 1) : 0;
    void *work = NULL, *V = NULL, *failed = NULL;
    KN_TRY(kn_alloc(ctx, workers, f->single ? sizeof *d.single : sizeof *d.work, &work));
    if (f->single)
        d.single = work;
    else
        d.work = work;
    KN_TRY(kn_alloc(ctx, workers, sizeof *d.V, &V));
    d.V = V;
    KN_TRY(kn_alloc(ctx, f->folds + 1, sizeof *d.failed, &failed));
    d.failed = failed;
    for (int w = 0; w < workers; w++) {
        KN_TRY(f->single ? kn_eig_top_single_new(ctx, f->N, f->Kmax, &d.single[w])
                         : kn_eig_top_new(ctx, f->N, f->Kmax, &d.work[w]));
        KN_TRY(kn_mat_new(ctx, f->N, f->Kmax, &d.V[w]));
    }
    if (parts > 0)
        KN_TRY(kn_la_parallel_or_stop(ctx, parts, 1, decompose_parts, &d));
    KN_TRY(share_parts(ctx, &d));
    for (int p = 0; p <= f->folds && status == KN_OK; p++)
        if (d.failed[p] == -2)
            status = kn_fail(ctx, KN_ERR_DATA, "deviance: every reference z is zero");
        else if (d.failed[p] == -1)
            status = kn_fail(ctx, KN_ERR_NUMERIC, "deviance: the sums of squares of z overflow");
        else if (d.failed[p] != 0)
            status = kn_fail(ctx, KN_ERR_NUMERIC,
                             "deviance: the eigenproblem of fold %d did not converge (info %d)", p,
                             d.failed[p]);
out:
    for (int w = 0; w < workers; w++) {
        if (d.work)
            kn_eig_top_clear(&d.work[w]);
        if (d.single)
            kn_eig_top_single_clear(&d.single[w]);
        if (d.V)
            kn_mat_clear(&d.V[w]);
    }
    kn_free(work);
    kn_free(V);
    kn_free(failed);
    return status;
}

void kn_deviance_decompose_need(kn_mem_plan *r, const fitter *f, int threads)
{
    for (int w = 0; w < kn_workers_of(threads, f->folds + 1, 1); w++) {
        (f->single ? kn_eig_top_single_need : kn_eig_top_need)(r, KN_NEED_SAMPLES, f->N, f->Kmax);
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, f->N, f->Kmax);
    }
}
