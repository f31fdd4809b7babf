/* Implements auto.h: the pilot search on all rows or on the training rows of the held-out set,
 * then kn_choose_components. */
#include "gp/components/auto.h"

#include <string.h>

#include "base/mpi/comm.h"
#include "gp/components/choose_count.h"
#include "gp/components/pilot.h"

/* kn_choose_components on all ranks, then the result of root on all of them. */
static kn_status choose_components(kn_ctx *ctx, const kn_fit_problem *p,
                                   const kn_search_result *pilot, kn_fit_info *info, ptrdiff_t *P)
{
    kn_status status;
    struct {
        int64_t P, nothing_predicted, n_curve;
        kn_curve_point curve[KN_MAX_CURVE];
    } chosen = {0};
    KN_TRY(kn_choose_components(ctx, p, &pilot->at, info, P));
    chosen.P = *P;
    chosen.nothing_predicted = info->nothing_predicted;
    chosen.n_curve = info->n_curve;
    memcpy(chosen.curve, info->curve, sizeof chosen.curve);
    if (p->options->search.lockstep)
        KN_TRY(kn_comm_broadcast(ctx, &chosen, sizeof chosen, 0));
    *P = (ptrdiff_t)chosen.P;
    info->nothing_predicted = (int)chosen.nothing_predicted;
    info->n_curve = (int)chosen.n_curve;
    memcpy(info->curve, chosen.curve, sizeof info->curve);
    if (info->nothing_predicted)
        kn_log(ctx, KN_LOG_WARNING,
               "the covariates predict nothing: no number of components beats the mean alone; %s",
               *P > 0 ? "one component is used" : "everybody is expected to have the mean");
out:
    return status;
}

kn_status kn_components_auto(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info,
                             kn_components_pilot *found, ptrdiff_t *P)
{
    kn_status status;
    kn_fit_problem curve;
    kn_mat Xt = {0};
    kn_groups train = {0};
    const kn_heldout *held = p->held.mean ? &p->held : NULL;
    if (held && !found->found) {
        ptrdiff_t n = held->rows.n_train, most = kn_pilot_components(p, held->basis.Z.cols);
        KN_TRY(kn_mat_new(ctx, n, p->X.cols, &Xt));
        kn_mat_rows(p->X, held->rows.train, Xt);
        KN_TRY(kn_groups_subset(ctx, &p->groups, held->rows.train, n, &train));
        KN_TRY(kn_pilot(ctx, p, Xt, &train, kn_cols(held->basis.Z, 0, most), info, &found->at));
    } else if (!found->found) {
        KN_TRY(kn_pilot_of_gram(ctx, p, info, &found->at));
    }
    found->found = true;
    curve = *p;
    curve.spec.rank = p->pilot_rank;
    curve.spec.rank_auto = false;
    KN_TRY(choose_components(ctx, &curve, &found->at, info, P));
out:
    kn_groups_clear(&train);
    kn_mat_clear(&Xt);
    return status;
}
