/* Order, ranks and selection of the scored participants; these functions read no files. */
#ifndef KN_REPORT_COMPUTE_PARTICIPANTS_ORDER_H
#define KN_REPORT_COMPUTE_PARTICIPANTS_ORDER_H

#include "report/report.h"

/* Fills people.order and person.rank, most abnormal first: smallest p, then largest statistic;
 * participants without a value last, ties in table order. [METHOD 11c] */
kn_status kn_participants_sort(kn_ctx *ctx, kn_report *r);

/* Computes p[i] = (1 + #{others >= value})/n among the other n - 1 participants with a value, of
 * its absolute value if `sizes`; NaN for participants without a value, and if there is no other
 * [METHOD 8] */
kn_status kn_participants_rank(kn_ctx *ctx, const double *value, ptrdiff_t n, bool sizes,
                               double *p);

/* Counts the normal participants with deviance_p <= .05 and the expected range: those not
 * labelled, not in training and not in the reference sample, each with probability `rate`
 * (reference_population.h). The range is NaN if no p can be that small.   [METHOD 11c] */
void kn_participants_count(kn_report *r, double rate);

/* Names by which participants can be selected. id: as in the files; person: NULL, or for change
 * the participant without the visits; where: the file or model that lists them, for the error
 * message. */
typedef struct kn_participants_named {
    const char *const *id;
    const char *const *person;
    const char *where;
} kn_participants_named;

/* Selects the participants that get a card. who: a number N of the most abnormal, or ids
 * separated by commas. An unknown id is an error. */
kn_status kn_participants_choose(kn_ctx *ctx, kn_report *r, const char *who,
                                 const kn_participants_named *named);

#endif
