/* Implements sanitize_text.h. */
#include "base/sanitize_text.h"

void kn_sanitize_text(char *text)
{
    enum { DELETE = 0x7f, C1_LEAD = 0xc2, C1_FIRST = 0x80, C1_LAST = 0x9f };
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (*c < ' ' || *c == DELETE)
            *c = '?';
        if (*c == C1_LEAD && c[1] >= C1_FIRST && c[1] <= C1_LAST)
            c[0] = c[1] = '?';
    }
}
