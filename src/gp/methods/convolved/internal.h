/* Private declarations of the convolved processes [METHOD 1i]: kernel, posterior in three forms,
 * search, fixed effects, and the state of a model. A task is a component of the basis or a
 * response. Functions that end in _need declare in a memory plan what the function of that name
 * allocates: "temporary" if it is free again afterwards, "keeps" for what stays. */
#ifndef KN_GP_METHODS_CONVOLVED_INTERNAL_H
#define KN_GP_METHODS_CONVOLVED_INTERNAL_H

#include "base/array_visitor.h"
#include "base/matrix.h"
#include "base/memory/plan.h"
#include "base/options/options.h"
#include "gp/cv/refit.h"
#include "gp/gp.h"
#include "gp/optimise/optimise.h"

/* ---- kernel.c: covariances ---- */

/* Parameters of the processes. */
typedef struct kn_conv {
    ptrdiff_t T, Q, M, F; /* tasks, latent processes, inducing inputs of each, continuous
                           * covariates */
    kn_mat S, tau;        /* T x Q  weights, squared widths */
    double *nu, *s2;      /* Q  squared width of the inducing functions; T  noise variance */
    double jitter;        /* added to the diagonal of K_uu */
} kn_conv;

/* Allocates parameters, all zero. The caller frees *out. */
kn_status kn_conv_new(kn_ctx *ctx, ptrdiff_t T, ptrdiff_t Q, ptrdiff_t M, ptrdiff_t F,
                      kn_conv *out);
void kn_conv_clear(kn_conv *c); /* {0} is allowed */

/* Number of inducing values. */
static inline ptrdiff_t kn_conv_m(const kn_conv *c)
{
    return c->Q * c->M;
}

double kn_conv_variance(const kn_conv *c, ptrdiff_t t); /* k_t */

/* D2 (n x n') = |a_i - b_j|^2 of the rows of A and B. */
void kn_conv_distances(kn_mat A, kn_mat B, kn_mat D2);

/* Observations and squared distances. */
typedef struct kn_conv_data {
    kn_mat Y;  /* N x T */
    kn_mat fu; /* N x M  participants to inducing inputs */
    kn_mat uu; /* M x M  between inducing inputs */
    kn_mat ff; /* N x N  between participants; none if the form does not need it */
} kn_conv_data;

/* Computes K (n x m) between task t and the inducing values, from squared distances n x M. */
void kn_conv_cross(const kn_conv *c, ptrdiff_t t, kn_mat fu, kn_mat K);
/* Computes K_uu (m x m) with the jitter on its diagonal. */
void kn_conv_inducing(const kn_conv *c, kn_mat uu, kn_mat K);
/* Computes K (n x n') between tasks t and v, from squared distances. */
void kn_conv_between(const kn_conv *c, ptrdiff_t t, ptrdiff_t v, kn_mat ff, kn_mat K);

/* Chain rule: adds the gradient of sum dK .* K by S, ln tau, ln nu to g->S, g->tau, g->nu. dK: the
 * derivative of the objective by each entry of K; between tasks it is called for every ordered pair
 * (t, v). */
void kn_conv_cross_gradient(const kn_conv *c, ptrdiff_t t, kn_mat fu, kn_mat dK, kn_conv *g);
void kn_conv_inducing_gradient(const kn_conv *c, kn_mat uu, kn_mat dK, kn_conv *g);
void kn_conv_between_gradient(const kn_conv *c, ptrdiff_t t, ptrdiff_t v, kn_mat ff, kn_mat dK,
                              kn_conv *g);

/* ---- posterior.c: interface and choice of the form of the posterior ---- */

typedef struct kn_conv_posterior {
    kn_mat a;     /* m x 1  weights of the inducing values; none if dense */
    kn_mat E;     /* m x m  for the variance: see the form */
    kn_mat alpha; /* N x T  weights of the observations; none if variational */
} kn_conv_posterior;

/* Frees all arrays. */
void kn_conv_posterior_clear(kn_conv_posterior *p);

typedef struct kn_conv_query { /* n new points: distances in, prediction out */
    kn_mat fu;                 /* n x M  to the inducing inputs */
    kn_mat ff;                 /* n x N  to the participants; none if the form does not need it */
    kn_mat mean, var;          /* n x T  of f_t, without noise */
} kn_conv_query;

typedef struct kn_conv_form {
    bool pairs; /* needs distances between participants */
    /* Evaluates the log-likelihood or its bound. If not NULL, adds its gradient by S, ln tau, ln nu
     * and ln s2 to *g (allocated, zeroed), and sets the posterior *p (owned by the caller). */
    kn_status (*value)(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d, double *value,
                       kn_conv *g, kn_conv_posterior *p);
    /* Predicts the points of *query; d->Y is not used. */
    kn_status (*predict)(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                         const kn_conv_posterior *p, const kn_conv_query *query);
    /* Computes residual (N x T) of each participant when all its T values are held out at fixed
     * parameters, and the variance (N x T) of its f_t. */
    kn_status (*loo)(kn_ctx *ctx, const kn_conv *c, const kn_conv_data *d,
                     const kn_conv_posterior *p, kn_mat residual, kn_mat var);
    /* Memory plans for N participants, n new ones, T tasks and m inducing values; temporary. */
    void (*need_value)(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m);
    void (*need_predict)(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m, ptrdiff_t n);
    void (*need_loo)(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t m);
} kn_conv_form;

