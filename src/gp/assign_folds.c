/* Implements assign_folds.h: a seeded permutation of participants or groups, assigned to the folds
 * in turn. The rows of a group stay together. */
#include "gp/assign_folds.h"

#include <stdlib.h>

#include "base/memory/alloc.h"
#include "base/random.h"

enum { STREAM_FOLDS = 201 };
enum { HELD_OUT = 2000 };

ptrdiff_t kn_held_out(ptrdiff_t N)
{
    return N / 2 < HELD_OUT ? N / 2 : HELD_OUT;
}

/* Comparison for qsort: integers in ascending order. */
static int compare_groups(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Returns the k-th row of an order; NULL: k itself. */
static ptrdiff_t row_at(const ptrdiff_t *order, ptrdiff_t k)
{
    return order ? order[k] : k;
}

/* Sets member[i] (N) to the number of the group of participant i, 0 .. *n_groups - 1; groups are
 * numbered in a seeded random order of their first rows in `order`, or of their values (order
 * NULL). */
static kn_status number_groups(kn_ctx *ctx, ptrdiff_t N, const int *groups, const ptrdiff_t *order,
                               kn_rng *rng, ptrdiff_t *member, ptrdiff_t *n_groups)
{
    kn_status status;
    void *memory = NULL;
    ptrdiff_t *number = NULL, *first = NULL, n = 0, met = 0;
    KN_TRY(kn_alloc(ctx, N, sizeof(int), &memory));
    int *names = memory;
    for (ptrdiff_t i = 0; i < N; i++)
        names[i] = groups[i];
    qsort(names, (size_t)N, sizeof *names, compare_groups);
    for (ptrdiff_t i = 0; i < N; i++)
        if (n == 0 || names[i] != names[n - 1])
            names[n++] = names[i];
    KN_TRY(kn_alloc_i(ctx, n, &number));
    KN_TRY(kn_alloc_i(ctx, n, &first));
    for (ptrdiff_t g = 0; g < n; g++)
        first[g] = order ? -1 : g;
    kn_rng_permutation(rng, n, number);
    for (ptrdiff_t k = 0; k < N; k++) {
        ptrdiff_t i = row_at(order, k);
        int *at = bsearch(&groups[i], names, (size_t)n, sizeof *names, compare_groups);
        if (first[at - names] < 0)
            first[at - names] = met++;
        member[i] = number[first[at - names]];
    }
    *n_groups = n;
out:
    kn_free(first);
    kn_free(number);
    kn_free(memory);
    return status;
}

/* Assigns the groups in order of their number, each to the fold with the fewest participants:
 * fold[i] (N). A single held-out set takes groups until it is full; the other groups get -1.
 * size: n_groups + folds zeros, work space. */
static void assign_groups(ptrdiff_t N, const ptrdiff_t *member, ptrdiff_t n_groups, int folds,
                          ptrdiff_t *size, int *fold)
{
    ptrdiff_t *count = size, *filled = size + n_groups; /* participants per group; per fold */
    for (ptrdiff_t i = 0; i < N; i++)
        count[member[i]]++;
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        int best = 0;
        for (int k = 1; k < folds; k++)
            if (filled[k] < filled[best])
                best = k;
        bool full = folds == KN_HELD_OUT_ONCE && filled[0] >= kn_held_out(N);
        filled[best] += full ? 0 : count[g];
        count[g] = full ? -1 : best;
    }
    for (ptrdiff_t i = 0; i < N; i++)
        fold[i] = (int)count[member[i]];
}

/* Assigns each of N participants a fold[i] such that a group stays together; *folds becomes at
 * most the number of groups. groups (N): any numbers. KN_ERR_DATA if there is only one group. */
static kn_status assign_by_group(kn_ctx *ctx, ptrdiff_t N, const int *groups,
                                 const ptrdiff_t *order, kn_rng *rng, int *folds, int *fold)
{
    kn_status status;
    ptrdiff_t *member = NULL, *size = NULL, n_groups;
    KN_TRY(kn_alloc_i(ctx, N, &member));
    KN_TRY(number_groups(ctx, N, groups, order, rng, member, &n_groups));
    if (n_groups < 2) {
        status =
            kn_fail(ctx, KN_ERR_DATA, "all participants are in one group, so there are no folds");
        goto out;
    }
    if (*folds > n_groups)
        *folds = (int)n_groups;
    KN_TRY(kn_alloc_i(ctx, n_groups + *folds, &size));
    assign_groups(N, member, n_groups, *folds, size, fold);
out:
    kn_free(size);
    kn_free(member);
    return status;
}

kn_status kn_folds_assign(kn_ctx *ctx, ptrdiff_t N, const int *groups, const ptrdiff_t *order,
                          uint64_t seed, int *folds, int *fold)
{
    bool once = *folds == KN_HELD_OUT_ONCE;
    kn_rng rng;
    kn_rng_init(&rng, seed, STREAM_FOLDS);
    if (*folds > N)
        *folds = (int)N;
    if (groups)
        return assign_by_group(ctx, N, groups, order, &rng, folds, fold);
    for (ptrdiff_t k = 0; k < N; k++)
        fold[row_at(order, k)] = !once ? (int)(k % *folds) : k < kn_held_out(N) ? 0 : -1;
    for (ptrdiff_t k = N - 1; k > 0; k--) { /* Fisher-Yates */
        ptrdiff_t i = row_at(order, k), j = row_at(order, kn_rng_below(&rng, k + 1));
        int t = fold[i];
        fold[i] = fold[j];
        fold[j] = t;
    }
    return KN_OK;
}
