/* Statistics of pairs of samples: all that the kernels need of the data, computed once per fit.
 * One matrix for each distinct (kind, columns), shared by the terms that need the same one. */
#ifndef KN_COV_PAIRS_H
#define KN_COV_PAIRS_H

#include "base/memory/plan.h"
#include "cov/kernel.h"

enum { KN_ALL_COLUMNS = -1 }; /* as a count: whatever columns there are */

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
    int n;                     /* as many as the kn_stats that they were made for */
    kn_mat stat[KN_MAX_STATS]; /* n x m each */
    bool symmetric; /* both sides are the same samples; only the lower triangles are filled */
} kn_pairs;

/* X n x F, Y m x F; rows are samples. */
kn_status kn_pairs_between(kn_ctx *ctx, kn_mat X, kn_mat Y, const kn_stats *stats, kn_pairs *out);
kn_status kn_pairs_within(kn_ctx *ctx, kn_mat X, const kn_stats *stats, kn_pairs *out);
kn_status kn_pairs_copy(kn_ctx *ctx, const kn_pairs *pairs, kn_pairs *out);
void kn_pairs_clear(kn_pairs *pairs);

/* The pairs among a subset of the samples, copied. */
kn_status kn_pairs_subset(kn_ctx *ctx, const kn_pairs *pairs, const ptrdiff_t *index, ptrdiff_t n,
                          kn_pairs *out);
/* The same bits as kn_pairs_within of X, the rows `index` of the samples: distances, N^2 F flops,
 * are those of all samples; products, which a BLAS makes faster than they are picked, are made. */
kn_status kn_pairs_some(kn_ctx *ctx, const kn_pairs *all, const ptrdiff_t *index, kn_mat X,
                        const kn_stats *stats, kn_pairs *out);
/* The cross pairs between two subsets of the samples, copied. */
kn_status kn_pairs_cross(kn_ctx *ctx, const kn_pairs *pairs, const ptrdiff_t *rows, ptrdiff_t n,
                         const ptrdiff_t *cols, ptrdiff_t m, kn_pairs *out);

/* stat_i (n) of row first + i of X with row j of Y, for a tile at a time; and of each row of X (n)
 * with itself. */
void kn_stat_column(const kn_stat *stat, kn_mat X, ptrdiff_t first, kn_mat Y, ptrdiff_t j,
                    kn_mat out);
void kn_stat_self(const kn_stat *stat, kn_mat X, double *out);

/* The columns of X that a statistic or a term is over. */
kn_mat kn_columns(kn_mat X, ptrdiff_t first, ptrdiff_t count);

/* Typical distances, which bound length-scales [METHOD 3b, 9.12]. From at most 1000 rows,
 * evenly spread, to one another and to the nearest of all. */
typedef struct kn_distances {
    double median;  /* of all pairs of distinct rows */
    double nearest; /* median distance to the nearest distinct row */
} kn_distances;
/* d2 N x N, lower triangle */
kn_status kn_pairs_distances(kn_ctx *ctx, kn_mat d2, kn_distances *out);
/* The same from the rows of X, N x F, without anything N x N. */
kn_status kn_row_distances(kn_ctx *ctx, kn_mat X, kn_distances *out);

/* So many statistics of n x m pairs; and, passing, the work of either function of distances. */
void kn_pairs_need(kn_mem_plan *r, kn_mem_category part, int stats, ptrdiff_t n, ptrdiff_t m);
void kn_distances_need(kn_mem_plan *r, ptrdiff_t N);

#endif
