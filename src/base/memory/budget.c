/* Implements budget.h. */
#include "base/memory/budget.h"

#include <math.h>

#include "base/memory/system_memory.h"
#include "base/mpi/comm.h"

/* Bytes of address space that are reserved but hardly used, per process and per thread: buffers of
 * the BLAS, stacks of 8 MB. */
static const double UNTOUCHED = 64e6, UNTOUCHED_THREAD = 80e6;

kn_mem_budget kn_mem_budget_of(const kn_ctx *ctx)
{
    bool limited = false;
    kn_mem_budget a = {(double)kn_memory(ctx), "{memory} allows", false};
    if (!kn_memory_given(ctx)) {
        static const char *const FROM[2][2] = {
            {"half of this machine's memory is", "half of this container's memory is"},
            {"a rank's part of half of this machine's memory is",
             "a rank's part of half of this container's memory is"}};
        kn_ram("", &limited);
        a.from = FROM[kn_ctx_comm(ctx)->local_size > 1][limited];
    }
    double left = kn_address_space() - UNTOUCHED - UNTOUCHED_THREAD * kn_threads(ctx);
    if (left < a.bytes)
        a = (kn_mem_budget){fmax(left, 0), "the limit of this process (ulimit -v) leaves", true};
    return a;
}
