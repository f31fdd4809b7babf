/* Area under the ROC curve [METHOD 8]: P(score of an abnormal > of a normal) + 1/2 P(equal). */
#ifndef KN_STATS_AUC_H
#define KN_STATS_AUC_H

#include <stdbool.h>

#include "base/context.h"

typedef struct kn_auc {
    double auc;
    double se;        /* DeLong, DeLong & Clarke-Pearson 1988; NaN with one sample in a class */
    double low, high; /* 95 % interval auc -+ 1.96 se, cut to [0, 1]; NaN with se */
    bool degenerate;  /* se is 0 (full separation, or all scores equal): the interval is a point and
                         says nothing of the uncertainty */
    ptrdiff_t n_abnormal, n_normal; /* with a score; NaN scores are left out */
} kn_auc;

/* By midranks, O(n log n) (Sun & Xu 2014, IEEE Signal Processing Letters 21). KN_ERR_DATA when a
 * class has nobody with a score. Infinite scores rank as they should. */
kn_status kn_auc_of(kn_ctx *ctx, const double *score, const bool *abnormal, ptrdiff_t n,
                    kn_auc *out);

#endif
