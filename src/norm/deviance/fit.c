/* Implements fit.h: set-up of the folds and of the ladder of K, and the final step after both
 * passes. Formulas in deviance.h, sums in internal.h [METHOD 8b]. */
#include "norm/deviance/fit.h"

#include <math.h>

#include "base/parallel/parallel_for.h"
#include "data/mpi/gather_responses.h"
#include "la/la.h"
#include "norm/deviance/internal.h"

static const double LADDER_PROPORTION = 0.8; /* K stays below this share of N */
static const double MAX_Z2 = 0x1p20; /* assumed bound of the mean square of a participant's z */
static const double SINGLE_FROM =
    5e9; /* N (N + 2 folds K) T from which products are in single precision */

typedef kn_deviance_fitter fitter;
typedef kn_deviance_fold fold_fit;

void kn_deviance_fitter_free(fitter *f)
{
    if (!f)
        return;
    kn_deviance_pass_free(f);
    for (int p = 0; f->fold_fits && p <= f->folds; p++) {
        fold_fit *pt = &f->fold_fits[p];
        for (int l = 0; l < f->all_stages; l++) {
            kn_mat_clear(&pt->H[l]);
            kn_mat_clear(&pt->A[l]);
        }
        kn_mat_clear(&pt->own);
        kn_mat_clear(&pt->q);
        kn_free(pt->s2);
    }
    kn_free(f->fold_fits);
    kn_free(f->order);
    kn_free(f->ss);
    kn_sum_clear(&f->sum);
    kn_gathered_clear(f);
    kn_mat_clear(&f->G);
    kn_mat_clear(&f->z);
    kn_mat_clear(&f->Q);
    kn_mat_clear(&f->fold_ss);
    kn_free(f);
}

/* Set the order of rows by fold (f->order) and each fold's range of rows. fold (N): fold of each
 * participant. KN_ERR_ARGUMENT for a fold number out of range or a fold that is empty or leaves
 * fewer than 2 participants. */
static kn_status lay_out_folds(kn_ctx *ctx, fitter *f, const int *fold)
{
    kn_status status;
    void *memory;
    KN_TRY(kn_alloc(ctx, f->folds + 1, sizeof *f->fold_fits, &memory));
    f->fold_fits = memory;
    KN_TRY(kn_alloc_i(ctx, f->N, &f->order));
    for (ptrdiff_t i = 0; i < f->N; i++) {
        if (fold[i] < 0 || fold[i] >= f->folds) {
            status = kn_fail(ctx, KN_ERR_ARGUMENT,
                             "deviance: participant %td is in fold %d, expected 0 to %d", i + 1,
                             fold[i], f->folds - 1);
            goto out;
        }
        f->fold_fits[fold[i]].count++;
    }
    ptrdiff_t at = 0;
    for (int p = 0; p < f->folds; p++) {
        fold_fit *pt = &f->fold_fits[p];
        if (pt->count == 0 || f->N - pt->count < 2) {
            status = kn_fail(ctx, KN_ERR_ARGUMENT,
                             "deviance: fold %d has %td of %td participants, expected at least 1 "
                             "in it and 2 outside",
                             p, pt->count, f->N);
            goto out;
        }
        pt->first = at;
        pt->n = f->N - pt->count;
        for (ptrdiff_t i = 0; i < f->N; i++)
            if (fold[i] == p)
                f->order[at++] = i;
    }
    f->fold_fits[f->folds] = (fold_fit){.first = f->N, .n = f->N};
out:
    return status;
}

/* Set the candidates for K, the number of components of the deviance: 0, 1, 2, 4, ... while below
 * 0.8 N and `lowest`, the smallest training size of a fold, and at most T. Kmax is the last. */
static void set_ladder(fitter *f, ptrdiff_t lowest)
{
    for (int l = 0; l < KN_DEVIANCE_LADDER; l++) {
        ptrdiff_t k = l == 0 ? 0 : (ptrdiff_t)1 << (l - 1);
        if (k > 0 && ((double)k >= LADDER_PROPORTION * (double)f->N || k >= lowest || k > f->T))
            break;
        f->ladder[f->n_stages++] = f->Kmax = k;
    }
    f->all_stages = f->n_stages;
}

