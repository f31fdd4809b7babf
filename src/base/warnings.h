/* Warnings that a call gave, kept beside being logged: what is printed and what a summary says are
 * then the same sentences, and their counts agree. */
#ifndef KN_BASE_WARNINGS_H
#define KN_BASE_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "kronorm.h"

typedef struct kn_warnings {
    char **text; /* n */
    ptrdiff_t n, capacity;
    bool lost; /* memory had no room for one of them */
} kn_warnings;

void kn_warnings_add(kn_warnings *warnings, const char *text);
void kn_warnings_clear(kn_warnings *warnings); /* {0} is fine */

/* From now on warnings of this context are kept there too, also where nobody listens; NULL: no
 * longer. Returns where they went before, to be put back. */
kn_warnings *kn_keep_warnings(kn_ctx *ctx, kn_warnings *into);

#endif
