/* Joint density of a map with missing responses: the marginal density of the observed ones
 * [METHOD 8j]. Used by map_density.c at the end of its block loop.
 *
 *     J, u   observed and missing responses      D = diag(v + d)      r = v_0 + d_0
 *     K < T: Sigma_J = r I + V_J (C - r I) V_J',  C = W^-T D W^-1
 *            V_J'V_J = I - V_u'V_u = Q diag(lam) Q'       X'X = lam^1/2 Q'C Q lam^1/2
 *            M = X'X/r + diag(1 - lam)       w = lam^-1/2 Q'z
 *            dev = (|e_J|^2 - |w|^2)/r + w'M^-1 w/r       ln det = |J| ln r + ln|M|
 *     K = T: H = V_u W D^-1/2,  the precision of u is HH'
 *            dev = |D^-1/2 a|^2 - |L^-1 H D^-1/2 a|^2     ln det = ln|Sigma| + ln|HH'|,  HH' = LL'
 *
 * Directions of V that vanish on J (lam = 0) enter neither sum. Cost: K^2 |u| + K^3 flops for a set
 * u, K^3 for each participant with it; |u|^2 (T + |u|) if K = T. */
#ifndef KN_GP_PREDICT_MAP_DENSITY_MISSING_H
#define KN_GP_PREDICT_MAP_DENSITY_MISSING_H

#include "gp/predict/map_density.h"

typedef struct kn_map_density_missing {
    const kn_map_density *density; /* borrowed */
    kn_mat V;                      /* T x K, borrowed */
    ptrdiff_t T;
    /* The current set u of missing responses. */
    ptrdiff_t n, *u; /* size of u, its responses in ascending order */
    kn_mat Vu;       /* rows u of V, CHUNK at a time; if K = T all (T/2 x K), multiplied by W */
    ptrdiff_t rank;  /* number of lam > 0 */
    kn_mat Q;        /* K x K    the first `rank` columns belong to lam > 0 */
    double *lam;     /* K */
    /* Work space. */
    kn_mat X, M;    /* K x K both; if K = T: T/2 x K and T/2 x T/2 */
    kn_mat S;       /* K x K, only with W */
    kn_mat w;       /* K x 1, or T/2 x 1 if K = T */
    double *spread; /* K        v + d of the current participant */
} kn_map_density_missing;

/* One participant: coordinates of e_w, computed with zeros for missing responses, and |e_w|^2. */
typedef struct kn_map_density_row {
    ptrdiff_t i;     /* row in its part */
    const double *z; /* K coordinates, `stride` apart */
    ptrdiff_t stride;
    double q;   /* |e_w|^2 */
    bool known; /* in a known group */
} kn_map_density_row;

/* Returns v_k + d_k of coordinate k if model is true, else d_k. */
static inline double kn_map_density_variance(const kn_map_density *l, const kn_map_density_row *r,
                                             ptrdiff_t k, bool model)
{
    const double *d = r->known && l->d_known ? l->d_known : l->d;
    return d[k] + (model ? kn_at(l->v, r->i, k) : 0);
}

/* Returns the variance of a direction outside V. A fold may have K < T where its model has K = T.
 */
static inline double kn_map_density_outside(const kn_map_density *l, ptrdiff_t i, bool model)
{
    return l->d0 + (model && l->v0 ? l->v0[i] : 0);
}

/* Allocates the work space to evaluate maps with missing responses. density and V (T x K) are
 * borrowed; cleared on error. */
kn_status kn_map_density_missing_new(kn_ctx *ctx, const kn_map_density *density, kn_mat V,
                                     kn_map_density_missing *out);
/* Frees the work space and zeroes *g. */
void kn_map_density_missing_clear(kn_map_density_missing *g);
/* Prepares the evaluation of participants with this set of missing responses. gap: one bit per
 * response, set if it is missing; at most half may be. KN_ERR_NUMERIC if the eigenproblem fails. */
kn_status kn_map_density_missing_set(kn_ctx *ctx, kn_map_density_missing *g, const uint64_t *gap);
/* Computes deviance *dev and *log_det of the observed responses of participant r with the set of
 * the last kn_map_density_missing_set. model false: with noise variance only. Both are NaN if a
 * variance is not positive or a factorisation fails. */
kn_status kn_map_density_missing_evaluate(kn_ctx *ctx, kn_map_density_missing *g,
                                          const kn_map_density_row *r, bool model, double *dev,
                                          double *log_det);

/* Predicts in plan r the memory of a kn_map_density_missing for T responses and K coordinates, V
 * included: only the peak rises. */
void kn_map_density_missing_need(kn_mem_plan *r, ptrdiff_t T, ptrdiff_t K);

#endif
