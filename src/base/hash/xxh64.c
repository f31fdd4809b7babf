/* Implements xxh64.h for little-endian machines. Input may come in pieces of any size; up to one
 * round of bytes is kept until the next piece. */
#include "base/hash/xxh64.h"

#include <string.h>

static const uint64_t P1 = 0x9E3779B185EBCA87u, P2 = 0xC2B2AE3D27D4EB4Fu, P3 = 0x165667B19E3779F9u,
                      P4 = 0x85EBCA77C2B2AE63u, P5 = 0x27D4EB2F165667C5u;

/* Returns x rotated left by `by` bits, 1 to 63. */
static uint64_t rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* Returns the 8 bytes at p as a number. */
static uint64_t load_word64(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Returns the 4 bytes at p as a number. */
static uint64_t load_word32(const unsigned char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Returns the lane of the hash state after one input word. */
static uint64_t mix_lane(uint64_t lane, uint64_t word)
{
    return rotate_left(lane + word * P2, 31) * P1;
}

/* Returns hash h with one lane merged in. */
static uint64_t merge_lane(uint64_t h, uint64_t lane)
{
    return (h ^ mix_lane(0, lane)) * P1 + P4;
}

enum { ROUND = 32 }; /* bytes of a round: 8 for each of four independent lanes */

kn_hashing kn_hashing_begin(uint64_t seed)
{
    return (kn_hashing){.lane = {seed + P1 + P2, seed + P2, seed, seed - P1}, .seed = seed};
}

/* Mixes `rounds` rounds of ROUND bytes from p into the four lanes; returns the first byte behind
 * them. */
static const unsigned char *mix_rounds(kn_hashing *h, const unsigned char *p, size_t rounds)
{
    uint64_t lane[4];
    memcpy(lane, h->lane, sizeof lane);
    for (; rounds > 0; rounds--, p += ROUND)
        for (int k = 0; k < 4; k++)
            lane[k] = mix_lane(lane[k], load_word64(p + 8 * k));
    memcpy(h->lane, lane, sizeof lane);
    return p;
}

void kn_hashing_add(kn_hashing *h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    size_t kept = (size_t)(h->total % ROUND), missing = ROUND - kept;
    h->total += n;
    if (kept > 0 && n >= missing) {
        memcpy(h->rest + kept, p, missing);
        mix_rounds(h, h->rest, 1);
        p += missing;
        n -= missing;
        kept = 0;
    }
    if (kept == 0) {
        p = mix_rounds(h, p, n / ROUND);
        n %= ROUND;
    }
    if (n > 0)
        memcpy(h->rest + kept, p, n);
}

uint64_t kn_hashing_end(const kn_hashing *state)
{
    const unsigned char *p = state->rest;
    const uint64_t *lane = state->lane;
    uint64_t h = state->seed + P5;
    if (state->total >= ROUND) {
        h = rotate_left(lane[0], 1) + rotate_left(lane[1], 7) + rotate_left(lane[2], 12) +
            rotate_left(lane[3], 18);
        for (int k = 0; k < 4; k++)
            h = merge_lane(h, lane[k]);
    }
    h += state->total;
    size_t left = (size_t)(state->total % ROUND);
    for (; left >= 8; left -= 8, p += 8)
        h = rotate_left(h ^ mix_lane(0, load_word64(p)), 27) * P1 + P4;
    for (; left >= 4; left -= 4, p += 4)
        h = rotate_left(h ^ load_word32(p) * P1, 23) * P2 + P3;
    for (; left > 0; left--, p++)
        h = rotate_left(h ^ *p * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}

uint64_t kn_hash(const void *bytes, size_t n, uint64_t seed)
{
    kn_hashing h = kn_hashing_begin(seed);
    kn_hashing_add(&h, bytes, n);
    return kn_hashing_end(&h);
}
