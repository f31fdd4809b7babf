/* Mean and model variance of every response for some samples, by blocks of responses. */
#ifndef KN_GP_PREDICT_PREDICTION_BLOCKS_H
#define KN_GP_PREDICT_PREDICTION_BLOCKS_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"
#include "gp/gp.h"

/* What maps are made of. */
typedef enum kn_maps_kind { KN_MAPS_PREDICT, KN_MAPS_LOO, KN_MAPS_CV } kn_maps_kind;

/* Whom to predict for. */
typedef struct kn_predict_input {
    kn_mat X;               /* n x F, as the training samples' */
    const ptrdiff_t *group; /* n  the group of training that each belongs to, -1: a new one; NULL:
                             * all are in new ones */
} kn_predict_input;

/* Samples that share a basis: all of them in a prediction, one fold in cross-validation. */
typedef struct kn_fold_prediction {
    ptrdiff_t n;
    ptrdiff_t *rows;  /* which rows of the maps these are; NULL: 0 .. n-1 */
    kn_mat mean, var; /* n x P (+ 1 with a complement component), latent ... */
    bool direct;      /* ... or n x T, of the responses themselves */
    kn_mat alone;     /* mean as if people were of no batch; none: nobody asked for it */
    /* a fold's own basis B_f = (Y_tr - 1 mu')' U S^-1, made block by block      [METHOD 5b] */
    ptrdiff_t n_train;
    ptrdiff_t *train; /* rows of Y; NULL: the model's basis as it is, no mean to re-estimate */
    kn_mat US;        /* n_train x P; none: the model's basis with the fold's mean */
    kn_mat rotate;    /* P x P  from the model's U_C to the fold's, for a basis that is held; Q x P
                       * from the columns of kn_user_span_fixed to the fold's axes */
    /* or, of a held-out set, that basis and mean as they are */
    kn_mat B;   /* T x P */
    double *mu; /* T */
    /* its noise where that is not the model's [METHOD 8j]: of each component in a new group, and
     * outside the basis; NULL: as the model's */
    double *d; /* P */
    double s2;
    /* What the complement component says besides [METHOD 1f], one of the two:
     *     mean_j = psi_j^1/2 (mean_lat B_j' + RU D0_j)  or  psi_j^1/2 mean_lat B_j' + smooth y_j
     * with y the n_train rows `train`, of which mu is taken first, or all of maps->Y as they are */
    double *psi;         /* T  a fold's own; NULL: the model's */
    double *outside;     /* T  as kn_gp.outside; NULL: the model's */
    kn_mat RU, RU_alone; /* n x directions kept   R0* U */
    kn_mat D0;           /* directions kept x T  a fold's own; none: the model's */
    kn_mat smooth;       /* n x n_train, or n x N without `train` */
    kn_mat smooth_alone;
} kn_fold_prediction;

typedef struct kn_gp_maps {
    const kn_gp *gp;
    kn_responses Y; /* cross-validation only */
    ptrdiff_t n;    /* samples */
    int folds;      /* cross-validation only */
    int *fold;      /* n  which each was held out in */
    /* n  rows of Y that these are; NULL: all in order, each held out once */
    ptrdiff_t *sample;
    int n_parts;
    kn_fold_prediction *part;
    void *own; /* of a method without components: instead of parts */
    void (*own_free)(void *own);
    bool alone;     /* means are as if people were of no batch */
    double clamped; /* largest relative step by which a variance fell below zero */
    double *far;    /* n  of a model without components: see kn_latent_far; NULL */
    bool *known;    /* n  in a known group: no slope is applied; NULL: none is */
} kn_gp_maps;

/* Z = Y B, or Y W; of whitened responses Y Psi^-1/2 B   N x P, reading Y once */
kn_status kn_gp_coordinates(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_mat Z);
/* mean, var: n x count, each may be absent. Standardised units. */
kn_status kn_gp_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat mean,
                           kn_mat var);
/* The same with the block of maps->Y, all its rows, at hand (or not: kn_mat_none()). */
kn_status kn_gp_maps_from(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y,
                          kn_mat mean, kn_mat var);
/* From now on means, and no variances, of people as if they were of no batch [METHOD 8e]; of
 * cross-validation with kn_cv_problem.X_alone. */
void kn_gp_maps_leave_batch(kn_gp_maps *maps);
/* Cross-validation: the responses that belong to the maps, n x T. */
kn_responses kn_gp_maps_y(const kn_gp_maps *maps);
void kn_fold_prediction_clear(kn_fold_prediction *p);
void kn_gp_maps_clear(kn_gp_maps *maps);

/* For kn_method.block of a method with components. */
kn_status kn_components_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y,
                              kn_mat mean, kn_mat var);

/* Rows `first` ... of the basis of a part: B count x P, of maps->Y the block y as above. The maps
 * of a part must not be direct. */
kn_status kn_components_basis(kn_ctx *ctx, const kn_gp_maps *maps, int part, ptrdiff_t first,
                              kn_mat y, kn_mat B);

/* Maps of n samples in one part that shares the model's basis, not yet filled. */
kn_status kn_gp_maps_one_part(kn_ctx *ctx, const kn_gp *gp, ptrdiff_t n, kn_gp_maps *out);
/* Maps of those held out of Y, a part for each fold, not yet filled; `far` where there are no
 * components. */
kn_status kn_gp_maps_folds(kn_ctx *ctx, const kn_gp *gp, kn_responses Y, int folds,
                           kn_gp_maps *out);

/* For kn_method.need of a method with components: maps of n samples by prediction or leave-one-out;
 * and, passing, a block of them, or of those of the folds. */
void kn_components_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind,
                             ptrdiff_t n);
void kn_components_block_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind,
                              ptrdiff_t n);

#endif
