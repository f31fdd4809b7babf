/* The sample side of MT-Kronsum: R0 and O = I + tau G made diagonal together, Y in that basis
 *                                                                                  [METHOD 1g]
 *     U'O U = I    U'R0 U = diag(r)    A = U'Y    E = Y'O^-1 Y - A'A    ln|O|
 *
 * Dense (U is N x N, no E) or of low rank, as the fit's R0 is. What does not depend on tau is made
 * once. */
#ifndef KN_GP_METHODS_KRONSUM_SAMPLE_SIDE_H
#define KN_GP_METHODS_KRONSUM_SAMPLE_SIDE_H

#include "gp/latent.h"
#include "gp/methods/kronsum/likelihood.h"
#include "gp/optimise/optimise.h"
#include "gp/spec.h"

/* What is held, and whose. */
typedef struct kn_kronsum_case {
    const kn_spec *spec;
    const double *theta;     /* of R0 */
    double tau;              /* group noise over noise */
    ptrdiff_t P;             /* components of the structured model that C and S are drawn to */
    kn_mat X, Y;             /* lent, N x F and N x T about its mean */
    const kn_groups *groups; /* lent; n = 0: none */
    kn_limits limits;
    const char *stage; /* progress is told under this name; NULL: none */
} kn_kronsum_case;

typedef struct kn_kronsum_side {
    kn_mat X, Y;             /* lent, N x F and N x T */
    const kn_groups *groups; /* lent; n = 0: none */
    double theta[KN_COV_THETA];
    kn_pairs pairs; /* dense */
    kn_lowrank low; /* low rank */
    kn_decomp R0;   /* at the last tau, R0.gamma */
    kn_mat A, E;
    kn_mat sums; /* groups x T   of Y; none without groups */
    double log_det;
} kn_kronsum_side;

/* X, Y and groups must outlive it; at the case's tau. */
kn_status kn_kronsum_side_new(kn_ctx *ctx, const kn_kronsum_case *of, kn_kronsum_side *out);
kn_status kn_kronsum_side_at(kn_ctx *ctx, kn_kronsum_side *s, double tau);
void kn_kronsum_side_clear(kn_kronsum_side *s);

kn_kronsum_data kn_kronsum_side_data(const kn_kronsum_side *s);

/* dLML/dtau at C and S where the likelihood stands: the sum of G_O .* G. */
kn_status kn_kronsum_side_slope(kn_ctx *ctx, const kn_kronsum_side *s, const kn_kronsum *k,
                                double *slope);

/* The components z_p = Y w_p with c_p, d_p = 1 and gamma = tau, for a likelihood to be set in;
 * takes the decomposition: from then on the side's data is that with `r` of the latent's. X and
 * groups are copied. */
kn_status kn_kronsum_latent_new(kn_ctx *ctx, kn_kronsum_side *s, kn_latent *out);
void kn_kronsum_latent_set(kn_ctx *ctx, const kn_kronsum_side *s, const kn_kronsum *k,
                           kn_latent *out);

/* Of s->N samples: what it holds; computing passes. */
void kn_kronsum_side_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
