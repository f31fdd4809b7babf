/* Private declarations of MT-Kronsum [METHOD 1g]: likelihood, sample side, learning of C and S, fit
 * to a set of participants, choice of the shrinkage, and the state of a model. Functions that end
 * in _need declare in a memory plan what the function of that name allocates: "temporary" if it is
 * free again afterwards, "keeps" for what stays. */
#ifndef KN_GP_METHODS_KRONSUM_INTERNAL_H
#define KN_GP_METHODS_KRONSUM_INTERNAL_H

#include "base/matrix.h"
#include "base/memory/plan.h"
#include "gp/fit_problem.h"
#include "gp/latent.h"
#include "gp/likelihood_spec.h"
#include "gp/method.h"
#include "gp/optimise/optimise.h"

/* ---- likelihood.c: likelihood, its gradient and EM step ---- */

typedef struct kn_kronsum_data { /* responses in the coordinates of U; borrowed */
    ptrdiff_t N, T;
    kn_mat A;        /* m x T   U'Y */
    const double *r; /* m  eigenvalues */
    kn_mat E;        /* T x T   energy outside U; none: U is complete */
    double log_det;  /* ln|O| */
} kn_kronsum_data;

typedef struct kn_kronsum { /* likelihood at the last C and S */
    ptrdiff_t T;
    kn_mat W, Q;     /* T x T */
    double *c;       /* T  ascending */
    double log_det;  /* ln|S| */
    kn_mat V, F;     /* m x T   V and diag(r)^1/2 V */
    kn_mat MC, MS;   /* T x T   F'F; V'V + W'E W */
    double *b, *e;   /* T  sum_n r_n/k, sum_n 1/k over all N */
    kn_mat one, two; /* T x T  work space */
    double lml;
} kn_kronsum;

/* Allocates a likelihood state for T responses and m directions; cleared on error. */
kn_status kn_kronsum_new(kn_ctx *ctx, ptrdiff_t T, ptrdiff_t m, kn_kronsum *out);
/* Frees all arrays. */
void kn_kronsum_clear(kn_kronsum *k);
/* Reallocates V and F (m x T) for another number m of directions: the rank of R0 (covariance
 * between participants) after rounding depends on the group noise. */
kn_status kn_kronsum_rows(kn_ctx *ctx, ptrdiff_t m, kn_kronsum *k);

/* Evaluates the likelihood at signal covariance C and noise covariance S (T x T, lower
 * triangles, unchanged): sets all fields of *k by the generalised eigenproblem C W = S W
 * diag(c). S must be positive definite, else KN_ERR_NUMERIC. Some 20 T^3 + 6 m T^2 flops. */
kn_status kn_kronsum_evaluate(kn_ctx *ctx, const kn_kronsum_data *data, kn_mat C, kn_mat S,
                              kn_kronsum *k);

/* Computes the derivatives of the log likelihood by all entries of C and S at the last evaluated
 * point: G_C = 1/2 W (F'F - diag b) W' and G_S = 1/2 W (V'V + W'E W - diag e) W' (T x T). */
void kn_kronsum_gradient(kn_ctx *ctx, kn_kronsum *k, kn_mat GC, kn_mat GS);

/* Prior by which C and S are shrunk. */
typedef struct kn_kronsum_prior {
    double nu;     /* 0: none */
    kn_mat C0, S0; /* T x T, both triangles */
} kn_kronsum_prior;

/* One EM step for C and S (T x T, overwritten) at fixed R0 and O, which never lowers the likelihood
 * or, with nu > 0, likelihood plus log prior, -nu/2 [ln|C| + tr C^-1 C0 + ln|S| + tr S^-1 S0]:
 *     C <- (Q [diag(c) F'F diag(c) + diag(sum c/k)] Q' + nu C0)/(m + nu)      over r_n > 0
 *     S <- (Q [V'V + W'E W + diag(sum (1 - 1/k))] Q' + nu S0)/(N + nu)
 * m counts only rows with signal, and is returned: the others carry no information on C, and
 * counting them, as in the textbook, would hold C back in proportion to their number. */
