/* Implements fold.h: eigenvectors of the centred Gram matrix of the training rows of each fold.
 * Root decomposes, and all ranks get the components. */
#include "gp/cv/fold.h"

#include <float.h>
#include <math.h>

#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "base/sum/block_sums.h"
#include "cov/spectral_task.h"
#include "data/mpi/gather_responses.h"
#include "gp/basis/user_span.h"
#include "gp/block_visitor.h"
#include "gp/cv/internal.h"
#include "la/eig_leading.h"
#include "la/la.h"

void kn_fold_clear(kn_fold *f)
{
    kn_free(f->train);
    kn_free(f->test);
    kn_mat_clear(&f->Z_train);
    kn_mat_clear(&f->US);
    kn_mat_clear(&f->B);
    kn_free(f->mu);
    kn_mat_clear(&f->V);
    *f = (kn_fold){0};
}

kn_status kn_fold_rows(kn_ctx *ctx, ptrdiff_t N, const int *fold, int k, kn_fold *out)
{
    kn_status status;
    *out = (kn_fold){0};
    KN_TRY(kn_alloc_i(ctx, N, &out->train));
    KN_TRY(kn_alloc_i(ctx, N, &out->test));
    for (ptrdiff_t i = 0; i < N; i++)
        if (fold[i] == k)
            out->test[out->n_test++] = i;
        else
            out->train[out->n_train++] = i;
    if (out->n_train < 2)
        status = kn_fail(ctx, KN_ERR_DATA,
                         "fold %d leaves %td participants for training, but at least 2 are needed; "
                         "use {group=none} to split groups, or {folds=0} for no reference",
                         k + 1, out->n_train);
out:
    if (status != KN_OK)
        kn_fold_clear(out);
    return status;
}

typedef struct pca_job {
    const kn_responses *Y;
    const kn_gram *gram;
    ptrdiff_t P, first; /* components; first fold of the current round */
    kn_fold **fold;
    struct pca_work { /* of one fold of the round; n: its training rows, or T by responses */
        kn_eig_leading_work eig;
        double *g, *s2; /* n, P */
        kn_mat V;       /* n x P */
    } * work;
    int *failed; /* folds  status of the eigensolver */
} pca_job;

/* Computes the Gram matrix of a fold's centred training rows, A = G_tr,tr - 1g' - g1' + mean(g)
 * (n_train x n_train, lower triangle), from G of all rows. g (n_train): work space, receives row
 * means. */
static void centre_gram(kn_mat G, const kn_fold *f, double *g, kn_mat A)
{
    ptrdiff_t n = f->n_train;
    double mean = 0;
    for (ptrdiff_t j = 0; j < n; j++) {
        const double *column = kn_col(G, f->train[j]);
        double s = 0, *a = kn_col(A, j);
        for (ptrdiff_t i = 0; i < n; i++) {
            a[i] = column[f->train[i]];
            s += a[i];
        }
        g[j] = s / (double)n;
        mean += g[j] / (double)n;
    }
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = j; i < n; i++)
            kn_col(A, j)[i] += mean - g[i] - g[j];
}

/* Returns the training rows of a fold as borrowed responses; Y itself, which may be rows of a
 * larger table, if none is held out. */
static kn_responses training_rows(const kn_responses *Y, const kn_fold *f)
{
    return f->n_test == 0 ? *Y : kn_responses_rows(Y, f->train, f->n_train);
}

/* Computes S = Y_tr'Y_tr (T x T, lower triangle) and sums = Y_tr'1 (T) of a fold's training
 * rows: those of all rows (job->gram) less those of the held-out rows, or directly if more rows
 * are held out than not. Collective. */
static kn_status compute_training_products(kn_ctx *ctx, const pca_job *job, const kn_fold *f,
                                           kn_mat S, double *sums)
{
    kn_status status;
    bool less = f->n_test < f->n_train;
    const kn_gram *all = job->gram;
    kn_responses subset =
        less ? kn_responses_rows(job->Y, f->test, f->n_test) : training_rows(job->Y, f);
    KN_TRY(kn_response_products(ctx, &subset, NULL, S, sums));
    for (ptrdiff_t j = 0; less && j < S.cols; j++) {
        for (ptrdiff_t i = j; i < S.rows; i++)
            kn_col(S, j)[i] = kn_at(all->G, i, j) - kn_at(S, i, j);
        sums[j] = all->sums[j] - sums[j];
    }
out:
    return status;
}

