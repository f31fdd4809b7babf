/* The law of what is left of a map where some responses are missing                  [METHOD 8j]
 *
 *     J, u   responses that a sample has and lacks      D = diag(v + d)      r = v_0 + d_0
 *     K < T: Sigma_J = r I + V_J (C - r I) V_J',  C = W^-T D W^-1
 *            V_J'V_J = I - V_u'V_u = Q diag(lam) Q'       X'X = lam^1/2 Q'C Q lam^1/2
 *            M = X'X/r + diag(1 - lam)       w = lam^-1/2 Q'z
 *            dev = (|e_J|^2 - |w|^2)/r + w'M^-1 w/r       ln det = |J| ln r + ln|M|
 *     K = T: H = V_u W D^-1/2,  the precision of u is HH'
 *            dev = |D^-1/2 a|^2 - |L^-1 H D^-1/2 a|^2     ln det = ln|Sigma| + ln|HH'|,  HH' = LL'
 *
 * Directions of V that J has nothing of (lam = 0) are in neither. K^2 |u| + K^3 flops for a set u,
 * K^3 for each of its samples; |u|^2 (T + |u|) where K = T. */
#ifndef KN_GP_PREDICT_MAP_DENSITY_MISSING_H
#define KN_GP_PREDICT_MAP_DENSITY_MISSING_H

#include "gp/predict/map_density.h"

typedef struct kn_map_density_missing {
    const kn_map_density *law;
    kn_mat V; /* T x K, lent */
    ptrdiff_t T;
    /* of the set that was looked at last */
    ptrdiff_t n, *u; /* those missing */
    kn_mat Vu;       /* rows of V x K, some at a time; T/2 where K = T, and then times W */
    ptrdiff_t rank;
    kn_mat Q;    /* K x K    the first `rank` columns: with lam > 0 */
    double *lam; /* K */
    /* work */
    kn_mat X, M;    /* K x K, or T/2 x K and T/2 x T/2 */
    kn_mat S;       /* K x K, with W */
    kn_mat w;       /* K or T/2 x 1 */
    double *spread; /* K */
} kn_map_density_missing;

/* The numbers of one sample: coordinates of its e_w, zero where missing, and |e_w|^2. */
typedef struct kn_map_density_row {
    ptrdiff_t i; /* of the part */
    const double *z;
    ptrdiff_t stride;
    double q;
    bool known; /* in a known group */
} kn_map_density_row;

/* v_k + d_k of coordinate k, or d_k alone. */
static inline double kn_map_density_variance(const kn_map_density *l, const kn_map_density_row *r,
                                             ptrdiff_t k, bool model)
{
    const double *d = r->known && l->d_known ? l->d_known : l->d;
    return d[k] + (model ? kn_at(l->v, r->i, k) : 0);
}

/* A fold may have fewer directions than its model, which has them all and nothing outside. */
static inline double kn_map_density_outside(const kn_map_density *l, ptrdiff_t i, bool model)
{
    return l->d0 + (model && l->v0 ? l->v0[i] : 0);
}

kn_status kn_map_density_missing_new(kn_ctx *ctx, const kn_map_density *law, kn_mat V,
                                     kn_map_density_missing *out);
void kn_map_density_missing_clear(kn_map_density_missing *g);
/* gap: a bit for each response, set where it is missing; fewer than half are. */
kn_status kn_map_density_missing_set(kn_ctx *ctx, kn_map_density_missing *g, const uint64_t *gap);
/* dev and ln det of e_w over J; NaN where a variance is not positive. */
kn_status kn_map_density_missing_judge(kn_ctx *ctx, kn_map_density_missing *g,
                                       const kn_map_density_row *r, bool model, double *dev,
                                       double *log_det);

void kn_map_density_missing_need(kn_mem_plan *r, ptrdiff_t T, ptrdiff_t K); /* V among it; passes */

#endif
