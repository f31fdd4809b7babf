#include "base/memory/plan.h"

#include "base/memory/alloc.h"

double kn_held_sum(const kn_held *held)
{
    double all = 0;
    for (int k = 0; k < KN_NEED_PARTS; k++)
        all += held->part[k];
    return all;
}

void kn_rehearse_stage(kn_rehearsal *r, const char *stage)
{
    r->stage = stage;
}

void kn_hold_bytes(kn_rehearsal *r, kn_need_part part, double bytes)
{
    r->now.part[part] += bytes;
    if (kn_held_sum(&r->now) <= kn_held_sum(&r->peak))
        return;
    r->peak = r->now;
    r->peak_stage = r->stage;
}

void kn_hold(kn_rehearsal *r, kn_need_part part, ptrdiff_t n, size_t element)
{
    kn_hold_bytes(r, part, kn_alloc_bytes((double)n * (double)element));
}

void kn_hold_d(kn_rehearsal *r, kn_need_part part, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_hold_bytes(r, part, kn_alloc_bytes((double)rows * (double)cols * sizeof(double)));
}

void kn_hold_f(kn_rehearsal *r, kn_need_part part, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_hold_bytes(r, part, kn_alloc_bytes((double)rows * (double)cols * sizeof(float)));
}

void kn_let_go(kn_rehearsal *r, kn_held mark)
{
    r->now = mark;
}

void kn_let_go_of(kn_rehearsal *r, kn_held from, kn_held to)
{
    for (int k = 0; k < KN_NEED_PARTS; k++)
        r->now.part[k] -= to.part[k] - from.part[k];
}
