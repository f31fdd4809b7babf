/* Memory that goes all at once: a struct of many arrays and texts takes all of them from one arena,
 * and is cleared by one call, however far its making got. */
#ifndef KN_BASE_MEMORY_ARENA_H
#define KN_BASE_MEMORY_ARENA_H

#include "base/memory/alloc.h"

typedef struct kn_arena {
    struct kn_arena_block *last;
} kn_arena; /* {0}: empty */

/* As kn_alloc: zeroed, NULL with KN_OK when n is 0. Never kn_free what comes from here. */
kn_status kn_arena_alloc(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, size_t element, void **out);
kn_status kn_arena_d(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, double **out);
kn_status kn_arena_f(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, float **out);
kn_status kn_arena_i(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, ptrdiff_t **out);

kn_status kn_arena_text(kn_ctx *ctx, kn_arena *arena, const char *text,
                        const char **out); /* a copy; NULL stays NULL */
kn_status kn_arena_print(kn_ctx *ctx, kn_arena *arena, const char **out, const char *format, ...)
    KN_PRINTF(4, 5);

void kn_arena_clear(kn_arena *arena); /* {0} is fine */

#endif
