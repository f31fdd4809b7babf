/* Samples in groups that share noise: H = I + gamma G, G_ij = [same group]          [METHOD 1b]
 *
 *     H^-1/2 y: row i of a group of n gets y_i + (1/sqrt(1 + n gamma) - 1) mean of the group
 *     H^-1 y:   y_i - gamma/(1 + n gamma) sum of the group
 *     ln|H| = sum over groups of ln(1 + n gamma)                                 O(N) a column */
#ifndef KN_COV_GROUPS_H
#define KN_COV_GROUPS_H

#include "base/matrix.h"

/* Ratios of group noise to noise of its own that a component may have, ascending from 0. */
enum { KN_GAMMAS = 6 };
extern const double kn_gamma[KN_GAMMAS];

typedef struct kn_groups {  /* {0}: there are none */
    ptrdiff_t N, n;         /* samples; groups */
    ptrdiff_t *of;          /* N  0 .. n-1 */
    double *size;           /* n  how many samples */
    ptrdiff_t *start, *row; /* those of group k are row[start[k]] .. row[start[k+1] - 1] */
} kn_groups;

/* From N numbers, the same for members of one group; numbered in the order of their appearance. */
kn_status kn_groups_new(kn_ctx *ctx, ptrdiff_t N, const int *code, kn_groups *out);
/* Of some of the samples, or with index NULL of all; those of one group stay one. */
kn_status kn_groups_subset(kn_ctx *ctx, const kn_groups *g, const ptrdiff_t *index, ptrdiff_t n,
                           kn_groups *out);
void kn_groups_clear(kn_groups *g);

/* Some group has two members, and there are two groups: else gamma has no meaning. */
bool kn_groups_tell(const kn_groups *g);

void kn_groups_half(const kn_groups *g, double gamma, kn_mat M);    /* M <- H^-1/2 M */
void kn_groups_inverse(const kn_groups *g, double gamma, kn_mat M); /* M <- H^-1 M */
void kn_groups_sums(const kn_groups *g, kn_mat M, kn_mat sums);     /* n x columns of M */
double kn_groups_logdet(const kn_groups *g, double gamma);

/* gamma/(1 + n gamma) of group k: what H^-1 takes of its sum. */
static inline double kn_groups_less(const kn_groups *g, double gamma, ptrdiff_t k)
{
    return gamma / (1 + g->size[k] * gamma);
}

#endif
