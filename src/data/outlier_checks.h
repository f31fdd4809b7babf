/* What a fit does with outlying cells [outliers.h]: it refuses data in which they are too many to
 * be single errors, excludes participants who have too many of them, and names the others. Lists
 * have the cells of all ranks. */
#ifndef KN_DATA_OUTLIER_CHECKS_H
#define KN_DATA_OUTLIER_CHECKS_H

#include "data/sample.h"

/* Checks whether cells are outlying because their unit differs: at least half of the participants
 * of a site, and more than two, in a response or in general, or more than 1 % of a response of a
 * table and more than two cells. KN_ERR_DATA with the names. Collective. */
kn_status kn_outliers_check_units(kn_ctx *ctx, const kn_data *d, const kn_sample *p,
                                  const kn_outliers *o);

/* Sets out[i] (p->n) for participants with more than a fifth of their responses, and more than two,
 * or all of them in the list, and *n to their number. Collective. */
kn_status kn_outliers_participants(kn_ctx *ctx, const kn_sample *p, const kn_outliers *o, bool *out,
                                   ptrdiff_t *n);

/* Logs a warning with the number of cells and the first few of them, or fails with it (KN_ERR_DATA)
 * if the rule is KN_OUTLIERS_ERROR. */
kn_status kn_outliers_report(kn_ctx *ctx, const kn_data *d, const kn_sample *p,
                             const kn_outliers *o, kn_outlier_rule rule);

/* Name of participant i in messages: the id, or "row 5". */
const char *kn_participant_name(const kn_sample *p, ptrdiff_t i, char name[32]);

#endif