/* inverse (n x n) = A^-1 from the Cholesky factor L, A = LL'. */
void kn_conv_inverse(kn_ctx *ctx, kn_mat L, kn_mat inverse);
/* ln|A| = sum_i 2 ln L_ii */
double kn_conv_log_det(kn_mat L);
/* v_i += scale sum_j A_ij B_ij */
void kn_conv_row_dots(kn_mat A, kn_mat B, double scale, double *v);

/* Returns the implementation: variational bound, PITC or dense. */
const kn_conv_form *kn_conv_find_form(kn_inducing how);

/* Computes the distances of participants X (N x F) and inducing inputs Z (M x F) that `form` needs.
 */
kn_status kn_conv_data_new(kn_ctx *ctx, const kn_conv_form *form, kn_mat X, kn_mat Z,
                           kn_conv_data *out); /* out->Y is borrowed: the caller sets it */
void kn_conv_data_clear(kn_conv_data *d);

void kn_conv_data_need(kn_mem_plan *r, bool pairs, ptrdiff_t N, ptrdiff_t M); /* keeps *out */

/* ---- variational_bound.c: collapsed variational bound, the default form ---- */

extern const kn_conv_form kn_conv_bound;

/* ---- pitc.c: tasks that are independent given the inducing values ---- */

extern const kn_conv_form kn_conv_pitc; /* E of its posterior is A^-1 */

/* ---- dense.c: no inducing values ---- */

extern const kn_conv_form kn_conv_dense;

/* ---- learn.c: search for the parameters ---- */

typedef struct kn_conv_plan { /* options of a fit, the same for folds */
    kn_inducing how;
    kn_widths widths;
    ptrdiff_t Q, M;      /* M: at most; fewer if participants have fewer distinct values */
    int evals, restarts; /* most evaluations of each search, 0: only at the start; further starts */
} kn_conv_plan;

typedef struct kn_conv_search {
    double deadline;   /* kn_clock time; 0: none */
    const char *stage; /* name for progress reports; NULL: none */
    /* Results: */
    double value, projected; /* log-likelihood or bound; largest entry of the projected gradient */
    int evals;
    kn_stop stop;
} kn_conv_search;

/* Maximises over all starts. X N x F, *d the data of the same participants. *c is allocated and set
 * to the best point. */
kn_status kn_conv_learn(kn_ctx *ctx, const kn_conv_plan *plan, kn_mat X, const kn_conv_data *d,
                        kn_conv_search *search, kn_conv *c);

/* Memory plan for N participants and T tasks; keeps *c. */
void kn_conv_learn_need(kn_mem_plan *r, const kn_conv_plan *plan, ptrdiff_t N, ptrdiff_t T);

/* ---- inducing_inputs.c ---- */

/* Chooses the inducing inputs: quantiles of one covariate, pivots of an SE covariance of several.
 * *Z (at most M x F) is owned by the caller. */
kn_status kn_conv_choose_inputs(kn_ctx *ctx, kn_mat X, ptrdiff_t M, kn_mat *Z);
void kn_conv_choose_inputs_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t F,
                                ptrdiff_t M); /* temporary */
/* Computes the median squared distance between participants X (N x F); of at most 500 of them. */
kn_status kn_conv_distance_scale(kn_ctx *ctx, kn_mat X, double *out);

/* ---- initial_values.c: start of the search ---- */

typedef struct kn_conv_scale {
    double distance2; /* median squared distance between two participants */
    double *variance; /* T  variance of each task */
} kn_conv_scale;

/* Computes the scales. X N x F continuous covariates, Y N x T tasks. The caller frees *out. */
kn_status kn_conv_scale_new(kn_ctx *ctx, kn_mat X, kn_mat Y, kn_conv_scale *out);
/* Frees the variances. */
void kn_conv_scale_clear(kn_conv_scale *s);

/* Sets *c, whose sizes are set, to start `number`: 0 has widths of the median distance, odd numbers
 * are narrower and even ones wider. */
kn_status kn_conv_set_start(kn_ctx *ctx, const kn_conv_data *d, const kn_conv_scale *scale,
                            int number, kn_conv *c);

void kn_conv_set_start_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t M); /* temporary */

/* ---- fixed_effects.c: least squares ---- */

/* Columns of the design that have fixed effects. */
typedef struct kn_fixed_columns {
    ptrdiff_t n;
    ptrdiff_t *column; /* n  index in the design */
    ptrdiff_t *block;  /* n  common to the columns of a category, or to the slopes of its
                        * levels; -1: a number */
} kn_fixed_columns;

