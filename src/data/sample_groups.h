/* The groups of some people: which rows share noise in training, and which group a new person says
 * to be of                                                                           [METHOD 0] */
#ifndef KN_DATA_SAMPLE_GROUPS_H
#define KN_DATA_SAMPLE_GROUPS_H

#include "data/sample.h"

/* p->grouping of training, by {group}. Without codes there is no such noise, and that is said where
 * it matters. */
kn_status kn_sample_find_groups(kn_ctx *ctx, const kn_data *d, const kn_settings *s, kn_sample *p);

/* p->group_text of new people, of the column of the model's groups; "": by their ids. One without a
 * value has none. */
kn_status kn_sample_read_groups(kn_ctx *ctx, const kn_data *d, const char *column, kn_sample *p);

#endif
