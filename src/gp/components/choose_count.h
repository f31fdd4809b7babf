/* Number of components by held-out log loss [METHOD 2, components auto]. It is used for
 * {components=auto}. */
#ifndef KN_GP_COMPONENTS_CHOOSE_COUNT_H
#define KN_GP_COMPONENTS_CHOOSE_COUNT_H

#include "base/memory/plan.h"
#include "gp/fit_problem.h"

/* Chooses the number of components *P by held-out log loss at the R0 (covariance between
 * participants) given by `at`: 0 if the covariates predict nothing (1 with iso noise). Fills
 * info->curve and nothing_predicted. Uses folds from the Gram matrix, or the single held-out set
 * if the problem has one; always with structured noise. Collective. */
kn_status kn_choose_components(kn_ctx *ctx, const kn_fit_problem *problem, const kn_cov_point *at,
                               kn_fit_info *info, ptrdiff_t *P);

enum { KN_PILOT_COMPONENTS = 25 }; /* components of the pilot search */

/* The largest number of components that is tried for N participants, T responses and a Gram matrix
 * of this rank. */
ptrdiff_t kn_components_max(ptrdiff_t N, ptrdiff_t T, ptrdiff_t rank);
/* Predicts in plan r the memory of kn_components_auto, pilot search and loss curve up to s->P
 * components: added and removed again, so only the peak rises. */
void kn_components_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- auto ----
 *
 * Automatic number of components: pilot search for R0, then the choice of P at that R0
 * [METHOD 3b, 2] */

/* R0 of the pilot search, known before the number of components is. */
typedef struct kn_components_pilot {
    /* at is set */
    bool found;
    kn_search_result at;
} kn_components_pilot;

/* Chooses the number of components *P for {components=auto}: pilot search for R0 (covariance
 * between participants) unless found->found, then held-out loss at that R0, with folds from
 * p->gram or, without it, with the held-out set p->held_out. Fills the loss curve in info and
 * warns if the covariates predict nothing. Collective. */
kn_status kn_components_auto(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info,
                             kn_components_pilot *found, ptrdiff_t *P);

#endif
