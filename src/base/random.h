/* Seeded random numbers by xoshiro256++ (Blackman & Vigna 2019): the same seed gives the same
 * integers and uniform numbers on every machine. Each use has its own stream number, so that
 * results do not depend on the order in which parts of the program draw. */
#ifndef KN_BASE_RANDOM_H
#define KN_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct kn_rng {
    uint64_t s[4];
} kn_rng;

/* Starts generator `stream` of `seed`. Streams are independent: give each use its own, so that a
 * new use does not change the numbers of the others. */
void kn_rng_init(kn_rng *rng, uint64_t seed, uint64_t stream);
/* Returns 64 random bits. */
uint64_t kn_rng_next(kn_rng *rng);
/* Returns a uniform number on [0, 1). */
double kn_rng_uniform(kn_rng *rng);
/* Returns a standard normal number. */
double kn_rng_normal(kn_rng *rng);
/* Returns a uniform integer on 0 .. n-1, unbiased; n > 0. */
ptrdiff_t kn_rng_below(kn_rng *rng, ptrdiff_t n);
/* Fills out[n] with a uniform random permutation of 0 .. n-1. */
void kn_rng_permutation(kn_rng *rng, ptrdiff_t n, ptrdiff_t *out);

#endif
