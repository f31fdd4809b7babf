/* Implements two_sample_tests.h. Small samples get exact p-values of the rank test, others those
 * of a normal approximation. */
#include "stats/two_sample_tests.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory/alloc.h"
#include "stats/normal.h"
#include "stats/student_t.h"

typedef struct item {
    double value;
    ptrdiff_t position;
} item;

/* Comparison for qsort: items by value, then by position. */
static int compare_items(const void *x, const void *y)
{
    const item *a = x, *b = y;
    return a->value != b->value ? (a->value > b->value) - (a->value < b->value)
                                : (a->position > b->position) - (a->position < b->position);
}

/* Appends the values of x (n) that are not NaN to the `have` items, with positions first + i.
 * Returns the new number of items. */
static ptrdiff_t gather_values(item *items, ptrdiff_t have, const double *x, ptrdiff_t n,
                               ptrdiff_t first)
{
    for (ptrdiff_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            items[have++] = (item){x[i], first + i};
    return have;
}

/* ---- Mann-Whitney -----------------------------------------------------------------------------
 */

typedef struct ranks {
    ptrdiff_t n, m;   /* number of values of the first group, and of both */
    int *twice;       /* m: twice the midrank of each value, ascending */
    double sum_twice; /* their sum over the first group */
    double ties;      /* sum of t^3 - t over tied values */
} ranks;

/* Computes midranks of the sorted items and their sum over the first group, the items with
 * position < second; sums t^3 - t over ties. */
static void rank_items(const item *sorted, ptrdiff_t second, ranks *r)
{
    for (ptrdiff_t i = 0, end; i < r->m; i = end) {
        for (end = i + 1; end < r->m && sorted[end].value == sorted[i].value;)
            end++;
        double t = (double)(end - i);
        r->ties += t * t * t - t;
        for (ptrdiff_t k = i; k < end; k++) {
            r->twice[k] = (int)(i + end + 1); /* ranks i+1 .. end */
            if (sorted[k].position < second)
                r->sum_twice += r->twice[k];
        }
    }
}

/* Computes the exact p-value of the rank sum: *p = 2 min(P(sum <= s), P(sum >= s)). ways[k][s]:
 * number of subsets of k values whose doubled midranks sum to s. */
static kn_status compute_exact_p(kn_ctx *ctx, const ranks *r, double *p)
{
    ptrdiff_t limit = r->m * (r->m + 1), width = limit + 1;
    double *ways, total = 0, below = 0, above = 0;
    kn_status status = kn_alloc_d(ctx, (r->n + 1) * width, &ways);
    if (status != KN_OK)
        return status;
    ways[0] = 1;
    for (ptrdiff_t i = 0; i < r->m; i++)
        for (ptrdiff_t k = r->n; k > 0; k--) /* downwards, so that no value is used twice */
            for (ptrdiff_t s = r->twice[i]; s < width; s++)
                ways[k * width + s] += ways[(k - 1) * width + s - r->twice[i]];
    for (ptrdiff_t s = 0; s < width; s++) {
        double w = ways[r->n * width + s];
        total += w;
        below += (double)s <= r->sum_twice ? w : 0;
        above += (double)s >= r->sum_twice ? w : 0;
    }
    *p = fmin(1, 2 * fmin(below, above) / total);
    kn_free(ways);
    return KN_OK;
}

/* Returns the two-sided p-value of U by the normal approximation with tie and continuity
 * corrections. */
static double compute_normal_p(const ranks *r, double U)
{
    double n = (double)r->n, all = (double)r->m, m = all - n;
    double var = n * m / 12 * (all + 1 - r->ties / (all * (all - 1)));
    double off = fmax(fabs(U - n * m / 2) - 0.5, 0);
    return var > 0 ? fmin(1, 2 * kn_normal_upper(off / sqrt(var))) : 1;
}

kn_status kn_rank_test_of(kn_ctx *ctx, const double *a, ptrdiff_t n, const double *b, ptrdiff_t m,
                          kn_rank_test *out)
{
    kn_status status;
    void *items = NULL, *twice = NULL;
    ranks r = {0};
    *out = (kn_rank_test){.p = NAN, .U = NAN};
    KN_TRY(kn_alloc(ctx, n + m, sizeof(item), &items));
    r.n = gather_values(items, 0, a, n, 0);
    r.m = gather_values(items, r.n, b, m, n);
    if (r.n == 0 || r.n == r.m)
        goto out;
    KN_TRY(kn_alloc(ctx, r.m, sizeof *r.twice, &twice));
    r.twice = twice;
    qsort(items, (size_t)r.m, sizeof(item), compare_items);
    rank_items(items, n, &r);
    out->U = (r.sum_twice - (double)(r.n * (r.n + 1))) / 2;
    out->exact = r.m <= KN_RANK_EXACT;
    if (out->exact)
        KN_TRY(compute_exact_p(ctx, &r, &out->p));
    else
        out->p = compute_normal_p(&r, out->U);
out:
    kn_free(items);
    kn_free(twice);
    return status;
}

/* ---- Welch ------------------------------------------------------------------------------------
 */

/* Returns the variance of the mean of a sample with these sums; 0 if the variance of the values
 * is only rounding. */
static double compute_variance_of_mean(kn_sums s)
{
    static const double ROUNDING = 1e-13; /* of the mean square */
    double square = s.sum2 / s.n, var = square - (s.sum / s.n) * (s.sum / s.n);
    return var > ROUNDING * square ? var / (s.n - 1) : 0;
}

kn_welch kn_welch_of(kn_sums a, kn_sums b)
{
    kn_welch w = {NAN, NAN, NAN};
    if (a.n < 2 || b.n < 2)
        return w;
    double va = compute_variance_of_mean(a), vb = compute_variance_of_mean(b), v = va + vb;
    if (!(v > 0))
        return w;
    w.t = (a.sum / a.n - b.sum / b.n) / sqrt(v);
    w.df = v * v / (va * va / (a.n - 1) + vb * vb / (b.n - 1));
    w.p = 2 * kn_student_upper(fabs(w.t), w.df);
    return w;
}

/* ---- area under the ROC curve ---------------------------------------------------------------- */

static const double NORMAL_975 = 1.959963984540054;

typedef struct scored {
    double score;
    bool abnormal;
} scored;

/* Comparison for qsort: scores in ascending order. */
static int compare_scores(const void *a, const void *b)
{
    double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x > y) - (x < y);
}

