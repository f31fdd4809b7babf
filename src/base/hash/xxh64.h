/* XXH64 (Collet 2014): a 64-bit checksum at the speed of memory. It detects accidental changes; it
 * is not cryptographic. */
#ifndef KN_BASE_HASH_XXH64_H
#define KN_BASE_HASH_XXH64_H

#include <stddef.h>
#include <stdint.h>

/* The hash of n bytes. To chain arrays, pass the hash of one as the seed of the next. */
uint64_t kn_hash(const void *bytes, size_t n, uint64_t seed);

/* Incremental hash: _end returns the kn_hash of all bytes passed to _add, in any split. */
typedef struct kn_hashing {
    uint64_t lane[4], seed, total;
    unsigned char rest[32]; /* bytes of an incomplete round, for the next _add */
} kn_hashing;

/* Begins a hash with this seed; kn_hashing_add adds bytes, kn_hashing_end returns the hash. */
kn_hashing kn_hashing_begin(uint64_t seed);
/* Adds n bytes to a hash that was begun; pieces of any size give the hash of the whole. */
void kn_hashing_add(kn_hashing *h, const void *bytes, size_t n);
/* Returns the hash of all bytes added so far; the state can still be added to. */
uint64_t kn_hashing_end(const kn_hashing *h);

#endif
