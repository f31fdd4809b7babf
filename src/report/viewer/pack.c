/* Implements pack.h. */
#include "report/viewer/pack.h"

#include "io/gzip/gzip.h"
#include "io/table/number.h"
#include "report/pictures/colormaps.h"

static kn_status gzip_bytes(kn_ctx *ctx, const uint8_t *bytes, ptrdiff_t n, void **out,
                            ptrdiff_t *size)
{
    kn_status status;
    kn_writer *memory = NULL;
    kn_gzip_writer *w = NULL;
    KN_TRY(kn_writer_new_memory(ctx, "viewer", &memory));
    KN_TRY(kn_gzip_writer_new(ctx, memory, &w));
    KN_TRY(kn_gzip_writer_write(ctx, w, bytes, n));
    KN_TRY(kn_gzip_writer_finish(ctx, w));
    KN_TRY(kn_writer_take(ctx, memory, out, size));
out:
    kn_gzip_writer_free(w);
    kn_writer_free(memory);
    return status;
}

void kn_pack_bytes(kn_html *out, const uint8_t *bytes, ptrdiff_t n)
{
    void *packed = NULL;
    ptrdiff_t size = 0;
    if (out->status == KN_OK)
        out->status = gzip_bytes(out->ctx, bytes, n, &packed, &size);
    kn_html_base64(out, packed, size);
    kn_html_raw(out, "</script>\n");
    kn_free(packed);
}

void kn_pack_differences(uint8_t *bytes, ptrdiff_t n)
{
    for (ptrdiff_t i = n - 1; i > 0; i--)
        bytes[i] = (uint8_t)(bytes[i] - bytes[i - 1]);
}

void kn_pack_colours(kn_html *out)
{
    char number[KN_NUMBER_SIZE];
    kn_number_text(KN_REPORT_ZSTEP, number);
    kn_html_print(out, "\"step\":%s,\"missing\":%d,", number, KN_REPORT_NO_Z);
    kn_number_text(KN_PICTURE_ZMAX, number);
    kn_html_print(out, "\"zmax\":%s,\"colours\":[", number);
    for (int k = 0; k < KN_ZLEVELS; k++) {
        kn_png_colour c = kn_zcolour(k);
        kn_html_print(out, "%s[%d,%d,%d]", k ? "," : "", c.red, c.green, c.blue);
    }
    kn_html_raw(out, "]");
}
