/* Whom a statistic is over: people, each once   [METHOD 10a]
 *
 * Rows of one id are one person seen several times, and so are the pairs of visits of one person.
 */
#ifndef KN_REPORT_UNITS_H
#define KN_REPORT_UNITS_H

#include "report/compute.h"

typedef struct kn_units {
    ptrdiff_t n;    /* people */
    ptrdiff_t rows; /* of them */
    ptrdiff_t *of;  /* for each row of the zhist the person, 0 .. n-1 in order of appearance; -1: he
                       does not count */
} kn_units;

/* Those with a z: of training, or of the folder the normal ones. */
kn_status kn_units_new(kn_ctx *ctx, const kn_report_job *job, bool training, kn_units *out);
void kn_units_clear(kn_units *u);

/* sqrt(1 + n/N): what n people scored by a model of N others say is uncertain by both; 1 of
 * training, and where everybody was held out in turn. */
double kn_units_widening(const kn_report_job *job, bool training, ptrdiff_t n);

#endif
