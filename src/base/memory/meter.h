/* How much memory a context has taken: bytes now, and the most there ever were.
 *
 * A block may outlive its context (a model is freed after it), so the meter belongs to all who
 * hold it: the context and each of its blocks. Any thread may call any of these. */
#ifndef KN_BASE_MEMORY_METER_H
#define KN_BASE_MEMORY_METER_H

#include <stddef.h>

typedef struct kn_meter kn_meter;

kn_meter *kn_meter_new(void); /* held once; NULL: no memory */
void kn_meter_drop(kn_meter *m);

void kn_meter_take(kn_meter *m, size_t bytes); /* a block begins: it holds the meter */
void kn_meter_give(kn_meter *m, size_t bytes); /* it ends, and with the last holder the meter */

size_t kn_meter_now(const kn_meter *m);
size_t kn_meter_peak(const kn_meter *m);
void kn_meter_peak_reset(kn_meter *m); /* to what there is now */

#endif
