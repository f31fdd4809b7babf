#include "base/sha256.h"

#include <stdbool.h>
#include <string.h>

/* FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64
 * primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t right(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

/* 6.2.2, one block; a .. h are w[0] .. w[7] of the standard's working variables. */
static void block(uint32_t state[8], const unsigned char *p)
{
    uint32_t W[64], v[8];
    for (int t = 0; t < 16; t++, p += 4)
        W[t] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = right(W[t - 15], 7) ^ right(W[t - 15], 18) ^ W[t - 15] >> 3;
        uint32_t s1 = right(W[t - 2], 17) ^ right(W[t - 2], 19) ^ W[t - 2] >> 10;
        W[t] = W[t - 16] + s0 + W[t - 7] + s1;
    }
    memcpy(v, state, sizeof v);
    for (int t = 0; t < 64; t++) {
        uint32_t S1 = right(v[4], 6) ^ right(v[4], 11) ^ right(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t T1 = v[7] + S1 + choice + K[t] + W[t];
        uint32_t S0 = right(v[0], 2) ^ right(v[0], 13) ^ right(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += T1;
        v[0] = T1 + S0 + majority;
    }
    for (int k = 0; k < 8; k++)
        state[k] += v[k];
}

kn_sha256 kn_sha256_begin(void)
{
    /* 5.3.3: of the square roots of the first eight primes */
    return (kn_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void kn_sha256_add(kn_sha256 *h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    size_t held = h->total % KN_SHA256_BLOCK;
    h->total += n;
    if (held > 0) {
        size_t take = KN_SHA256_BLOCK - held < n ? KN_SHA256_BLOCK - held : n;
        memcpy(h->rest + held, p, take);
        p += take, n -= take, held += take;
        if (held < KN_SHA256_BLOCK)
            return;
        block(h->state, h->rest);
    }
    for (; n >= KN_SHA256_BLOCK; p += KN_SHA256_BLOCK, n -= KN_SHA256_BLOCK)
        block(h->state, p);
    if (n > 0)
        memcpy(h->rest, p, n);
}

/* 5.1.1: a one, zeros, and the length in bits as the last 64 of a block. */
void kn_sha256_end(kn_sha256 h, unsigned char out[KN_SHA256_BYTES])
{
    static const unsigned char PADDING[KN_SHA256_BLOCK] = {0x80};
    const uint64_t bits = h.total * 8;
    const size_t held = h.total % KN_SHA256_BLOCK, room = KN_SHA256_BLOCK - 8;
    unsigned char length[8];
    for (int k = 0; k < 8; k++)
        length[k] = (unsigned char)(bits >> (56 - 8 * k));
    kn_sha256_add(&h, PADDING, held < room ? room - held : room + KN_SHA256_BLOCK - held);
    kn_sha256_add(&h, length, sizeof length);
    for (int k = 0; k < KN_SHA256_BYTES; k++)
        out[k] = (unsigned char)(h.state[k / 4] >> (24 - 8 * (k % 4)));
}

/* 32 bytes are ten threes and a two: 43 letters and one '='. */
void kn_sha256_source(const unsigned char hash[KN_SHA256_BYTES], char out[KN_SHA256_SOURCE])
{
    static const char LETTER[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *to = out + 7;
    memcpy(out, "sha256-", 7);
    for (int k = 0; k < KN_SHA256_BYTES; k += 3) {
        const bool whole = k + 2 < KN_SHA256_BYTES;
        uint32_t three = (uint32_t)hash[k] << 16 | (uint32_t)hash[k + 1] << 8;
        three |= whole ? hash[k + 2] : 0u;
        *to++ = LETTER[three >> 18];
        *to++ = LETTER[three >> 12 & 63];
        *to++ = LETTER[three >> 6 & 63];
        *to++ = whole ? LETTER[three & 63] : '=';
    }
    *to = '\0';
}

void kn_sha256_hex(const unsigned char hash[KN_SHA256_BYTES], char out[KN_SHA256_HEX])
{
    static const char DIGIT[] = "0123456789abcdef";
    for (int k = 0; k < KN_SHA256_BYTES; k++) {
        out[2 * k] = DIGIT[hash[k] >> 4];
        out[2 * k + 1] = DIGIT[hash[k] & 15];
    }
    out[2 * KN_SHA256_BYTES] = '\0';
}
