/* XXH64 (Collet 2014): a 64-bit checksum at the speed of memory. Tells accidents apart, not
 * attacks. */
#ifndef KN_BASE_HASH_H
#define KN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Pieces are chained by giving the hash of one as the seed of the next. */
uint64_t kn_hash(const void *bytes, size_t n, uint64_t seed);

#endif
