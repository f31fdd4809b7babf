/* Private declarations of MTGPR and of the low-rank Kronecker sum [METHOD 1h]: likelihood, gradient
 * and EM step, learning, prediction, and the memory plan. Functions that end in _need declare in a
 * memory plan what the function of that name allocates: "temporary" if it is free again
 * afterwards, "keeps" for what stays. */
#ifndef KN_GP_METHODS_MTGPR_INTERNAL_H
#define KN_GP_METHODS_MTGPR_INTERNAL_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"
#include "gp/method.h"
#include "gp/optimise/optimise.h"
#include "gp/predict/map_density.h"

/* ---- lowrank_sum.c: likelihood ---- */

typedef struct kn_lowrank_sum_samples {
    kn_mat U;        /* N x m, borrowed */
    const double *r; /* m, borrowed: eigenvalues of R0, without iso */
    bool omega;      /* O is not the identity; then m = N */
    double log_det;  /* ln|O| */
} kn_lowrank_sum_samples;

/* Parameters. */
typedef struct kn_lowrank_sum_point {
    kn_mat G, H; /* T x P, T x Q; H without columns: no noise factors */
    double *psi; /* T */
    double gamma, iso;
} kn_lowrank_sum_point;

typedef struct kn_lowrank_sum {
    kn_lowrank_sum_samples s;
    kn_responses Y;   /* N x T, borrowed */
    const double *mu; /* T, borrowed: subtracted from Y; NULL: 0 */
    ptrdiff_t N, T, P, Q, m, k;
    double *y2;     /* T      y_j'O^-1 y_j */
    kn_mat squares; /* m x T  (U'y_j).^2, for gamma; none: gamma is 0 */
    /* At the last point: */
    double gamma, iso;
    kn_mat V;             /* T x k */
    kn_mat K;             /* k x (P + Q) */
    kn_mat W, SW;         /* k x k   W, S_k W = W^-T */
    double *c;            /* k, descending */
    double log_det_S;     /* ln|S_k| */
    kn_mat Z, UZ, A;      /* N x k, m x k, m x k:  U'Z,  U'Z W */
    kn_mat M;             /* m x k   A ./ L */
    kn_mat Zo, Mo;        /* N x k   Z - UU'Z, and that times W over 1 + iso c; none: m = N */
    double *l0, *e;       /* m       gamma r + 1; energy outside V */
    double l0_out, e_out; /* the same in the directions outside U */
    kn_mat scaled;        /* T x k  work space */
} kn_lowrank_sum;

/* Creates the state of the likelihood and reads Y once. columns = {P, Q}: signal and noise
 * factors; gamma: it may differ from 0, which keeps m x T doubles. s->U, s->r, Y and mu are
 * borrowed. */
kn_status kn_lowrank_sum_new(kn_ctx *ctx, const kn_lowrank_sum_samples *s, const kn_responses *Y,
                             const double *mu, const ptrdiff_t columns[2], bool gamma,
                             kn_lowrank_sum *out);
/* Frees all arrays. */
void kn_lowrank_sum_clear(kn_lowrank_sum *w);

/* Evaluates the log likelihood *lml at the point `at` and leaves the state for gradient and EM
 * step. One pass over Y. Cannot be cancelled; callers check between evaluations. */
kn_status kn_lowrank_sum_value(kn_ctx *ctx, kn_lowrank_sum *w, const kn_lowrank_sum_point *at,
                               double *lml);

/* Computes the loadings (T x k) from latent components to responses at the last point: Psi^1/2 V
 * S_k W; psi NULL: without Psi^1/2. */
void kn_lowrank_sum_loadings(kn_ctx *ctx, const kn_lowrank_sum *w, const double *psi,
                             kn_mat loadings);
/* Computes outside[j] = 1 - |row j of V|^2 (T, at least 0), the weight in each response of the
 * directions outside V. */
void kn_lowrank_sum_outside(const kn_lowrank_sum *w, double *outside);

/* Predicts in plan r the memory of a kn_lowrank_sum for s->N participants, rank s->M and k
 * columns (gamma: with squares), which stays in the plan; an evaluation only raises the peak. */
void kn_lowrank_sum_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t k, bool gamma);
/* Predicts in plan r the memory of one evaluation with gradient, or EM step, with k columns:
 * only the peak rises. */
void kn_lowrank_sum_evaluating_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t k);

/* ---- lowrank_sum_gradient.c: gradient and EM step ---- */

/* Derivatives by G, H (none if Q = 0), ln psi_j at fixed G and H, gamma and iso. */
typedef struct kn_lowrank_sum_gradient {
    kn_mat G, H;
    double *ln_psi; /* T */
    double gamma, iso;
} kn_lowrank_sum_gradient;
/* Computes the gradient of the log likelihood at `at`, which must be the point of the last
 * value. g->G, g->H and g->ln_psi are allocated by the caller; g->gamma is NaN if gamma is not
 * free. One pass over Y. */
kn_status kn_lowrank_sum_slopes(kn_ctx *ctx, kn_lowrank_sum *w, const kn_lowrank_sum_point *at,
                                kn_lowrank_sum_gradient *g);