/* Computes work->eig.A = (Y_tr - 1 mu')'(Y_tr - 1 mu') (T x T, lower triangle) of a fold's
 * training rows; sets f->mu (T) and f->total, the trace. Collective. */
static kn_status compute_centred_products(kn_ctx *ctx, const pca_job *job, kn_fold *f,
                                          struct pca_work *work)
{
    kn_status status;
    ptrdiff_t T = job->Y->T;
    double n = (double)f->n_train;
    kn_mat S = kn_sub(work->eig.A, 0, 0, T, T);
    KN_TRY(kn_alloc_d(ctx, T, &f->mu));
    KN_TRY(compute_training_products(ctx, job, f, S, f->mu));
    for (ptrdiff_t j = 0; j < T; j++)
        f->mu[j] /= n;
    f->total = 0;
    for (ptrdiff_t j = 0; j < T; j++) {
        for (ptrdiff_t i = j; i < T; i++)
            kn_col(S, j)[i] -= n * f->mu[i] * f->mu[j];
        f->total += fmax(kn_at(S, j, j), 0);
    }
out:
    return status;
}

/* Returns how many of the P descending eigenvalues s2 of a fold are above rounding error, which
 * is that of the Gram matrix of all rows or of the eigenproblem. */
static ptrdiff_t fold_rank(const pca_job *job, const kn_fold *f, const double *s2, ptrdiff_t P)
{
    ptrdiff_t n = f->n_train, rank = 0;
    double noise = fmax(job->gram->noise, s2[0] * DBL_EPSILON * (double)(n > 8 ? n : 8));
    while (rank < P && s2[rank] > noise)
        rank++;
    return rank;
}

/* Sets f->Z_train = V s and f->US = V s^-1 (n_train x rank) from eigenvectors V and eigenvalues
 * s2 = s^2 of a fold's centred Gram matrix, for those above rounding error. */
static void store_components(const pca_job *job, kn_fold *f, const double *s2, kn_mat V)
{
    ptrdiff_t n = f->n_train, rank = fold_rank(job, f, s2, V.cols);
    for (ptrdiff_t p = 0; p < rank; p++) {
        double s = sqrt(s2[p]);
        const double *v = kn_col(V, p);
        for (ptrdiff_t i = 0; i < n; i++) {
            kn_col(f->Z_train, p)[i] = v[i] * s;
            kn_col(f->US, p)[i] = v[i] / s;
        }
    }
    f->Z_train.cols = f->US.cols = rank;
}

/* Parallel task (self: pca_job): principal components of folds from .. to - 1 of the round, from
 * the centred Gram matrix (n_train x n_train) of each; job->failed[k] receives LAPACK's info, 0
 * for success. */
static void decompose_folds(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    const pca_job *job = self;
    struct pca_work *w = &job->work[worker];
    for (ptrdiff_t k = job->first + from; k < job->first + to; k++) {
        kn_fold *f = job->fold[k];
        ptrdiff_t P = f->Z_train.cols;
        kn_mat V = kn_sub(w->V, 0, 0, f->n_train, P);
        centre_gram(job->gram->G, f, w->g, w->eig.A);
        job->failed[k] = kn_eig_leading(&w->eig, f->n_train, P, w->s2, V);
        if (job->failed[k] == 0)
            store_components(job, f, w->s2, V);
    }
}

/* Parallel task (self: pca_job) for G = Y'Y: the eigenvectors of folds from .. to - 1 of the
 * round become their f->B (T x rank); the caller has filled eig.A (T x T) of each.
 * job->failed[k] receives LAPACK's info. */
static void decompose_products(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    const pca_job *job = self;
    (void)worker;
    for (ptrdiff_t at = from; at < to; at++) {
        kn_fold *f = job->fold[job->first + at];
        struct pca_work *w = &job->work[at];
        job->failed[job->first + at] = kn_eig_leading(&w->eig, f->B.rows, f->B.cols, w->s2, f->B);
        if (job->failed[job->first + at] == 0)
            f->B.cols = f->Z_train.cols = fold_rank(job, f, w->s2, f->B.cols);
    }
}

/* Allocates the work space of one worker for an eigenproblem of size n with P leading
 * eigenvectors. On error w is partly filled; the caller clears it. */
static kn_status pca_work_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t P, struct pca_work *w)
{
    kn_status status;
    KN_TRY(kn_eig_leading_new(ctx, n, P, &w->eig));
    KN_TRY(kn_alloc_d(ctx, n, &w->g));
    KN_TRY(kn_alloc_d(ctx, P, &w->s2));
    KN_TRY(kn_mat_new(ctx, n, P, &w->V));
out:
    return status;
}

