/* XXH64 (Collet 2014): a 64-bit checksum at the speed of memory. Tells accidents apart, not
 * attacks. */
#ifndef KN_BASE_HASH_XXH64_H
#define KN_BASE_HASH_XXH64_H

#include <stddef.h>
#include <stdint.h>

/* Pieces are chained by giving the hash of one as the seed of the next. */
uint64_t kn_hash(const void *bytes, size_t n, uint64_t seed);

/* The hash of all bytes that _add was given one after the other, however they were cut. */
typedef struct kn_hashing {
    uint64_t lane[4], seed, total;
    unsigned char rest[32]; /* fewer than a round, kept for the next _add */
} kn_hashing;

kn_hashing kn_hashing_begin(uint64_t seed);
void kn_hashing_add(kn_hashing *h, const void *bytes, size_t n);
uint64_t kn_hashing_end(const kn_hashing *h);

#endif
