/* Automatic number of components: pilot search for R0, then the choice of P at that R0
 * [METHOD 3b, 2] */
#ifndef KN_GP_COMPONENTS_AUTO_H
#define KN_GP_COMPONENTS_AUTO_H

#include "gp/method.h"

/* R0 of the pilot search, known before the number of components is. */
typedef struct kn_components_pilot {
    /* at is set */
    bool found;
    kn_search_result at;
} kn_components_pilot;

/* Sets *P to the number of components, chosen with folds from p->gram or, without it, with the
 * held-out set p->held. Runs the pilot search unless found->found. Fills the loss curve in info
 * and warns if the covariates predict nothing. Collective. */
kn_status kn_components_auto(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info,
                             kn_components_pilot *found, ptrdiff_t *P);

#endif
