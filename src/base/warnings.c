/* Implements warnings.h; kn_keep_warnings is in context.c. */
#include "base/warnings.h"

#include <stdlib.h>
#include <string.h>

/* Uses realloc and strdup instead of kn_alloc: warnings are not part of the memory plan. */
void kn_warnings_add(kn_warnings *w, const char *text)
{
    enum { FIRST = 8 };
    if (w->n == w->capacity) {
        ptrdiff_t capacity = w->capacity ? 2 * w->capacity : FIRST;
        char **grown = realloc(w->text, (size_t)capacity * sizeof *grown);
        if (!grown) {
            w->lost = true;
            return;
        }
        w->text = grown;
        w->capacity = capacity;
    }
    w->text[w->n] = strdup(text);
    if (w->text[w->n])
        w->n++;
    else
        w->lost = true;
}

void kn_warnings_clear(kn_warnings *w)
{
    for (ptrdiff_t i = 0; i < w->n; i++)
        free(w->text[i]);
    free(w->text);
    *w = (kn_warnings){0};
}
