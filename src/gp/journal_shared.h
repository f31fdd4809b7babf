/* The journal of a fit that ranks share: the first keeps it, and its numbers are everybody's.
 *
 * A step is a function of what all ranks have, and where their processors are unlike its last bits
 * differ. So the first takes it, or recalls it, and the others are given what came out, as a fit
 * that goes on is given what its file has: from one step to the next all stand at the same point,
 * and no `if` of the search parts them. A step with collectives of its own, the choice of
 * components, is taken by all, and then they are given what the first has. The number of ranks is
 * not in what is kept.
 *
 *     cost: a broadcast of a step's numbers, some kB */
#ifndef KN_GP_JOURNAL_SHARED_H
#define KN_GP_JOURNAL_SHARED_H

#include "gp/journal.h"

typedef struct kn_shared_journal {
    kn_journal journal; /* first: the callbacks get this pointer */
    kn_journal *kept;   /* of the first rank, lent; NULL: nothing is kept */
} kn_shared_journal;

/* The journal to take steps by: `kept` itself in a process alone. Its operations are collective. */
kn_journal *kn_journal_share(const kn_ctx *ctx, kn_journal *kept, kn_shared_journal *shared);

#endif
