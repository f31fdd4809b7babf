/* Implements random.h: xoshiro256++, seeded by splitmix64; Fisher-Yates permutations. No state is
 * shared between generators, so threads may use one each. */
#include "base/random.h"

#include <math.h>

/* Advances the splitmix64 state *x and returns its next 64 bits, from which seeds are made. */
static uint64_t next_splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void kn_rng_init(kn_rng *rng, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed, y = stream + 0x5851f42d4c957f2du;
    for (int i = 0; i < 4; i++)
        rng->s[i] = next_splitmix(&x) ^ next_splitmix(&y);
    if (!(rng->s[0] | rng->s[1] | rng->s[2] | rng->s[3]))
        rng->s[0] = 1; /* the all-zero state is a fixed point */
}

/* Returns x rotated left by k bits, 1 to 63. */
static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t kn_rng_next(kn_rng *rng)
{
    uint64_t *s = rng->s, result = rotate_left(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double kn_rng_uniform(kn_rng *rng)
{
    return (double)(kn_rng_next(rng) >> 11) * 0x1p-53;
}

/* Box-Muller with the first of the two values only, so that no value is kept between calls. */
double kn_rng_normal(kn_rng *rng)
{
    double u = 1.0 - kn_rng_uniform(rng); /* (0, 1]: the logarithm is finite */
    double v = kn_rng_uniform(rng);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

ptrdiff_t kn_rng_below(kn_rng *rng, ptrdiff_t n)
{
    uint64_t m = (uint64_t)n, limit = UINT64_MAX - UINT64_MAX % m, x;
    do
        x = kn_rng_next(rng);
    while (x >= limit);
    return (ptrdiff_t)(x % m);
}

void kn_rng_permutation(kn_rng *rng, ptrdiff_t n, ptrdiff_t *out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = i;
    for (ptrdiff_t i = n - 1; i > 0; i--) {
        ptrdiff_t j = kn_rng_below(rng, i + 1), t = out[i];
        out[i] = out[j];
        out[j] = t;
    }
}
