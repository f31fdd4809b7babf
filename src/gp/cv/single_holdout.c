/* Implements single_holdout.h with the range finder (gp/basis/range_finder.h), or for few responses
 * with their products (gp/basis/gram.h). One set of participants is held out instead of folds when
 * there are very many. */
#include "gp/cv/single_holdout.h"

#include <math.h>

#include "gp/assign_folds.h"

void kn_heldout_clear(kn_heldout *h)
{
    kn_fold_clear(&h->rows);
    kn_basis_clear(&h->basis);
    kn_free(h->mean);
    *h = (kn_heldout){0};
}

bool kn_heldout_by_products(ptrdiff_t T)
{
    return T <= KN_BLOCK;
}

/* Sets h->basis and h->mean: the exact leading K components of the training rows of h, from Y'Y
 * (T x T): that of all rows (gram) less that of the held-out rows, or computed if gram is NULL.
 * Collective. */
static kn_status find_basis_by_products(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram,
                                        ptrdiff_t K, kn_heldout *h)
{
    kn_status status;
    kn_fold *f = &h->rows;
    kn_responses train = kn_responses_rows(Y, f->train, f->n_train);
    K = kn_min_size(K, Y->T);
    KN_TRY(gram ? kn_folds_pca(ctx, Y, gram, K, &f, 1) : kn_fold_completed(ctx, &train, K, f));
    h->basis = (kn_basis){.B = f->B, .Z = f->Z_train, .total = f->total, .pca = true};
    h->basis.E = fmax(f->total - kn_sumsq(f->Z_train), 0);
    h->mean = f->mu;
    f->B = f->Z_train = kn_mat_none();
    f->mu = NULL;
    kn_basis_fix_signs(&h->basis);
out:
    return status;
}

/* Approximates the leading K components of the training rows of h (h->rows, already set) by the
 * range finder with one power pass. Sets h->basis (B: T x K, Z: n_train x K), h->mean (T,
 * standardised units) and h->range (residual and number of readings). KN_ERR_ARGUMENT: K out of
 * range; KN_ERR_DATA: no response varies. Collective. */
static kn_status find_basis_by_range(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t K, uint64_t seed,
                                     kn_heldout *h)
{
    kn_status status;
    kn_range_options o = {.centre = true, .passes = 1, .seed = seed};
    kn_responses train = kn_responses_rows(Y, h->rows.train, h->rows.n_train);
    KN_TRY(kn_alloc_d(ctx, Y->T, &h->mean));
    o.mean = h->mean;
    KN_TRY(kn_basis_range(ctx, &train, K, &o, &h->basis, &h->range));
out:
    return status;
}

kn_status kn_heldout_new(kn_ctx *ctx, const kn_heldout_input *input, ptrdiff_t K, kn_heldout *out)
{
    kn_status status;
    const kn_responses *Y = input->Y;
    *out = (kn_heldout){0};
    KN_TRY(kn_fold_rows(ctx, Y->N, input->fold, 0, &out->rows));
    KN_TRY(kn_heldout_by_products(Y->T) ? find_basis_by_products(ctx, Y, input->gram, K, out)
                                        : find_basis_by_range(ctx, Y, K, input->seed, out));
out:
    if (status != KN_OK)
        kn_heldout_clear(out);
    return status;
}

/* The training rows need no reading: Y B = Z + 1 mean'B. */
kn_status kn_heldout_sketch(kn_ctx *ctx, const kn_heldout *h, const kn_responses *Y, ptrdiff_t k,
                            kn_mat *out)
{
    kn_status status;
    const kn_fold *f = &h->rows;
    kn_mat Z_test = {0}, B = kn_cols(h->basis.B, 0, kn_min_size(k, h->basis.B.cols));
    kn_responses held_out_rows = kn_responses_rows(Y, f->test, f->n_test);
    double total;
    KN_TRY(kn_mat_new(ctx, Y->N, B.cols, out));
    KN_TRY(kn_mat_new(ctx, f->n_test, B.cols, &Z_test));
    KN_TRY(kn_project(ctx, &held_out_rows, NULL, B, Z_test, &total));
    for (ptrdiff_t p = 0; p < B.cols; p++) {
        const double *b = kn_col(B, p), *z = kn_col(h->basis.Z, p);
        double shift = 0;
        for (ptrdiff_t j = 0; j < Y->T; j++)
            shift += h->mean[j] * b[j];
        for (ptrdiff_t i = 0; i < f->n_train; i++)
            kn_col(*out, p)[f->train[i]] = z[i] + shift;
        for (ptrdiff_t i = 0; i < f->n_test; i++)
            kn_col(*out, p)[f->test[i]] = kn_at(Z_test, i, p);
    }
out:
    kn_mat_clear(&Z_test);
    return status;
}

void kn_heldout_sketch_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t k)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, k);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, kn_held_out(s->N), k);
    kn_project_need(r, kn_held_out(s->N), s->T, k);
    kn_plan_free_to(r, mark);
}

void kn_heldout_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t K)
{
    kn_problem_size own = *s;
    ptrdiff_t n = s->N - kn_held_out(s->N);
    own.P = K;
    if (kn_heldout_by_products(s->T)) {
        kn_fold_need(r, &own, n);
        kn_folds_pca_need(r, &own, n, 1);
        return;
    }
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 2);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1);
    kn_range_need(r, n, s->T, K);
}
