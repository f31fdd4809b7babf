/* Allocation with overflow checks and alignment to a cache line (64 bytes). Every block is counted
 * by the meter of the context, so that tests can compare the memory plan (plan.h) with the memory
 * that was really used. */
#ifndef KN_BASE_MEMORY_ALLOC_H
#define KN_BASE_MEMORY_ALLOC_H

#include <stddef.h>

#include "base/context.h"

/* Allocates *out, a zeroed array of n elements of `element` bytes, owned by the caller, to be
 * freed with kn_free; NULL with KN_OK if n is 0. KN_ERR_MEMORY also if n is negative or the size
 * overflows. Blocks of 32 MB and more are zeroed by the system on first touch, by the thread
 * that fills them (NUMA). */
kn_status kn_alloc(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out);
/* Allocates like kn_alloc, but without zeroing, for arrays that are written at once. */
kn_status kn_alloc_raw(kn_ctx *ctx, ptrdiff_t n, size_t element, void **out);
/* Frees a block of kn_alloc; p may be NULL. Any thread may call it, even after kn_ctx_free. */
void kn_free(void *p);

/* Allocates *out, n doubles of value 0, by kn_alloc. */
kn_status kn_alloc_d(kn_ctx *ctx, ptrdiff_t n, double **out);
/* Allocates *out, n floats of value 0, by kn_alloc. */
kn_status kn_alloc_f(kn_ctx *ctx, ptrdiff_t n, float **out);
/* Allocates *out, n ptrdiff_t of value 0, by kn_alloc. */
kn_status kn_alloc_i(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t **out);

/* Allocates *out, n ints of value 0, by kn_alloc. */
kn_status kn_alloc_int(kn_ctx *ctx, ptrdiff_t n, int **out);

/* Allocates *out, n bools of value false, by kn_alloc. */
kn_status kn_alloc_bool(kn_ctx *ctx, ptrdiff_t n, bool **out);

/* Returns the bytes that kn_alloc takes for an array of `bytes` bytes: a header of 64 bytes, and
 * the array rounded up to a multiple of 64. */
double kn_alloc_bytes(double bytes);

/* Returns the bytes of all blocks of the context, headers included. */
size_t kn_memory_now(const kn_ctx *ctx);
/* Returns the largest value of kn_memory_now since the context was created or the peak was
 * reset. */
size_t kn_memory_peak(const kn_ctx *ctx);
/* Sets the peak of the context to the bytes in use. */
void kn_memory_peak_reset(kn_ctx *ctx);

/* ---- growable arrays ------------------------------------------------------------------------- */

/* Arrays that grow by doubling, allocated by the context's checked allocator. */

/* Enlarges *array to at least `need` elements of `element` bytes and updates *capacity; new
 * elements are zero. Start with *array NULL and *capacity 0. On failure both are unchanged. */
kn_status kn_grow(kn_ctx *ctx, ptrdiff_t need, size_t element, void **array, ptrdiff_t *capacity);

/* Enlarges a buffer to exactly `need` bytes if it is smaller. The old content is lost. */
kn_status kn_reserve(kn_ctx *ctx, ptrdiff_t need, void **buffer, ptrdiff_t *capacity);

/* ---- arena ----------------------------------------------------------------------------------- */

/* Arena: a list of blocks that are freed together. A struct of many arrays and strings allocates
 * all of them from one arena, so that one call frees it, even if its construction failed midway. */

typedef struct kn_arena {
    struct kn_arena_block *last;
} kn_arena; /* {0}: empty */

/* Allocates *out like kn_alloc (zeroed; NULL with KN_OK if n is 0), owned by the arena: do not
 * kn_free it. */
kn_status kn_arena_alloc(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, size_t element, void **out);
/* Allocates n doubles of value 0, owned by the arena. */
kn_status kn_arena_d(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, double **out);
/* Allocates n floats of value 0, owned by the arena. */
kn_status kn_arena_f(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, float **out);
/* Allocates n ptrdiff_t of value 0, owned by the arena. */
kn_status kn_arena_i(kn_ctx *ctx, kn_arena *arena, ptrdiff_t n, ptrdiff_t **out);

/* Copies a text to *out, owned by the arena; NULL if text is NULL. */
kn_status kn_arena_text(kn_ctx *ctx, kn_arena *arena, const char *text, const char **out);
/* Formats a string of any length to *out, owned by the arena. KN_ERR_ARGUMENT if the format
 * fails. */
kn_status kn_arena_print(kn_ctx *ctx, kn_arena *arena, const char **out, const char *format, ...)
    KN_PRINTF(4, 5);

/* Frees all blocks; {0} is allowed. The arena can be used again. */
void kn_arena_clear(kn_arena *arena);

/* ---- meter ----------------------------------------------------------------------------------- */

/* Memory meter of a context: bytes in use now, and their peak.
 *
 * A block may outlive its context (a model may be freed after it), so the meter is reference
 * counted: each context and each block has one reference. All functions are thread-safe. */

/* Creates a memory meter with one reference; NULL if out of memory. */
kn_meter *kn_meter_new(void);
/* Releases a reference; the last one frees the meter. m may be NULL. */
void kn_meter_release(kn_meter *m);

/* Counts a new block of so many bytes, updates the peak and adds a reference. Thread-safe. */
void kn_meter_add_block(kn_meter *m, size_t bytes);
/* Counts a block of so many bytes as freed and releases its reference. Thread-safe. */
void kn_meter_remove_block(kn_meter *m, size_t bytes);

/* Returns the bytes in use. */
size_t kn_meter_now(const kn_meter *m);
/* Returns the largest number of bytes in use since the start or the last reset. */
size_t kn_meter_peak(const kn_meter *m);
/* Sets the peak to the bytes in use. */
void kn_meter_peak_reset(kn_meter *m);

#endif