/* Sums over a class of its placements and their squares. The placement of a score is the fraction
 * of the other class below it, ties counting half, minus 1/2. */
typedef struct placements {
    double sum, squares;
} placements;

/* Sums, for each class, its placements minus 1/2 and their squares. Placement of an abnormal
 * score among the normals = (midrank in all - midrank in its class)/n; in sorted order, that is
 * the normals before its tie group and half of those in it. Centring at 1/2 avoids cancellation
 * in the variance near 0 or 1. m, k: sizes of the two classes. */
static void sum_placements(const scored *v, ptrdiff_t n, double m, double k, placements *abnormal,
                           placements *normal)
{
    double abnormal_before = 0, normal_before = 0;
    for (ptrdiff_t first = 0, last; first < n; first = last) {
        double a = 0, b = 0;
        for (last = first; last < n && v[last].score == v[first].score; last++)
            *(v[last].abnormal ? &a : &b) += 1;
        double pa = (normal_before + 0.5 * b) / k - 0.5, pb = (abnormal_before + 0.5 * a) / m - 0.5;
        abnormal->sum += a * pa;
        abnormal->squares += a * pa * pa;
        normal->sum += b * pb;
        normal->squares += b * pb * pb;
        abnormal_before += a;
        normal_before += b;
    }
}

/* Returns the variance of the mean of n placements from their sums. */
static double variance_of_mean(placements p, double n)
{
    return fmax(p.squares - p.sum * p.sum / n, 0) / (n - 1) / n;
}

kn_status kn_auc_of(kn_ctx *ctx, const double *score, const bool *abnormal, ptrdiff_t n,
                    kn_auc *out)
{
    void *items;
    kn_status status;
    ptrdiff_t kept = 0;

    *out = (kn_auc){NAN, NAN, NAN, NAN, false, 0, 0};
    status = kn_alloc(ctx, n, sizeof(scored), &items);
    if (status != KN_OK)
        return status;
    scored *v = items;
    for (ptrdiff_t i = 0; i < n; i++)
        if (!isnan(score[i])) {
            v[kept++] = (scored){score[i], abnormal[i]};
            ++*(abnormal[i] ? &out->n_abnormal : &out->n_normal);
        }
    if (out->n_abnormal == 0 || out->n_normal == 0) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "AUC needs participants of both classes, but %td abnormal and %td normal "
                         "ones have a score",
                         out->n_abnormal, out->n_normal);
        goto out;
    }
    qsort(v, (size_t)kept, sizeof *v, compare_scores);
    double m = (double)out->n_abnormal, k = (double)out->n_normal;
    placements pa = {0, 0}, pb = {0, 0};
    sum_placements(v, kept, m, k, &pa, &pb);
    out->auc = pa.sum / m + 0.5;
    if (m > 1 && k > 1) {
        out->se = sqrt(variance_of_mean(pa, m) + variance_of_mean(pb, k));
        out->low = fmax(out->auc - NORMAL_975 * out->se, 0);
        out->high = fmin(out->auc + NORMAL_975 * out->se, 1);
        out->degenerate = out->se < 1e-12; /* of a quantity in [0, 1] */
    }
out:
    kn_free(items);
    return status;
}
