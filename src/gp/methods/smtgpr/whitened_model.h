/* Components and complement of whitened responses at a given R0, for the fit and for each fold
 * [METHOD 1f].
 *
 *     Z = Yw B     A = U'Z     D = U'Yw - A B'     e_n = |D_n|^2
 *     LML = sum_p LML_p + LML_0 - N/2 sum ln psi_j
 *     LML_0 = -1/2 [N(T-P) ln 2pi + (T-P) sum ln(c0 r_n + d0) + sum e_n/(c0 r_n + d0)]
 *
 * LML_0/(T-P) is the LML of one component whose squares are e/(T-P), so the profile of 1b finds c0
 * and d0. Directions outside U have r = 0 and the rest of the energy. */
#ifndef KN_GP_METHODS_SMTGPR_WHITENED_MODEL_H
#define KN_GP_METHODS_SMTGPR_WHITENED_MODEL_H

#include "gp/basis/complement.h"
#include "gp/methods/smtgpr/factor_analysis.h"
#include "gp/spec.h"

typedef struct kn_whitened {
    kn_factors factors; /* psi, B, Z */
    kn_latent latent;   /* P components, and one more for the complement, A = 0 */
    bool complement;    /* fewer components than responses */
    double lml;         /* of Y, including the determinant of Psi */
    ptrdiff_t rank;     /* rank with which R0 was decomposed: kn_spec.rank */
} kn_whitened;

/* Frees factors and components. */
void kn_whitened_clear(kn_whitened *w);

/* Data of a fit; all borrowed. */
typedef struct kn_whitened_of {
    const kn_spec *spec;
    kn_mat X;              /* N x F, copied */
    const kn_responses *Y; /* N x T */
    const double *mean;    /* T, subtracted from Y, or NULL: 0 */
    const double *theta;   /* of R0 */
} kn_whitened_of;

/* Estimates c, d by the profile of 1b; w->factors and w->complement must be set. */
kn_status kn_whitened_at(kn_ctx *ctx, const kn_whitened_of *of, kn_whitened *w);
/* Returns the data from which D0 is computed; borrowed from *of and *w. */
kn_complement_of kn_whitened_outside(const kn_whitened_of *of, const kn_whitened *w);

void kn_whitened_need(kn_mem_plan *r, const kn_problem_size *s); /* keeps factors and components */

#endif
