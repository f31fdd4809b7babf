/* The memory budget of a call: the limit that its memory plan must keep, and its source. */
#ifndef KN_BASE_MEMORY_BUDGET_H
#define KN_BASE_MEMORY_BUDGET_H

#include "base/context.h"

typedef struct kn_mem_budget {
    double bytes;
    const char *from;   /* source for messages, before the number: "{memory} allows" */
    bool address_space; /* the limit is ulimit -v, so that mapped files count too */
} kn_mem_budget;

/* The smaller of kn_memory and the address space that ulimit -v leaves. */
kn_mem_budget kn_mem_budget_of(const kn_ctx *ctx);

#endif