/* True if the matrix products of a deviance fit are so large that they are taken in single
 * precision. */
static bool is_large(const fitter *f)
{
    double N = (double)f->N;
    return N * (N + 2.0 * f->folds * (double)f->Kmax) * (double)f->T >= SINGLE_FROM;
}

/* Set the candidates for K, the number of components of the deviance: a given K alone, or all that
 * the data allow. KN_ERR_ARGUMENT if K is too large. */
static kn_status lay_out_ladder(kn_ctx *ctx, fitter *f, ptrdiff_t K)
{
    ptrdiff_t lowest = f->N; /* the smallest training size */
    for (int p = 0; p < f->folds; p++)
        lowest = f->fold_fits[p].n < lowest ? f->fold_fits[p].n : lowest;
    if (K != KN_DEVIANCE_AUTO) {
        if (K < 0 || K >= lowest || K > f->T)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "deviance: %td components, expected 0 to %td for %td participants (%td "
                           "outside the largest fold) and %td responses",
                           K, lowest - 1 < f->T ? lowest - 1 : f->T, f->N, lowest, f->T);
        f->ladder[0] = f->Kmax = K;
        f->n_stages = f->all_stages = 1;
        return KN_OK;
    }
    set_ladder(f, lowest);
    return KN_OK;
}

/* Start the exact sum of zz' (N x N, lower triangle) over responses anew, for entries of at most
 * `bound`. */
static kn_status new_sum(kn_ctx *ctx, fitter *f, double bound)
{
    kn_sum_clear(&f->sum);
    return kn_sum_new_lower(ctx, f->N, bound, f->single ? 1 : 2, &f->sum);
}

/* Allocate the sums and products of a deviance fit for all folds and candidates for K, by the sizes
 * in f. On error f is partly filled; the caller frees it. */
static kn_status alloc_fitter(kn_ctx *ctx, fitter *f)
{
    kn_status status;
    for (int p = 0; p <= f->folds; p++) {
        fold_fit *pt = &f->fold_fits[p];
        KN_TRY(kn_alloc_d(ctx, f->Kmax, &pt->s2));
        for (int l = 0; p < f->folds && l < f->n_stages; l++) {
            KN_TRY(kn_mat_new(ctx, f->ladder[l], f->ladder[l], &pt->H[l]));
            KN_TRY(kn_mat_new(ctx, pt->count, f->ladder[l], &pt->A[l]));
        }
        KN_TRY(kn_mat_new(ctx, f->Kmax, f->n_stages, &pt->own));
        KN_TRY(kn_mat_new(ctx, pt->count, f->n_stages, &pt->q));
    }
    KN_TRY(kn_alloc_d(ctx, f->T, &f->ss));
    KN_TRY(f->by_responses ? kn_mat_new(ctx, f->N, f->T, &f->z)
                           : new_sum(ctx, f, MAX_Z2 * (double)f->T));
    KN_TRY(kn_mat_new(ctx, f->block, f->folds, &f->fold_ss));
    KN_TRY(kn_deviance_pass_new(ctx, f));
out:
    return status;
}

kn_status kn_deviance_fitter_new(kn_ctx *ctx, const kn_deviance_shape *s, fitter **out)
{
    kn_status status;
    void *memory;
    fitter *f = NULL;
    *out = NULL;
    if (s->T < 1 || s->N < 3 || s->folds < 2)
        return kn_fail(
            ctx, KN_ERR_SHAPE,
            "deviance: %td participants, %td responses and %d folds, expected at least 3, 1 and 2",
            s->N, s->T, s->folds);
    KN_TRY(kn_alloc(ctx, 1, sizeof *f, &memory));
    f = memory;
    *f = (fitter){.N = s->N,
                  .T = s->T,
                  .Y = s->Y,
                  .block = s->plan.width,
                  .folds = s->folds,
                  .try_stages = s->stages,
                  .by_responses = kn_by_responses(s->Y.side, s->N, s->T),
                  .zz = s->zz,
                  .automatic = s->K == KN_DEVIANCE_AUTO,
                  .workers = kn_workers(ctx, s->N, 1)};
    KN_TRY(lay_out_folds(ctx, f, s->fold));
    KN_TRY(lay_out_ladder(ctx, f, s->K));
    f->single = s->precision == KN_SINGLE || (s->precision == KN_BY_SIZE && is_large(f));
    KN_TRY(alloc_fitter(ctx, f));
out:
    if (status != KN_OK) {
        kn_deviance_fitter_free(f);
        f = NULL;
    }
    *out = f;
    return status;
}

