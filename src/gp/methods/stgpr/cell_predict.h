/* Predicts participants with one cell of STGPR [METHOD 4, 7]. Used by predict.c and cv.c.
 *
 *     mean = R0* alpha      var = c (R0** - (R0* U).^2 (1/(r + delta)))      n x responses */
#ifndef KN_GP_METHODS_STGPR_CELL_PREDICT_H
#define KN_GP_METHODS_STGPR_CELL_PREDICT_H

#include "base/memory/plan.h"
#include "gp/methods/stgpr/cells.h"

/* Work space for n participants: R0*, R0* U, and results of up to `width` responses. */
typedef struct kn_cell_predictor {
    const kn_pairs *pairs;     /* distances to the training participants, borrowed */
    kn_mat Xs, Rs, RU, RU2;    /* n x F, borrowed; n x N R0*; n x m R0* U (squared without groups);
                                * its squares */
    const ptrdiff_t *group;    /* n  known groups, -1: new; NULL: all new */
    kn_mat sums;               /* groups x m  sums of U over groups */
    double *self, *sq;         /* n  R0**, work space */
    kn_mat mean, var, inverse; /* n x width, n x width, N x width */
} kn_cell_predictor;

/* Allocates the work space for N training participants. pairs and Xs are borrowed. */
kn_status kn_cell_predictor_new(kn_ctx *ctx, kn_mat Xs, ptrdiff_t N, const kn_pairs *pairs,
                                ptrdiff_t width, kn_cell_predictor *out);
/* Frees the work space. */
void kn_cell_predictor_clear(kn_cell_predictor *a);
/* Sets the known groups of the participants (n, borrowed). `groups`: number of training groups. */
kn_status kn_cell_predictor_set_groups(kn_ctx *ctx, kn_cell_predictor *a, const ptrdiff_t *group,
                                       ptrdiff_t groups, bool variances);

/* Computes R0* at a cell. With `variances` the decomposition of the cell must be in *w. */
void kn_cell_predictor_bind(kn_ctx *ctx, kn_cell_predictor *a, const kn_cell_work *w,
                            const kn_cov_point *at, bool variances);
/* Computes a->var for n responses, whose c and d are in *w. */
void kn_cell_predictor_variances(kn_ctx *ctx, kn_cell_predictor *a, const kn_cell_work *w,
                                 ptrdiff_t n);

/* Memory plan for n participants and N training participants, without pairs. */
void kn_cell_predictor_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t N,
                            ptrdiff_t width);
/* Approximate number of doubles of one predictor, for kn_cell_workers. */
double kn_cell_predictor_means(ptrdiff_t n, ptrdiff_t N, ptrdiff_t width);

#endif
