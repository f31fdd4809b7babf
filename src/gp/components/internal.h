/* What only the files of gp/components use: the loss curve of all candidate numbers of components,
 * also over observed cells only. choose_count.c calls them. */
#ifndef KN_GP_COMPONENTS_INTERNAL_H
#define KN_GP_COMPONENTS_INTERNAL_H

#include "base/matrix.h"
#include "base/memory/plan.h"
#include "base/sum/block_sums.h"
#include "data/responses/responses.h"
#include "gp/block_visitor.h"
#include "gp/fit_problem.h"

/* ---- loss curve missing ----
 *
 * Variances and losses of the loss curve over observed cells, where responses have missing cells
 * [METHOD 0b, components auto] */

/* Sets variance[j] to the mean square of the observed cells of column j of train (n x count,
 * centred); 0 if fewer than KN_IMPUTE_MIN cells are observed. Column j is response first + j,
 * row i is row[i] of the data; entries of responses without missing cells are not changed. */
void kn_observed_variance(const kn_missing_mask *h, const ptrdiff_t *row, ptrdiff_t first,
                          kn_mat train, double *variance);

/* Returns the variance about mu of the training cells of one response: from the mean square
 * `all` of its `values` observed cells minus the squares of the held-out cells y (rows values,
 * NaN: missing). 0 if mu is not finite or too few cells remain. */
double kn_observed_training_variance(const double *y, ptrdiff_t rows, double all, ptrdiff_t values,
                                     double mu);

/* Sets loss[i] = sum_j 1/2 (ln s2_ij + e_ij^2/s2_ij), s2_ij = noise[j] + v_ij, over the finite
 * cells of row i of e (n x count); v may be none (0); responses with noise[j] = 0 are left out.
 * work is not used: the arguments are those of kn_sample_losses. */
void kn_observed_losses(kn_mat e, kn_mat v, const double *noise, double *work, double *loss);
/* Adds to count[i] (n) the number of finite cells in row i of e (n x count), over the responses
 * with noise[j] > 0. */
void kn_observed_count(kn_mat e, const double *noise, double *count);

/* ---- loss curve ----
 *
 * Held-out log loss for all candidate numbers of components. One fit at the largest number gives
 * the whole curve, because components are independent once R0 is fixed
 * [METHOD 2, components auto] */

enum { KN_CURVE_FOLDS = 5, KN_CURVE_TILES = 4 };
extern const int kn_ladder[KN_MAX_CURVE]; /* candidate numbers of components */

/* One fold: its rows and the latent predictions of its held-out rows. */
typedef struct kn_curve_fold {
    kn_fold rows;
    /* borrowed; the source of basis and mean for a single held-out set; NULL: a fold */
    const kn_heldout *held_out;
    kn_mat mean, var; /* n_test x P  latent predictive mean and variance of the held-out rows */
    double *d;        /* P  noise variance of a new group */
    double *s2;       /* P  variance of the training coordinates: |z_p|^2/n */
    ptrdiff_t at;     /* first row of this fold in the scores */
} kn_curve_fold;

/* Fits one fold: estimates c and d of each component from f->rows.Z_train (n_train x P, set by
 * the caller), with R0 (covariance between participants) at parameters r0, and predicts the
 * held-out rows. Sets f->mean and var (n_test x P), d and s2 (P). */
kn_status kn_curve_fold_fit(kn_ctx *ctx, const kn_fit_problem *p, const double *r0,
                            kn_curve_fold *f);

/* The curve of all folds and its work space. */
typedef struct kn_curve {
    const kn_responses *Y; /* borrowed; all participants */
    kn_curve_fold fit[KN_CURVE_FOLDS];
    int folds, steps;
    /* there are missing cells: only observed cells are scored, and an extra column counts them */
    bool missing;
    ptrdiff_t rows;   /* held-out rows of all folds */
    ptrdiff_t scored; /* number of scored responses */
    /* rows x (steps + 1, or + 2 with missing cells): loss for each candidate, and of the trivial
     * model; sums over a tile, over a block and over all blocks */
    kn_mat tile[KN_CURVE_TILES];
    kn_slots blocks;
    kn_mat score;
    int workers;
    struct kn_curve_work *work;
    const kn_block *block; /* the current block */
} kn_curve;

/* Computes c->score(i, l) (held-out rows x steps): the mean over responses of the standardised
 * log loss of held-out row i with kn_ladder[l] components; below 0 is better than mean and
 * variance of the training rows. The folds in c must be fitted. With more than 20,000 responses
 * only every n-th block is scored. Collective. */
kn_status kn_curve_score(kn_ctx *ctx, const kn_responses *Y, kn_curve *c);
/* Frees all that c owns. */
void kn_curve_clear(kn_curve *c);

/* Predicts in plan r the memory of kn_curve_fold_fit for n training and h held-out rows: the
 * fold's arrays stay in the plan, the engine only raises the peak. */
void kn_curve_fold_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h);
/* Predicts in plan r the memory of the scores: `rows` held-out rows in all, at most `held_out`
 * in a fold; blocks of y of `samples` participants. */
typedef struct kn_curve_shape {
    ptrdiff_t steps, rows, held_out, samples;
} kn_curve_shape;
/* Predicts in plan r the memory of kn_curve_score: scores and work space stay in the plan, the
 * buffers of the block loop only raise the peak. */
void kn_curve_score_need(kn_mem_plan *r, const kn_problem_size *s, const kn_curve_shape *shape);

#endif
