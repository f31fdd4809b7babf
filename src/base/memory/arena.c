/* Implements arena.h by a linked list of kn_alloc blocks. */
#include "base/memory/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct kn_arena_block {
    struct kn_arena_block *before; /* allocated before this one; NULL: the first */
    _Alignas(max_align_t) unsigned char bytes[];
};

kn_status kn_arena_alloc(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, size_t element, void **out)
{
    const ptrdiff_t header = (ptrdiff_t)sizeof(struct kn_arena_block);
    void *memory;
    *out = NULL;
    if (n == 0)
        return KN_OK;
    if (n > (PTRDIFF_MAX - header) / (ptrdiff_t)element)
        return kn_fail(ctx, KN_ERR_MEMORY, "%td values of %zu bytes are too many", n, element);
    kn_status status = kn_alloc(ctx, header + n * (ptrdiff_t)element, 1, &memory);
    if (status != KN_OK)
        return status;
    struct kn_arena_block *block = memory;
    block->before = arena->last;
    arena->last = block;
    *out = block->bytes;
    return KN_OK;
}

kn_status kn_arena_d(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, double **out)
{
    void *memory;
    kn_status status = kn_arena_alloc(ctx, arena, n, sizeof(double), &memory);
    *out = memory;
    return status;
}

kn_status kn_arena_f(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, float **out)
{
    void *memory;
    kn_status status = kn_arena_alloc(ctx, arena, n, sizeof(float), &memory);
    *out = memory;
    return status;
}

kn_status kn_arena_i(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, ptrdiff_t **out)
{
    void *memory;
    kn_status status = kn_arena_alloc(ctx, arena, n, sizeof(ptrdiff_t), &memory);
    *out = memory;
    return status;
}

kn_status kn_arena_text(kn_ctx *ctx, kn_arena *arena, const char *text, const char **out)
{
    void *memory;
    *out = NULL;
    if (!text)
        return KN_OK;
    kn_status status = kn_arena_alloc(ctx, arena, (ptrdiff_t)strlen(text) + 1, 1, &memory);
    if (status == KN_OK)
        *out = strcpy(memory, text);
    return status;
}

kn_status kn_arena_print(kn_ctx *ctx, kn_arena *arena, const char **out, const char *format, ...)
{
    va_list args;
    void *memory;
    *out = NULL;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "a text could not be formatted");
    kn_status status = kn_arena_alloc(ctx, arena, n + 1, 1, &memory);
    if (status != KN_OK)
        return status;
    va_start(args, format);
    vsnprintf(memory, (size_t)n + 1, format, args);
    va_end(args);
    *out = memory;
    return KN_OK;
}

void kn_arena_clear(kn_arena *arena)
{
    while (arena->last) {
        struct kn_arena_block *before = arena->last->before;
        kn_free(arena->last);
        arena->last = before;
    }
}
