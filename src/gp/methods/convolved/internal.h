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

/* Allocates parameters of T tasks, Q latent processes with M inducing inputs each, and F
 * continuous covariates, all zero. The caller frees *out. */
kn_status kn_conv_new(kn_ctx *ctx, ptrdiff_t T, ptrdiff_t Q, ptrdiff_t M, ptrdiff_t F,
                      kn_conv *out);
void kn_conv_clear(kn_conv *c); /* {0} is allowed */

/* Number of inducing values. */
static inline ptrdiff_t kn_conv_m(const kn_conv *c)
{
    return c->Q * c->M;
}

/* Returns the prior variance k_t of task t, sum_q S_tq^2. */
double kn_conv_variance(const kn_conv *c, ptrdiff_t t);

/* Computes D2 (n x n'), the squared distances |a_i - b_j|^2 between the rows of A (n x F) and B
 * (n' x F). */
void kn_conv_distances(kn_mat A, kn_mat B, kn_mat D2);

/* Observations and squared distances. */
typedef struct kn_conv_data {
    kn_mat Y;  /* N x T */
    kn_mat fu; /* N x M  participants to inducing inputs */
    kn_mat uu; /* M x M  between inducing inputs */
    kn_mat ff; /* N x N  between participants; none if the form does not need it */
} kn_conv_data;

/* Computes the covariance K (n x m, m = Q M) between task t of n participants and the inducing
 * values, from squared distances fu (n x M). */
void kn_conv_cross(const kn_conv *c, ptrdiff_t t, kn_mat fu, kn_mat K);
/* Computes the covariance K (m x m) of the inducing values, block diagonal over the Q processes,
 * with the jitter on its diagonal, from squared distances uu (M x M). */
void kn_conv_inducing(const kn_conv *c, kn_mat uu, kn_mat K);
/* Computes the covariance K (n x n') between tasks t and v without noise, from squared distances
 * ff (n x n'). */
void kn_conv_between(const kn_conv *c, ptrdiff_t t, ptrdiff_t v, kn_mat ff, kn_mat K);

/* Chain rule for kn_conv_cross of task t: adds the derivatives of sum dK .* K by S, ln tau and
 * ln nu to g->S, g->tau, g->nu. dK (n x m): derivative of the objective by each entry of K. */
void kn_conv_cross_gradient(const kn_conv *c, ptrdiff_t t, kn_mat fu, kn_mat dK, kn_conv *g);
/* Chain rule for kn_conv_inducing: adds the derivatives of sum dK .* K by ln nu to g->nu. dK (m
 * x m): derivative of the objective by each entry of K. */
void kn_conv_inducing_gradient(const kn_conv *c, kn_mat uu, kn_mat dK, kn_conv *g);
/* Chain rule for kn_conv_between of tasks t and v: adds the derivatives of sum dK .* K by S and
 * ln tau to g->S, g->tau. dK (n x n'): derivative of the objective by each entry of K. To be
 * called for every ordered pair (t, v). */
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

/* Computes inverse (n x n) = A^-1 from the lower Cholesky factor L of A = LL'. 4/3 n^3 flops. */
void kn_conv_inverse(kn_ctx *ctx, kn_mat L, kn_mat inverse);
/* Returns ln|A| = sum_i 2 ln L_ii from the Cholesky factor L of A. */
double kn_conv_log_det(kn_mat L);
/* Adds to each v_i (n) scale times the product of row i of A and row i of B (both n x m). */
void kn_conv_row_dots(kn_mat A, kn_mat B, double scale, double *v);

/* Returns the implementation of likelihood and prediction for {inducing}: variational bound,
 * PITC or dense. */
const kn_conv_form *kn_conv_find_form(kn_inducing how);

/* Computes the squared distances of participants X (N x F) and inducing inputs Z (M x F) that
 * `form` needs. out->Y stays empty: it is borrowed, the caller sets it. out is cleared on error. */
kn_status kn_conv_data_new(kn_ctx *ctx, const kn_conv_form *form, kn_mat X, kn_mat Z,
                           kn_conv_data *out);
void kn_conv_data_clear(kn_conv_data *d);

/* Predicts in plan r the memory of kn_conv_data_new for N participants and M inducing inputs,
 * which stays in the plan; pairs: also distances between participants. */
void kn_conv_data_need(kn_mem_plan *r, bool pairs, ptrdiff_t N, ptrdiff_t M);

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

/* Finds the parameters *c of the processes that maximise likelihood or bound over all starts. X:
 * N x F continuous covariates; *d: tasks and distances of the same participants. *c is
 * allocated; result fields of *search are set. */
kn_status kn_conv_learn(kn_ctx *ctx, const kn_conv_plan *plan, kn_mat X, const kn_conv_data *d,
                        kn_conv_search *search, kn_conv *c);

