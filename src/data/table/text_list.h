/* Short, single-line pieces of messages made from the contents of a table. Error messages and
 * warnings name at most a few ids or levels by a listing. */
#ifndef KN_DATA_TABLE_TEXT_LIST_H
#define KN_DATA_TABLE_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Comparison for qsort and bsearch of texts (const char *), by bytes. */
int kn_compare_texts(const void *a, const void *b);

typedef struct kn_clip {
    char text[64];
} kn_clip;

/* Returns a copy of a text for a message: control characters replaced by '?', and cut between
 * UTF-8 characters, with an ellipsis, if it does not fit. */
kn_clip kn_clipped(const char *text);

typedef struct kn_listing { /* "a, b, c, d, e, ..."; initialise with {0} or {.limit = 5} */
    char text[512];
    ptrdiff_t n;     /* items written */
    ptrdiff_t limit; /* items to write at most; 0: as many as fit */
    bool closed;     /* "..." is written, further items are ignored */
} kn_listing;

/* Order of two texts (const char *) for qsort and bsearch. */
int kn_by_text(const void *a, const void *b);

/* Appends ", ITEM" to list->text, or ", ..." once if the item does not fit or list->limit items are
 * written. Long items are truncated; after "..." further items are ignored. */
void kn_listing_add(kn_listing *list, const char *item);

#endif