ptrdiff_t kn_kronsum_em(kn_ctx *ctx, const kn_kronsum_data *data, const kn_kronsum_prior *prior,
                        kn_kronsum *k, kn_mat C, kn_mat S);

/* Returns the log prior of C and S at the last evaluated point up to a constant, 0 if prior->nu
 * is 0; adds its derivatives to GC and GS unless they are NULL. C must be positive definite if
 * nu > 0. */
double kn_kronsum_log_prior(kn_ctx *ctx, const kn_kronsum_prior *prior, kn_kronsum *k, kn_mat *GC,
                            kn_mat *GS);

/* Computes the factors M (m x T) and w (m) of the derivative of the log likelihood by R0, G_R =
 * 1/2 U (M M' - diag w) U', for kn_decomp_contract or, with `noise`, by the noise covariance O
 * between participants. */
void kn_kronsum_outer(const kn_kronsum_data *data, const kn_kronsum *k, bool noise, kn_mat M,
                      double *w);

/* Raises eigenvalues of S (T x T) below `floor` to it, which is the maximum of an EM step under
 * the bound S >= floor I. *floored is set to true if there are any, else unchanged. work: T x T. */
kn_status kn_kronsum_floor(kn_ctx *ctx, kn_mat S, double floor, kn_mat work, bool *floored);

/* Predicts in plan r the memory of a kn_kronsum for T responses and m directions, which stays in
 * the plan; an evaluation only raises the peak. */
void kn_kronsum_need(kn_mem_plan *r, ptrdiff_t T, ptrdiff_t m);

/* ---- sample_side.c: diagonalisation over participants ---- */

/* Data and fixed parameters of a fit. */
typedef struct kn_kronsum_problem {
    const kn_spec *spec;
    const double *theta;     /* hyperparameters of R0 */
    double tau;              /* group noise over noise */
    ptrdiff_t P;             /* components of the structured model to which C and S are shrunk */
    kn_mat X, Y;             /* N x F, N x T minus its mean; borrowed */
    const kn_groups *groups; /* borrowed; n = 0: none */
    kn_limits limits;
    const char *stage; /* name for progress reports; NULL: none */
} kn_kronsum_problem;

typedef struct kn_kronsum_side {
    kn_mat X, Y;             /* N x F, N x T; borrowed */
    const kn_groups *groups; /* borrowed; n = 0: none */
    double theta[KN_COV_THETA];
    kn_pairs pairs; /* dense: distances */
    kn_lowrank low; /* low rank */
    kn_decomp R0;   /* at the current tau, R0.gamma */
    kn_mat A, E;    /* m x T, T x T (none if dense) */
    kn_mat sums;    /* groups x T   sums of Y; none without groups */
    double log_det;
} kn_kronsum_side;

/* Diagonalises R0 and the noise covariance O = I + tau G between participants together, at
 * problem->tau, and rotates Y: A = U'Y (m x T). X, Y and groups must outlive *out. */
kn_status kn_kronsum_side_new(kn_ctx *ctx, const kn_kronsum_problem *problem, kn_kronsum_side *out);
/* Repeats the joint diagonalisation of R0 (covariance between participants) and the group noise
 * I + tau G at another ratio tau: sets the decomposition s->R0, A = U'Y (m x T), E (T x T,
 * energy outside U) and log_det. */
kn_status kn_kronsum_side_at(kn_ctx *ctx, kn_kronsum_side *s, double tau);
/* Frees everything that the side owns. */
void kn_kronsum_side_clear(kn_kronsum_side *s);

/* Returns the rotated responses as input of the likelihood; borrowed from *s. */
kn_kronsum_data kn_kronsum_side_data(const kn_kronsum_side *s);

/* Computes *slope, the derivative of the log likelihood by tau at the C and S of *k: the sum of
 * G_O .* G over all pairs of participants in one group. */
kn_status kn_kronsum_side_slope(kn_ctx *ctx, const kn_kronsum_side *s, const kn_kronsum *k,
                                double *slope);

