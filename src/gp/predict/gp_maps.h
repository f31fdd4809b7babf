/* Maps: predictive mean and model variance of every response for some participants, stored as
 * predictions of the components and expanded block by block of responses. Produced by predict.h,
 * loo.h and gp/cv/cv.h. Standardised units. */
#ifndef KN_GP_PREDICT_GP_MAPS_H
#define KN_GP_PREDICT_GP_MAPS_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"
#include "gp/gp.h"

/* New participants. */
typedef struct kn_predict_input {
    kn_mat X;               /* n x F, standardised as the training covariates */
    const ptrdiff_t *group; /* n  training group of each, -1: a new group; NULL: all in new
                             * groups */
} kn_predict_input;

/* Participants that share a basis: all of them in a prediction, one fold in cross-validation. */
typedef struct kn_fold_prediction {
    ptrdiff_t n;
    ptrdiff_t *rows;          /* rows of the maps; NULL: 0 .. n-1 */
    kn_mat mean, var;         /* n x P (+ 1 with a complement component), of the components ... */
    bool direct;              /* ... or, if true, n x T, of the responses themselves */
    kn_mat mean_without_site; /* (kn_cv_problem.X_without_site); none: not requested */
    /* Basis of a fold, B_f = (Y_tr - 1 mu')' U S^-1, computed block by block [METHOD 5b]. */
    ptrdiff_t n_train;
    ptrdiff_t *train; /* training rows of Y; NULL: the model's basis, and no mean to re-estimate */
    kn_mat US;        /* n_train x P; none: the model's basis with the fold's mean */
    kn_mat rotate;    /* fixed basis: P x P from the model's U_C to the fold's; Q x P from the
                       * columns of kn_user_span_fixed to the fold's principal axes */
    /* Or basis and mean of the training rows, stored: of a single held-out set, of a fold that
     * imputed its own rows, or from products of responses (Y'Y). */
    kn_mat B;   /* T x P */
    double *mu; /* T */
    /* Noise of the fold, if it differs from the model's [METHOD 8j]: of each component in a new
     * group, and outside the basis. d NULL: the model's. */
    double *d; /* P */
    double s2;
    /* Mean of the complement component [METHOD 1f], one of the two forms:
     *     mean_j = psi_j^1/2 (mean_lat B_j' + RU D0_j)  or  psi_j^1/2 mean_lat B_j' + smooth y_j
     * where y are the n_train rows `train` minus mu or, without `train`, all rows of maps->Y. */
    double *psi;                /* T  of the fold; NULL: the model's */
    double *outside;            /* T  as kn_gp.outside; NULL: the model's */
    kn_mat RU, RU_without_site; /* n x directions kept   R0* U; without site */
    kn_mat D0;                  /* directions kept x T  of the fold; none: the model's */
    kn_mat smooth;              /* n x n_train, or n x N without `train` */
    kn_mat smooth_without_site; /* the same without site */
} kn_fold_prediction;

typedef struct kn_gp_maps {
    const kn_gp *gp; /* borrowed */
    kn_responses Y;  /* training responses; leave-one-out and cross-validation only */
    ptrdiff_t n;     /* participants */
    int folds;       /* cross-validation only */
    int *fold;       /* n  fold in which each participant was held out */
    /* n  rows of Y that were held out; NULL: all N, in order */
    ptrdiff_t *sample;
    int n_parts;
    kn_fold_prediction *part;
    void *own; /* state of a method without components, in place of parts; owned */
    void (*own_free)(void *own);
    bool without_site; /* means are without site effects (kn_gp_maps_set_without_site) */
    double clamped;    /* largest relative amount by which a variance fell below zero */
    double
        *extrapolation; /* n  kn_latent_extrapolation, for models without components; else NULL */
    bool *known;        /* n  in a known group, where no slope is applied; NULL: none is */
} kn_gp_maps;

/* Computes Z (N x P), the coordinates of the responses Y in the model's components: Y B, or Y W
 * if B is not orthonormal; for whitened responses Y Psi^-1/2 B. Reads Y once. Collective. */
kn_status kn_gp_coordinates(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_mat Z);
/* Computes a block of the maps: responses `first` .. first + count - 1. mean, var n x count; either
 * may be kn_mat_none(). The slope is applied to the mean. */
kn_status kn_gp_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat mean,
                           kn_mat var);
/* Computes a block of the maps like kn_gp_maps_block, if the caller has the block y of maps->Y
 * (all rows N x count, or kn_mat_none()). */
kn_status kn_gp_maps_from(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y,
                          kn_mat mean, kn_mat var);
/* Replaces the means by means without site effects [METHOD 8e]. Variances must not be requested
 * afterwards. Cross-validated maps need kn_cv_problem.X_without_site. */
void kn_gp_maps_set_without_site(kn_gp_maps *maps);
/* Returns the responses (n x T) of the participants of cross-validated maps; borrowed. */
kn_responses kn_gp_maps_y(const kn_gp_maps *maps);
/* Frees the arrays of the predictions of one fold. */
void kn_fold_prediction_clear(kn_fold_prediction *p);
/* Frees everything that the maps own and zeroes *maps. */
void kn_gp_maps_clear(kn_gp_maps *maps);

/* Implements kn_method.block for methods with components: mean and model variance (n x count) of
 * the responses from `first` on; 4 n count P flops. y: block of maps->Y, or kn_mat_none(), then
 * read if folds need it. */
kn_status kn_components_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y,
                              kn_mat mean, kn_mat var);

/* Computes rows `first` .. of the basis of a part: B count x P, y as for kn_gp_maps_from. The part
 * must not be direct. */
kn_status kn_components_basis(kn_ctx *ctx, const kn_gp_maps *maps, int part, ptrdiff_t first,
                              kn_mat y, kn_mat B);

/* Allocates maps *out of n participants with one part that uses the model's basis; latent mean
 * and variance (n x P) are zero. out borrows gp and is cleared on error. */
kn_status kn_gp_maps_one_part(kn_ctx *ctx, const kn_gp *gp, ptrdiff_t n, kn_gp_maps *out);
/* Allocates maps of the held-out participants of Y with one empty part per fold, and
 * `extrapolation` if the model has no components. Y is borrowed. */
kn_status kn_gp_maps_folds(kn_ctx *ctx, const kn_gp *gp, kn_responses Y, int folds,
                           kn_gp_maps *out);

/* Implements kn_method.need.maps for methods with components, which predicts in plan r their
 * memory: maps of n participants by prediction or leave-one-out stay in the plan, their work
 * space only raises the peak. */
void kn_components_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind,
                             ptrdiff_t n);
/* Implements kn_method.need.block for methods with components, which predicts in plan r their
 * memory: work space of one block of maps of n participants; only the peak rises. */
void kn_components_block_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind,
                              ptrdiff_t n);

#endif