/* Turns job->failed of n folds into KN_ERR_NUMERIC, or KN_ERR_DATA if no response varies in the
 * training rows of a fold. */
static kn_status check_folds(kn_ctx *ctx, const pca_job *job, int n)
{
    for (int k = 0; k < n; k++) {
        if (job->failed[k] != 0)
            return kn_fail(ctx, KN_ERR_NUMERIC, "the principal components of fold %d %s", k + 1,
                           job->failed[k] < 0 ? "have values that are not finite"
                                              : "did not converge");
        if (job->fold[k]->Z_train.cols == 0)
            return kn_fail(ctx, KN_ERR_DATA, "no response varies in the training sample of a fold");
    }
    return KN_OK;
}

/* Allocates the results of a fold with P components: Z_train (n_train x P), and B (T x P) or US
 * (n_train x P), depending on the side of the Gram matrix. */
static kn_status new_components(kn_ctx *ctx, const pca_job *job, ptrdiff_t P, kn_fold *f)
{
    kn_status status;
    KN_TRY(kn_mat_new(ctx, f->n_train, P, &f->Z_train));
    if (job->gram->by_responses)
        KN_TRY(kn_mat_new(ctx, job->Y->T, P, &f->B));
    else
        KN_TRY(kn_mat_new(ctx, f->n_train, P, &f->US));
out:
    return status;
}

/* Decomposes n folds from job->first on in parallel, one per worker, after the ranks agree that
 * nobody has cancelled. Errors of the eigensolver go to job->failed. Collective. */
static kn_status decompose_round(kn_ctx *ctx, pca_job *job, ptrdiff_t n)
{
    kn_status status;
    KN_TRY(kn_comm_agree_status(ctx, kn_check_cancel(ctx)));
    for (ptrdiff_t k = 0; job->gram->by_responses && k < n; k++)
        KN_TRY(compute_centred_products(ctx, job, job->fold[job->first + k], &job->work[k]));
    kn_la_parallel(ctx, n, 1, job->gram->by_responses ? decompose_products : decompose_folds, job);
out:
    return status;
}

/* Computes f->Z_train = (Y_tr - 1 mu') B (n_train x P) for a fold with its own basis f->B (T x
 * P); Y: all rows. Collective. */
static kn_status project_fold(kn_ctx *ctx, const kn_responses *Y, kn_fold *f)
{
    double total;
    kn_responses train = training_rows(Y, f);
    return kn_project(ctx, &train, f->mu, f->B, f->Z_train, &total);
}

/* Sets mean f->mu and variation f->total of a fold that gets no components, if G = Y'Y;
 * otherwise does nothing. Collective. */
static kn_status set_fold_moments(kn_ctx *ctx, const pca_job *job, kn_fold *f)
{
    kn_status status = KN_OK;
    struct pca_work work = {0};
    if (!job->gram->by_responses)
        return KN_OK;
    KN_TRY(kn_mat_new(ctx, job->Y->T, job->Y->T, &work.eig.A));
    KN_TRY(compute_centred_products(ctx, job, f, &work));
out:
    kn_mat_clear(&work.eig.A);
    return status;
}

kn_status kn_folds_pca(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram, ptrdiff_t P,
                       kn_fold **f, int n)
{
    kn_status status = KN_OK;
    pca_job job = {.Y = Y, .gram = gram, .P = P, .fold = f};
    int workers = kn_workers(ctx, n, 1);
    ptrdiff_t limit = 0, top = 0;
    void *work = NULL, *failed = NULL;
    for (int k = 0; k < n; k++) {
        ptrdiff_t size = gram->by_responses ? Y->T : f[k]->n_train;
        ptrdiff_t columns = kn_min_size(P, kn_min_size(size, f[k]->n_train));
        if (!gram->by_responses)
            kn_fold_energy(gram->G, f[k]);
        else if (P == 0)
            KN_TRY(set_fold_moments(ctx, &job, f[k]));
        KN_TRY(new_components(ctx, &job, columns, f[k]));
        limit = size > limit ? size : limit;
        top = columns > top ? columns : top;
    }
    if (P == 0) /* a model of the mean alone */
        return KN_OK;
    KN_TRY(kn_alloc(ctx, workers, sizeof *job.work, &work));
    job.work = work;
    KN_TRY(kn_alloc(ctx, n, sizeof *job.failed, &failed));
    job.failed = failed;
    for (int k = 0; k < workers; k++)
        KN_TRY(pca_work_new(ctx, limit, top, &job.work[k]));
    for (; job.first < n; job.first += workers)
        KN_TRY(decompose_round(ctx, &job, kn_min_size(workers, n - job.first)));
    KN_TRY(check_folds(ctx, &job, n));
    for (int k = 0; gram->by_responses && k < n; k++)
        KN_TRY(project_fold(ctx, Y, f[k]));
out:
    for (int k = 0; work && k < workers; k++) {
        kn_eig_leading_clear(&job.work[k].eig);
        kn_free(job.work[k].g);
        kn_free(job.work[k].s2);
        kn_mat_clear(&job.work[k].V);
    }
    kn_free(failed);
    kn_free(work);
    return status;
}

