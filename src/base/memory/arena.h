/* Arena: a list of blocks that are freed together. A struct of many arrays and strings allocates
 * all of them from one arena, so that one call frees it, even if its construction failed midway. */
#ifndef KN_BASE_MEMORY_ARENA_H
#define KN_BASE_MEMORY_ARENA_H

#include "base/memory/alloc.h"

typedef struct kn_arena {
    struct kn_arena_block *last;
} kn_arena; /* {0}: empty */

/* As kn_alloc, kn_alloc_d, _f and _i: zeroed, NULL with KN_OK if n is 0. The arena owns the memory;
 * do not kn_free it. */
kn_status kn_arena_alloc(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, size_t element, void **out);
kn_status kn_arena_d(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, double **out);
kn_status kn_arena_f(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, float **out);
kn_status kn_arena_i(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, ptrdiff_t **out);

/* *out = a copy of `text`; NULL if text is NULL. */
kn_status kn_arena_text(kn_ctx *ctx, kn_arena *arena, const char *text, const char **out);
/* *out = the formatted string, of any length. KN_ERR_ARGUMENT if the format fails. */
kn_status kn_arena_print(kn_ctx *ctx, kn_arena *arena, const char **out, const char *format, ...)
    KN_PRINTF(4, 5);

/* Frees all blocks; {0} is allowed. The arena can be used again. */
void kn_arena_clear(kn_arena *arena);

#endif