/* One EM step for G, H and psi from the point of the last value, with gamma = 0, iso fixed and
 * psi_j >= lowest[j]: LML does not decrease. Uses sums over participants of the posterior of X = [f
 * v],
 *     Y = f (Psi^1/2 G)' + v (Psi^1/2 H)' + e,
 *     E[f] = R X_G   E[v] = X_H   X_G = M W'K_G (rotated)   cov of both by sums of r^2/L, r/L, 1/L
 *     [..G ..H]_j = E[XX']^-1 E[X]'y_j       psi_j = (|y_j|^2 - [..G ..H]_j' E[X]'y_j)/N */
kn_status kn_lowrank_sum_em(kn_ctx *ctx, kn_lowrank_sum *w, const double *lowest,
                            kn_lowrank_sum_point *at);

/* ---- learn.c: maximum likelihood of loadings and noise ---- */

/* Most evaluations of EM and of L-BFGS. */
enum { KN_MTGPR_EM = 50, KN_MTGPR_EVALS = 500 };

typedef struct kn_mtgpr_plan {
    ptrdiff_t columns[2]; /* P, Q */
    bool gamma, iso;      /* free parameters? */
    kn_limits limits;     /* evals_left 0: return the start */
    const char *stage;    /* name for progress reports; NULL: none */
} kn_mtgpr_plan;

typedef struct kn_mtgpr_learned {
    kn_lowrank_sum low; /* evaluated at `at` */
    kn_lowrank_sum_point at;
    double lml, projected; /* projected: largest entry of the projected gradient */
    int evals;
    kn_stop stop;
    ptrdiff_t lowest; /* number of responses with psi at its bound */
} kn_mtgpr_learned;

/* Learns loadings G, H, noise psi and, if free, gamma and iso by maximum likelihood at a fixed
 * R0 (covariance between participants; s): EM, then rounds of L-BFGS; the likelihood is left
 * evaluated at the optimum. mu (T) is subtracted from Y; NULL: 0. s->U, s->r, Y and mu are
 * borrowed and must outlive *out, which the caller frees. */
kn_status kn_mtgpr_learn(kn_ctx *ctx, const kn_lowrank_sum_samples *s, const kn_responses *Y,
                         const double *mu, const kn_mtgpr_plan *plan, kn_mtgpr_learned *out);
/* Frees the learned point. */
void kn_mtgpr_learned_clear(kn_mtgpr_learned *l);

/* Predicts in plan r the memory of kn_mtgpr_learn for s->N participants and rank s->M: the
 * result stays in the plan, learning only raises the peak. */
void kn_mtgpr_learn_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- mtgpr.c: contents of gp->own ---- */

/* gp->own: what folds need from the fit. gp->B is V S_k W, gp->psi the noise variance by which
 * responses are scaled. */
typedef struct kn_mtgpr {
    ptrdiff_t P, Q;      /* columns of G and H */
    int evals;           /* limit of the fit, or what it had time for; -1: no limit */
    bool iso;            /* R has an iso term */
    ptrdiff_t stored[4]; /* the numbers above, as written to the file */
    kn_mat L;            /* k x k  B'B = LL'; none without H, where B'B = I */
} kn_mtgpr;

/* ---- predict.c: leave-one-out, joint density, covariance ---- */

/* Computes the lower Cholesky factor *L (k x k, owned by the caller) of B'B for loadings B (T x
 * k), with zeros above the diagonal. KN_ERR_NUMERIC if B'B is singular. */
kn_status kn_mtgpr_factor(kn_ctx *ctx, kn_mat B, kn_mat *L);

/* Implements kn_method.loo: closed-form leave-one-out (whole groups) at the learned loadings and
 * noise. */
kn_status kn_mtgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
/* Implements kn_method.map_density: K = k directions V = B L^-T with noise 1, outside V variance
 * v0 + 1, W = L^-1; L is that of the fold or model. */
kn_status kn_mtgpr_map_density(kn_ctx *ctx, const kn_gp_maps *maps, int part, kn_map_density *out);
/* Implements kn_method.map_density_block: rows of V = B L^-T (count x k) and scale psi^1/2
 * (count) of the responses from `first` on. */
kn_status kn_mtgpr_map_density_block(kn_ctx *ctx, const kn_gp_maps *maps, int part, ptrdiff_t first,
                                     kn_mat y, kn_mat V, double *scale);
/* Implements kn_method.covariance: model and noise covariance of the responses J for one
 * participant x (1 x F). */
kn_status kn_mtgpr_covariance(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                              kn_mat model, kn_mat noise);
/* Implements kn_method.describe: writes ranks and noise of the model as a line (size bytes) of
 * its summary. */
void kn_mtgpr_describe(const kn_gp *gp, char *line, size_t size);

/* ---- memory.c: memory plan of a fit ---- */

enum { KN_MTGPR_MAX = 200 }; /* components, and noise factors, at most */

/* Implements kn_method.need.settle, which sets the sizes that the options leave open to a memory
 * plan: s->P becomes the number of directions, components plus noise factors, at most T. */
void kn_mtgpr_need_finalise(kn_problem_size *s);
/* Implements kn_method.need.fit, which predicts in plan r the memory of a fit: the model and,
 * with folds, the cross-validated maps stay in the plan. */
void kn_mtgpr_need_fit(kn_mem_plan *r, const kn_problem_size *s);

#endif
