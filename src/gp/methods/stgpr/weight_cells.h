/* Data structures and likelihood of STGPR: each response is a Gaussian process over the same
 * participants [METHOD 7].
 *
 *     y_j ~ N(0, c_j R0(cell_j) + d_j H_j),   R0 = sum_k w_k K_k,   d = c delta
 *
 * H_j = I + gamma_j G if groups of rows share noise, else I. Responses with equal weights, shapes
 * and gamma form a cell and share one decomposition of R0. */
#ifndef KN_GP_METHODS_STGPR_WEIGHT_CELLS_H
#define KN_GP_METHODS_STGPR_WEIGHT_CELLS_H

#include "base/memory/plan.h"
#include "cov/lowrank.h"
#include "cov/simplex_weights.h"
#include "data/responses/responses.h"

typedef struct kn_stgpr {
    kn_mat cells;      /* n x (terms + shapes)   weights and shapes of each cell in use */
    double *cell;      /* T       row of cells; double, as the model file has it */
    double *c, *delta; /* T       signal variance, noise/signal; c = 0, delta = inf: noise only */
    double *d;         /* T       noise variance, c delta if c > 0 */
    double *lml;       /* T       log marginal likelihood */
    kn_mat alpha;      /* N x T   c K^-1 y, K = c R0 + d H: the mean is R0* alpha */
    double *gamma;     /* T       group noise over noise, equal within a cell; NULL without
                        * groups */
    kn_mat effect;     /* groups x T   gamma d G* K^-1 y, added to the mean in a known group */
    /* De-identified model, in place of alpha and effect: one entry per cell [deidentify.c]. */
    struct kn_latent_cell *shared;
} kn_stgpr;

/* Allocates the arrays of a fit for N participants and T responses, without cells; cleared on
 * error. */
kn_status kn_stgpr_new(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t T, kn_stgpr *out);
/* Frees all arrays and zeroes *s. */
void kn_stgpr_clear(kn_stgpr *s);

/* View of alpha (N x 1) of one response. */
static inline kn_mat kn_stgpr_alpha(const kn_stgpr *s, ptrdiff_t response)
{
    return kn_cols(s->alpha, response, 1);
}
/* View of the group effects (groups x 1) of one response. */
static inline kn_mat kn_stgpr_effect(const kn_stgpr *s, ptrdiff_t response)
{
    return kn_cols(s->effect, response, 1);
}

/* Group noise over noise of response j; 0 without groups. */
static inline double kn_stgpr_gamma(const kn_stgpr *s, ptrdiff_t j)
{
    return s->gamma ? s->gamma[j] : 0;
}

/* Number of columns of kn_stgpr.cells. */
static inline ptrdiff_t kn_cell_columns(const kn_cov *cov)
{
    return cov->n + cov->n_shapes;
}
/* Returns weights and shapes of R0 (covariance between participants) that row `row` of cells
 * holds. */
kn_cov_point kn_cell_point(const kn_cov *cov, kn_mat cells, ptrdiff_t row);
/* Writes weights and shapes of a point of R0 (covariance between participants) to row `row` of
 * cells. */
void kn_cell_write(const kn_cov *cov, const kn_cov_point *point, kn_mat cells, ptrdiff_t row);
/* Appends the first n rows of `added` to s->cells, which is reallocated. */
kn_status kn_stgpr_add_cells(kn_ctx *ctx, kn_stgpr *s, kn_mat added, ptrdiff_t n);

/* Responses sorted by cell: those of cell k are order[start[k]] .. order[start[k+1] - 1]. */
typedef struct kn_cell_groups {
    ptrdiff_t *order, *start;
} kn_cell_groups;
/* Sorts the responses first .. first + count - 1 by their cell; stable. The caller frees *out. */
kn_status kn_cell_groups_new(kn_ctx *ctx, const kn_stgpr *s, ptrdiff_t first, ptrdiff_t count,
                             kn_cell_groups *out);
/* Frees both lists. */
void kn_cell_groups_clear(kn_cell_groups *g);

/* A cell uses low rank if it has fewer features than N divided by this. */
enum { KN_CELL_RANK_RATIO = 4 };

/* The participants that cells are fitted to; all fields are borrowed. */
typedef struct kn_cell_samples {
    const kn_cov *cov; /* of R0 */
    const kn_pairs *pairs;
    kn_mat X;                /* N x F; none: never low rank */
    const kn_groups *groups; /* NULL: none */
    ptrdiff_t rank;          /* largest low rank to try; 0: always dense */
    const kn_responses *Y;   /* defines the blocks of responses; NULL: multiples of KN_BLOCK */
} kn_cell_samples;

