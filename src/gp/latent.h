/* The latent form: P independent Gaussian processes over the same N participants, column p of Z ~
 * N(0, c_p R0 + d_p H_p), H_p = I + gamma_p G with groups (repeated measures), else I.
 *
 * Every fitted model with components has this form, so one implementation predicts for all.
 * Structured noise has it by definition [METHOD 1b]. Iso noise has it after rotating the
 * components by U_C, with d_p = c_p iso + s2
 * [METHOD 2: L_np = (r_n + iso) c_p + s2 = c_p r_n + d_p]; its R** keeps the iso term, which adds
 * c_p iso to the model variance.
 *
 * Components with the same gamma form a cell and share one decomposition; without groups there is
 * one cell. */
#ifndef KN_GP_LATENT_H
#define KN_GP_LATENT_H

#include "base/memory/plan.h"
#include "cov/lowrank.h"

/* The components of one gamma. */
typedef struct kn_latent_cell {
    kn_decomp R0;     /* decomposition of R0 at this gamma */
    kn_mat A;         /* m x n  U'Z of its components */
    ptrdiff_t n;      /* number of components */
    ptrdiff_t *which; /* n  their indices, ascending; NULL: all components */
    kn_mat sums;      /* groups x m  sums of U over groups; none without groups */
} kn_latent_cell;

/* A fitted latent form, which owns its arrays. */
typedef struct kn_latent {
    kn_mat X;    /* N x F  standardised training covariates */
    ptrdiff_t P; /* number of components */
    int n_cells; /* at least one, even for P = 0; 0 if each response has its own R0 */
    kn_latent_cell cell[KN_GAMMAS];
    double *c, *d;    /* P  signal and noise variance of each component */
    double *gamma;    /* P  ratio of group noise to noise; NULL without groups */
    double iso;       /* iso term of R; 0 for structured noise */
    kn_groups groups; /* groups of the training sample */
    kn_mat z_sums;    /* groups x P  sums of Z over groups */
} kn_latent;

/* Input of kn_latent_new: X N x F, A m x P, c and d of length P. */
typedef struct kn_latent_parts {
    kn_mat *X;
    kn_decomp *R0;
    kn_mat *A;
    const double *c, *d;
    double iso;
} kn_latent_parts;

/* Builds a latent form (P independent Gaussian processes over the same participants) with one
 * cell, which has all components. X, R0 and A of *from are moved on success (the caller's are
 * cleared); c and d are copied. On error out is cleared. */
kn_status kn_latent_new(kn_ctx *ctx, const kn_latent_parts *from, kn_latent *out);
/* Frees all that l owns and sets it to {0}. */
void kn_latent_clear(kn_latent *l);

/* gamma of component p, 0 without groups. */
static inline double kn_latent_gamma(const kn_latent *l, ptrdiff_t p)
{
    return l->gamma ? l->gamma[p] : 0;
}

/* Noise variance of component p in a new group, d_p (1 + gamma_p). */
static inline double kn_latent_noise(const kn_latent *l, ptrdiff_t p)
{
    return l->d[p] * (1 + kn_latent_gamma(l, p));
}

/* Index of the k-th component of a cell. */
static inline ptrdiff_t kn_cell_component(const kn_latent_cell *cell, ptrdiff_t k)
{
    return cell->which ? cell->which[k] : k;
}

/* Returns max(v, 0). A negative variance is rounding; *clamped becomes the largest -v/scale
 * seen. */
double kn_clamp_nonnegative(double v, double scale, double *clamped);

/* Computes for one cell (components with equal group noise) inverse (m x n) = 1/(c_p r_i + d_p)
 * and, unless it is none, weights (m x n) = A c/(c r + d). The inverse is 0 where c_p r_i + d_p
 * = 0. */
void kn_cell_inverse(const kn_latent *l, const kn_latent_cell *cell, kn_mat inverse,
                     kn_mat weights);
/* Squares every entry of M in place. */
void kn_latent_square(kn_mat M);

/* Computes the sums of U and Z over groups that prediction in a known group needs, when all other
 * fields are set. Z: N x P, or empty if z_sums is already set. Does nothing without groups. */
kn_status kn_latent_group_sums(kn_ctx *ctx, kn_latent *l, kn_mat Z);

/* Predicts in plan r the memory of a kn_latent for s->N participants and s->P components, which
 * stays in the plan. */
void kn_latent_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
