/* Pairwise statistics of rows, x.y and |x - y|^2: all that kernels need of the data, computed once
 * per fit. Rows are participants for R, components or responses for C. There is one matrix for
 * each distinct (kind, columns), shared by the terms that need it. */
#ifndef KN_COV_PAIRS_H
#define KN_COV_PAIRS_H

#include "base/memory/plan.h"
#include "cov/kernel.h"

enum { KN_ALL_COLUMNS = -1 }; /* a count of columns: all of X from `first` */

/* A statistic over columns first .. first + count - 1. */
typedef struct kn_stat {
    kn_stat_kind kind; /* not KN_STAT_NONE */
    ptrdiff_t first, count;
} kn_stat;

enum { KN_MAX_STATS = 16 };
typedef struct kn_stats {
    int n;
    kn_stat at[KN_MAX_STATS];
} kn_stats;

typedef struct kn_pairs {
    int n;                     /* number of statistics, as in the kn_stats they were made for */
    kn_mat stat[KN_MAX_STATS]; /* n x m each, owned */
    bool symmetric;            /* both sides are the same rows; only lower triangles are filled */
} kn_pairs;

/* Computes the pair statistics *out between the rows of X (n x F) and Y (m x F); owned by the
 * caller. At most 3 n m F flops per statistic. */
kn_status kn_pairs_between(kn_ctx *ctx, kn_mat X, kn_mat Y, const kn_stats *stats, kn_pairs *out);
/* Computes the pair statistics *out among the rows of X (n x F), lower triangles only; owned by
 * the caller. */
kn_status kn_pairs_within(kn_ctx *ctx, kn_mat X, const kn_stats *stats, kn_pairs *out);
/* Makes a deep copy *out of pair statistics; cleared on error. */
kn_status kn_pairs_copy(kn_ctx *ctx, const kn_pairs *pairs, kn_pairs *out);
/* Frees the contents; accepts {0}. */
void kn_pairs_clear(kn_pairs *pairs);

/* Copies the statistics among the rows `index` of symmetric pairs. */
kn_status kn_pairs_subset(kn_ctx *ctx, const kn_pairs *pairs, const ptrdiff_t *index, ptrdiff_t n,
                          kn_pairs *out);
/* Computes *out, the same bits as kn_pairs_within of X, the rows `index` of the original rows.
 * Distances (N^2 F flops) are copied from `all`; products are computed anew, since BLAS is
 * faster than copying them. */
kn_status kn_pairs_select(kn_ctx *ctx, const kn_pairs *all, const ptrdiff_t *index, kn_mat X,
                          const kn_stats *stats, kn_pairs *out);
/* Copies the statistics between the rows `rows` and `cols` of symmetric pairs. The result is
 * symmetric if rows == cols. */
kn_status kn_pairs_cross(kn_ctx *ctx, const kn_pairs *pairs, const ptrdiff_t *rows, ptrdiff_t n,
                         const ptrdiff_t *cols, ptrdiff_t m, kn_pairs *out);

/* Computes the statistic of rows first, first + 1, ... of X with row j of Y; out: n x 1. */
void kn_stat_column(const kn_stat *stat, kn_mat X, ptrdiff_t first, kn_mat Y, ptrdiff_t j,
                    kn_mat out);
/* Computes the statistic of each row of X with itself; out: X.rows values. */
void kn_stat_self(const kn_stat *stat, kn_mat X, double *out);

/* Returns a view of the columns of X that a statistic or a term is over. */
kn_mat kn_columns(kn_mat X, ptrdiff_t first, ptrdiff_t count);

/* Sets place[i] (rows of X) to the place of row i among all rows, sorted by their first values,
 * then by their second and so on: what is chosen by place does not depend on the order of rows.
 * Equal rows are in order of their indices. */
kn_status kn_row_places(kn_ctx *ctx, kn_mat X, ptrdiff_t *place);
/* Predicts in plan r the memory of kn_row_places for N rows: only the peak rises. */
void kn_row_places_need(kn_mem_plan *r, ptrdiff_t N);

/* Typical distances between rows, which bound length-scales [METHOD 3b, 9.12]. Computed from at
 * most 1000 rows, evenly spaced in the order of kn_row_places: their distances to one another, and
 * to the nearest of all rows. 0: all rows are equal. */
enum { KN_DISTANCES_ROWS = 1000 };
typedef struct kn_distances {
    double median;  /* median over pairs of distinct rows */
    double nearest; /* median distance to the nearest distinct row */
} kn_distances;
/* Computes median distance and median distance to the nearest row, *out, from squared distances
 * d2 (N x N, lower triangle) of at most KN_DISTANCES_ROWS rows, or of rows whose order matters. */
kn_status kn_pairs_distances(kn_ctx *ctx, kn_mat d2, kn_distances *out);
/* Computes median distance and median distance to the nearest row, *out, of the rows of X (N x
 * F), without an N x N matrix. */
kn_status kn_row_distances(kn_ctx *ctx, kn_mat X, kn_distances *out);

/* Predicts in plan r the memory of `stats` pair statistics of n x m pairs, which stay in the
 * plan. */
void kn_pairs_need(kn_mem_plan *r, kn_mem_category part, int stats, ptrdiff_t n, ptrdiff_t m);
/* Predicts in plan r the memory of kn_pairs_distances or kn_row_distances for N rows: only the
 * peak rises. */
void kn_distances_need(kn_mem_plan *r, ptrdiff_t N);

#endif
