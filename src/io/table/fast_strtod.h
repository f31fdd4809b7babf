/* Fast conversion of decimal text to the nearest double (ties to even) in integer arithmetic. Gives
 * the same result as strtod in the C locale, for the numbers that it accepts. */
#ifndef KN_IO_TABLE_FAST_STRTOD_H
#define KN_IO_TABLE_FAST_STRTOD_H

#include <stdbool.h>

/* White space that is allowed around a number. */
static inline bool kn_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Converts [sign] digits [. digits] [e [sign] digits], with spaces around it, up to the NUL. False,
 * with *out unset, for any other text, and for the few numbers that need strtod: digits beyond
 * 2^64 (leading zeros not counted), or a power of ten beyond 27 after removing the point. */
bool kn_fast_strtod(const char *text, double *out);

#endif
