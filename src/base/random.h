/* Seeded random numbers: xoshiro256++ (Blackman & Vigna 2019), the same on every machine. */
#ifndef KN_BASE_RANDOM_H
#define KN_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct kn_rng {
    uint64_t s[4];
} kn_rng;

/* Streams of one seed are independent: give each use its own, so that adding one moves no other. */
void kn_rng_init(kn_rng *rng, uint64_t seed, uint64_t stream);
uint64_t kn_rng_next(kn_rng *rng);
double kn_rng_uniform(kn_rng *rng);               /* [0, 1) */
double kn_rng_normal(kn_rng *rng);                /* mean 0, sd 1 */
ptrdiff_t kn_rng_below(kn_rng *rng, ptrdiff_t n); /* 0 .. n-1, unbiased */
void kn_rng_permutation(kn_rng *rng, ptrdiff_t n, ptrdiff_t *out);

#endif
