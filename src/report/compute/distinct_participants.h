/* Whom a statistic is over: people, each once   [METHOD 11a]
 *
 * Rows of one id are one person seen several times, and so are the pairs of visits of one person;
 * of training those that share noise, as the model found them. */
#ifndef KN_REPORT_COMPUTE_DISTINCT_PARTICIPANTS_H
#define KN_REPORT_COMPUTE_DISTINCT_PARTICIPANTS_H

#include "report/compute/compute.h"

typedef struct kn_distinct_participants {
    ptrdiff_t n;    /* people */
    ptrdiff_t rows; /* of them */
    ptrdiff_t *of;  /* for each row of the zhist the person, 0 .. n-1 in order of appearance; -1: he
                       does not count */
} kn_distinct_participants;

/* Those with a z: of training, or of the folder the normal ones. */
kn_status kn_distinct_participants_new(kn_ctx *ctx, const kn_report_job *job, bool training,
                                       kn_distinct_participants *out);
void kn_distinct_participants_clear(kn_distinct_participants *u);

/* sqrt(1 + n/N): what n people scored by a model of N others, or groups of them, say is uncertain
 * by both; 1 of training, and where everybody was held out in turn. */
double kn_distinct_participants_widening(const kn_report_job *job, bool training, ptrdiff_t n);

#endif
