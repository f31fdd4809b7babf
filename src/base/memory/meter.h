/* Memory meter of a context: bytes in use now, and their peak.
 *
 * A block may outlive its context (a model may be freed after it), so the meter is reference
 * counted: each context and each block has one reference. All functions are thread-safe. */
#ifndef KN_BASE_MEMORY_METER_H
#define KN_BASE_MEMORY_METER_H

#include <stddef.h>

typedef struct kn_meter kn_meter;

/* A meter with one reference; NULL if out of memory. */
kn_meter *kn_meter_new(void);
/* Releases a reference; the last one frees the meter. m may be NULL. */
void kn_meter_drop(kn_meter *m);

void kn_meter_take(kn_meter *m, size_t bytes); /* counts a new block; adds a reference */
void kn_meter_give(kn_meter *m, size_t bytes); /* uncounts a freed block; releases its reference */

size_t kn_meter_now(const kn_meter *m);  /* bytes */
size_t kn_meter_peak(const kn_meter *m); /* bytes */
void kn_meter_peak_reset(kn_meter *m);   /* sets the peak to the bytes in use */

#endif
