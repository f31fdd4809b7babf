/* Implements auc.h. */
#include "stats/auc.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory/alloc.h"

static const double NORMAL_975 = 1.959963984540054;

typedef struct item {
    double score;
    bool abnormal;
} item;

static int by_score(const void *a, const void *b)
{
    double x = ((const item *)a)->score, y = ((const item *)b)->score;
    return (x > y) - (x < y);
}

/* Sums over a class of its placements and their squares. The placement of a score is the fraction
 * of the other class below it, ties counting half, minus 1/2. */
typedef struct placements {
    double sum, squares;
} placements;

/* Placement of an abnormal score among the normals = (midrank in all - midrank in its class)/n; in
 * sorted order, that is the normals before its tie group and half of those in it. Centring at 1/2
 * avoids cancellation in the variance near 0 or 1. m, k: sizes of the two classes. */
static void place(const item *v, ptrdiff_t n, double m, double k, placements *abnormal,
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
    status = kn_alloc(ctx, n, sizeof(item), &items);
    if (status != KN_OK)
        return status;
    item *v = items;
    for (ptrdiff_t i = 0; i < n; i++)
        if (!isnan(score[i])) {
            v[kept++] = (item){score[i], abnormal[i]};
            ++*(abnormal[i] ? &out->n_abnormal : &out->n_normal);
        }
    if (out->n_abnormal == 0 || out->n_normal == 0) {
        status =
            kn_fail(ctx, KN_ERR_DATA,
                    "AUC needs both classes: %td abnormal and %td normal subjects have a score",
                    out->n_abnormal, out->n_normal);
        goto out;
    }
    qsort(v, (size_t)kept, sizeof *v, by_score);
    double m = (double)out->n_abnormal, k = (double)out->n_normal;
    placements pa = {0, 0}, pb = {0, 0};
    place(v, kept, m, k, &pa, &pb);
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
