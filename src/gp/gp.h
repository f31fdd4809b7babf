/* A fitted Gaussian process of T responses, in standardised units. method.h has its operations.
 *
 * Response indices count the modelled responses only; src/model maps them to the caller's
 * numbering. */
#ifndef KN_GP_GP_H
#define KN_GP_GP_H

#include "base/array_visitor.h"
#include "gp/latent.h"
#include "gp/likelihood_spec.h"

struct kn_method;

/* How maps of predictions are made: for new participants, by leave-one-out, by cross-validation. */
typedef enum kn_maps_kind { KN_MAPS_PREDICT, KN_MAPS_LOO, KN_MAPS_CV } kn_maps_kind;

/* A fitted process; owns its arrays. N participants, F columns of X, T responses, P components. */
typedef struct kn_gp {
    const struct kn_method *method; /* operations, see method.h */
    kn_spec spec;
    ptrdiff_t N, F, T, P;
    kn_latent latent; /* the components, see latent.h */
    /* MT-Kronprod: an extra component represents all directions outside B [METHOD 1c]. Its mean is
     * zero and its variance has weight 1 - |row j of B|^2 in response j. */
    bool complement_component;
    kn_mat B;    /* T x P  basis; with iso noise already multiplied by U_C */
    kn_mat W;    /* T x P  Z = Y W where B is not orthonormal [METHOD 1g]; none: Z = Y B */
    kn_mat UC;   /* P x P  rotation U_C; none if C is diagonal */
    kn_mat span; /* T x Q  during the fit: columns whose leading axes B holds; none: B itself */
    bool pca;    /* B comes from the responses: every fold computes its own */
    bool axes;   /* only the axes inside a fixed span come from the responses [METHOD 1e] */
    double s2;   /* noise variance outside the basis (structured) or everywhere (iso) */
    double inside[KN_THETA]; /* iso: parameters other than those of R0 */
    /* Whitened noise: responses are divided by psi^1/2 and the complement component has a mean
     * [METHOD 1f]; see gp/predict/gp_maps.h. */
    double *psi; /* T  variance that scales each response; NULL: 1 */
    kn_mat D0;   /* kept directions x T, float32 precision [basis/complement.h]; none: zero mean */
    double *outside; /* T  weight of the complement in each response; NULL: 1 - |row j of B|^2 */
    void *own; /* data of the method itself. A method without components uses only X and groups of
                  latent. */
    double *noise; /* T  noise variance of each response [METHOD 1d] */
    /* T  factor that shrinks predictions to the training mean [METHOD 1d]; NULL: 1 */
    double *slope;
    double *energy; /* P  |z_p|^2 of principal components, during the fit */
    bool shared;    /* de-identified: synthetic points instead of X and groups [deidentify.h] */
} kn_gp;

/* Frees all that gp owns and sets it to {0}. */
void kn_gp_clear(kn_gp *gp);

/* Fixes after a fit how folds decompose R0 (covariance between participants): `rank` is
 * kn_spec.rank as the fit used it. If R0 has low rank, folds use at most as many features as the
 * fitted cells. The model file stores that number, so folds are the same before and after the
 * model is saved. */
void kn_gp_fix_rank(kn_gp *gp, ptrdiff_t rank);

/* Visits the array "group", the group of each training participant; for kn_method.arrays. Reading
 * fails (a->bad) if its length is not gp->N. */
kn_status kn_group_array(kn_gp *gp, kn_arrays *a);

/* Visits the arrays of a model with components (for kn_method.arrays), checking them when
 * reading. */
kn_status kn_components_arrays(kn_gp *gp, kn_arrays *a);
/* Returns the size in bytes of the arrays of a model with components. */
double kn_components_bytes(const kn_gp *gp);

#endif
