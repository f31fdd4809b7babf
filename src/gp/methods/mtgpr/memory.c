#include "gp/methods/mtgpr/memory.h"

#include "gp/assign_folds.h"
#include "gp/basis/complement.h"
#include "gp/components/choose_count.h"
#include "gp/components/pilot.h"
#include "gp/cv/refit.h"
#include "gp/methods/mtgpr/learn.h"

void kn_mtgpr_need_settle(kn_need_shape *s)
{
    s->chosen = s->P == 0;
    if (s->chosen)
        s->P = kn_at_most(kn_components_most(s->N, s->T, s->N), KN_MTGPR_MOST);
    s->P = kn_at_most(s->P + s->factors, s->T);
}

/* R0 of n samples, U of it, and what is learned at it; leaves the latent form and loadings. */
static void learn_need(kn_rehearsal *r, const kn_need_shape *s)
{
    kn_held mark = r->now;
    if (s->M < s->N) {
        kn_lowrank_need(r, s);
        kn_lowrank_kept_need(r, s);
        kn_hold_d(r, KN_NEED_SAMPLES, s->N, s->M);
    } else {
        kn_held begun = r->now;
        kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
        kn_decomp_need(r, s->N);
        kn_let_go(r, begun);
        kn_hold_d(r, KN_NEED_SAMPLES, s->N, s->N);
    }
    kn_mtgpr_learn_need(r, s);
    kn_latent_need(r, s);
    kn_hold_d(r, KN_NEED_BASIS, s->T, s->P + 1);
    if (s->complement)
        kn_complement_need(r, s, s->M);
    kn_let_go(r, mark);
    kn_hold_d(r, KN_NEED_BASIS, s->T, s->P + 1);
    if (s->complement)
        kn_hold_d(r, KN_NEED_BASIS, s->M + 1, s->T);
}

void kn_mtgpr_need_fit(kn_rehearsal *r, const kn_need_shape *s)
{
    kn_held begin = r->now;
    kn_need_shape pilot = *s;
    pilot.P = kn_at_most(s->N - 1, s->T); /* its components are not the model's */
    kn_rehearse_stage(r, "gram");
    if (s->N <= KN_MANY)
        kn_gram_need(r, s);
    kn_rehearse_stage(r, "components");
    if (s->chosen)
        kn_components_need(r, s);
    else
        kn_pilot_need(r, &pilot);
    kn_let_go(r, begin);
    kn_rehearse_stage(r, "loadings");
    learn_need(r, s);
    kn_latent_need(r, s);
    kn_hold_d(r, KN_NEED_WORK, s->T, 1);
    kn_rehearse_stage(r, "folds");
    kn_hold_d(r, KN_NEED_WORK, s->N, 2);
    for (int k = 0; k < s->folds; k++) {
        ptrdiff_t h = (s->N + s->folds - 1 - k) / s->folds;
        kn_need_shape f = *s;
        f.N = s->N - h;
        f.M = s->M < s->N ? kn_at_most(s->M, f.N) : f.N;
        kn_held mark = r->now;
        kn_refit_need(r, s, f.N, h);
        learn_need(r, &f);
        kn_let_go(r, mark);
        kn_hold_d(r, KN_NEED_BASIS, s->T, s->P + 2);
        if (s->complement)
            kn_hold_d(r, KN_NEED_BASIS, f.M + 1, s->T);
        kn_hold_d(r, KN_NEED_WORK, h, (s->sites > 0 ? 3 : 2) * (s->P + 1) + 1);
    }
}