/* Allocates the latent form (independent processes of the components) of T components z_p = Y
 * w_p with noise variance d_p = 1 and gamma = tau; c and A are set later by
 * kn_kronsum_latent_set. The decomposition is moved from *s, so that kn_kronsum_data.r must be
 * taken from *out afterwards. X and groups are copied. */
kn_status kn_kronsum_latent_new(kn_ctx *ctx, kn_kronsum_side *s, kn_latent *out);
/* Sets signal variances c, coordinates A (m x T) and group sums of the components in *out from
 * the evaluated likelihood *k. */
void kn_kronsum_latent_set(kn_ctx *ctx, const kn_kronsum_side *s, const kn_kronsum *k,
                           kn_latent *out);

/* Predicts in plan r the memory of a kn_kronsum_side for s->N participants and s->T responses,
 * which stays in the plan; computing it only raises the peak. */
void kn_kronsum_side_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- learn.c: maximum likelihood of C and S ---- */

typedef struct kn_kronsum_learning {
    kn_kronsum_prior prior;
    double floor; /* S >= floor I */
    kn_limits limits;
    int em;            /* EM steps, at most */
    const char *stage; /* name for progress reports; NULL: none */
} kn_kronsum_learning;

typedef struct kn_kronsum_learned {
    double lml, em_lml; /* at the end, and at the end of EM */
    double objective;   /* lml plus log prior */
    double projected;   /* largest entry of the gradient, per participant */
    int evals, em_steps;
    kn_stop stop;
    bool floored; /* S has eigenvalues at its floor */
} kn_kronsum_learned;

typedef struct kn_kronsum_point {
    kn_mat C, S;   /* T x T, both triangles */
    kn_kronsum *k; /* borrowed */
} kn_kronsum_point;

/* Maximises likelihood plus log prior over C and S, by EM and then L-BFGS, from the start *at,
 * which the optimum overwrites; at->k is evaluated there. A cancelled run keeps the best point
 * so far. */
kn_status kn_kronsum_learn(kn_ctx *ctx, const kn_kronsum_data *data, const kn_kronsum_learning *how,
                           const kn_kronsum_point *at, kn_kronsum_learned *out);

/* Predicts in plan r the memory of kn_kronsum_learn for T responses and m directions (low: there
 * is energy outside them): only the peak rises. */
void kn_kronsum_learn_need(kn_mem_plan *r, ptrdiff_t T, ptrdiff_t m, bool low);

/* ---- fit.c: a fit to some participants at a fixed R0 ---- */

typedef struct kn_kronsum_fit {
    kn_kronsum_problem problem; /* its X, Y and groups are borrowed */
    kn_kronsum_side side;
    kn_kronsum_data data;
    kn_latent latent; /* components, set by kn_kronsum_fit_learn */
    kn_mat cov;       /* T x T  Y'Y/N */
    kn_mat C0, S0;    /* T x T  of the structured model */
    kn_mat C, S;      /* T x T  learned */
    double floor;     /* least eigenvalue of S */
    bool floored;     /* S0 has eigenvalues at the floor */
    kn_kronsum k;
    kn_kronsum_learned learned;
} kn_kronsum_fit;

/* Prepares a fit to the participants of *problem: diagonalises R0 (covariance between
 * participants) at problem->tau, and computes Y'Y/N and the task covariances C0 (signal) and S0
 * (noise) of the structured model, to which C and S will be shrunk (T x T each). The caller
 * frees *out; it is cleared on error. */
kn_status kn_kronsum_fit_new(kn_ctx *ctx, const kn_kronsum_problem *problem, kn_kronsum_fit *out);
/* Frees everything that the fit owns. */
void kn_kronsum_fit_clear(kn_kronsum_fit *f);

/* Learns C and S with shrinkage nu (0: none) by EM and L-BFGS from the standard start; sets C,
 * S, k, learned and latent. nu = INFINITY: C0 and S0 themselves, evaluated once. */
kn_status kn_kronsum_fit_learn(kn_ctx *ctx, kn_kronsum_fit *f, double nu);

