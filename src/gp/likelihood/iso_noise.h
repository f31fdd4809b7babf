/* The paper's likelihood with isotropic noise, and its exact form [METHOD 1a, 2, 3]
 *
 *     vec(Z) ~ N(0, C (x) (R0 + iso I) + s2 I)    and, exact, N(0, s2) outside the basis
 *
 * It is evaluated with a given decomposition of R0. The "inside" parameters are those that do not
 * change the eigenvectors of R0: task kernel, iso term of R, noise. */
#ifndef KN_GP_LIKELIHOOD_ISO_NOISE_H
#define KN_GP_LIKELIHOOD_ISO_NOISE_H

#include "base/memory/plan.h"
#include "gp/likelihood_spec.h"

/* State of the likelihood; Z is N x P. */
typedef struct kn_iso {
    kn_likelihood likelihood;
    kn_cov task;     /* C */
    bool sample_iso; /* R has an iso term */
    ptrdiff_t N, T, P;
    double E;       /* energy outside the basis; METHOD 1 */
    kn_pairs tasks; /* P x P  pair statistics of the columns of Z */
    bool diagonal;  /* C is diagonal for every theta, as with principal components */
    bool identity;  /* outside the basis C continues as c0 I: covariance c0 R + s2 I [METHOD 1c] */
    /* number of inside parameters */
    int n_inside;
    /* state after an evaluation */
    kn_mat UC; /* P x P  eigenvectors of C; identity if diagonal */
    double *c; /* P  eigenvalues of C */
    kn_mat A;  /* m x P  U' Z U_C */
    double iso, s2;
    bool fresh; /* A and A2 are valid for the current decomposition */
    double c0;  /* eigenvalue of C outside the basis (identity) */
    /* low rank: `zeros` directions have r = 0; outside U the products of Z are ZZ minus A'A */
    ptrdiff_t zeros;
    kn_mat ZZ;    /* P x P  Z'Z; none if dense */
    kn_mat ZZU;   /* P x P  Z'Z U_C, if C is not diagonal */
    double *rest; /* P  energy of each rotated component outside U */
    /* work space */
    kn_mat A2, GC, S;
    double *gc, *part;
} kn_iso;

/* Creates the state of the iso likelihood for coordinates Z (N x P) of T responses; E: energy
 * outside the basis. The task features are the columns of Z times feature_scale, or those behind
 * the pair statistics `tasks` (may be NULL; copied): a subsample of rows then keeps the C of all
 * rows. With spec->identity the task features are the columns of Y, and Z holds all its energy. */
kn_status kn_iso_new(kn_ctx *ctx, const kn_spec *spec, kn_mat Z, ptrdiff_t T, double E,
                     double feature_scale, const kn_pairs *tasks, kn_iso *out);
/* Frees all that s owns and sets it to {0}. */
void kn_iso_clear(kn_iso *s);

/* Sets the number m of eigenvectors U of R0 (covariance between participants) that the next
 * evaluations use: A becomes m x P, and N - m directions have eigenvalue 0. To be called before
 * the first evaluation and whenever m changes. Z: the same N x P coordinates each time. */
kn_status kn_iso_set_rank(kn_ctx *ctx, kn_iso *s, kn_mat Z, ptrdiff_t m);

/* Computes the log likelihood *lml under iso noise (one noise variance for all responses) at the
 * parameters `inside` = [task covariance..., iso term, noise], which do not change R0, given
 * eigenvalues r (m) of R0 and A0 = U'Z (m x P), and unless g is NULL its gradient with respect
 * to them. Leaves the state for kn_iso_outer and prediction. */
kn_status kn_iso_eval(kn_ctx *ctx, kn_iso *s, const double *r, kn_mat A0, const double *inside,
                      double *lml, double *g);

/* Computes the factors of the gradient by R0 (covariance between participants; gradient.c) at
 * the last evaluated state: M = Yt c^1/2 (m x P) and w_i = sum_p c_p/L_ip (m; identity: + (T-P)
 * c0/L0_i), with L_ip = c_p (r_i + iso) + s2. */
void kn_iso_outer(const kn_iso *s, const double *r, kn_mat M, double *w);

/* Predicts in plan r the memory of a kn_iso for rank s->M, which stays in the plan; the
 * eigenproblem of C only raises the peak. given: task statistics are given. */
void kn_iso_need(kn_mem_plan *r, const kn_problem_size *s, bool given);

#endif
