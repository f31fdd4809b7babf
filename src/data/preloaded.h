/* Responses that are read once, for many fits and scores of some of the people each: folds, or a
 * jackknife.
 *
 * The values stay where reading put them, in memory or in a scratch file, and there are no others:
 * rows that a part uses are moved to lie together, in the order of the file, before it is fitted or
 * scored. A part is data like any other, so recipe, means and groups are learned from its own
 * people. The responses' space is that of everybody: models and maps of all parts have the same T,
 * and what is constant in a part is left out of that part's model alone. */
#ifndef KN_DATA_PRELOADED_H
#define KN_DATA_PRELOADED_H

#include "data/responses/read.h"
#include "data/sample.h"

typedef struct kn_preloaded kn_preloaded;

/* Bytes of it for n people and T responses. */
double kn_caller_bytes_sum(const kn_caller_bytes *b, ptrdiff_t n, ptrdiff_t T);

/* Reads everybody whom a fit of all would use; refuses what that would refuse, and says what it
 * would say. The data are lent until _free; room->beside stays held during the fits. */
kn_status kn_data_preload(kn_ctx *ctx, kn_data *data, const kn_settings *s,
                          const kn_memory_policy *room, kn_preloaded **out);
void kn_preloaded_free(kn_preloaded *h); /* after every part of it; NULL is fine */

/* Everybody who was read, as a fit of all would see them. Y: only while no part has been used. */
const kn_sample *kn_preloaded_sample(const kn_preloaded *h);

/* Data of those with use[row of the covariates], for one call of kn_fit, kn_score or the like at a
 * time; free with kn_data_free before the held ones. */
kn_status kn_data_some(kn_ctx *ctx, kn_preloaded *h, const bool *use, kn_data **out);

/* ---- for people.c ------------------------------------------------------------------------------
 */

/* The columns of d's table that are responses of everybody. */
kn_status kn_preloaded_select(kn_ctx *ctx, const kn_data *d, kn_selection *out);
/* As those of response_files.h. n moves of a row, unless they lie together already; p->Y is lent,
 * until the next such call; by people it is a copy. Collective. */
kn_status kn_preloaded_read(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                            const kn_space *space, const kn_response_rows *r, kn_sample *p);

#endif
