/* S-MTGPR with whitened noise: each response in units of its own, one signal and one noise for all
 * that the components leave                                                          [METHOD 1f] */
#ifndef KN_GP_WHITENED_H
#define KN_GP_WHITENED_H

#include "gp/complement.h"
#include "gp/factors.h"
#include "gp/method.h"

extern const kn_method kn_method_whitened;
/* Fits structured and whitened noise, and takes whitened where people held out prefer it. */
extern const kn_method kn_method_noise_auto;

/* ---- of some samples ---- */

typedef struct kn_whitened {
    kn_factors factors; /* psi, B, Z */
    kn_latent latent;   /* P components, and where there is a complement one more, A = 0 */
    bool complement;
    double lml;     /* of Y, psi's determinant included */
    ptrdiff_t rank; /* of R0 as it was decomposed: kn_spec.rank */
} kn_whitened;

void kn_whitened_clear(kn_whitened *w);

typedef struct kn_whitened_of {
    const kn_spec *spec;
    kn_mat X;              /* N x F, copied */
    const kn_responses *Y; /* N x T */
    const double *mean;    /* T, or NULL: what is taken off Y */
    const double *theta;   /* of R0 */
} kn_whitened_of;

/* Components and complement at w->factors and R0: c, d by 1b's profile. `complement`: of a fold, as
 * the model has it. */
kn_status kn_whitened_at(kn_ctx *ctx, const kn_whitened_of *of, kn_whitened *w);
/* D0 and what it takes, of the same. */
kn_complement_of kn_whitened_outside(const kn_whitened_of *of, const kn_whitened *w);

/* Predictions of the rows held out in a fold, for kn_refit_cv. */
struct kn_refit;
kn_status kn_whitened_fold(kn_ctx *ctx, const struct kn_refit *fold, kn_part *part,
                           double *clamped);
kn_status kn_whitened_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem,
                         kn_gp_maps *out);

/* A fit with P components at R0 as it was found, of rank p->spec.rank; R0 that is no sum of the
 * design's is searched for again with these. */
kn_status kn_whitened_fit_at(kn_ctx *ctx, kn_fit_problem *p, kn_found *found, ptrdiff_t P,
                             kn_gp *gp, kn_fit_info *info);

/* n samples: a kn_whitened stays. Folds. */
void kn_whitened_need(kn_rehearsal *r, const kn_need_shape *s);
void kn_whitened_cv_need(kn_rehearsal *r, const kn_need_shape *s);

#endif