typedef struct kn_fixed {
    ptrdiff_t N, rank; /* participants, rank of X */
    kn_mat mean;       /* n x 1  means of the columns */
    kn_mat W;          /* n x n */
    kn_mat beta;       /* n x P */
    kn_mat spread;     /* n x P  variance of an unknown effect, else 0 */
    kn_mat level;      /* 1 x P  mean of Z */
} kn_fixed;

/* Frees all arrays. */
void kn_fixed_clear(kn_fixed *f);

/* Estimates the effects. X N x F design; Z (N x P) is replaced by its residuals. The caller frees
 * *out. */
kn_status kn_fixed_new(kn_ctx *ctx, const kn_fixed_columns *columns, kn_mat X, kn_mat Z,
                       kn_fixed *out);

/* Outputs of kn_fixed_predict for the n rows of X: mean and spread n x P, leverage n; each may be
 * absent. */
typedef struct kn_fixed_prediction {
    kn_mat mean, spread;
    double *leverage;
} kn_fixed_prediction;
/* Predicts the fixed effects of the rows of X (n x F), including the mean of Z. */
kn_status kn_fixed_predict(kn_ctx *ctx, const kn_fixed_columns *columns, const kn_fixed *f,
                           kn_mat X, kn_fixed_prediction out);

void kn_fixed_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t n, ptrdiff_t P); /* keeps kn_fixed */
void kn_fixed_predict_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t n);      /* temporary */

/* ---- model.c: fixed effects and processes of the residuals ---- */

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
                                kn_mat X, const kn_conv_samples *samples, double *clamped);

/* Leave-one-out at the learned parameters. samples->X is the training design, Z (N x P) the
 * coordinates. The residuals of the other participants stay fixed; a participant's own fixed
 * effects are predicted without it. */
kn_status kn_conv_model_loo(kn_ctx *ctx, const kn_conv_spec *spec, const kn_conv_model *m, kn_mat Z,
                            const kn_conv_samples *samples, double *clamped);

/* Sizes for the memory plans: k fixed columns, F continuous covariates. kn_conv_model_need keeps
 * the model, the other two are temporary. */
typedef struct kn_conv_sizes {
    ptrdiff_t N, P, k, F;
} kn_conv_sizes;
void kn_conv_model_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s);
void kn_conv_predict_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s, ptrdiff_t n);
void kn_conv_loo_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s);

/* ---- state.c: contents of gp->own and their arrays in the model file ---- */

enum { KN_CONV_NUMBERS = 7 };

typedef struct kn_convolved {
    kn_conv_spec spec;
    kn_conv_model model;
    double numbers[KN_CONV_NUMBERS]; /* plan and jitter, as written to the file */
} kn_convolved;

kn_status kn_convolved_allocate(kn_ctx *ctx, kn_gp *gp); /* allocates an empty kn_convolved */
/* Implements kn_method.clear. */
void kn_convolved_clear(kn_gp *gp);
/* Sets latent.P, c and d, which reports show. */
kn_status kn_convolved_latent(kn_ctx *ctx, kn_gp *gp);

/* Implement kn_method.describe, arrays and bytes. */
void kn_convolved_describe(const kn_gp *gp, char *line, size_t size);
kn_status kn_convolved_arrays(kn_gp *gp, kn_arrays *a);
double kn_convolved_bytes(const kn_gp *gp);

/* ---- tasks.c: tasks, columns and memory plan ---- */

/* Most continuous covariates: the power F/2 of g removes what tasks share. */
enum { KN_CONV_SMOOTH = 4 };

/* Chooses the continuous covariates to smooth over, and the columns of the fixed effects: numbers,
 * levels and slopes. Squares are excluded, because the processes model curves. Fails with
 * KN_ERR_ARGUMENT or KN_ERR_DATA if there is no suitable covariate or more than KN_CONV_SMOOTH. */
kn_status kn_conv_columns(kn_ctx *ctx, const kn_gp_options *o, kn_conv_spec *out);

/* Sets the basis of {on=responses}: B = I, Z = Y. */
kn_status kn_conv_identity(kn_ctx *ctx, const kn_responses *Y, kn_basis *basis);

/* Computes Z (n x P), coordinates of the training rows of a fold: in its own principal components,
 * with loadings part->B, or in the fixed basis, there in the fold's own principal axes
 * (part->rotate) if the model has axes. part->s2: variance outside the basis. *Z is owned by the
 * caller. */
kn_status kn_conv_fold_tasks(kn_ctx *ctx, const kn_refit *r, kn_mat *Z, kn_fold_prediction *part);

/* Implement kn_method.need and kn_method.shape. */
void kn_conv_finalise(kn_problem_size *s);
void kn_conv_fit_need(kn_mem_plan *r, const kn_problem_size *s);
void kn_conv_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);
void kn_conv_shape(const kn_gp *gp, kn_problem_size *s);

#endif
