/* A fitted multi-response Gaussian process in standardised units, and what can be asked of it.
 * Responses are numbered among those in use; src/model turns them back into the caller's. */
#ifndef KN_GP_GP_H
#define KN_GP_GP_H

#include "gp/basis.h"
#include "gp/latent.h"
#include "gp/search.h"
#include "gp/stgpr_cells.h"

typedef struct kn_gp {
    kn_method method;
    kn_spec spec;
    ptrdiff_t N, F, T, P;
    kn_latent latent; /* the components; see latent.h */
    /* MT-Kronprod: one more component stands for all directions outside B [METHOD 1c]; its mean is
     * zero and its variance weighs 1 - |row j of B|^2 in response j */
    bool complement_component;
    kn_mat B;                /* T x P basis; for iso noise already times U_C */
    kn_mat UC;               /* P x P  that rotation; none when C is diagonal */
    bool pca;                /* the basis came from the responses and is found again in each fold */
    double s2;               /* noise outside the basis (structured), everywhere (iso) */
    double inside[KN_THETA]; /* iso: parameters that do not belong to R0 */
    kn_stgpr stgpr;          /* STGPR: of all above only N, F, T and latent.X are used */
    double *noise;           /* T  noise variance of each response [METHOD 1d] */
    double *energy;          /* P  |z_p|^2 of principal components of many samples, while fitting */
} kn_gp;

void kn_gp_clear(kn_gp *gp);

typedef struct kn_gp_options {
    kn_search_options search;
    ptrdiff_t components;  /* 0: auto */
    kn_view basis;         /* data NULL: principal components */
    int folds;             /* of the reference; 0: none */
    const int *groups;     /* N, or NULL: who stays together in them */
    struct kn_gp_maps *cv; /* NULL, or where the cross-validated maps go when they were made */
    bool plain;            /* STGPR: each response alone */
} kn_gp_options;

#endif
