/* Complete model of the tasks: fixed effects, and convolved processes of their residuals
 * [METHOD 1i].
 *
 *     z_p = fixed effects of all covariates + f_p(continuous covariates) + noise d_p
 *     mean = fixed + K* a (or as the form has it)    var = var f + leverage d_p + unknown effects
 *
 * Least squares come first and are then fixed; d_p = s2_p N/(N - rank - 1) corrects for their
 * degrees of freedom. */
#ifndef KN_GP_METHODS_CONVOLVED_MODEL_H
#define KN_GP_METHODS_CONVOLVED_MODEL_H

#include "gp/methods/convolved/fixed_effects.h"
#include "gp/methods/convolved/learn.h"

typedef struct kn_conv_spec { /* options, the same for folds */
    kn_conv_plan plan;
    kn_fixed_columns columns; /* fixed effects */
    ptrdiff_t n_smooth;       /* number of continuous covariates ... */
    ptrdiff_t *smooth;        /* ... and their columns of the design */
} kn_conv_spec;

/* Frees the column lists. */
void kn_conv_spec_clear(kn_conv_spec *s);

typedef struct kn_conv_model {
    kn_fixed fixed;
    kn_mat Z; /* M x F  inducing inputs */
    kn_conv c;
    kn_conv_posterior posterior;
    double *d; /* P  noise variance */
} kn_conv_model;

/* Frees all parts of the model. */
void kn_conv_model_clear(kn_conv_model *m);

/* Fits the model. X N x F design; Z (N x P coordinates) is replaced by the residuals of the fixed
 * effects. Fails with KN_ERR_DATA if the fixed effects leave no degrees of freedom. */
kn_status kn_conv_model_new(kn_ctx *ctx, const kn_conv_spec *spec, kn_mat X, kn_mat Z,
                            kn_conv_search *search, kn_conv_model *out);

/* Participants to predict, and outputs. */
typedef struct kn_conv_samples {
    kn_mat X;         /* n x F  design */
    kn_mat mean, var; /* n x P  outputs, both required */
} kn_conv_samples;

/* Predicts tasks without noise. X: design of the N training participants. clamped: see
 * kn_clamp_nonnegative. */
kn_status kn_conv_model_predict(kn_ctx *ctx, const kn_conv_spec *spec, const kn_conv_model *m,
                                kn_mat X, const kn_conv_samples *who, double *clamped);

/* Leave-one-out at the learned parameters. who->X is the training design, Z (N x P) the
 * coordinates. The residuals of the other participants stay fixed; a participant's own fixed
 * effects are predicted without it. */
kn_status kn_conv_model_leave(kn_ctx *ctx, const kn_conv_spec *spec, const kn_conv_model *m,
                              kn_mat Z, const kn_conv_samples *who, double *clamped);

/* Sizes for the memory plans: k fixed columns, F continuous covariates. kn_conv_model_need keeps
 * the model, the other two are temporary. */
typedef struct kn_conv_sizes {
    ptrdiff_t N, P, k, F;
} kn_conv_sizes;
void kn_conv_model_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s);
void kn_conv_predict_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s, ptrdiff_t n);
void kn_conv_leave_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s);

#endif
