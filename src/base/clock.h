/* Monotonic clock for timing. */
#ifndef KN_BASE_CLOCK_H
#define KN_BASE_CLOCK_H

/* Seconds since an arbitrary start; only differences have a meaning. */
double kn_clock(void);

#endif
