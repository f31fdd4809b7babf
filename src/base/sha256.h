/* SHA-256 (FIPS 180-4): tells attacks apart too, where base/hash.h tells accidents. What a page may
 * run is named by it (Content Security Policy), and a file that is fetched is known by it. */
#ifndef KN_BASE_SHA256_H
#define KN_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { KN_SHA256_BYTES = 32, KN_SHA256_BLOCK = 64 };

/* The hash of all bytes that _add was given one after the other, however they were cut. */
typedef struct kn_sha256 {
    uint32_t state[8];
    uint64_t total;                      /* bytes so far */
    unsigned char rest[KN_SHA256_BLOCK]; /* total % BLOCK of them, kept for the next _add */
} kn_sha256;

kn_sha256 kn_sha256_begin(void);
void kn_sha256_add(kn_sha256 *h, const void *bytes, size_t n);
void kn_sha256_end(kn_sha256 h, unsigned char out[KN_SHA256_BYTES]);

/* "sha256-" and the hash in base64: as a policy writes it. */
enum { KN_SHA256_SOURCE = 7 + 44 + 1 };
void kn_sha256_source(const unsigned char hash[KN_SHA256_BYTES], char out[KN_SHA256_SOURCE]);
/* 64 hexadecimal digits. */
enum { KN_SHA256_HEX = 64 + 1 };
void kn_sha256_hex(const unsigned char hash[KN_SHA256_BYTES], char out[KN_SHA256_HEX]);

#endif
