/* Implements plan.h. */
#include "base/memory/plan.h"

#include "base/memory/alloc.h"

double kn_mem_usage_sum(const kn_mem_usage *held)
{
    double all = 0;
    for (int k = 0; k < KN_NEED_PARTS; k++)
        all += held->part[k];
    return all;
}

void kn_plan_stage(kn_mem_plan *r, const char *stage)
{
    r->stage = stage;
}

void kn_plan_alloc_bytes(kn_mem_plan *r, kn_mem_category part, double bytes)
{
    r->now.part[part] += bytes;
    if (kn_mem_usage_sum(&r->now) <= kn_mem_usage_sum(&r->peak))
        return;
    r->peak = r->now;
    r->peak_stage = r->stage;
}

void kn_plan_alloc(kn_mem_plan *r, kn_mem_category part, ptrdiff_t n, size_t element)
{
    kn_plan_alloc_bytes(r, part, kn_alloc_bytes((double)n * (double)element));
}

void kn_plan_alloc_d(kn_mem_plan *r, kn_mem_category part, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_plan_alloc_bytes(r, part, kn_alloc_bytes((double)rows * (double)cols * sizeof(double)));
}

void kn_plan_alloc_f(kn_mem_plan *r, kn_mem_category part, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_plan_alloc_bytes(r, part, kn_alloc_bytes((double)rows * (double)cols * sizeof(float)));
}

void kn_plan_free_to(kn_mem_plan *r, kn_mem_usage mark)
{
    r->now = mark;
}

void kn_plan_free(kn_mem_plan *r, kn_mem_usage from, kn_mem_usage to)
{
    for (int k = 0; k < KN_NEED_PARTS; k++)
        r->now.part[k] -= to.part[k] - from.part[k];
}
