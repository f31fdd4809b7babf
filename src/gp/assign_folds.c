/* Implements assign_folds.h: a seeded permutation of participants or groups, dealt to the folds. */
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

static int ascending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* member[i] = number of the group of participant i; groups are numbered in a seeded random
 * order. */
static kn_status number_groups(kn_ctx *ctx, ptrdiff_t N, const int *groups, kn_rng *rng,
                               ptrdiff_t *member, ptrdiff_t *n_groups)
{
    kn_status status;
    void *memory = NULL;
    ptrdiff_t *order = NULL, n = 0;
    KN_TRY(kn_alloc(ctx, N, sizeof(int), &memory));
    int *names = memory;
    for (ptrdiff_t i = 0; i < N; i++)
        names[i] = groups[i];
    qsort(names, (size_t)N, sizeof *names, ascending);
    for (ptrdiff_t i = 0; i < N; i++)
        if (n == 0 || names[i] != names[n - 1])
            names[n++] = names[i];
    KN_TRY(kn_alloc_i(ctx, n, &order));
    kn_rng_permutation(rng, n, order);
    for (ptrdiff_t i = 0; i < N; i++) {
        int *at = bsearch(&groups[i], names, (size_t)n, sizeof *names, ascending);
        member[i] = order[at - names];
    }
    *n_groups = n;
out:
    kn_free(order);
    kn_free(memory);
    return status;
}

/* Assigns the groups in this order, each to the fold with the fewest participants. A single
 * held-out set takes groups until it is full; the other groups get -1. size: n_groups + folds
 * zeros, work space. */
static void deal_groups(ptrdiff_t N, const ptrdiff_t *member, ptrdiff_t n_groups, int folds,
                        ptrdiff_t *size, int *fold)
{
    ptrdiff_t *count = size, *of = size + n_groups; /* participants per group; per fold */
    for (ptrdiff_t i = 0; i < N; i++)
        count[member[i]]++;
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        int best = 0;
        for (int k = 1; k < folds; k++)
            if (of[k] < of[best])
                best = k;
        bool full = folds == KN_HELD_OUT_ONCE && of[0] >= kn_held_out(N);
        of[best] += full ? 0 : count[g];
        count[g] = full ? -1 : best;
    }
    for (ptrdiff_t i = 0; i < N; i++)
        fold[i] = (int)count[member[i]];
}

static kn_status deal_by_group(kn_ctx *ctx, ptrdiff_t N, const int *groups, kn_rng *rng, int *folds,
                               int *fold)
{
    kn_status status;
    ptrdiff_t *member = NULL, *size = NULL, n_groups;
    KN_TRY(kn_alloc_i(ctx, N, &member));
    KN_TRY(number_groups(ctx, N, groups, rng, member, &n_groups));
    if (n_groups < 2) {
        status = kn_fail(ctx, KN_ERR_DATA, "all samples are of one group: there are no folds");
        goto out;
    }
    if (*folds > n_groups)
        *folds = (int)n_groups;
    KN_TRY(kn_alloc_i(ctx, n_groups + *folds, &size));
    deal_groups(N, member, n_groups, *folds, size, fold);
out:
    kn_free(size);
    kn_free(member);
    return status;
}

kn_status kn_folds_deal(kn_ctx *ctx, ptrdiff_t N, const int *groups, uint64_t seed, int *folds,
                        int *fold)
{
    bool once = *folds == KN_HELD_OUT_ONCE;
    kn_rng rng;
    kn_rng_init(&rng, seed, STREAM_FOLDS);
    if (*folds > N)
        *folds = (int)N;
    if (groups)
        return deal_by_group(ctx, N, groups, &rng, folds, fold);
    for (ptrdiff_t i = 0; i < N; i++)
        fold[i] = !once ? (int)(i % *folds) : i < kn_held_out(N) ? 0 : -1;
    for (ptrdiff_t i = N - 1; i > 0; i--) { /* Fisher-Yates */
        ptrdiff_t j = kn_rng_below(&rng, i + 1);
        int t = fold[i];
        fold[i] = fold[j];
        fold[j] = t;
    }
    return KN_OK;
}
