#include "gp/cv_heldout.h"

#include "gp/cv_deal.h"

void kn_heldout_clear(kn_heldout *h)
{
    kn_fold_clear(&h->rows);
    kn_basis_clear(&h->basis);
    kn_free(h->mean);
    *h = (kn_heldout){0};
}

kn_status kn_heldout_new(kn_ctx *ctx, const kn_responses *Y, const int *fold, ptrdiff_t K,
                         uint64_t seed, kn_heldout *out)
{
    kn_status status;
    kn_range_options o = {.centre = true, .passes = 1, .seed = seed};
    *out = (kn_heldout){0};
    KN_TRY(kn_fold_rows(ctx, Y->N, fold, 0, &out->rows));
    KN_TRY(kn_alloc_d(ctx, Y->T, &out->mean));
    kn_responses train = kn_responses_rows(Y, out->rows.train, out->rows.n_train);
    o.mean = out->mean;
    KN_TRY(kn_basis_range(ctx, &train, K, &o, &out->basis, &out->range));
out:
    if (status != KN_OK)
        kn_heldout_clear(out);
    return status;
}

void kn_heldout_need(kn_rehearsal *r, const kn_need_shape *s, ptrdiff_t K)
{
    kn_hold_d(r, KN_NEED_WORK, s->N, 2);
    kn_hold_d(r, KN_NEED_WORK, s->T, 1);
    kn_range_need(r, s->N - kn_held_out(s->N), s->T, K);
}
