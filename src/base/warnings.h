/* List of the warnings of one call. A command keeps them in addition to logging them, so that its
 * summary repeats exactly the sentences that were printed. */
#ifndef KN_BASE_WARNINGS_H
#define KN_BASE_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "kronorm.h"

typedef struct kn_warnings {
    char **text; /* n strings, owned */
    ptrdiff_t n, capacity;
    bool lost; /* at least one warning is missing: out of memory */
} kn_warnings;

/* Appends a copy of `text`; sets `lost` if out of memory. */
void kn_warnings_add(kn_warnings *warnings, const char *text);
/* Frees the strings and empties the list; {0} is allowed. */
void kn_warnings_clear(kn_warnings *warnings);

/* Adds all further warnings of this context to `into` (borrowed), even if it has no log callback;
 * NULL: stop keeping them. Returns the previous list, which the caller restores. */
kn_warnings *kn_keep_warnings(kn_ctx *ctx, kn_warnings *into);

#endif
