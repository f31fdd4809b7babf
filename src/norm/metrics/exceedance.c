/* Implements exceedance.h with bit sets. Two sets are compared by counting common bits. */
#include "norm/metrics/exceedance.h"

#include <math.h>
#include <string.h>

/* Allocate T empty bit sets of `words` 64-bit words each; KN_ERR_MEMORY also if the size
 * overflows. */
static kn_status alloc_sets(kn_ctx *ctx, ptrdiff_t T, ptrdiff_t words, uint64_t **out)
{
    void *memory;
    if (T > PTRDIFF_MAX / 8 / words)
        return kn_fail(ctx, KN_ERR_MEMORY, "%td sets of %td participants cannot exist", T,
                       64 * words);
    kn_status status = kn_alloc(ctx, T * words, sizeof **out, &memory);
    *out = memory;
    return status;
}

kn_status kn_exceedance_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t T, double threshold,
                            kn_exceedance *out)
{
    kn_status status;
    void *memory;
    *out = (kn_exceedance){.n = n, .T = T, .words = (n + 63) / 64, .threshold = threshold};
    KN_TRY(alloc_sets(ctx, T, out->words, &out->observed));
    for (int s = 0; s < KN_SIGNS; s++)
        KN_TRY(alloc_sets(ctx, T, out->words, &out->beyond[s]));
    KN_TRY(kn_alloc(ctx, T, sizeof *out->other, &memory));
    out->other = memory;
out:
    if (status != KN_OK)
        kn_exceedance_clear(out);
    return status;
}

void kn_exceedance_clear(kn_exceedance *e)
{
    kn_free(e->observed);
    for (int s = 0; s < KN_SIGNS; s++)
        kn_free(e->beyond[s]);
    kn_free(e->other);
    *e = (kn_exceedance){0};
}

void kn_exceedance_row(kn_exceedance *e, ptrdiff_t i, const float *z)
{
    uint64_t bit = UINT64_C(1) << (i % 64);
    for (ptrdiff_t j = 0, at = i / 64; j < e->T; j++, at += e->words) {
        double x = (double)z[j];
        if (x == 0) { /* 0 in all participants means outside the mask: not yet known */
            e->observed[at] |= bit;
            continue;
        }
        e->other[j] = true;
        if (isfinite(x))
            e->observed[at] |= bit;
        if (isfinite(x) && x < -e->threshold)
            e->beyond[KN_SIGN_NEGATIVE][at] |= bit;
        if (isfinite(x) && x > e->threshold)
            e->beyond[KN_SIGN_POSITIVE][at] |= bit;
    }
}

void kn_exceedance_drop_zeros(kn_exceedance *e, ptrdiff_t *kept)
{
    size_t size = (size_t)e->words * sizeof(uint64_t);
    ptrdiff_t k = 0;
    for (ptrdiff_t j = 0; j < e->T; j++) {
        if (!e->other[j])
            continue;
        if (k < j) {
            memcpy(e->observed + k * e->words, e->observed + j * e->words, size);
            for (int s = 0; s < KN_SIGNS; s++)
                memcpy(e->beyond[s] + k * e->words, e->beyond[s] + j * e->words, size);
        }
        e->other[k] = true;
        kept[k++] = j;
    }
    e->T = k;
}

void kn_exceedance_group(const kn_exceedance *e, const uint64_t *group,
                         kn_exceedance_proportions out)
{
    for (ptrdiff_t j = 0; j < e->T; j++) {
        ptrdiff_t at = j * e->words, n = kn_set_common(e->observed + at, group, e->words);
        out.n[j] = (double)n;
        for (int s = 0; s < KN_SIGNS; s++) {
            ptrdiff_t beyond = kn_set_common(e->beyond[s] + at, group, e->words);
            out.proportion[s][j] = n > 0 ? (double)beyond / (double)n : NAN;
        }
    }
}
