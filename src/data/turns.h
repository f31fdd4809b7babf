/* People whose files ranks read each its own, and whose maps go to one file in their order: blocks
 * of people are dealt in turn, so that what all ranks have made in a round is a run of the list.
 *
 *     block b of n people, R ranks: rank r has, in round k, people (k R + r) b .. + b - 1
 *
 * kn_people.turn is b, and kn_people.Y has the rows of a rank's blocks one behind the other. */
#ifndef KN_DATA_TURNS_H
#define KN_DATA_TURNS_H

#include "data/people.h"

/* As few rounds as blocks of at most so many allow, and the same work for all in each. */
ptrdiff_t kn_turns_block(ptrdiff_t n, ptrdiff_t most, int ranks);

/* Whom a rank has in a round; nobody, behind the last. */
kn_range kn_turns_of(const kn_people *p, int rank, int ranks, ptrdiff_t round);

/* rows[n] of everybody: to the front come those of this rank's people; how many. */
ptrdiff_t kn_turns_rows(const kn_ctx *ctx, const kn_people *p, ptrdiff_t *rows);

/* The k-th run of people whose responses are here, and `Y`, where they have their numbers among
 * all. False: there are no more. Without turns one run, of everybody or as held data are dealt. */
bool kn_turns_own(const kn_ctx *ctx, const kn_people *p, ptrdiff_t k, kn_range *people, kn_view *Y);

#endif
