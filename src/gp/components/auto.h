/* R0 at a few components, then the number of components at that     [METHOD 3b, 2] */
#ifndef KN_GP_COMPONENTS_AUTO_H
#define KN_GP_COMPONENTS_AUTO_H

#include "gp/method.h"

/* What a fit has found of R0 before the number of components is settled. */
typedef struct kn_components_pilot {
    bool found;
    kn_search_result at;
} kn_components_pilot;

/* Chooses the number of components from p->gram or, without it, from the held-out set p->held. Runs
 * the pilot search unless found->found. Collective. */
kn_status kn_components_auto(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info,
                             kn_components_pilot *found, ptrdiff_t *P);

#endif