/* Predicts in plan r the memory of kn_conv_learn for N participants and T tasks: *c stays in the
 * plan, the search only raises the peak. */
void kn_conv_learn_need(kn_mem_plan *r, const kn_conv_plan *plan, ptrdiff_t N, ptrdiff_t T);

/* ---- inducing_inputs.c ---- */

/* Chooses the inducing inputs of the processes from the continuous covariates X (N x F):
 * quantiles of one covariate, pivots of a squared-exponential covariance of several. *Z (at most
 * M x F) is owned by the caller. */
kn_status kn_conv_choose_inputs(kn_ctx *ctx, kn_mat X, ptrdiff_t M, kn_mat *Z);
/* Predicts in plan r the memory of kn_conv_choose_inputs for N participants, F covariates and M
 * inputs: only the peak rises. */
void kn_conv_choose_inputs_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t F, ptrdiff_t M);
/* Computes *out, the median squared distance between participants X (N x F continuous
 * covariates), from at most 500 of them. */
kn_status kn_conv_distance_scale(kn_ctx *ctx, kn_mat X, double *out);

/* ---- initial_values.c: start of the search ---- */

typedef struct kn_conv_scale {
    double distance2; /* median squared distance between two participants */
    double *variance; /* T  variance of each task */
} kn_conv_scale;

/* Computes the scales that starts and bounds of the search refer to: median squared distance of
 * the continuous covariates X (N x F), and variance of each task of Y (N x T). The caller frees
 * *out. */
kn_status kn_conv_scale_new(kn_ctx *ctx, kn_mat X, kn_mat Y, kn_conv_scale *out);
/* Frees the variances. */
void kn_conv_scale_clear(kn_conv_scale *s);

/* Sets the parameters *c, whose sizes are set and memory allocated, to start `number` of the
 * search: 0 has widths of the median distance, odd numbers are narrower and even ones wider. */
kn_status kn_conv_set_start(kn_ctx *ctx, const kn_conv_data *d, const kn_conv_scale *scale,
                            int number, kn_conv *c);

/* Predicts in plan r the memory of kn_conv_set_start for N participants, T tasks and M inducing
 * inputs: only the peak rises. */
void kn_conv_set_start_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t M);

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

/* Estimates fixed effects by least squares: *out holds means, W, beta (n x P), spread and level
 * of the given columns of the design X (N x F). Z (N x P) is replaced by its residuals. The
 * caller frees *out. */
kn_status kn_fixed_new(kn_ctx *ctx, const kn_fixed_columns *columns, kn_mat X, kn_mat Z,
                       kn_fixed *out);

/* Outputs of kn_fixed_predict for the n rows of X: mean and spread n x P, leverage n; each may be
 * absent. */
typedef struct kn_fixed_prediction {
    kn_mat mean, spread;
    double *leverage;
} kn_fixed_prediction;
/* Predicts the fixed effects of the rows of X (n x F), including the mean of Z: out.mean and
 * out.spread (n x P) and out.leverage (n), each unless it is absent. */
kn_status kn_fixed_predict(kn_ctx *ctx, const kn_fixed_columns *columns, const kn_fixed *f,
                           kn_mat X, kn_fixed_prediction out);

/* Predicts in plan r the memory of a kn_fixed with n columns, N participants and P tasks, which
 * stays in the plan; the estimate only raises the peak. */
void kn_fixed_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t n, ptrdiff_t P);
/* Predicts in plan r the memory of kn_fixed_predict for N rows and n columns: only the peak
 * rises. */
void kn_fixed_predict_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t n);

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

/* Fits the whole model to the tasks Z (N x P), which are replaced by the residuals of the fixed
 * effects: fixed effects of the design X (N x F), then processes. KN_ERR_DATA if the fixed
 * effects leave no degrees of freedom. The caller frees *out. */
kn_status kn_conv_model_new(kn_ctx *ctx, const kn_conv_spec *spec, kn_mat X, kn_mat Z,
                            kn_conv_search *search, kn_conv_model *out);

/* Participants to predict, and outputs. */
typedef struct kn_conv_samples {
    kn_mat X;         /* n x F  design */
    kn_mat mean, var; /* n x P  outputs, both required */
} kn_conv_samples;

/* Predicts the tasks of new participants without noise: samples->mean and var (n x P), fixed
 * effects plus processes, with the uncertainty of the effects. X: design of the N training
 * participants. clamped: see kn_clamp_nonnegative. */
kn_status kn_conv_model_predict(kn_ctx *ctx, const kn_conv_spec *spec, const kn_conv_model *m,
                                kn_mat X, const kn_conv_samples *samples, double *clamped);

