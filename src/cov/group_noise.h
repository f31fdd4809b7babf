/* Covariance of the noise that repeated measures share: H = I + gamma G                [METHOD 1b]
 *
 *     G_ij = [i and j are in the same group]
 *     H^-1/2 y: row i of a group of n gets y_i + (1/sqrt(1 + n gamma) - 1) mean of the group
 *     H^-1 y:   y_i - gamma/(1 + n gamma) sum of the group
 *     ln|H| = sum over groups of ln(1 + n gamma)                                 O(N) per column
 *
 * Rows of one group are visits of one participant or scans of one stimulus. gamma is the ratio of
 * the noise that they share to the noise that they do not. */
#ifndef KN_COV_GROUP_NOISE_H
#define KN_COV_GROUP_NOISE_H

#include "base/matrix.h"

/* The values of gamma that a component may have: variance of the group's noise over that of the
 * row's own noise. Ascending from 0. */
enum { KN_GAMMAS = 6 };
extern const double kn_gamma[KN_GAMMAS];

typedef struct kn_groups {  /* {0}: no groups */
    ptrdiff_t N, n;         /* rows; groups */
    ptrdiff_t *of;          /* N, the group of each row, 0 .. n-1 */
    double *size;           /* n, rows in each group */
    ptrdiff_t *start, *row; /* rows of group k are row[start[k]] .. row[start[k+1] - 1] */
} kn_groups;

/* Makes groups *out from N codes: rows with equal codes form a group. Groups are numbered in
 * order of appearance. The caller clears *out; it is cleared on error. */
kn_status kn_groups_new(kn_ctx *ctx, ptrdiff_t N, const int *code, kn_groups *out);
/* Makes the groups of the rows index[0 .. n-1]; index NULL: of rows 0 .. n-1. Gives {0} if g has
 * no groups. */
kn_status kn_groups_subset(kn_ctx *ctx, const kn_groups *g, const ptrdiff_t *index, ptrdiff_t n,
                           kn_groups *out);
/* Frees the contents; accepts {0}. */
void kn_groups_clear(kn_groups *g);

/* Returns whether gamma can be estimated: some group has two rows, and there are two groups. */
bool kn_groups_identify_gamma(const kn_groups *g);

/* Computes M <- H^-1/2 M for each column of M (N x k), H = I + gamma G; nothing without groups. */
void kn_groups_half(const kn_groups *g, double gamma, kn_mat M);
/* Computes M <- H^-1 M for each column of M (N x k), H = I + gamma G; nothing without groups. */
void kn_groups_inverse(const kn_groups *g, double gamma, kn_mat M);
/* Computes sums (groups x k), the sums of the rows of M (N x k) over each group. */
void kn_groups_sums(const kn_groups *g, kn_mat M, kn_mat sums);
/* Returns ln|H|, the log determinant of the noise covariance I + gamma G of all rows. */
double kn_groups_logdet(const kn_groups *g, double gamma);

/* Returns gamma/(1 + n gamma) of group k, the weight of the group's sum in H^-1. */
static inline double kn_groups_less(const kn_groups *g, double gamma, ptrdiff_t k)
{
    return gamma / (1 + g->size[k] * gamma);
}

#endif
