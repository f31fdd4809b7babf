/* STGPR: each response a Gaussian process of its own over the same samples          [METHOD 7]
 *
 *     y_j ~ N(0, c_j R0(cell_j) + d_j H_j),   R0 = sum_k w_k K_k,   d = c delta
 *
 * H_j = I + gamma_j G where groups of samples share noise, else I. Responses whose weights, shapes
 * and gamma agree form a cell and share one decomposition of R0. */
#ifndef KN_GP_METHODS_STGPR_CELLS_H
#define KN_GP_METHODS_STGPR_CELLS_H

#include "base/memory/plan.h"
#include "cov/lowrank.h"
#include "cov/simplex_weights.h"
#include "data/mpi/partition_responses.h"

typedef struct kn_stgpr {
    kn_mat cells;      /* n x (terms + shapes)   weights and shapes of each cell in use */
    double *cell;      /* T       row of cells; a number like the others, for kn_model_array */
    double *c, *delta; /* T       c = 0 with delta infinite: noise alone */
    double *d;         /* T       noise variance, c delta where c > 0 */
    double *lml;       /* T */
    kn_mat alpha;      /* N x T   c K^-1 y, K = c R0 + d H: the mean is R0* alpha */
    double *gamma;     /* T       the same within a cell; NULL without groups */
    kn_mat effect;     /* groups x T   gamma d G* K^-1 y, what the mean of a known group has more */
    /* of a process that knows nobody, instead of alpha and effect [stgpr_share.h]: for each cell */
    struct kn_latent_cell *shared;
} kn_stgpr;

kn_status kn_stgpr_new(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t T, kn_stgpr *out);
void kn_stgpr_clear(kn_stgpr *s);

/* alpha (N x 1) of a response; its effects. */
static inline kn_mat kn_stgpr_alpha(const kn_stgpr *s, ptrdiff_t response)
{
    return kn_cols(s->alpha, response, 1);
}
static inline kn_mat kn_stgpr_effect(const kn_stgpr *s, ptrdiff_t response)
{
    return kn_cols(s->effect, response, 1);
}

static inline double kn_stgpr_gamma(const kn_stgpr *s, ptrdiff_t j)
{
    return s->gamma ? s->gamma[j] : 0;
}

/* Rows of cells and points. */
static inline ptrdiff_t kn_cell_columns(const kn_cov *cov)
{
    return cov->n + cov->n_shapes;
}
kn_cov_point kn_cell_point(const kn_cov *cov, kn_mat cells, ptrdiff_t row);
void kn_cell_put(const kn_cov *cov, const kn_cov_point *point, kn_mat cells, ptrdiff_t row);
/* n rows of `more` behind those that the model has. */
kn_status kn_stgpr_add_cells(kn_ctx *ctx, kn_stgpr *s, kn_mat more, ptrdiff_t n);

/* Responses in the order of their cells: those of cell k are order[start[k]] .. [start[k+1]-1]. */
typedef struct kn_cell_groups {
    ptrdiff_t *order, *start;
} kn_cell_groups;
kn_status kn_cell_groups_new(kn_ctx *ctx, const kn_stgpr *s, ptrdiff_t first, ptrdiff_t count,
                             kn_cell_groups *out);
void kn_cell_groups_clear(kn_cell_groups *g);

/* Low rank is taken where features are fewer than one for so many samples. */
enum { KN_CELL_RANK_SHARE = 4 };

/* The samples that cells are over; all of it lent. */
typedef struct kn_cell_samples {
    const kn_cov *cov; /* of R0 */
    const kn_pairs *pairs;
    kn_mat X;                /* N x F; none: never of low rank */
    const kn_groups *groups; /* NULL: none */
    ptrdiff_t rank;          /* low rank where so many features suffice; 0: never */
    const kn_responses *Y;   /* which blocks responses are of; NULL: none of them was left out */
} kn_cell_samples;

/* Of responses J, ascending, how many share the block of the first: what one call of the BLAS may
 * see, so that its bits depend on neither ranks nor threads. At most KN_BLOCK. */
ptrdiff_t kn_cell_together(const kn_cell_samples *samples, const ptrdiff_t *J, ptrdiff_t n);

/* One cell over samples at hand: the decomposition, and work space for some responses. Directions
 * outside U have eigenvalue 0; there are such where R0 is of low rank. The same bits for any number
 * of threads: decompositions run on one, and the others have cells of their own. */
typedef struct kn_cell_work {
    const kn_cell_samples *samples;
    ptrdiff_t N, m;
    kn_mat U;             /* view, N x m    U'H U = I */
    const double *r;      /* m */
    double gamma, logdet; /* of H */
    double theta[KN_COV_THETA];
    ptrdiff_t rank;       /* of thin at most; 0: never */
    kn_decomp full, thin; /* whichever the cell takes */
    kn_mat vectors;       /* of thin */
    kn_lowrank low;
    kn_mat Y, A, A2; /* N x width: responses, U'Y, its squares */
    ptrdiff_t width;
    double *c, *d, *lml, *rest; /* width */
} kn_cell_work;

kn_status kn_cell_work_new(kn_ctx *ctx, ptrdiff_t N, const kn_cell_samples *samples,
                           ptrdiff_t width, kn_cell_work *out);
void kn_cell_work_clear(kn_cell_work *w);
kn_status kn_cell_decompose(kn_ctx *ctx, kn_cell_work *w, const kn_cov_point *at, double gamma);
/* A = U'Y, then c, d and LML of each response of Y (N x n) by the profile of METHOD 1b, to `nats`
 * of LML. */
kn_status kn_cell_fit(kn_ctx *ctx, kn_cell_work *w, kn_mat Y, double nats);
void kn_cell_project(kn_ctx *ctx, kn_cell_work *w, kn_mat Y); /* A alone */
/* alpha (N x n), on entry Y, becomes c K^-1 Y from A, c and d of the work space; A is used up. */
void kn_cell_alpha(kn_ctx *ctx, kn_cell_work *w, kn_mat alpha);
/* K^-1 = U diag(weight) U' + [low rank] H^-1/d:  weight (m x n) */
void kn_cell_weights(const kn_cell_work *w, kn_mat weight);
static inline bool kn_cell_is_low(const kn_cell_work *w)
{
    return w->m < w->N;
}

/* A cell over n of the samples, so many responses wide; its eigenproblem and profile pass. */
void kn_cell_work_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t width);

/* ---- cells side by side ---- */

/* How many cells of N samples are worked on at a time: one a thread, while all of them take no more
 * than a part of memory (bytes; 0: there is no end of it). beside: numbers that one has besides. */
int kn_cell_workers(int threads, double memory, ptrdiff_t cells, ptrdiff_t N, double beside);

/* Work space of each. */
typedef struct kn_cell_workspaces {
    int n;
    kn_cell_work *w;
} kn_cell_workspaces;

kn_status kn_cell_workspaces_new(kn_ctx *ctx, int n, ptrdiff_t N, const kn_cell_samples *samples,
                                 ptrdiff_t width, kn_cell_workspaces *out);
void kn_cell_workspaces_clear(kn_cell_workspaces *c);

/* Passes so many times what `one` reached. */
void kn_cell_workspaces_need(kn_mem_plan *r, int n, const kn_mem_plan *one);

#endif
