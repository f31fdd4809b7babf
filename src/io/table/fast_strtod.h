/* Decimal text to the nearest double, ties to even, in exact integers: what strtod gives, without
 * its big numbers and without a locale. */
#ifndef KN_IO_TABLE_FAST_STRTOD_H
#define KN_IO_TABLE_FAST_STRTOD_H

#include <stdbool.h>

static inline bool kn_is_space(char c) /* around a number */
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* [sign] digits [. digits] [e [sign] digits] and spaces up to the closing NUL: true, with *out.
 * False where it is anything else, or one of the few numbers that take more: digits beyond 2^64
 * without leading zeros, or a power of ten, once the point is gone, beyond 27. */
bool kn_fast_strtod(const char *text, double *out);

#endif
