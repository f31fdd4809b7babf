/* How far a fit with R0 of low rank [METHOD 6a] may be from the dense one, at the same parameters.
 *
 * What the pivots leave out of the covariance of training and new participants together, E, is
 * positive semidefinite, and its trace over the training participants is a share of that of R0.
 * With K = c R0 + d H, w = c K^-1 k_* and a = K^-1 z, to first order in E and by Cauchy-Schwarz in
 * it:
 *
 *     eta^2 = share trace(R0) max c/d >= |K^-1/2 cE K^-1/2|        as d H >= d I
 *     |change of LML|  = 1/2 |tr(K^-1 cE) - a'cE a|  <= 1/2 eta^2 (P + sum z'a)
 *     |change of mean| = c |(1,-w) E (0,a)'| <= sqrt(v) sqrt(a'cE a) <= sqrt(v) eta sqrt(z'a)
 *     |change of var|  <= 2 sqrt(c E_**) sqrt(w'cE w) + w'cE w       <= (2 eta + eta^2) v
 *
 * since (1,-w) cE (1,-w)' <= v, c E_** <= v and d |w|^2 <= v, the model variance. A new
 * participant's E_** may be as large as v, which is why the root of the share enters. Of P
 * components |sum_p B_jp x_p| <= sqrt(P) max eta sqrt(z'a) sqrt(sum_p B_jp^2 v_p). Eigenvalues of
 * the dense matrix are off by up to N eps of its norm, which counts as a share too. The factor 2 is
 * for terms of higher order and for c and d, which are maximised at each R0 again. */
#ifndef KN_TEST_RANK_BOUND_H
#define KN_TEST_RANK_BOUND_H

#include "gp/latent.h"
#include "support/test.h"

typedef struct rank_bound {
    double ratio;          /* trace(R0) max c/d */
    double quad, quad_max; /* z'K^-1 z: the sum over components and the largest */
    double eps;            /* rounding of the dense decomposition, as a share of the trace */
    ptrdiff_t P;
} rank_bound;

/* Of the dense fit, whose U is square; or of any fit with structured noise, where c is at its
 * maximum and z'K^-1 z is N. */
static inline rank_bound rank_bound_of(const kn_latent *l)
{
    rank_bound b = {.P = l->P, .eps = (double)l->X.rows * 2.2e-16};
    for (int k = 0; k < l->n_cells; k++) {
        const kn_latent_cell *cell = &l->cell[k];
        double trace = 0; /* of H^-1/2 R0 H^-1/2, as eta needs it */
        for (ptrdiff_t i = 0; i < cell->R0.m; i++)
            trace += cell->R0.r[i];
        for (ptrdiff_t q = 0; q < cell->n; q++) {
            ptrdiff_t p = kn_cell_component(cell, q);
            double quad = cell->R0.m < l->X.rows ? (double)l->X.rows : 0;
            for (ptrdiff_t i = 0; cell->R0.m == l->X.rows && i < cell->R0.m; i++)
                quad += kn_at(cell->A, i, q) * kn_at(cell->A, i, q) /
                        (l->c[p] * cell->R0.r[i] + l->d[p]);
            b.quad += quad;
            b.quad_max = fmax(b.quad_max, quad);
            b.ratio = fmax(b.ratio, trace * l->c[p] / l->d[p]);
        }
    }
    return b;
}

static inline double rank_bound_eta(const rank_bound *b, double share)
{
    return sqrt((share + b->eps) * b->ratio);
}

static inline double rank_bound_lml(const rank_bound *b, double share)
{
    double eta = rank_bound_eta(b, share);
    return eta * eta * ((double)b->P + b->quad); /* twice the half */
}

static inline double rank_bound_mean(const rank_bound *b, double share, double var)
{
    return 2 * rank_bound_eta(b, share) * sqrt((double)b->P * b->quad_max * var);
}

static inline double rank_bound_var(const rank_bound *b, double share, double var)
{
    double eta = rank_bound_eta(b, share);
    return 2 * (2 * eta + eta * eta) * var;
}

/* Of noise_j, which follows from held-out residuals e and their variances v: it is mean(e^2 - v),
 * or a share of mean(e^2) where that is larger [METHOD 1d]. */
static inline double rank_bound_noise(const rank_bound *b, double share, kn_mat Y, kn_mat cv_mean,
                                      kn_mat cv_var, ptrdiff_t j)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < Y.rows; i++) {
        double v = kn_at(cv_var, i, j), e = kn_at(Y, i, j) - kn_at(cv_mean, i, j);
        double dm = rank_bound_mean(b, share, v);
        sum += 2 * fabs(e) * dm + dm * dm + rank_bound_var(b, share, v);
    }
    return sum / (double)Y.rows;
}

static inline void assert_maps_agree(kn_mat mean, kn_mat var, kn_mat full_mean, kn_mat full_var,
                                     const rank_bound *b, double share)
{
    for (ptrdiff_t j = 0; j < mean.cols; j++)
        for (ptrdiff_t i = 0; i < mean.rows; i++) {
            double v = kn_at(full_var, i, j);
            double dm = fabs(kn_at(mean, i, j) - kn_at(full_mean, i, j)),
                   dv = fabs(kn_at(var, i, j) - v);
            if (!(dm <= rank_bound_mean(b, share, v) && dv <= rank_bound_var(b, share, v)))
                fail_msg("response %td of person %td: mean differs by %.3g, allowed %.3g; variance "
                         "by %.3g, allowed %.3g",
                         j, i, dm, rank_bound_mean(b, share, v), dv, rank_bound_var(b, share, v));
        }
}

#endif
