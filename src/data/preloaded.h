/* Reads responses once, for many fits and scores of subsets: folds, or a jackknife.
 *
 * The values stay where they were read, in memory or in a scratch file; there is no copy. Before a
 * subset is fitted or scored, its rows are moved to lie together, in the order of the file. A
 * subset is a kn_data like any other, so encoding, means and groups are learned from its own
 * participants. The response space is that of all participants: models and maps of all subsets
 * have the same T, and responses that are constant in a subset are left out of its model only. */
#ifndef KN_DATA_PRELOADED_H
#define KN_DATA_PRELOADED_H

#include "data/read_responses.h"
#include "data/sample.h"

typedef struct kn_preloaded kn_preloaded;

/* Returns the bytes that the caller holds for n participants and T responses: a constant, per
 * participant, per response, and per cell up to a maximum. */
double kn_caller_bytes_sum(const kn_caller_bytes *b, ptrdiff_t n, ptrdiff_t T);

/* Reads all participants that a fit of `data` would use, with the errors and log messages of such a
 * fit; *out is owned (kn_preloaded_free). data is borrowed until then; policy->caller counts as
 * held during the fits. Collective. */
kn_status kn_data_preload(kn_ctx *ctx, kn_data *data, const kn_settings *s,
                          const kn_memory_policy *policy, kn_preloaded **out);
/* Frees preloaded responses; all subsets of them must be freed before. NULL is allowed. */
void kn_preloaded_free(kn_preloaded *h);

/* Returns all participants as a fit would see them, without X; borrowed. Y is in the order of the
 * file only until the first subset is used. */
const kn_sample *kn_preloaded_sample(const kn_preloaded *h);

/* Makes *out (kn_data_free, before h) of the participants with use[row of the covariates]. Use one
 * subset at a time in a call of kn_fit, kn_score or the like. KN_ERR_DATA if no participant is
 * left. */
kn_status kn_data_subset_new(kn_ctx *ctx, kn_preloaded *h, const bool *use, kn_data **out);

/* ---- for sample.c ---------------------------------------------------------------------------- */

/* Sets *out (owned) to the columns of d's table that are the preloaded responses. KN_ERR_DATA if
 * one is missing. */
kn_status kn_preloaded_select(kn_ctx *ctx, const kn_data *d, kn_selection *out);
/* Sets p->Y, p->space and p->own to the preloaded responses of the rows r (a subset), moving rows
 * unless they lie together. p->Y is borrowed until the next such call; with r->by_participants it
 * is a copy. KN_ERR_SHAPE if the responses are not those of `space` (NULL: any); KN_ERR_MEMORY if
 * the memory plan exceeds the budget. Collective. */
kn_status kn_preloaded_read(kn_ctx *ctx, const kn_memory_policy *policy, const kn_data *d,
                            const kn_space *space, const kn_response_rows *r, kn_sample *p);

#endif