/* Finds the ratio of group noise to noise, *tau, by maximum likelihood, alternating with EM
 * steps for C and S; 0 if no tau is better. Requires a fit at tau = 0, which is unusable
 * afterwards. */
kn_status kn_kronsum_fit_tau(kn_ctx *ctx, kn_kronsum_fit *f, double *tau);

/* Computes *density, the mean log density of the maps Ys (h x T, minus the training mean) of h
 * new participants with design Xs (h x F), in a new group. */
kn_status kn_kronsum_fit_density(kn_ctx *ctx, const kn_kronsum_fit *f, kn_mat Xs, kn_mat Ys,
                                 double *density);

/* Returns the log density of one map, -1/2 [T ln 2pi + ln|S| + sum ln(v + d) + sum a^2/(v + d)],
 * in the coordinates a = e W in which signal (variances v) and noise (d) are diagonal; a and v
 * have T elements, `stride` apart. log_det: ln|S|. */
double kn_kronsum_log_density(ptrdiff_t T, const double *a, const double *v, ptrdiff_t stride,
                              double d, double log_det);

/* Predicts in plan r the memory of kn_kronsum_fit_new and _learn for s->N participants: the fit
 * stays in the plan, learning only raises the peak. */
void kn_kronsum_fit_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- shrinkage.c: choice of nu ---- */

enum { KN_KRONSUM_NUS = 5, KN_SHRINKAGE_FOLDS = 5 };
extern const double kn_kronsum_nu[KN_KRONSUM_NUS]; /* candidates: 0 ... INFINITY */

/* Chooses the shrinkage *nu among kn_kronsum_nu: the candidate with the largest mean log density
 * of held-out maps over KN_SHRINKAGE_FOLDS folds. problem: data of all participants and fixed
 * parameters. */
kn_status kn_kronsum_choose_nu(kn_ctx *ctx, const kn_fit_problem *p,
                               const kn_kronsum_problem *problem, double *nu);

/* Reads Y (n x T) into *out (owned by the caller) and subtracts the means mu (T); mu NULL: 0. */
kn_status kn_kronsum_read_responses(kn_ctx *ctx, const kn_responses *Y, const double *mu,
                                    kn_mat *out);

/* Predicts in plan r the memory of kn_kronsum_choose_nu: only the peak rises. */
void kn_kronsum_choose_nu_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- state.c: contents of gp->own, arrays in the model file, memory plan ---- */

typedef struct kn_kronsum_state { /* gp->own: what folds need from the fit */
    double nu;                    /* shrinkage */
    ptrdiff_t P;                  /* components of the structured model */
    kn_limits limits;             /* evaluations; and the deadline while the fit runs */
    double stored[3];             /* as written to the file; must outlive the array visitor */
} kn_kronsum_state;

/* Implements kn_method.arrays: visits all arrays of the model file except X and noise, checking
 * them when reading. */
kn_status kn_kronsum_arrays(kn_gp *gp, kn_arrays *a);
/* Implements kn_method.clear. */
void kn_kronsum_state_clear(kn_gp *gp);
/* Implements kn_method.bytes: size of the model in memory. */
double kn_kronsum_bytes(const kn_gp *gp);
/* Implements kn_method.group_noise: noise[j] (T) without group noise is S_jj = noise_j/(1 +
 * tau), because Q has all directions. */
void kn_kronsum_group_noise(const kn_gp *gp, double *noise);
/* Implements kn_method.describe: writes how C and S were shrunk as a line (size bytes) of the
 * model's summary. */
void kn_kronsum_describe(const kn_gp *gp, char *line, size_t size);
/* Implements kn_method.need.settle, which sets the sizes that the options leave open to a memory
 * plan: s->P is T. */
void kn_kronsum_finalise(kn_problem_size *s);
/* Implements kn_method.need.fit, which predicts in plan r the memory of a fit: the model and,
 * with folds, the cross-validated maps stay in the plan. */
void kn_kronsum_need_fit(kn_mem_plan *r, const kn_problem_size *s);

#endif