kn_status kn_fold_completed(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, kn_fold *f)
{
    kn_status status;
    kn_gram gram = {0};
    kn_fold own = {.n_train = f->n_train}, *each = &own;
    KN_TRY(kn_alloc_i(ctx, f->n_train, &own.train));
    for (ptrdiff_t i = 0; i < f->n_train; i++)
        own.train[i] = i; /* all rows of the Gram matrix */
    KN_TRY(kn_gram_new(ctx, Y, &gram));
    KN_TRY(kn_folds_pca(ctx, Y, &gram, P, &each, 1));
    f->Z_train = own.Z_train;
    f->US = own.US;
    f->B = own.B;
    f->mu = own.mu;
    f->total = own.total;
    own.Z_train = own.US = own.B = kn_mat_none();
    own.mu = NULL;
out:
    kn_fold_clear(&own);
    kn_gram_clear(&gram);
    return status;
}

void kn_folds_pca_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, int folds)
{
    kn_mem_usage mark = r->now;
    bool by_responses = kn_by_responses(KN_SIDE_BY_SIZE, s->N, s->T);
    ptrdiff_t size = by_responses ? s->T : n;
    for (int k = 0; !s->given_basis && k < kn_workers_of(s->threads, folds, 1); k++) {
        kn_eig_leading_need(r, KN_NEED_SAMPLES, size, kn_min_size(s->P, size));
        kn_plan_alloc_d(r, KN_NEED_WORK, size, s->P + 2);
    }
    if (!s->given_basis && by_responses) {
        kn_response_products_need(r, s);
        kn_project_need(r, n, s->T, s->P);
    }
    kn_plan_free_to(r, mark);
}

kn_status kn_fold_given(kn_ctx *ctx, kn_mat Z, kn_fold *f)
{
    kn_status status = kn_mat_new(ctx, f->n_train, Z.cols, &f->Z_train);
    if (status != KN_OK)
        return status;
    kn_mat_rows(Z, f->train, f->Z_train);
    for (ptrdiff_t p = 0; p < Z.cols; p++) {
        double *z = kn_col(f->Z_train, p), mean = 0;
        for (ptrdiff_t i = 0; i < f->n_train; i++)
            mean += z[i] / (double)f->n_train;
        for (ptrdiff_t i = 0; i < f->n_train; i++)
            z[i] -= mean;
    }
    return KN_OK;
}

/* Flips the axes f->V (Q x P) of a fold, and f->Z_train, so that the largest |entry| of each
 * column of its basis B_f = B V is positive: a task covariance that is not spectral depends on
 * the signs of components [METHOD 9.10]. */
static kn_status fix_axis_signs(kn_ctx *ctx, const kn_gp *gp, kn_fold *f)
{
    kn_status status;
    kn_mat rotate = {0}, strip = {0}, fixed = kn_user_span_fixed(gp);
    double *top = NULL;
    ptrdiff_t rows = kn_min_size(fixed.rows, KN_BLOCK);
    KN_TRY(kn_user_span_rotation(ctx, gp, f->V, kn_mat_none(), &rotate));
    KN_TRY(kn_mat_new(ctx, rows, rotate.cols, &strip));
    KN_TRY(kn_alloc_d(ctx, rotate.cols, &top));
    for (ptrdiff_t i = 0; i < fixed.rows; i += rows) {
        ptrdiff_t n = kn_min_size(fixed.rows - i, rows);
        kn_mat B = kn_sub(strip, 0, 0, n, strip.cols);
        kn_gemm(ctx, 1, KN_N, kn_sub(fixed, i, 0, n, fixed.cols), KN_N, rotate, 0, B);
        for (ptrdiff_t p = 0; p < B.cols; p++)
            for (ptrdiff_t j = 0; j < n; j++)
                if (fabs(kn_at(B, j, p)) > fabs(top[p]))
                    top[p] = kn_at(B, j, p);
    }
    for (ptrdiff_t p = 0; p < f->V.cols; p++) {
        if (top[p] >= 0)
            continue;
        for (ptrdiff_t q = 0; q < f->V.rows; q++)
            kn_col(f->V, p)[q] *= -1;
        for (ptrdiff_t i = 0; i < f->n_train; i++)
            kn_col(f->Z_train, p)[i] *= -1;
    }
out:
    kn_free(top);
    kn_mat_clear(&strip);
    kn_mat_clear(&rotate);
    return status;
}

