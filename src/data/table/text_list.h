/* Pieces of sentences made from what a table holds: short, and on one line whatever it was. */
#ifndef KN_DATA_TABLE_TEXT_LIST_H
#define KN_DATA_TABLE_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kn_clip {
    char text[64];
} kn_clip;

kn_clip kn_clipped(const char *text); /* no control characters, cut between UTF-8 characters */

typedef struct kn_listing { /* "a, b, c, d, e, ..."; start from {0} or {.most = 5} */
    char text[512];
    ptrdiff_t n;    /* written out */
    ptrdiff_t most; /* to write out; 0: as many as fit */
    bool closed;    /* the dots are there: what comes is not written */
} kn_listing;

void kn_listing_add(kn_listing *list, const char *item);

#endif
