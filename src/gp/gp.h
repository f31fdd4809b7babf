/* A fitted multi-response Gaussian process in standardised units, and what can be asked of it.
 * Responses are numbered among those in use; src/model turns them back into the caller's. */
#ifndef KN_GP_GP_H
#define KN_GP_GP_H

#include "gp/basis.h"
#include "gp/latent.h"
#include "gp/search.h"
#include "gp/stgpr.h"

typedef struct kn_gp {
    kn_method method;
    kn_spec spec;
    ptrdiff_t N, F, T, P;
    kn_latent latent; /* the components; see latent.h */
    /* MT-Kronprod: one more component stands for all directions outside B [METHOD 1c]; its mean is
     * zero and its variance weighs 1 - |row j of B|^2 in response j */
    bool complement_component;
    kn_mat B;  /* T x P basis; for iso noise already times U_C */
    kn_mat UC; /* P x P  that rotation; none when C is diagonal */
    bool pca;  /* the basis came from the responses and is found again in each fold */
    double s2; /* noise outside the basis (structured), everywhere (iso) */
    double inside[KN_MAX_THETA]; /* iso: parameters that do not belong to R0 */
    kn_stgpr stgpr;              /* STGPR: of all above only N, F, T and latent.X are used */
    double *noise;               /* T  noise variance of each response [METHOD 1d] */
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

/* X N x F standardised. Fills the parts of info that belong to the fit. */
kn_status kn_smtgpr_fit(kn_ctx *ctx, kn_mat X, const kn_responses *Y, const kn_spec *spec,
                        const kn_gp_options *o, kn_gp *gp, kn_fit_info *info);

kn_status kn_kronprod_fit(kn_ctx *ctx, kn_mat X, const kn_responses *Y, const kn_spec *spec,
                          const kn_gp_options *o, kn_gp *gp, kn_fit_info *info);

kn_status kn_stgpr_fit(kn_ctx *ctx, kn_mat X, const kn_responses *Y, const kn_spec *spec,
                       const kn_gp_options *o, kn_gp *gp, kn_fit_info *info);

/* ---- maps: mean and model variance for some samples, by blocks of responses ------------------ */

/* Samples that share a basis: all of them in a prediction, one fold in cross-validation. */
typedef struct kn_part {
    ptrdiff_t n;
    ptrdiff_t *rows;  /* which rows of the maps these are; NULL: 0 .. n-1 */
    kn_mat mean, var; /* n x P (+ 1 with a complement component), latent ... */
    bool direct;      /* ... or n x T, of the responses themselves */
    /* a fold's own basis B_f = (Y_tr - 1 mu')' U S^-1, made block by block      [METHOD 5b] */
    ptrdiff_t n_train;
    ptrdiff_t *train; /* rows of Y; NULL: the model's basis as it is, no mean to re-estimate */
    kn_mat US;        /* n_train x P; none: the model's basis with the fold's mean */
    kn_mat rotate;    /* P x P  from the model's U_C to the fold's, for a basis that is held */
} kn_part;

typedef struct kn_gp_maps {
    const kn_gp *gp;
    kn_responses Y; /* cross-validation only */
    ptrdiff_t n;    /* samples */
    int folds;      /* cross-validation only */
    int *fold;      /* n  which each was held out in */
    /* n  rows of Y that these are; NULL: all in order, each held out once */
    ptrdiff_t *sample;
    int n_parts;
    kn_part *part;
    struct kn_stgpr_maps *stgpr; /* STGPR: instead of parts */
    double clamped;              /* largest relative step by which a variance fell below zero */
} kn_gp_maps;

/* STGPR's part in the functions below [stgpr_maps.c] */
kn_status kn_stgpr_predict(kn_ctx *ctx, const kn_gp *gp, kn_mat Xs, kn_gp_maps *out);
kn_status kn_stgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
kn_status kn_stgpr_cv(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, int folds,
                      const int *fold, kn_gp_maps *out);
kn_status kn_stgpr_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat mean,
                              kn_mat var);
void kn_stgpr_maps_free(struct kn_stgpr_maps *maps);

kn_status kn_gp_predict(kn_ctx *ctx, const kn_gp *gp, kn_mat Xs, kn_gp_maps *out);
/* Z = Y B   N x P, reading Y once */
kn_status kn_gp_coordinates(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_mat Z);
kn_status kn_gp_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);

/* fold[i] in 0 .. folds-1. gram: of Y, or NULL to have it made. */
kn_status kn_gp_cv(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, const kn_gram *gram,
                   int folds, const int *fold, kn_gp_maps *out);

/* mean, var: n x count, each may be absent. Standardised units. */
kn_status kn_gp_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat mean,
                           kn_mat var);
void kn_gp_maps_clear(kn_gp_maps *maps);

/* Seeded folds of nearly equal size: fold[i] in 0 .. *folds-1. groups (or NULL): samples of one
 * group share a fold. KN_HELD_OUT_ONCE: 2000 samples, or half of them, are held out together and
 * the others never: fold[i] is 0 or -1. S-MTGPR does that from KN_MANY samples     [METHOD 5b] */
enum { KN_HELD_OUT_ONCE = 1, KN_MANY = 5000 };
kn_status kn_folds_deal(kn_ctx *ctx, ptrdiff_t N, const int *groups, uint64_t seed, int *folds,
                        int *fold);

/* ---- noise ------------------------------------------------------------------------------------
 */

/* gp->noise from the cross-validated maps, or in-sample when cv is NULL [METHOD 1d], and the
 * summary of the cross-validation. */
kn_status kn_gp_set_noise(kn_ctx *ctx, kn_gp *gp, const kn_responses *Y, const kn_gp_maps *cv,
                          kn_cv_summary *summary);

/* Covariance of the responses J for one sample: B_J diag(v_lat) B_J', and the noise's
 * [METHOD 1d]. x 1 x F. */
kn_status kn_gp_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J, kn_mat model,
                           kn_mat noise);

/* ---- number of components ---------------------------------------------------------------------
 */

/* METHOD 2, "components auto". The engine-independent part: given (rho, length) it fills the
 * curve and returns the number of components to use. */
kn_status kn_choose_components(kn_ctx *ctx, kn_mat X, const kn_responses *Y, const kn_gram *gram,
                               const kn_spec *spec, double rho, double length,
                               const kn_gp_options *o, kn_fit_info *info, ptrdiff_t *P);

#endif