/* Returns how many of the responses J (ascending) are in the block of the first one, at most
 * KN_BLOCK. One BLAS call gets only these, so that results depend on neither MPI ranks nor threads.
 */
ptrdiff_t kn_cell_block_count(const kn_cell_samples *samples, const ptrdiff_t *J, ptrdiff_t n);

/* Work space of one cell: decomposition of R0, and arrays for up to `width` responses. Low-rank
 * cells have directions outside U with eigenvalue 0. A decomposition runs on one thread, so that
 * results do not depend on the number of threads; other threads process other cells. */
typedef struct kn_cell_work {
    const kn_cell_samples *samples;
    ptrdiff_t N, m;
    kn_mat U;             /* view, N x m    U'H U = I */
    const double *r;      /* m  eigenvalues */
    double gamma, logdet; /* of H = I + gamma G: gamma and ln|H| */
    double theta[KN_COV_THETA];
    ptrdiff_t rank;       /* largest low rank to try; 0: always dense */
    kn_decomp full, thin; /* dense and low-rank decomposition; the cell uses one of them */
    kn_mat vectors;       /* N x m  U of thin */
    kn_lowrank low;
    kn_mat Y, A, A2; /* N x width: responses, U'Y, its squares */
    ptrdiff_t width;
    double *c, *d, *lml, *outside; /* width: variances, LML, energy outside U */
} kn_cell_work;

/* Allocates the work space of one cell (responses that share hyperparameters) at a time for N
 * participants and up to `width` responses; samples is borrowed. The caller clears *out, also
 * after an error. */
kn_status kn_cell_work_new(kn_ctx *ctx, ptrdiff_t N, const kn_cell_samples *samples,
                           ptrdiff_t width, kn_cell_work *out);
/* Frees the work space. */
void kn_cell_work_clear(kn_cell_work *w);
/* Decomposes R0 (covariance between participants) at weights and shapes `at` with group noise
 * ratio gamma into w->U, r and m: low rank if it suffices, else dense (N^3). */
kn_status kn_cell_decompose(kn_ctx *ctx, kn_cell_work *w, const kn_cov_point *at, double gamma);
/* Computes w->A = U'Y, then c, d and log likelihood of each response of Y (N x n) in the
 * decomposed cell, by the profile of METHOD 1b, accurate to `nats` in log likelihood (0: full
 * accuracy). */
kn_status kn_cell_fit(kn_ctx *ctx, kn_cell_work *w, kn_mat Y, double nats);
/* Computes only the coordinates w->A = U'Y (m x n) of the responses Y (N x n) in the decomposed
 * cell. */
void kn_cell_project(kn_ctx *ctx, kn_cell_work *w, kn_mat Y);
/* Replaces Y in alpha (N x n) by c K^-1 Y, from A, c and d of the work space, of which A is
 * overwritten; 0 for responses without signal. */
void kn_cell_alpha(kn_ctx *ctx, kn_cell_work *w, kn_mat alpha);
/* Computes weight (m x n) of the inverse covariance of each response, K^-1 = U diag(weight) U'
 * (low rank: + H^-1/d), from c and d of the work space. */
void kn_cell_weights(const kn_cell_work *w, kn_mat weight);
/* Returns true if the current decomposition is of low rank. */
static inline bool kn_cell_is_low(const kn_cell_work *w)
{
    return w->m < w->N;
}

/* Predicts in plan r the memory of one kn_cell_work for n participants and `width` responses,
 * which stays in the plan; eigenproblem and profile only raise the peak. */
void kn_cell_work_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t width);

/* ---- cells in parallel ---- */

/* Returns how many cells of N participants to process at a time: one per thread, as long as all
 * together need at most a quarter of `memory` (bytes; 0: no limit). extra: further doubles per
 * worker. */
int kn_cell_workers(int threads, double memory, ptrdiff_t cells, ptrdiff_t N, double extra);

/* One work space per worker. */
typedef struct kn_cell_workspaces {
    int n;
    kn_cell_work *w;
} kn_cell_workspaces;

/* Allocates n work spaces, one per worker, each for N participants and `width` responses
 * (kn_cell_work_new); freed on error. */
kn_status kn_cell_workspaces_new(kn_ctx *ctx, int n, ptrdiff_t N, const kn_cell_samples *samples,
                                 ptrdiff_t width, kn_cell_workspaces *out);
/* Frees all work spaces. */
void kn_cell_workspaces_clear(kn_cell_workspaces *c);

/* Predicts in plan r the memory of n workers, each with the peak of *one: only the peak of r
 * rises. */
void kn_cell_workspaces_need(kn_mem_plan *r, int n, const kn_mem_plan *one);

#endif