kn_status kn_fold_axes(kn_ctx *ctx, const kn_gp *gp, bool signs, kn_fold *f)
{
    kn_status status;
    kn_mat before = {0};
    KN_TRY(kn_leading_axes(ctx, f->Z_train, gp->P, false, &f->V));
    if (f->V.cols == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "no response varies in the training sample of a fold");
        goto out;
    }
    KN_TRY(kn_rotate_to_axes(ctx, &f->Z_train, f->V, &before));
    if (signs)
        KN_TRY(fix_axis_signs(ctx, gp, f));
out:
    kn_mat_clear(&before);
    return status;
}

void kn_fold_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 2); /* rows */
    if (!s->given_basis && kn_by_responses(KN_SIDE_BY_SIZE, s->N, s->T))
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P + 1); /* B, mu */
    else if (!s->given_basis)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, s->P); /* US */
    if (s->span > 0)
        kn_plan_alloc_d(r, KN_NEED_WORK, s->span, s->P); /* V */
    kn_plan_alloc_d(r, KN_NEED_WORK, n, s->P);
}

void kn_fold_axes_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    kn_leading_axes_need(r, s);
    kn_rotate_to_axes_need(r, KN_NEED_WORK, s, n);
    kn_plan_free_to(r, mark);
}

/* ---- total variation of a fold ---- */

enum { COLUMNS = 16 }; /* responses per parallel task */

void kn_fold_energy(kn_mat G, kn_fold *f)
{
    double trace = 0, sum = 0;
    for (ptrdiff_t j = 0; j < f->n_train; j++) {
        const double *g = kn_col(G, f->train[j]);
        trace += g[f->train[j]];
        for (ptrdiff_t i = 0; i < f->n_train; i++)
            sum += g[f->train[i]];
    }
    f->total = fmax(trace - sum / (double)f->n_train, 0);
}

typedef struct energies {
    const kn_fold *f;
    int n;
    kn_slots sums; /* n sums per block */
    kn_mat own;    /* width x n: of each response */
    const kn_block *b;
} energies;

/* Begins the loop of kn_folds_energy (self: energies): one sum per block and fold, and the
 * energies of a block's responses in each of the n folds (width x n). */
static kn_status begin_energy(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_status status;
    energies *e = self;
    KN_TRY(kn_slots_new(ctx, plan->blocks, e->n, &e->sums));
    KN_TRY(kn_mat_new(ctx, plan->width, e->n, &e->own));
out:
    return status;
}

/* Parallel task (self: energies): for columns from .. to - 1 of the block and each fold k,
 * own(j, k) = sum over the training rows of (y - mean)^2. */
static void sum_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const energies *e = self;
    for (ptrdiff_t j = from; j < to; j++)
        for (int k = 0; k < e->n; k++) {
            const double *y = kn_col(e->b->y, j);
            const kn_fold *f = &e->f[k];
            double mean = 0, sum = 0;
            for (ptrdiff_t i = 0; i < f->n_train; i++)
                mean += y[f->train[i]] / (double)f->n_train;
            for (ptrdiff_t i = 0; i < f->n_train; i++)
                sum += (y[f->train[i]] - mean) * (y[f->train[i]] - mean);
            kn_col(e->own, k)[j] = sum;
        }
}

/* Block visitor of kn_folds_energy (self: energies): adds the block's variation |Y_tr - 1 mu'|^2
 * in each fold to the block's slot. */
static kn_status add_energy_block(kn_ctx *ctx, void *self, kn_block *b)
{
    energies *e = self;
    double *sums = kn_slot(&e->sums, b->number);
    e->b = b;
    kn_parallel(ctx, b->count, COLUMNS, sum_columns, e);
    for (int k = 0; k < e->n; k++)
        for (ptrdiff_t j = 0; j < b->count; j++)
            sums[k] += kn_at(e->own, j, k);
    return KN_OK;
}

