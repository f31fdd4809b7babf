/* Samples that a cell of STGPR says something of                                [METHOD 4, 7]
 *
 *     mean = R0* alpha      var = c (R0** - (R0* U).^2 (1/(r + delta)))      n x responses */
#ifndef KN_GP_METHODS_STGPR_CELL_PREDICT_H
#define KN_GP_METHODS_STGPR_CELL_PREDICT_H

#include "base/memory/plan.h"
#include "gp/methods/stgpr/cells.h"

/* Some samples before a cell: R0*, R0* U, and results for as many responses as the work space. */
typedef struct kn_cell_predictor {
    const kn_pairs *pairs; /* samples x training */
    kn_mat Xs, Rs, RU, RU2;
    const ptrdiff_t *group; /* known ones; NULL: none */
    kn_mat sums;            /* groups x m  of U, where there are */
    double *self, *sq;
    kn_mat mean, var, inverse;
} kn_cell_predictor;

/* pairs and Xs are lent. */
kn_status kn_cell_predictor_new(kn_ctx *ctx, kn_mat Xs, ptrdiff_t N, const kn_pairs *pairs,
                                ptrdiff_t width, kn_cell_predictor *out);
void kn_cell_predictor_clear(kn_cell_predictor *a);
/* Some samples are in known groups. */
kn_status kn_cell_predictor_set_groups(kn_ctx *ctx, kn_cell_predictor *a, const ptrdiff_t *group,
                                       ptrdiff_t groups, bool variances);

/* Faces a cell, whose decomposition is at hand where variances are wanted. */
void kn_cell_predictor_bind(kn_ctx *ctx, kn_cell_predictor *a, const kn_cell_work *w,
                            const kn_cov_point *at, bool variances);
/* a->var for n responses, c and d in the work space. */
void kn_cell_predictor_variances(kn_ctx *ctx, kn_cell_predictor *a, const kn_cell_work *w,
                                 ptrdiff_t n);

/* n samples before a cell of N, pairs apart; and how many numbers that is, about. */
void kn_cell_predictor_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t N,
                            ptrdiff_t width);
double kn_cell_predictor_means(ptrdiff_t n, ptrdiff_t N, ptrdiff_t width);

#endif