/* A fitter with these sizes and without arrays, for the memory plan. */
static fitter fitter_of_sizes(const kn_deviance_sizes *s)
{
    fitter f = {.N = s->N,
                .T = s->T,
                .automatic = true,
                .block = kn_block_loop_width(0, s->T),
                .folds = s->folds,
                .by_responses = kn_by_responses(KN_SIDE_BY_SIZE, s->N, s->T),
                .workers = kn_workers_of(s->threads, s->N, 1)};
    set_ladder(&f, s->N - (s->N + s->folds - 1) / s->folds);
    f.single = is_large(&f);
    return f;
}

/* Add to the memory plan r the exact sum of zz'; nothing if z is stored instead (T < N). */
static void sum_need(kn_mem_plan *r, const fitter *f)
{
    if (!f->by_responses)
        kn_sum_need(r, KN_NEED_SAMPLES, (kn_sum){f->N, f->N, true, {0}}, f->single ? 1 : 2);
}

/* Add to the memory plan r z (N x T), if pass 1 stores it (T < N). */
static void stored_need(kn_mem_plan *r, const fitter *f)
{
    if (f->by_responses)
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, f->N, f->T);
}

void kn_deviance_fitter_need(kn_mem_plan *r, const kn_deviance_sizes *s)
{
    fitter f = fitter_of_sizes(s);
    ptrdiff_t limit = (s->N + s->folds - 1) / s->folds;
    kn_plan_alloc(r, KN_NEED_WORK, f.folds + 1, sizeof *f.fold_fits);
    for (int l = 0; l < f.n_stages; l++) {
        kn_plan_alloc_d(r, KN_NEED_WORK, f.folds * f.ladder[l], f.ladder[l]);
        kn_plan_alloc_d(r, KN_NEED_WORK, f.N, f.ladder[l]);
    }
    kn_plan_alloc_d(r, KN_NEED_WORK, (f.folds + 1) * f.Kmax, f.n_stages + 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, f.N, f.n_stages + 1);
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, f.T, 1);
    sum_need(r, &f);
    kn_plan_alloc_d(r, KN_NEED_WORK, f.block, f.folds);
    stored_need(r, &f);
    kn_deviance_pass_need(r, &f, limit);
}

void kn_deviance_gram_need(kn_mem_plan *r, const kn_deviance_sizes *s)
{
    if (fitter_of_sizes(s).by_responses) /* else the sum of pass 1 becomes zz' */
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, s->N);
}

void kn_deviance_begin_pass2_need(kn_mem_plan *r, const kn_deviance_sizes *s)
{
    fitter f = fitter_of_sizes(s);
    kn_mem_plan given = {0};
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, f.N, f.N);
    kn_plan_free_to(r, mark);
    sum_need(&given, &f);
    kn_deviance_pass_gram_need(&given, &f);
    kn_plan_free(r, (kn_mem_usage){0}, given.now);
    mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, f.N, f.N);
    kn_deviance_decompose_need(r, &f, s->threads);
    kn_plan_free_to(r, mark);
    given = (kn_mem_plan){0};
    stored_need(&given, &f);
    kn_plan_free(r, (kn_mem_usage){0}, given.now);
    mark = r->now;
    if (kn_deviance_may_shorten(&f)) { /* one stage less; G is held until the end */
        fitter shorter = f;
        shorter.Kmax = f.ladder[--shorter.n_stages - 1];
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, f.N, f.N);
        kn_gathered_need(r, &shorter);
        kn_plan_alloc_d(r, KN_NEED_REFERENCE, f.T, shorter.Kmax);
        kn_plan_free_to(r, mark);
    }
    kn_gathered_need(r, &f);
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, f.T, f.Kmax);
}

void kn_deviance_finish_need(kn_mem_plan *r, const kn_deviance_sizes *s)
{
    fitter f = fitter_of_sizes(s);
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, f.T, f.Kmax / 2 + 1);
    kn_deviance_prepare_need(r, f.Kmax);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, f.N, 2 * f.n_stages);
    kn_plan_free_to(r, mark);
}

