/* Predicts in plan r the memory of an MTGPR fit [METHOD 1h]. It repeats the allocations of
 * learn.c and mtgpr.c as numbers. */
#include "gp/methods/mtgpr/internal.h"

#include "gp/assign_folds.h"
#include "gp/basis/complement.h"
#include "gp/components/choose_count.h"
#include "gp/components/pilot.h"
#include "gp/cv/refit.h"

void kn_mtgpr_need_finalise(kn_problem_size *s)
{
    s->chosen = s->P == 0;
    if (s->chosen)
        s->P = kn_min_size(kn_components_max(s->N, s->T, s->N), KN_MTGPR_MAX);
    s->P = kn_min_size(s->P + s->factors, s->T);
}

/* Predicts in plan r the memory of decomposing R0 and learning for s->N participants: latent
 * form and loadings stay in the plan, the rest only raises the peak. */
static void need_learning(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage mark = r->now;
    if (s->M < s->N) {
        kn_lowrank_need(r, s);
        kn_lowrank_kept_need(r, s);
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, s->M);
    } else {
        kn_mem_usage begun = r->now;
        kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
        kn_decomp_need(r, s->N);
        kn_plan_free_to(r, begun);
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, s->N);
    }
    kn_mtgpr_learn_need(r, s);
    kn_latent_need(r, s);
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P + 1);
    if (s->complement)
        kn_complement_need(r, s, s->M);
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P + 1);
    if (s->complement)
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->M + 1, s->T);
}

void kn_mtgpr_need_fit(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage begin = r->now;
    kn_problem_size pilot = *s;
    pilot.P = kn_min_size(s->N - 1, s->T); /* components of the pilot fit, not of the model */
    kn_plan_stage(r, "gram");
    if (s->N <= KN_MANY)
        kn_gram_need(r, s);
    kn_plan_stage(r, "components");
    if (s->chosen)
        kn_components_need(r, s);
    else
        kn_pilot_need(r, &pilot);
    kn_plan_free_to(r, begin);
    kn_plan_stage(r, "loadings");
    need_learning(r, s);
    kn_latent_need(r, s);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1);
    kn_plan_stage(r, "folds");
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 2);
    for (int k = 0; k < s->folds; k++) {
        ptrdiff_t h = (s->N + s->folds - 1 - k) / s->folds;
        kn_problem_size f = *s;
        f.N = s->N - h;
        f.M = s->M < s->N ? kn_min_size(s->M, f.N) : f.N;
        kn_mem_usage mark = r->now;
        kn_refit_need(r, s, f.N, h);
        need_learning(r, &f);
        kn_plan_free_to(r, mark);
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P + 2);
        if (s->complement)
            kn_plan_alloc_d(r, KN_NEED_BASIS, f.M + 1, s->T);
        kn_plan_alloc_d(r, KN_NEED_WORK, h, (s->sites > 0 ? 3 : 2) * (s->P + 1) + 1);
    }
}