kn_status kn_folds_energy(kn_ctx *ctx, const kn_responses *Y, kn_fold *f, int n)
{
    kn_status status;
    energies e = {.f = f, .n = n};
    double *total = NULL;
    kn_visitor visitor = {&e, KN_BLOCK_Y, begin_energy, add_energy_block, NULL};
    KN_TRY(kn_alloc_d(ctx, n, &total));
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = *Y}, &visitor, 1));
    KN_TRY(kn_slots_sum(ctx, &e.sums, total));
    for (int k = 0; k < n; k++)
        f[k].total = total[k];
out:
    kn_free(total);
    kn_slots_clear(&e.sums);
    kn_mat_clear(&e.own);
    return status;
}

/* ---- signs of the components of a fold ---- */

typedef struct sign_search {
    const kn_fold *f;
    kn_mat B;    /* width x P */
    double *top; /* P  entry of largest absolute value so far */
} sign_search;

/* Begins the loop of find_signs (self: sign_search): allocates the rows of the fold's basis of
 * one block (width x P). */
static kn_status begin_signs(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    sign_search *s = self;
    return kn_mat_new(ctx, plan->width, s->f->US.cols, &s->B);
}

/* Block visitor of find_signs (self: sign_search): computes the block's rows of B_f = Y_tr'US
 * and keeps in s->top[p] the entry of component p with the largest absolute value so far. */
static kn_status track_largest_loadings(kn_ctx *ctx, void *self, kn_block *b)
{
    sign_search *s = self;
    kn_mat B = kn_sub(s->B, 0, 0, b->count, s->B.cols);
    kn_gemm(ctx, 1, KN_T, b->y, KN_N, s->f->US, 0, B); /* columns of US sum to zero: no centring */
    for (ptrdiff_t p = 0; p < B.cols; p++)
        for (ptrdiff_t j = 0; j < B.rows; j++)
            if (fabs(kn_at(B, j, p)) > fabs(s->top[p]))
                s->top[p] = kn_at(B, j, p);
    return KN_OK;
}

/* Changes the sign of component p of a fold: of column p of US, B and Z_train, as far as they
 * are there. */
static void flip_component(kn_fold *f, ptrdiff_t p)
{
    kn_mat matrix[] = {f->US, f->B, f->Z_train};
    for (size_t m = 0; m < sizeof matrix / sizeof *matrix; m++)
        for (ptrdiff_t i = 0; matrix[m].data && i < matrix[m].rows; i++)
            kn_col(matrix[m], p)[i] *= -1;
}

/* Sets top[p] (P) to the entry of largest absolute value, with its sign, in column p of the
 * fold's basis B_f = Y_tr'US (T x P). Y: all rows. 2 n_train P T flops. Collective. */
static kn_status find_signs(kn_ctx *ctx, const kn_responses *Y, const kn_fold *f, double *top)
{
    kn_status status;
    sign_search s = {.f = f, .top = top};
    kn_visitor visitor = {&s, KN_BLOCK_Y, begin_signs, track_largest_loadings, NULL};
    kn_block_loop loop = {.Y = training_rows(Y, f)};
    KN_TRY(kn_block_loop_run(ctx, &loop, &visitor, 1));
    KN_TRY(kn_allreduce_largest(ctx, top, f->US.cols));
out:
    kn_mat_clear(&s.B);
    return status;
}

kn_status kn_fold_signs(kn_ctx *ctx, const kn_responses *Y, kn_fold *f)
{
    kn_status status;
    double *top = NULL;
    ptrdiff_t P = f->Z_train.cols;
    KN_TRY(kn_alloc_d(ctx, P, &top));
    if (f->US.data)
        KN_TRY(find_signs(ctx, Y, f, top));
    for (ptrdiff_t p = 0; f->B.data && p < P; p++)
        for (ptrdiff_t j = 0; j < f->B.rows; j++)
            if (fabs(kn_at(f->B, j, p)) > fabs(top[p]))
                top[p] = kn_at(f->B, j, p);
    for (ptrdiff_t p = 0; p < P; p++)
        if (top[p] < 0)
            flip_component(f, p);
out:
    kn_free(top);
    return status;
}

bool kn_gp_depends_on_signs(const kn_gp *gp)
{
    return gp->spec.noise == KN_NOISE_ISO && !kn_cov_is_spectral(&gp->spec.task);
}
