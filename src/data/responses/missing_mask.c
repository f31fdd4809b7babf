/* Implements missing_mask.h. */
#include "data/responses/missing_mask.h"

#include <math.h>

#include "base/memory/mmap_hint.h"
#include "base/parallel/parallel_for.h"

enum { COLUMNS = 64, ROWS = 64 }; /* tile size: one word of rows */

void kn_missing_mask_clear(kn_missing_mask *h)
{
    kn_free(h->bits);
    kn_free(h->before);
    *h = (kn_missing_mask){0};
}

typedef struct marking {
    const kn_ctx *ctx;
    kn_view Y;
    const ptrdiff_t *kept;
    kn_missing_mask *h;
} marking;

/* Marks the missing cells, in tiles because Y may be stored by rows or by columns. */
static void mark(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const marking *m = self;
    kn_missing_mask *h = m->h;
    for (ptrdiff_t w = 0; w < h->words; w++)
        for (ptrdiff_t i = w * ROWS; i < h->N && i < (w + 1) * ROWS; i++)
            for (ptrdiff_t j = from; j < to; j++)
                if (!isfinite(kn_view_at(m->Y, i, m->kept[j])))
                    h->bits[j * h->words + w] |= UINT64_C(1) << (i % 64);
    if (m->Y.col_stride != 1)
        kn_view_done(m->ctx, m->Y, m->kept[from], m->kept[to - 1] - m->kept[from] + 1);
}

kn_status kn_missing_mask_new(kn_ctx *ctx, kn_view Y, const ptrdiff_t *kept, ptrdiff_t T,
                              kn_missing_mask *out)
{
    kn_status status;
    void *memory;
    *out = (kn_missing_mask){.N = Y.rows, .T = T, .words = (Y.rows + 63) / 64};
    marking job = {ctx, Y, kept, out};
    KN_TRY(kn_alloc(ctx, out->words * T, sizeof *out->bits, &memory));
    out->bits = memory;
    KN_TRY(kn_alloc_i(ctx, out->words * T + 1, &out->before));
    kn_parallel(ctx, T, COLUMNS, mark, &job);
    for (ptrdiff_t w = 0; w < out->words * T; w++)
        out->before[w + 1] = out->before[w] + __builtin_popcountll(out->bits[w]);
    out->cells = out->before[out->words * T];
out:
    if (status != KN_OK)
        kn_missing_mask_clear(out);
    return status;
}
