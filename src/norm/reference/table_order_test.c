/* Implements table_order_test.h: a Mantel test of resemblance against adjacency,
 *
 *     statistic = mean over neighbours of r_ik,   r_ik = (zz')_ik / sqrt((zz')_ii (zz')_kk)
 *
 * against the same after permutations of the table.
 *
 * z is not centred. Over participants there is no need: a component that all z have in common
 * raises every pair, so it raises the permutations alike. Centring over responses would remove
 * the most common effect of a scanner, a shift of the whole map.
 *
 * With groups the table is cut into runs of one group, which are permuted as a whole:
 * consecutive scans of one participant leave one pair at each border, while free rows would have
 * several times as many pairs and too narrow a distribution. Without groups every row is a run. */
#include "norm/reference/table_order_test.h"

#include <math.h>

#include "base/random.h"
#include "stats/order_statistics.h"

enum {
    STREAM_NEIGHBOURS = 301,
    PERMUTATIONS = 999,
    RANK = 990, /* rank of the limit: above it p = (1 + #{as large})/(999 + 1) is at most 0.01 */
    MIN = 6     /* fewest runs: 5 have 60 orders, up to reversal, and no 99th percentile */
};

/* r of two participants with a batch in common is the share of the variance of z that the batch
 * explains, beyond chance. With thousands of participants the permutation limit becomes so small
 * that errors of the model itself exceed it (errors of its mean are shared by participants with
 * similar covariates, about F/N), and a fiftieth of the variance is too little to ask the user for
 * a covariate. */
static const double NEGLIGIBLE = 0.02;

typedef struct table {
    kn_mat zz;
    const int *group;
    double *scale;           /* n: 1/sqrt(zz'_ii) */
    ptrdiff_t *first, *last; /* n_runs: participants at both ends of a run */
    ptrdiff_t *order;        /* n_runs: current order of the runs */
    ptrdiff_t n_runs;
} table;

/* True if participants a and b belong to one group of repeated measures. */
static bool same_group(const table *t, ptrdiff_t a, ptrdiff_t b)
{
    return t->group && t->group[a] == t->group[b];
}

/* Correlation of the z maps of participants a and b (uncentred), from zz'. */
static double pair_resemblance(const table *t, ptrdiff_t a, ptrdiff_t b)
{
    double dot = a > b ? kn_at(t->zz, a, b) : kn_at(t->zz, b, a);
    return dot * t->scale[a] * t->scale[b];
}

/* Mean correlation over the borders of the runs in their current order, and the number of pairs.
 * Two runs of one group that are adjacent after a permutation are no pair. NaN without a pair. */
static double mean_of_pairs(const table *t, ptrdiff_t *pairs)
{
    double sum = 0;
    *pairs = 0;
    for (ptrdiff_t k = 1; k < t->n_runs; k++) {
        ptrdiff_t a = t->last[t->order[k - 1]], b = t->first[t->order[k]];
        if (same_group(t, a, b))
            continue;
        sum += pair_resemblance(t, a, b);
        ++*pairs;
    }
    return sum / (double)*pairs;
}

/* Cut the table (rows in `order`; NULL: by index) into runs of one group; every row is a run
 * without groups. Participants without z are skipped. */
static void cut_runs(table *t, const ptrdiff_t *order)
{
    for (ptrdiff_t k = 0; k < t->zz.rows; k++) {
        ptrdiff_t i = order ? order[k] : k, run = t->n_runs;
        double square = kn_at(t->zz, i, i);
        if (!(square > 0))
            continue;
        t->scale[i] = 1 / sqrt(square);
        if (run > 0 && same_group(t, t->last[run - 1], i)) {
            t->last[run - 1] = i;
            continue;
        }
        t->order[run] = run;
        t->first[run] = t->last[run] = i;
        t->n_runs++;
    }
}

/* Fill *out: mean correlation of adjacent runs, and its mean and 99th percentile over 999
 * permutations by the seed. */
static void test_order(table *t, uint64_t seed, kn_resemblance *out)
{
    kn_rng rng;
    ptrdiff_t pairs;
    double drawn[PERMUTATIONS], sum = 0;
    out->correlation = mean_of_pairs(t, &out->pairs);
    kn_rng_init(&rng, seed, STREAM_NEIGHBOURS);
    for (int k = 0; k < PERMUTATIONS; k++) {
        kn_rng_permutation(&rng, t->n_runs, t->order);
        drawn[k] = mean_of_pairs(t, &pairs);
        sum += drawn[k];
    }
    kn_sort(drawn, PERMUTATIONS);
    out->chance = sum / PERMUTATIONS;
    out->limit = drawn[RANK - 1];
    out->resemble = out->correlation > out->limit && out->correlation - out->chance >= NEGLIGIBLE;
}

kn_status kn_table_order_test(kn_ctx *ctx, kn_mat zz, const ptrdiff_t *order, const int *group,
                              uint64_t seed, kn_resemblance *out)
{
    kn_status status;
    table t = {.zz = zz, .group = group};
    *out = (kn_resemblance){0};
    KN_TRY(kn_alloc_d(ctx, zz.rows, &t.scale));
    KN_TRY(kn_alloc_i(ctx, zz.rows, &t.first));
    KN_TRY(kn_alloc_i(ctx, zz.rows, &t.last));
    KN_TRY(kn_alloc_i(ctx, zz.rows, &t.order));
    cut_runs(&t, order);
    if (t.n_runs >= MIN)
        test_order(&t, seed, out);
out:
    kn_free(t.scale);
    kn_free(t.first);
    kn_free(t.last);
    kn_free(t.order);
    return status;
}

void kn_table_order_test_need(kn_mem_plan *r, ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, n, 4);
    kn_plan_free_to(r, mark);
}
