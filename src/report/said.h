/* Numbers in sentences: fixed digits and a point under every locale. */
#ifndef KN_REPORT_SAID_H
#define KN_REPORT_SAID_H

typedef struct kn_said {
    char text[40];
} kn_said;

kn_said kn_said_fixed(double x, int digits);  /* 1.02, "n/a" for NaN; never -0.00 */
kn_said kn_said_signed(double x, int digits); /* +0.06 */
kn_said kn_said_percent(double share); /* 4.6, of .0456; 12 of .1234: two digits, whole from 10 */
/* p as people read it: two digits, "0.0039". */
kn_said kn_said_p(double p);

#endif
