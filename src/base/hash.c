#include "base/hash.h"

#include <string.h>

static const uint64_t P1 = 0x9E3779B185EBCA87u, P2 = 0xC2B2AE3D27D4EB4Fu, P3 = 0x165667B19E3779F9u,
                      P4 = 0x85EBCA77C2B2AE63u, P5 = 0x27D4EB2F165667C5u;

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t word64(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t word32(const unsigned char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t round64(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * P2, 31) * P1;
}

static uint64_t merge(uint64_t h, uint64_t lane)
{
    return (h ^ round64(0, lane)) * P1 + P4;
}

uint64_t kn_hash(const void *bytes, size_t n, uint64_t seed)
{
    const unsigned char *p = bytes;
    size_t left = n;
    uint64_t h = seed + P5;
    if (n >= 32) { /* four lanes that do not wait for each other */
        uint64_t lane[4] = {seed + P1 + P2, seed + P2, seed, seed - P1};
        for (; left >= 32; left -= 32, p += 32)
            for (int k = 0; k < 4; k++)
                lane[k] = round64(lane[k], word64(p + 8 * k));
        h = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
        for (int k = 0; k < 4; k++)
            h = merge(h, lane[k]);
    }
    h += n;
    for (; left >= 8; left -= 8, p += 8)
        h = rotate(h ^ round64(0, word64(p)), 27) * P1 + P4;
    for (; left >= 4; left -= 4, p += 4)
        h = rotate(h ^ word32(p) * P1, 23) * P2 + P3;
    for (; left > 0; left--, p++)
        h = rotate(h ^ *p * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}
