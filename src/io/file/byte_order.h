/* Loads and stores of numbers at unaligned addresses, with or without a byte swap; each compiles
 * to one or two instructions. Pass swap = KN_BIG_ENDIAN for little-endian data and
 * !KN_BIG_ENDIAN for big-endian data. */
#ifndef KN_IO_FILE_BYTE_ORDER_H
#define KN_IO_FILE_BYTE_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* True if this machine is big-endian. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define KN_BIG_ENDIAN true
#else
#define KN_BIG_ENDIAN false
#endif

/* kn_load16 and the like: the number at p, byte-swapped if `swap`. */
static inline uint16_t kn_load16(const unsigned char *p, bool swap)
{
    uint16_t x;
    memcpy(&x, p, sizeof x);
    return swap ? __builtin_bswap16(x) : x;
}

static inline uint32_t kn_load32(const unsigned char *p, bool swap)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return swap ? __builtin_bswap32(x) : x;
}

static inline uint64_t kn_load64(const unsigned char *p, bool swap)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return swap ? __builtin_bswap64(x) : x;
}

static inline float kn_load_f32(const unsigned char *p, bool swap)
{
    uint32_t u = kn_load32(p, swap);
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline double kn_load_f64(const unsigned char *p, bool swap)
{
    uint64_t u = kn_load64(p, swap);
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* kn_store16 and the like: write x to p, byte-swapped if `swap`. */
static inline void kn_store16(unsigned char *p, uint16_t x, bool swap)
{
    x = swap ? __builtin_bswap16(x) : x;
    memcpy(p, &x, sizeof x);
}

static inline void kn_store32(unsigned char *p, uint32_t x, bool swap)
{
    x = swap ? __builtin_bswap32(x) : x;
    memcpy(p, &x, sizeof x);
}

static inline void kn_store64(unsigned char *p, uint64_t x, bool swap)
{
    x = swap ? __builtin_bswap64(x) : x;
    memcpy(p, &x, sizeof x);
}

static inline void kn_store_f32(unsigned char *p, float x, bool swap)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    kn_store32(p, u, swap);
}

static inline void kn_store_f64(unsigned char *p, double x, bool swap)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    kn_store64(p, u, swap);
}

#endif
