/* Implements pilot.h: kn_fit_search (gp/fit_problem.h) with structured noise and no complement.
 * The components come from the Gram matrix or the range finder. */
#include "gp/components/pilot.h"

#include "gp/components/choose_count.h"

ptrdiff_t kn_pilot_components(const kn_fit_problem *p, ptrdiff_t limit)
{
    if (!p->spec.additive && limit > (p->Y.N - 1) / 2)
        limit = (p->Y.N - 1) / 2;
    return limit < KN_PILOT_COMPONENTS ? limit : KN_PILOT_COMPONENTS;
}

kn_status kn_pilot(kn_ctx *ctx, kn_fit_problem *p, kn_mat X, const kn_groups *groups,
                   const ptrdiff_t *row_order, kn_mat Z, kn_fit_info *info, kn_search_result *found)
{
    kn_status status;
    kn_gp_options o = *p->options;
    kn_fit_problem small = *p;
    kn_basis few = {.Z = Z, .total = 1}; /* no complement: its likelihood does not depend on R0 */
    kn_engine e = {0};
    small.X = X;
    small.groups = *groups;
    small.options = &o;
    small.spec.noise = KN_NOISE_STRUCTURED;
    small.spec.sample = kn_cov_between(&p->spec.sample);
    o.search.optimiser = KN_NESTED;
    o.search.theta = NULL;
    o.search.row_order = row_order;
    KN_TRY(kn_fit_search(ctx, &small, &few, &e, found));
    info->evaluations += found->evals;
    info->evaluations_subsample += found->evals_subsample;
    p->pilot_rank = e.spec.rank; /* 0 if rank_auto changed to dense */
    if (p->core && X.data == p->X.data)
        kn_engine_donate(&e, p->core);
out:
    kn_engine_clear(&e); /* folds have their own */
    return status;
}

kn_status kn_pilot_of_gram(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info,
                           kn_search_result *found)
{
    kn_status status;
    kn_mat Z = {0};
    KN_TRY(kn_gram_coordinates(ctx, &p->Y, &p->gram, kn_pilot_components(p, p->gram.rank), &Z));
    KN_TRY(kn_pilot(ctx, p, p->X, &p->groups, p->options->row_order, Z, info, found));
out:
    kn_mat_clear(&Z);
    return status;
}

void kn_pilot_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_mem_usage mark = r->now;
    kn_problem_size pilot = *s;
    pilot.P = kn_min_size(s->P, KN_PILOT_COMPONENTS);
    kn_plan_alloc_d(r, KN_NEED_WORK, pilot.N, pilot.P + s->F + 2); /* 2: order of the rows */
    kn_search_need(r, &pilot);
    kn_plan_free_to(r, mark);
}
