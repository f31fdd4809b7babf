/* P independent Gaussian processes over the same samples: column p of Z ~ N(0, c_p R0 + d_p H_p),
 * H_p = I + gamma_p G where groups of samples share noise, else I.
 *
 * Every model here takes this form once fitted. structured noise has it by definition
 * [METHOD 1b]. iso noise has it after rotating the components by U_C, with
 * d_p = c_p iso + s2 [METHOD 2: L_np = (r_n + iso) c_p + s2 = c_p r_n + d_p]; its R** keeps
 * the iso term, which adds c_p iso to the model variance. One code path then predicts for all.
 *
 * Components with the same gamma form a cell and share a decomposition; without groups there is
 * one cell. */
#ifndef KN_GP_LATENT_H
#define KN_GP_LATENT_H

#include "base/memory/plan.h"
#include "cov/lowrank.h"

typedef struct kn_latent_cell {
    kn_decomp R0;     /* of R0 and its gamma */
    kn_mat A;         /* m x n   U'Z of its components */
    ptrdiff_t n;      /* components ... */
    ptrdiff_t *which; /* ... these, ascending; NULL: all */
    kn_mat sums;      /* groups x m   sums of U over groups; none without groups */
} kn_latent_cell;

typedef struct kn_latent {
    kn_mat X;    /* N x F training covariates, standardised */
    ptrdiff_t P; /* components */
    int n_cells; /* at least one, and the first is there even where P = 0 */
    kn_latent_cell cell[KN_GAMMAS];
    double *c, *d;    /* P       signal and noise variance of each component */
    double *gamma;    /* P       group noise over noise; NULL without groups */
    double iso;       /* R's iso term; 0 for structured noise */
    kn_groups groups; /* of the training samples */
    kn_mat z_sums;    /* groups x P   sums of Z over groups */
} kn_latent;

typedef struct kn_latent_parts {
    kn_mat *X;
    kn_decomp *R0;
    kn_mat *A;
    const double *c, *d;
    double iso;
} kn_latent_parts;

/* Of one cell. Takes over X, R0 and A (cleared in the caller's hands on success); copies c and d.
 */
kn_status kn_latent_new(kn_ctx *ctx, const kn_latent_parts *from, kn_latent *out);
void kn_latent_clear(kn_latent *l);

static inline double kn_latent_gamma(const kn_latent *l, ptrdiff_t p)
{
    return l->gamma ? l->gamma[p] : 0;
}

/* Noise of component p in a new group. */
static inline double kn_latent_noise(const kn_latent *l, ptrdiff_t p)
{
    return l->d[p] * (1 + kn_latent_gamma(l, p));
}

/* Component k of a cell. */
static inline ptrdiff_t kn_cell_component(const kn_latent_cell *cell, ptrdiff_t k)
{
    return cell->which ? cell->which[k] : k;
}

/* A variance below zero is rounding: it becomes 0, and the step relative to the scale is noted. */
double kn_clamp_nonnegative(double v, double scale, double *clamped);

/* Of a cell: inverse (m x n) = 1/(c_p r_i + d_p); weights (m x n) = A c/(c r + d) where wanted */
void kn_cell_inverse(const kn_latent *l, const kn_latent_cell *cell, kn_mat inverse,
                     kn_mat weights);
void kn_latent_square(kn_mat M); /* M = M.^2 */

/* The sums over groups that prediction within a known group takes, once all else is in place; Z
 * N x P, or none where z_sums are there already. */
kn_status kn_latent_group_sums(kn_ctx *ctx, kn_latent *l, kn_mat Z);

void kn_latent_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
