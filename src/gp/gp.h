/* A fitted multi-response Gaussian process in standardised units, and what can be asked of it.
 * Responses are numbered among those in use; src/model turns them back into the caller's. */
#ifndef KN_GP_GP_H
#define KN_GP_GP_H

#include "base/array_visitor.h"
#include "gp/latent.h"
#include "gp/spec.h"

struct kn_method;

typedef struct kn_gp {
    const struct kn_method *method; /* see method.h */
    kn_spec spec;
    ptrdiff_t N, F, T, P;
    kn_latent latent; /* the components; see latent.h */
    /* MT-Kronprod: one more component stands for all directions outside B [METHOD 1c]; its mean is
     * zero and its variance weighs 1 - |row j of B|^2 in response j */
    bool complement_component;
    kn_mat B;    /* T x P basis; for iso noise already times U_C */
    kn_mat W;    /* T x P  Z = Y W where B is not orthonormal [METHOD 1g]; none: B */
    kn_mat UC;   /* P x P  that rotation; none when C is diagonal */
    kn_mat span; /* T x Q  while fitting: what B has the leading axes of; none: B's own */
    bool pca;    /* the basis came from the responses and is found again in each fold */
    bool axes;   /* or only its axes inside a span that is held [METHOD 1e] */
    double s2;   /* noise outside the basis (structured), everywhere (iso) */
    double inside[KN_THETA]; /* iso: parameters that do not belong to R0 */
    /* Responses are whitened by psi, and the complement component has a mean [METHOD 1f]; see
     * maps.h */
    double *psi;     /* T  variance that each is measured in; NULL: 1 */
    kn_mat D0;       /* directions kept (complement.h) x T, float32 numbers; none: no such mean */
    double *outside; /* T  what of each is outside the basis; NULL: 1 - |row j of B|^2 */
    void *own;     /* of a method without components, which has X and groups of latent only; or what
                    * else a method keeps */
    double *noise; /* T  noise variance of each response [METHOD 1d] */
    double *slope; /* T  by which held-out means are drawn to the mean of training; NULL: 1 */
    double *energy; /* P  |z_p|^2 of principal components, while fitting */
    bool shared;    /* it has neither X nor groups: points that are no samples instead [share.h] */
} kn_gp;

void kn_gp_clear(kn_gp *gp);

/* After the fit: folds decompose R0 as the fit did, whose kn_spec.rank is given. Where that is of
 * low rank, they take at most as many features as the components have, which is what the file of
 * a model tells: folds are the same before and after the model was in its file. */
void kn_gp_fix_rank(kn_gp *gp, ptrdiff_t rank);

/* "group": the groups of the training samples in gp->latent, for kn_method.arrays. */
kn_status kn_group_array(kn_gp *gp, kn_arrays *a);

/* The arrays of a process of components, for kn_method.arrays, and their bytes. */
kn_status kn_components_arrays(kn_gp *gp, kn_arrays *a);
double kn_components_bytes(const kn_gp *gp);

#endif