void kn_deviance_kept_need(kn_mem_plan *r, const kn_deviance_sizes *s)
{
    fitter f = fitter_of_sizes(s);
    kn_plan_alloc_d(r, KN_NEED_REFERENCE, f.T, f.Kmax + 1);
    kn_deviance_prepare_need(r, f.Kmax);
}

/* A missing z is an error here, because leaving it out would bias the covariance towards 0;
 * missing.h handles missing cells. */
kn_status kn_deviance_first(kn_ctx *ctx, fitter *f, ptrdiff_t first, kn_mat z)
{
    kn_deviance_pass_gram(ctx, f, first, z);
    for (ptrdiff_t j = 0; j < z.cols; j++)
        for (ptrdiff_t i = 0; !isfinite(f->ss[first + j]) && i < f->N; i++)
            if (!isfinite(kn_at(z, i, j)))
                return kn_fail(ctx, KN_ERR_DATA,
                               "deviance: the z-score of reference participant %td, response %td "
                               "is not finite",
                               i + 1, first + j + 1);
    return KN_OK;
}

/* For T < N: gather z (N x T) of the responses of all MPI ranks, and make G = zz' if the caller
 * wants it. KN_ERR_NUMERIC on overflow. Collective. */
static kn_status gather_z(kn_ctx *ctx, fitter *f)
{
    kn_status status;
    double trace = 0;
    KN_TRY(kn_allgather_responses_d(ctx, &f->Y, f->ss));
    KN_TRY(kn_allgather_response_cols(ctx, &f->Y, f->z));
    for (ptrdiff_t j = 0; j < f->T; j++)
        trace += f->ss[j];
    if (!isfinite(trace))
        return kn_fail(ctx, KN_ERR_NUMERIC,
                       "deviance: the sums of squares of the z-scores overflow");
    if (f->zz) {
        KN_TRY(kn_mat_new(ctx, f->N, f->N, &f->G));
        kn_syrk(ctx, 1, KN_N, f->z, 0, f->G);
    }
out:
    return status;
}

/* Compute G = zz' from its exact sum over all ranks. If an entry exceeded the assumed bound,
 * *again is set and the sum restarted with the trace as bound; KN_ERR_NUMERIC the second time.
 * Collective. */
static kn_status sum_gram(kn_ctx *ctx, fitter *f, bool *again)
{
    kn_status status;
    double trace = 0;
    KN_TRY(kn_allgather_responses_d(ctx, &f->Y, f->ss));
    KN_TRY(kn_mat_new(ctx, f->N, f->N, &f->G));
    status = kn_sum_value(ctx, &f->sum, f->G);
    if (status != KN_ERR_NUMERIC)
        goto out;
    kn_mat_clear(&f->G);
    for (ptrdiff_t j = 0; j < f->T; j++)
        trace += f->ss[j];
    if (f->repeated || !isfinite(trace))
        return kn_fail(ctx, KN_ERR_NUMERIC,
                       "deviance: the sums of squares of the z-scores overflow");
    *again = f->repeated = true;
    KN_TRY(new_sum(ctx, f, 2 * trace));
out:
    return status;
}

kn_status kn_deviance_gram(kn_ctx *ctx, fitter *f, bool *again, kn_mat *zz)
{
    *again = false;
    kn_status status = f->by_responses ? gather_z(ctx, f) : sum_gram(ctx, f, again);
    if (status == KN_OK && !*again) {
        kn_sum_clear(&f->sum);
        kn_deviance_pass_gram_end(f);
    }
    *zz = f->G;
    return status;
}

kn_status kn_deviance_begin_pass2(kn_ctx *ctx, fitter *f)
{
    kn_status status;
    KN_TRY(kn_deviance_decompose(ctx, f));
    if (!f->shortened)
        kn_mat_clear(&f->G);
    KN_TRY(kn_gathered_new(ctx, f));
    KN_TRY(kn_mat_new(ctx, f->T, f->Kmax, &f->Q));
out:
    return status;
}

kn_status kn_deviance_second(kn_ctx *ctx, fitter *f, ptrdiff_t first, kn_mat z)
{
    return kn_deviance_pass_gather(ctx, f, first, z);
}

