/* Fixed effects, and convolved processes over what they leave: learning and saying   [METHOD 1i]
 *
 *     z_p = fixed effects of all covariates + f_p(continuous covariates) + noise d_p
 *     mean = fixed + K* a (or as the form has it)    var = var f + leverage d_p + unknown effects
 *
 * Least squares come first and are then held; d_p = s2_p N/(N - rank - 1) has their degrees of
 * freedom back. */
#ifndef KN_GP_METHODS_CONVOLVED_MODEL_H
#define KN_GP_METHODS_CONVOLVED_MODEL_H

#include "gp/methods/convolved/fixed_effects.h"
#include "gp/methods/convolved/learn.h"

typedef struct kn_conv_spec { /* the same for folds */
    kn_conv_plan plan;
    kn_fixed_columns columns; /* of the fixed effects */
    ptrdiff_t n_smooth;       /* continuous covariates ... */
    ptrdiff_t *smooth;        /* ... at these columns of the design */
} kn_conv_spec;

void kn_conv_spec_clear(kn_conv_spec *s);

typedef struct kn_conv_model {
    kn_fixed fixed;
    kn_mat Z; /* M x F  inducing inputs */
    kn_conv c;
    kn_conv_posterior posterior;
    double *d; /* P  noise */
} kn_conv_model;

void kn_conv_model_clear(kn_conv_model *m);

/* From the design X (N x F) and coordinates Z (N x P), which become what fixed effects leave. */
kn_status kn_conv_model_new(kn_ctx *ctx, const kn_conv_spec *spec, kn_mat X, kn_mat Z,
                            kn_conv_search *search, kn_conv_model *out);

typedef struct kn_conv_samples {
    kn_mat X;         /* n x F  who is asked for */
    kn_mat mean, var; /* n x P  where it goes; var may be absent */
} kn_conv_samples;

/* X: of the N samples of training. clamped: see kn_clamp_nonnegative. */
kn_status kn_conv_model_predict(kn_ctx *ctx, const kn_conv_spec *spec, const kn_conv_model *m,
                                kn_mat X, const kn_conv_samples *who, double *clamped);

/* Each sample of training from the others at the parameters found; who->X is X, Z (N x P) their
 * coordinates. The others' residuals stay what they are, the sample's own fixed effects go. */
kn_status kn_conv_model_leave(kn_ctx *ctx, const kn_conv_spec *spec, const kn_conv_model *m,
                              kn_mat Z, const kn_conv_samples *who, double *clamped);

/* k fixed columns, F continuous ones. The first leaves the model, others pass. */
typedef struct kn_conv_sizes {
    ptrdiff_t N, P, k, F;
} kn_conv_sizes;
void kn_conv_model_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s);
void kn_conv_predict_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s, ptrdiff_t n);
void kn_conv_leave_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s);

#endif
