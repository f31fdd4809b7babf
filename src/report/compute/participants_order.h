/* Parts of the people of a report that need no files. */
#ifndef KN_REPORT_COMPUTE_PARTICIPANTS_ORDER_H
#define KN_REPORT_COMPUTE_PARTICIPANTS_ORDER_H

#include "report/report.h"

/* The most abnormal first: smallest p, then the largest statistic; who has none last, ties as they
 * come. [METHOD 11c] */
kn_status kn_participants_sort(kn_ctx *ctx, kn_report *r);

/* p[i] = (1 + #{others >= value})/n among the other n - 1 people with a value, of its size where
 * `sizes`; NaN of who has none, and where there is nobody else   [METHOD 8] */
kn_status kn_participants_rank(kn_ctx *ctx, const double *value, ptrdiff_t n, bool sizes,
                               double *p);

/* How many normal people have deviance_p <= .05, and how many are expected: of those who are not
 * labelled, of training or of the reference, each with the chance `rate` (compared.h). Nothing is
 * expected (NaN) where no p can be so small.   [METHOD 11c] */
void kn_participants_count(kn_report *r, double rate);

/* Who gets a card: N, or ids with commas. `name` of each person as it was in the files; person:
 * NULL, or of change the person alone. where: the file or model that has them, for the sentence. */
typedef struct kn_participants_named {
    const char *const *id;
    const char *const *person;
    const char *where;
} kn_participants_named;

kn_status kn_participants_choose(kn_ctx *ctx, kn_report *r, const char *who,
                                 const kn_participants_named *named);

#endif