/* Deviance and log density of the held-out participants of a fold with K = ladder[l] components,
 * into column l of dev and density (N x candidates). With Q = C s^-1: M = I + w s^-1 H s^-1 w, a =
 * A s^-1 w. KN_ERR_NUMERIC if M is not positive definite. */
static kn_status finish_stage(kn_ctx *ctx, const fitter *f, const fold_fit *pt, int l, kn_mat dev,
                              kn_mat density)
{
    kn_status status = KN_OK;
    ptrdiff_t K = f->ladder[l];
    kn_mat H = pt->H[l], A = pt->A[l];
    double *w = kn_col(pt->own, l), log_det = pt->log_psi[l];
    for (ptrdiff_t k = 0; k < K; k++) { /* w_k / s_k overwrites sum C^2 psi */
        double s2 = pt->s2[k];
        w[k] = s2 > 0 ? sqrt(fmax(s2 / (double)pt->n - w[k] / s2, 0) / s2) : 0;
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        for (ptrdiff_t i = k; i < K; i++)
            kn_col(H, k)[i] = w[i] * w[k] * kn_at(H, i, k) + (i == k);
        for (ptrdiff_t i = 0; i < pt->count; i++)
            kn_col(A, k)[i] *= w[k];
    }
    if (K > 0) {
        KN_TRY(kn_chol(ctx, H, "deviance matrix M of a fold"));
        kn_trsm_right(ctx, KN_T, H, A); /* a L^-T */
    }
    for (ptrdiff_t k = 0; k < K; k++)
        log_det += 2 * log(kn_at(H, k, k));
    for (ptrdiff_t i = 0; i < pt->count; i++) {
        ptrdiff_t at = f->order[pt->first + i];
        double value = kn_at(pt->q, i, l) - kn_sumsq(kn_sub(A, i, 0, 1, K));
        kn_col(dev, l)[at] = value;
        kn_col(density, l)[at] = -0.5 * ((double)f->T * log(2 * M_PI) + log_det + value);
    }
out:
    return status;
}

/* The mean density of each K in d, and the stage of the smallest K where it is highest. */
static int best_stage(const fitter *f, kn_mat density, kn_deviance *d)
{
    int best = 0;
    for (int l = 0; l < f->n_stages; l++) {
        double mean = 0;
        for (ptrdiff_t i = 0; i < f->N; i++)
            mean += kn_at(density, i, l) / (double)f->N;
        d->ladder[l] = f->ladder[l];
        d->density[l] = mean;
        if (mean > d->density[best])
            best = l;
    }
    return best;
}

/* The K of stage `chosen`, whose deviances are the reference values. */
static kn_status take_stage(kn_ctx *ctx, const fitter *f, kn_mat dev, int chosen, kn_deviance *d)
{
    d->n_ladder = f->automatic ? f->n_stages : 0;
    d->n_ref = f->N;
    d->K = f->ladder[chosen];
    kn_status status = kn_alloc_d(ctx, f->N, &d->ref);
    for (ptrdiff_t i = 0; status == KN_OK && i < f->N; i++)
        d->ref[i] = kn_at(dev, i, chosen);
    return status;
}

/* Change signs of columns of Q so that the largest |entry| is positive, as for B [METHOD 9.10]; of
 * equal ones the first counts. */
static void fix_signs(kn_mat Q)
{
    for (ptrdiff_t k = 0; k < Q.cols; k++) {
        double *q = kn_col(Q, k), top = 0;
        for (ptrdiff_t j = 0; j < Q.rows; j++)
            top = fabs(q[j]) > fabs(top) ? q[j] : top;
        for (ptrdiff_t j = 0; top < 0 && j < Q.rows; j++)
            q[j] = -q[j];
    }
}

/* Set lam, psi and Q of the covariance of all participants at the chosen number of components d->K,
 * from C (T x Kmax) in f->Q, and prepare d for scoring. */
