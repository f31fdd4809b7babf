#ifndef KN_BASE_CLOCK_H
#define KN_BASE_CLOCK_H

double kn_clock(void); /* seconds of a steady clock; differences only */

#endif
