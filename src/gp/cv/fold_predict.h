/* One fold's part of the cross-validated maps: the model of its training rows at the parameters
 * held, and means and variances of its components for the rows held out            [METHOD 5b, 4]
 *
 *     R0 at the training rows, c and d made again there; then 4's mean and var   n_test x P
 *
 * n_train^3 flops for the decomposition, or those of the low rank. */
#ifndef KN_GP_CV_FOLD_PREDICT_H
#define KN_GP_CV_FOLD_PREDICT_H

#include "base/memory/plan.h"
#include "gp/cv/fold.h"
#include "gp/method.h"

/* Part k of the maps. Rows, and US of the fold's own basis, go over to it from the fold. far NULL,
 * or where it goes for the rows held out, by sample. */
kn_status kn_fold_prediction_new(kn_ctx *ctx, const kn_cv_problem *problem, kn_fold *f,
                                 kn_gp_maps *maps, int k, double *far);

/* Of n samples to train on and h held out: passing, and what the part keeps. */
void kn_fold_prediction_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h);

#endif
