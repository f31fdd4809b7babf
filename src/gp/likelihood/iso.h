/* The paper's likelihood and its exact form with isotropic noise                 [METHOD 1a, 2, 3]
 *
 *     vec(Z) ~ N(0, C (x) (R0 + iso I) + s2 I)    and, exact, N(0, s2) outside the basis
 *
 * evaluated with the decomposition of R0 at hand. Parameters "inside" are those that leave R0's
 * eigenvectors alone: the task kernel's, R's iso term, the noise. */
#ifndef KN_GP_LIKELIHOOD_ISO_H
#define KN_GP_LIKELIHOOD_ISO_H

#include "base/memory/plan.h"
#include "gp/spec.h"

typedef struct kn_iso {
    kn_likelihood likelihood;
    kn_cov task;     /* C */
    bool sample_iso; /* R has an iso term */
    ptrdiff_t N, T, P;
    double E;       /* energy outside the basis; METHOD 1 */
    kn_pairs tasks; /* P x P statistics of the columns of Z */
    bool diagonal;  /* C is diagonal for every theta, as over principal components */
    bool identity;  /* outside the basis C goes on as c0 I: covariance c0 R + s2 I [METHOD 1c] */
    int n_inside;
    /* state after an evaluation */
    kn_mat UC; /* P x P eigenvectors of C; identity when diagonal */
    double *c; /* P     eigenvalues of C */
    kn_mat A;  /* m x P U' Z U_C */
    double iso, s2;
    bool fresh; /* A and A2 belong to the decomposition at hand; a new one clears it */
    double c0;  /* iso term of C: its eigenvalue outside the basis (identity) */
    /* low rank: `zeros` directions have r = 0; outside U the coordinates' products are ZZ less A'A
     */
    ptrdiff_t zeros;
    kn_mat ZZ;    /* P x P  Z'Z; none when dense */
    kn_mat ZZU;   /* P x P  Z'Z U_C, when C is not diagonal */
    double *rest; /* P      energy of each rotated component outside U */
    /* work */
    kn_mat A2, GC, S;
    double *gc, *part;
} kn_iso;

/* Z N x P. Task features are the columns of Z times `feature_scale`, or those behind `tasks` when
 * it is given: a subsample of the rows keeps the C of all of them. identity: the task features are
 * the columns of Y and Z holds all of its energy, in principal components where C is spectral. */
kn_status kn_iso_new(kn_ctx *ctx, const kn_spec *spec, kn_mat Z, ptrdiff_t T, double E,
                     double feature_scale, const kn_pairs *tasks, kn_iso *out);
void kn_iso_clear(kn_iso *s);

/* Before the first evaluation, and when it changes: the rank m of the decomposition. A is m x P
 * from now on and N - m directions have r = 0. Z the N x P coordinates, the same each time. */
kn_status kn_iso_set_rank(kn_ctx *ctx, kn_iso *s, kn_mat Z, ptrdiff_t m);

/* LML at the inside parameters [C..., R.diag, noise] given r (m) and A0 = U'Z; gradient with
 * respect to them when g is not NULL. Leaves the state that prediction and iso_outer need. */
kn_status kn_iso_eval(kn_ctx *ctx, kn_iso *s, const double *r, kn_mat A0, const double *inside,
                      double *lml, double *g);

/* M = Yt c^1/2 (m x P) and w_i = sum_p c_p/L_ip (identity: + (T-P) c0/L0_i) for kn_decomp_gradient,
 * at the last state. */
void kn_iso_outer(const kn_iso *s, const double *r, kn_mat M, double *w);

/* For a decomposition of R of rank m; the eigenproblem of C passes. `given`: the tasks are. */
void kn_iso_need(kn_mem_plan *r, const kn_problem_size *s, bool given);

#endif
