/* One context for all tests of a program. Comes after headers whose functions take one. */
#ifndef KN_TEST_WITH_CONTEXT_H
#define KN_TEST_WITH_CONTEXT_H

#include "support/test.h"

static kn_ctx *ctx;

static inline int begin(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    return ctx ? 0 : -1;
}

static inline int end(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

#endif
