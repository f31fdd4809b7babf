/* How many bytes the work may hold, and who says so. */
#ifndef KN_BASE_MEMORY_BUDGET_H
#define KN_BASE_MEMORY_BUDGET_H

#include "base/context.h"

typedef struct kn_mem_budget {
    double bytes;
    const char *from;   /* "{memory} allows": goes before the number in messages */
    bool address_space; /* mapped files count too */
} kn_mem_budget;

/* kn_memory of the context; ulimit -v may leave less. */
kn_mem_budget kn_mem_budget_of(const kn_ctx *ctx);

#endif
