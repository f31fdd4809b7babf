/* Implements meter.h by atomic counters. */
#include "base/memory/meter.h"

#include <stdatomic.h>
#include <stdlib.h>

struct kn_meter {
    atomic_size_t now, peak; /* bytes */
    atomic_size_t holders;   /* references */
};

kn_meter *kn_meter_new(void)
{
    kn_meter *m = calloc(1, sizeof *m);
    if (m)
        atomic_store(&m->holders, 1);
    return m;
}

void kn_meter_drop(kn_meter *m)
{
    if (m && atomic_fetch_sub(&m->holders, 1) == 1)
        free(m);
}

void kn_meter_take(kn_meter *m, size_t bytes)
{
    atomic_fetch_add(&m->holders, 1);
    size_t now = atomic_fetch_add(&m->now, bytes) + bytes, peak = atomic_load(&m->peak);
    while (now > peak && !atomic_compare_exchange_weak(&m->peak, &peak, now))
        ; /* another thread changed the peak; the exchange has loaded its value */
}

void kn_meter_give(kn_meter *m, size_t bytes)
{
    atomic_fetch_sub(&m->now, bytes);
    kn_meter_drop(m);
}

size_t kn_meter_now(const kn_meter *m)
{
    return atomic_load(&m->now);
}

size_t kn_meter_peak(const kn_meter *m)
{
    return atomic_load(&m->peak);
}

void kn_meter_peak_reset(kn_meter *m)
{
    atomic_store(&m->peak, atomic_load(&m->now));
}
