/* Implements fold.h: eigenvectors of the double-centred Gram matrix of the training rows of each
 * fold. */
#include "gp/cv/fold.h"

#include <float.h>
#include <math.h>

#include "base/mpi/comm.h"
#include "base/parallel/parallel_for.h"
#include "gp/cv/fold_energy.h"
#include "la/eig_leading.h"

void kn_fold_clear(kn_fold *f)
{
    kn_free(f->train);
    kn_free(f->test);
    kn_mat_clear(&f->Z_train);
    kn_mat_clear(&f->US);
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
                         "fold %d leaves %td samples to train on, expected 2 (groups stay whole: "
                         "{group=none} parts them, {folds=0} makes no reference)",
                         k + 1, out->n_train);
out:
    if (status != KN_OK)
        kn_fold_clear(out);
    return status;
}

typedef struct pca_job {
    const kn_gram *gram;
    ptrdiff_t P, first; /* components; first fold of the current round */
    kn_fold **fold;
    struct pca_work { /* of one worker */
        kn_eig_top_work eig;
        double *g, *s2; /* n, P */
        kn_mat V;       /* n x P */
    } * work;
    int *failed; /* folds  status of the eigensolver */
} pca_job;

/* A = G_tr,tr - 1g' - g1' + mean(g), lower triangle */
static void centred_gram(kn_mat G, const kn_fold *f, double *g, kn_mat A)
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

/* Sets Z_train = V s and US = V s^-1 for the components above rounding error. */
static void take_components(const pca_job *job, kn_fold *f, const double *s2, kn_mat V)
{
    ptrdiff_t n = f->n_train, rank = 0;
    double noise = fmax(job->gram->noise, s2[0] * DBL_EPSILON * (double)(n > 8 ? n : 8));
    while (rank < V.cols && s2[rank] > noise)
        rank++;
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

static void decompose_folds(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    const pca_job *job = self;
    struct pca_work *w = &job->work[worker];
    for (ptrdiff_t k = job->first + from; k < job->first + to; k++) {
        kn_fold *f = job->fold[k];
        ptrdiff_t P = f->Z_train.cols;
        kn_mat V = kn_sub(w->V, 0, 0, f->n_train, P);
        centred_gram(job->gram->G, f, w->g, w->eig.A);
        job->failed[k] = kn_eig_top(&w->eig, f->n_train, P, w->s2, V);
        if (job->failed[k] == 0)
            take_components(job, f, w->s2, V);
    }
}

static kn_status pca_work_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t P, struct pca_work *w)
{
    kn_status status;
    KN_TRY(kn_eig_top_new(ctx, n, P, &w->eig));
    KN_TRY(kn_alloc_d(ctx, n, &w->g));
    KN_TRY(kn_alloc_d(ctx, P, &w->s2));
    KN_TRY(kn_mat_new(ctx, n, P, &w->V));
out:
    return status;
}

static kn_status check_folds(kn_ctx *ctx, const pca_job *job, int n)
{
    for (int k = 0; k < n; k++) {
        if (job->failed[k] != 0)
            return kn_fail(ctx, KN_ERR_NUMERIC, "the principal components of fold %d %s", k + 1,
                           job->failed[k] < 0 ? "have values that are not finite"
                                              : "did not converge");
        if (job->fold[k]->Z_train.cols == 0)
            return kn_fail(ctx, KN_ERR_DATA,
                           "no response varies within the training part of a fold");
    }
    return KN_OK;
}

kn_status kn_folds_pca(kn_ctx *ctx, const kn_gram *gram, ptrdiff_t P, kn_fold **f, int n)
{
    kn_status status = KN_OK;
    pca_job job = {.gram = gram, .P = P, .fold = f};
    int workers = kn_workers(ctx, n, 1);
    ptrdiff_t most = 0, top = 0;
    void *work = NULL, *failed = NULL;
    for (int k = 0; k < n; k++) {
        ptrdiff_t some = kn_min_size(P, f[k]->n_train);
        kn_fold_energy(gram->G, f[k]);
        KN_TRY(kn_mat_new(ctx, f[k]->n_train, some, &f[k]->Z_train));
        KN_TRY(kn_mat_new(ctx, f[k]->n_train, some, &f[k]->US));
        most = f[k]->n_train > most ? f[k]->n_train : most;
        top = some > top ? some : top;
    }
    if (P == 0) /* a model of the mean alone */
        return KN_OK;
    KN_TRY(kn_alloc(ctx, workers, sizeof *job.work, &work));
    job.work = work;
    KN_TRY(kn_alloc(ctx, n, sizeof *job.failed, &failed));
    job.failed = failed;
    for (int k = 0; k < workers; k++)
        KN_TRY(pca_work_new(ctx, most, top, &job.work[k]));
    for (; job.first < n; job.first += workers) {
        KN_TRY(kn_comm_agree_status(ctx, kn_check_cancel(ctx)));
        kn_la_parallel(ctx, kn_min_size(workers, n - job.first), 1, decompose_folds, &job);
    }
    KN_TRY(check_folds(ctx, &job, n));
out:
    for (int k = 0; work && k < workers; k++) {
        kn_eig_top_clear(&job.work[k].eig);
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
    KN_TRY(kn_folds_pca(ctx, &gram, P, &each, 1));
    f->Z_train = own.Z_train;
    f->US = own.US;
    f->total = own.total;
    own.Z_train = own.US = kn_mat_none();
out:
    kn_fold_clear(&own);
    kn_gram_clear(&gram);
    return status;
}

void kn_folds_pca_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, int folds)
{
    kn_mem_usage mark = r->now;
    for (int k = 0; !s->given_basis && k < kn_workers_of(s->threads, folds, 1); k++) {
        kn_eig_top_need(r, KN_NEED_SAMPLES, n, kn_min_size(s->P, n));
        kn_plan_alloc_d(r, KN_NEED_WORK, n, s->P + 2);
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

void kn_fold_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 2); /* rows */
    if (!s->given_basis)
        kn_plan_alloc_d(r, KN_NEED_WORK, n, s->P); /* US */
    if (s->span > 0)
        kn_plan_alloc_d(r, KN_NEED_WORK, s->span, s->P); /* V */
    kn_plan_alloc_d(r, KN_NEED_WORK, n, s->P);
}
