/* Appends notes to the summary, in the arena of the report. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/compute/compute.h"

static kn_status grow(kn_ctx *ctx, kn_report *r, kn_report_notes *notes)
{
    const ptrdiff_t capacity = notes->capacity > 0 ? 2 * notes->capacity : 8;
    void *memory;
    kn_status status = kn_arena_alloc(ctx, &r->arena, capacity, sizeof *notes->note, &memory);
    if (status != KN_OK)
        return status;
    if (notes->n > 0)
        memcpy(memory, notes->note, (size_t)notes->n * sizeof *notes->note);
    notes->note = memory;
    notes->capacity = capacity;
    return KN_OK;
}

kn_status kn_report_note_add(kn_ctx *ctx, kn_report *r, kn_report_notes *notes, const char *code,
                             const char *title, const char *format, ...)
{
    kn_status status;
    kn_report_note note = {0};
    void *words;
    va_list args;
    if (notes->n == notes->capacity)
        KN_TRY(grow(ctx, r, notes));
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "a text could not be formatted");
    KN_TRY(kn_arena_alloc(ctx, &r->arena, n + 1, 1, &words));
    va_start(args, format);
    vsnprintf(words, (size_t)n + 1, format, args);
    va_end(args);
    KN_TRY(kn_arena_text(ctx, &r->arena, code, &note.code));
    KN_TRY(kn_arena_text(ctx, &r->arena, title, &note.title));
    note.words = words;
    notes->note[notes->n++] = note;
out:
    return status;
}
