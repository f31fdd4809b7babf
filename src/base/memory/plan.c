/* Implements plan.h. A plan repeats the allocations of a computation as numbers, so that its peak
 * is known before any of them is made. */
#include "base/memory/plan.h"

#include <math.h>

#include "base/machine.h"
#include "base/memory/alloc.h"
#include "base/mpi/comm.h"

double kn_mem_usage_sum(const kn_mem_usage *usage)
{
    double all = 0;
    for (int k = 0; k < KN_NEED_CATEGORIES; k++)
        all += usage->bytes[k];
    return all;
}

void kn_plan_stage(kn_mem_plan *r, const char *stage)
{
    r->stage = stage;
}

void kn_plan_alloc_bytes(kn_mem_plan *r, kn_mem_category category, double bytes)
{
    r->now.bytes[category] += bytes;
    if (kn_mem_usage_sum(&r->now) <= kn_mem_usage_sum(&r->peak))
        return;
    r->peak = r->now;
    r->peak_stage = r->stage;
}

void kn_plan_alloc(kn_mem_plan *r, kn_mem_category category, ptrdiff_t n, size_t element)
{
    kn_plan_alloc_bytes(r, category, kn_alloc_bytes((double)n * (double)element));
}

void kn_plan_alloc_d(kn_mem_plan *r, kn_mem_category category, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_plan_alloc_bytes(r, category, kn_alloc_bytes((double)rows * (double)cols * sizeof(double)));
}

void kn_plan_alloc_f(kn_mem_plan *r, kn_mem_category category, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_plan_alloc_bytes(r, category, kn_alloc_bytes((double)rows * (double)cols * sizeof(float)));
}

void kn_plan_free_to(kn_mem_plan *r, kn_mem_usage mark)
{
    r->now = mark;
}

void kn_plan_free(kn_mem_plan *r, kn_mem_usage from, kn_mem_usage to)
{
    for (int k = 0; k < KN_NEED_CATEGORIES; k++)
        r->now.bytes[k] -= to.bytes[k] - from.bytes[k];
}

/* ---- budget ---------------------------------------------------------------------------------- */

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
            {"one process's part of half of this machine's memory is",
             "one process's part of half of this container's memory is"}};
        kn_ram("", &limited);
        a.from = FROM[kn_ctx_comm(ctx)->local_size > 1][limited];
    }
    double left = kn_address_space() - UNTOUCHED - UNTOUCHED_THREAD * kn_threads(ctx);
    if (left < a.bytes)
        a = (kn_mem_budget){fmax(left, 0), "the limit of this process (ulimit -v) leaves", true};
    return a;
}
