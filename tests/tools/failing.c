/* The whole library with one more door: memory that runs out at the k-th allocation from now, of
 * whatever context, for tests of programs that make their contexts themselves. Linked with
 * --wrap=kn_allocation_fails and --wrap=kn_meter_new: the library's calls of these come here. */
#include <stdatomic.h>

#include "base/context.h"

KN_API void kn_test_fail_allocation(kn_ctx *ctx,
                                    long k); /* of one context; see kn_fail_allocation */
KN_API void kn_test_fail_from_now(long k);   /* 1: the next one; 0: none */
KN_API long kn_test_left(void); /* until it fails; 0: it did, or nothing was asked for */

bool __real_kn_allocation_fails(kn_ctx *ctx);
bool __wrap_kn_allocation_fails(kn_ctx *ctx);
kn_meter *__real_kn_meter_new(void);
kn_meter *__wrap_kn_meter_new(void);

static atomic_long left;

void kn_test_fail_allocation(kn_ctx *ctx, long k)
{
    kn_fail_allocation(ctx, k);
}

void kn_test_fail_from_now(long k)
{
    atomic_store(&left, k);
}

long kn_test_left(void)
{
    long k = atomic_load(&left);
    return k > 0 ? k : 0;
}

static bool fails(void)
{
    return atomic_load(&left) > 0 && atomic_fetch_sub(&left, 1) == 1;
}

bool __wrap_kn_allocation_fails(kn_ctx *ctx)
{
    bool own = __real_kn_allocation_fails(ctx);
    return fails() || own;
}

/* With every context: kn_ctx_new has no memory either. */
kn_meter *__wrap_kn_meter_new(void)
{
    return fails() ? NULL : __real_kn_meter_new();
}