static kn_status finish_fit(kn_ctx *ctx, fitter *f, kn_deviance *d)
{
    kn_status status;
    const fold_fit *all = &f->fold_fits[f->folds];
    KN_TRY(kn_alloc_d(ctx, d->K, &d->lam));
    KN_TRY(kn_alloc_d(ctx, f->T, &d->psi));
    for (ptrdiff_t j = 0; j < f->T; j++)
        d->psi[j] = f->ss[j];
    for (ptrdiff_t k = 0; k < d->K; k++) {
        double *c = kn_col(f->Q, k), s = all->s2[k] > 0 ? 1 / sqrt(all->s2[k]) : 0;
        d->lam[k] = all->s2[k] / (double)f->N;
        for (ptrdiff_t j = 0; j < f->T; j++) {
            d->psi[j] -= c[j] * c[j];
            c[j] *= s;
        }
    }
    for (ptrdiff_t j = 0; j < f->T; j++)
        d->psi[j] = fmax(d->psi[j] / (double)(f->N - d->K), all->floor);
    if (d->K < f->Kmax) {
        KN_TRY(kn_mat_copy(ctx, kn_cols(f->Q, 0, d->K), &d->Q));
    } else {
        d->Q = f->Q;
        f->Q = kn_mat_none();
    }
    fix_signs(d->Q);
    KN_TRY(kn_deviance_prepare(ctx, d));
out:
    return status;
}

kn_status kn_deviance_finish(kn_ctx *ctx, fitter *f, bool *again, kn_deviance *out)
{
    kn_status status;
    kn_deviance d = {.T = f->T};
    kn_mat dev = {0}, density = {0}; /* N x stages */
    *out = (kn_deviance){0};
    *again = false;
    KN_TRY(kn_gathered_reduce(ctx, f));
    KN_TRY(kn_mat_new(ctx, f->N, f->n_stages, &dev));
    KN_TRY(kn_mat_new(ctx, f->N, f->n_stages, &density));
    for (int p = 0; p < f->folds; p++)
        for (int l = 0; l < f->n_stages; l++)
            KN_TRY(finish_stage(ctx, f, &f->fold_fits[p], l, dev, density));
    int best = best_stage(f, density, &d);
    if (f->shortened && best == f->n_stages - 1) {
        *again = true;
        kn_mat_clear(&f->Q);
        goto out;
    }
    KN_TRY(take_stage(ctx, f, dev, best, &d));
    KN_TRY(finish_fit(ctx, f, &d));
    *out = d;
    d = (kn_deviance){0};
out:
    kn_mat_clear(&density);
    kn_mat_clear(&dev);
    kn_deviance_clear(&d);
    return status;
}

/* Block visitor, called for each block of responses: pass 1 of the whole-map deviance fit
 * `self`. */
static kn_status first_block(kn_ctx *ctx, void *self, kn_block *b)
{
    return kn_deviance_first(ctx, self, b->first, b->z);
}

/* Block visitor, called for each block of responses: pass 2 of the whole-map deviance fit
 * `self`. */
static kn_status second_block(kn_ctx *ctx, void *self, kn_block *b)
{
    return kn_deviance_second(ctx, self, b->first, b->z);
}

kn_status kn_deviance_fit(kn_ctx *ctx, const kn_z_source *z, const int *fold, int folds,
                          ptrdiff_t K, kn_deviance *out)
{
    kn_status status;
    fitter *f = NULL;
    kn_mat zz;
    bool again;
    kn_block_loop loop = {.stage = "deviance", .total = 2 * z->cols};
    kn_deviance_shape shape = {
        .N = z->rows, .T = z->cols, .plan = kn_z_plan(z), .fold = fold, .folds = folds, .K = K};
    shape.Y = (kn_responses){.scaling = z->scaling, .N = z->rows, .T = z->cols};
    *out = (kn_deviance){0};
    KN_TRY(kn_deviance_fitter_new(ctx, &shape, &f));
    do {
        KN_TRY(kn_z_visit(ctx, z, loop, &(kn_visitor){f, 0, NULL, first_block, NULL}));
        KN_TRY(kn_deviance_gram(ctx, f, &again, &zz));
    } while (again);
    loop.done = z->cols;
    do {
        KN_TRY(kn_deviance_begin_pass2(ctx, f));
        KN_TRY(kn_z_visit(ctx, z, loop, &(kn_visitor){f, 0, NULL, second_block, NULL}));
        KN_TRY(kn_deviance_finish(ctx, f, &again, out));
    } while (again);
out:
    kn_deviance_fitter_free(f);
    return status;
}
