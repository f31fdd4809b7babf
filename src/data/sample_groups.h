/* Repeated measures of a kn_sample: which rows share noise in training, and the group of each new
 * participant  [METHOD 0] */
#ifndef KN_DATA_SAMPLE_GROUPS_H
#define KN_DATA_SAMPLE_GROUPS_H

#include "data/sample.h"

/* Sets p->grouping of a training sample, by {group}. Without codes there are no groups; warns if
 * ids repeat nevertheless. */
kn_status kn_sample_find_groups(kn_ctx *ctx, const kn_data *d, const kn_settings *s, kn_sample *p);

/* Sets p->group_text of new participants from the model's group column; "": from their ids. A
 * participant without a value has no group. Does nothing if the column or the ids are missing. */
kn_status kn_sample_read_groups(kn_ctx *ctx, const kn_data *d, const char *column, kn_sample *p);

#endif
