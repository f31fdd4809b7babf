/* STGPR: each response a Gaussian process of its own over the same samples          [METHOD 7]
 *
 *     y_j ~ N(0, c_j R0(cell_j) + d_j I),   R0 = (1-rho) XX'/F + rho SE(length),   d = c delta
 *
 * Responses whose (rho, length) agree form a cell and share one decomposition of R0: two terms, of
 * which the second has one shape, or one of them alone [cov/weights.h]. */
#ifndef KN_GP_STGPR_CELLS_H
#define KN_GP_STGPR_CELLS_H

#include "base/rehearse.h"
#include "cov/dense.h"
#include "cov/weights.h"
#include "data/responses.h"

typedef struct kn_stgpr {
    kn_mat cells;      /* n x 2   rho, length of each cell in use */
    double *cell;      /* T       row of cells; a number like the others, for kn_model_array */
    double *c, *delta; /* T       c = 0 with delta infinite: noise alone */
    double *d;         /* T       noise variance, c delta where c > 0 */
    double *lml;       /* T */
    kn_mat alpha;      /* N x T   U (A ./ (r + delta)): the mean is R0* alpha */
} kn_stgpr;

kn_status kn_stgpr_new(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t T, kn_stgpr *out);
void kn_stgpr_clear(kn_stgpr *s);

/* Responses in the order of their cells: those of cell k are order[start[k]] .. [start[k+1]-1]. */
typedef struct kn_cell_groups {
    ptrdiff_t *order, *start;
} kn_cell_groups;
kn_status kn_cell_groups_new(kn_ctx *ctx, const kn_stgpr *s, ptrdiff_t first, ptrdiff_t count,
                             kn_cell_groups *out);
void kn_cell_groups_clear(kn_cell_groups *g);

/* One cell over samples at hand: the decomposition, and work space for some responses. */
typedef struct kn_cell_work {
    kn_decomp R0;
    kn_mat Y, A, A2; /* N x width: responses, U'Y, its squares */
    ptrdiff_t width;
    double *c, *d, *lml; /* width */
} kn_cell_work;

kn_status kn_cell_work_new(kn_ctx *ctx, ptrdiff_t N, const kn_cov *cov, ptrdiff_t width,
                           kn_cell_work *out);
void kn_cell_work_clear(kn_cell_work *w);
kn_status kn_cell_decompose(kn_ctx *ctx, kn_cell_work *w, const kn_pairs *pairs, double rho,
                            double length);
/* A = U'Y, then c, d and LML of each response of Y (N x n) by the profile of METHOD 1b, to `nats`
 * of LML. */
kn_status kn_cell_fit(kn_ctx *ctx, kn_cell_work *w, kn_mat Y, double nats);
/* alpha (N x n) = U (A c/(c r + d)) from A, c and d of the work space; A is used up. */
void kn_cell_alpha(kn_ctx *ctx, kn_cell_work *w, ptrdiff_t n, kn_mat alpha);

/* A cell over n samples, so many responses wide; its eigenproblem and profile pass. */
void kn_cell_work_need(kn_rehearsal *r, ptrdiff_t n, ptrdiff_t width);

#endif
