/* Area under the ROC curve [METHOD 8]: P(score of an abnormal participant > score of a normal one)
 * + 1/2 P(equal). */
#ifndef KN_STATS_AUC_H
#define KN_STATS_AUC_H

#include <stdbool.h>

#include "base/context.h"

typedef struct kn_auc {
    double auc;
    double se; /* DeLong, DeLong & Clarke-Pearson 1988; NaN with one participant in a class */
    double low, high; /* 95 % interval auc -+ 1.96 se, cut to [0, 1]; NaN if se is */
    bool degenerate;  /* se is 0 (full separation, or all scores equal): the interval is a point and
                         does not measure the uncertainty */
    ptrdiff_t n_abnormal, n_normal; /* participants with a score, NaN excluded */
} kn_auc;

/* AUC of score[n] with labels abnormal[n], by midranks, O(n log n) (Sun & Xu 2014, IEEE Signal
 * Processing Letters 21). NaN scores are excluded, infinite ones are ranked. KN_ERR_DATA if a class
 * has no score. */
kn_status kn_auc_of(kn_ctx *ctx, const double *score, const bool *abnormal, ptrdiff_t n,
                    kn_auc *out);

#endif
