/* Simultaneous diagonalisation of R0 and O = I + tau G, and Y in the resulting coordinates
 * [METHOD 1g].
 *
 *     U'O U = I    U'R0 U = diag(r)    A = U'Y    E = Y'O^-1 Y - A'A    ln|O|
 *
 * Dense (U is N x N, no E) or of low rank, as the R0 of the fit. Everything that does not depend on
 * tau is computed once. */
#ifndef KN_GP_METHODS_KRONSUM_SAMPLE_SIDE_H
#define KN_GP_METHODS_KRONSUM_SAMPLE_SIDE_H

#include "gp/latent.h"
#include "gp/methods/kronsum/likelihood.h"
#include "gp/optimise/optimise.h"
#include "gp/spec.h"

/* Data and fixed parameters of a fit. */
typedef struct kn_kronsum_case {
    const kn_spec *spec;
    const double *theta;     /* hyperparameters of R0 */
    double tau;              /* group noise over noise */
    ptrdiff_t P;             /* components of the structured model to which C and S are shrunk */
    kn_mat X, Y;             /* N x F, N x T less its mean; borrowed */
    const kn_groups *groups; /* borrowed; n = 0: none */
    kn_limits limits;
    const char *stage; /* name for progress reports; NULL: none */
} kn_kronsum_case;

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

/* Diagonalises at of->tau. X, Y and groups must outlive *out. */
kn_status kn_kronsum_side_new(kn_ctx *ctx, const kn_kronsum_case *of, kn_kronsum_side *out);
/* Moves to another tau. */
kn_status kn_kronsum_side_at(kn_ctx *ctx, kn_kronsum_side *s, double tau);
/* Frees everything that the side owns. */
void kn_kronsum_side_clear(kn_kronsum_side *s);

/* View for the likelihood; borrowed from *s. */
kn_kronsum_data kn_kronsum_side_data(const kn_kronsum_side *s);

/* dLML/dtau at the C and S of *k: the sum of G_O .* G. */
kn_status kn_kronsum_side_slope(kn_ctx *ctx, const kn_kronsum_side *s, const kn_kronsum *k,
                                double *slope);

/* Allocates the components z_p = Y w_p with c_p, d_p = 1 and gamma = tau; the decomposition is
 * moved from *s, so that kn_kronsum_data.r must be taken from *out afterwards. X and groups are
 * copied. */
kn_status kn_kronsum_latent_new(kn_ctx *ctx, kn_kronsum_side *s, kn_latent *out);
/* Sets c and A of the components from an evaluated likelihood. */
void kn_kronsum_latent_set(kn_ctx *ctx, const kn_kronsum_side *s, const kn_kronsum *k,
                           kn_latent *out);

/* Memory plan for s->N participants; computing is temporary. */
void kn_kronsum_side_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