/* Computes leave-one-out mean and variance of the tasks (samples->mean and var, N x P) at the
 * learned parameters. samples->X is the training design, Z (N x P) the coordinates. The
 * residuals of the other participants stay fixed; a participant's own fixed effects are
 * predicted without it. */
kn_status kn_conv_model_loo(kn_ctx *ctx, const kn_conv_spec *spec, const kn_conv_model *m, kn_mat Z,
                            const kn_conv_samples *samples, double *clamped);

/* Sizes for the memory plans: k fixed columns, F continuous covariates. kn_conv_model_need keeps
 * the model, the other two are temporary. */
typedef struct kn_conv_sizes {
    ptrdiff_t N, P, k, F;
} kn_conv_sizes;
/* Predicts in plan r the memory of kn_conv_model_new: the model stays in the plan, the search
 * only raises the peak. */
void kn_conv_model_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s);
/* Predicts in plan r the memory of kn_conv_model_predict for n new participants: only the peak
 * rises. */
void kn_conv_predict_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s, ptrdiff_t n);
/* Predicts in plan r the memory of kn_conv_model_loo: only the peak rises. */
void kn_conv_loo_need(kn_mem_plan *r, const kn_conv_plan *plan, kn_conv_sizes s);

/* ---- state.c: contents of gp->own and their arrays in the model file ---- */

enum { KN_CONV_NUMBERS = 7 };

typedef struct kn_convolved {
    kn_conv_spec spec;
    kn_conv_model model;
    double numbers[KN_CONV_NUMBERS]; /* plan and jitter, as written to the file */
} kn_convolved;

/* Allocates an empty kn_convolved as gp->own. */
kn_status kn_convolved_allocate(kn_ctx *ctx, kn_gp *gp);
/* Implements kn_method.clear. */
void kn_convolved_clear(kn_gp *gp);
/* Allocates gp->latent.c and d (P) and sets them to signal and noise variance of each task,
 * which reports show; sets latent.P. */
kn_status kn_convolved_latent(kn_ctx *ctx, kn_gp *gp);

/* Implements kn_method.describe: writes number of processes, inducing inputs and widths as a
 * line (size bytes) of the model's summary. */
void kn_convolved_describe(const kn_gp *gp, char *line, size_t size);
/* Implements kn_method.arrays: visits all arrays of the model file except X and noise, checking
 * them when reading. */
kn_status kn_convolved_arrays(kn_gp *gp, kn_arrays *a);
/* Implements kn_method.bytes: size of the model in memory. */
double kn_convolved_bytes(const kn_gp *gp);

/* ---- tasks.c: tasks, columns and memory plan ---- */

/* Most continuous covariates: the power F/2 of g removes what tasks share. */
enum { KN_CONV_SMOOTH = 4 };

/* Chooses the continuous covariates to smooth over, and the columns of the fixed effects: numbers,
 * levels and slopes. Squares are excluded, because the processes model curves. Fails with
 * KN_ERR_ARGUMENT or KN_ERR_DATA if there is no suitable covariate or more than KN_CONV_SMOOTH. */
kn_status kn_conv_columns(kn_ctx *ctx, const kn_gp_options *o, kn_conv_spec *out);

/* Sets the basis of {on=responses}: B = I (T x T), Z = Y (N x T, copied). KN_ERR_MEMORY only. */
kn_status kn_conv_identity(kn_ctx *ctx, const kn_responses *Y, kn_basis *basis);

/* Computes *Z (n x P, owned by the caller), the tasks of a fold's n training rows: coordinates
 * in its own principal components, with loadings part->B, or in the fixed basis, there in the
 * fold's own principal axes (part->rotate) if the model has axes. Sets part->s2, the variance
 * outside the basis. */
kn_status kn_conv_fold_tasks(kn_ctx *ctx, const kn_refit *r, kn_mat *Z, kn_fold_prediction *part);

/* Implements kn_method.need.settle, which sets the sizes that the options leave open to a memory
 * plan: sets s->P, the largest number of tasks that the options allow. */
void kn_conv_finalise(kn_problem_size *s);
/* Implements kn_method.need.fit, which predicts in plan r the memory of a fit: basis, model and,
 * with folds, cross-validated maps stay in the plan. */
void kn_conv_fit_need(kn_mem_plan *r, const kn_problem_size *s);
/* Implements kn_method.need.maps, which predicts in plan r the memory of maps of n participants:
 * predictions (n x P, twice) stay in the plan, their work space only raises the peak. */
void kn_conv_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);
/* Implements kn_method.shape: sets form, number of processes and inducing inputs of a fitted
 * model in s. */
void kn_conv_shape(const kn_gp *gp, kn_problem_size *s);

#endif
