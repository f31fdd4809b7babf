/* Maps rows to distinct participants, so that a statistic counts each participant once   [METHOD
 * 11a]
 *
 * Rows with one id are repeated measures of one participant, and so are the pairs of visits of
 * one participant. In the training sample, rows that share noise form one unit, as the model
 * grouped them. */
#ifndef KN_REPORT_COMPUTE_DISTINCT_PARTICIPANTS_H
#define KN_REPORT_COMPUTE_DISTINCT_PARTICIPANTS_H

#include "report/compute/compute.h"

typedef struct kn_distinct_participants {
    ptrdiff_t n;    /* distinct participants */
    ptrdiff_t rows; /* rows that belong to them */
    /* Participant of each row of the zhist, 0 .. n-1 in order of appearance; -1: not counted. */
    ptrdiff_t *of;
} kn_distinct_participants;

/* Groups the rows that have a z-score: those of the training sample, or the normal ones of the
 * folder. */
kn_status kn_distinct_participants_new(kn_ctx *ctx, const kn_report_job *job, bool training,
                                       kn_distinct_participants *out);
/* Frees the arrays. */
void kn_distinct_participants_clear(kn_distinct_participants *u);

/* Returns sqrt(1 + n/N), the factor that widens intervals of n participants scored by a model of
 * N others (or groups), because both are uncertain. Returns 1 for training, and if every
 * participant was held out in turn. */
double kn_distinct_participants_widening(const kn_report_job *job, bool training, ptrdiff_t n);

#endif
