/* Implements viewer.h. Volumes are written along the axes of the head
 * (report/pictures/orientation.h) and cropped to the box of the mask, so that viewer.js need not
 * know how they were stored:
 *
 *   #viewer-space   JSON: dim, affine of that box, colours of z, labels
 *   #viewer-mask    one bit per voxel, x fastest, the lowest bit of a byte first
 *   #viewer-ground  one grey byte per voxel, packed
 *   #zK             the z-map of card K, voxels of the mask only, in their order, packed
 *
 * packed: difference of each byte from the previous one (mod 256), gzip, base64. Differences
 * make z-maps smaller by a tenth to a fifth. */
#include "report/viewer/viewer.h"

#include <string.h>

#include "io/gzip/gzip.h"
#include "io/table/number.h"
#include "report/pictures/colormaps.h"
#include "report/pictures/orientation.h"
#include "report/pictures/picture.h"

/* Voxels around the mask that are included, since the background there helps orientation. */
enum { MARGIN = 2 };
enum { START = 2 };     /* initial |z| threshold of colour */
enum { GREY_STEP = 4 }; /* of the background: finer steps are invisible and compress badly */

typedef struct view { /* the part of the volume in the page */
    kn_orientation o;
    ptrdiff_t low[3], dim[3], step;
    double affine[3][4];
    int32_t *response; /* response of each voxel of the volume; -1: none */
} view;

/* Returns whether card k has a z-map of a volume. */
static bool has_map(const kn_report *r, ptrdiff_t k)
{
    return r->space.kind == KN_REPORT_VOLUME && r->responses.T > 0 && r->participants.card[k].z;
}

bool kn_viewer_has(const kn_report *r)
{
    for (ptrdiff_t k = 0; k < r->participants.n_cards; k++)
        if (has_map(r, k))
            return true;
    return false;
}

/* Sets v to the box of the volume that the viewer shows: the mask with a margin, every second voxel
 * above KN_VIEWER_MAX responses, with its affine in mm. v->response is in the arena. */
static kn_status view_make(kn_ctx *ctx, const kn_report *r, kn_arena *arena, view *v)
{
    const ptrdiff_t T = r->responses.T;
    kn_head_box box;
    kn_orientation_of(&r->space, &v->o);
    kn_orientation_box(&v->o, &r->space, T, &box);
    v->step = T > KN_VIEWER_MAX ? 2 : 1;
    memcpy(v->affine, v->o.affine, sizeof v->affine);
    for (int i = 0; i < 3; i++) {
        ptrdiff_t high =
            box.high[i] + MARGIN < v->o.dim[i] ? box.high[i] + MARGIN : v->o.dim[i] - 1;
        v->low[i] = box.low[i] > MARGIN ? box.low[i] - MARGIN : 0;
        v->dim[i] = (high - v->low[i]) / v->step + 1;
        for (int k = 0; k < 3; k++) { /* offset of the box, and longer steps */
            v->affine[k][3] += v->o.affine[k][i] * (double)v->low[i];
            v->affine[k][i] *= (double)v->step;
        }
    }
    return kn_response_of_voxel(ctx, &r->space, T, arena, &v->response);
}

/* Returns the index in the stored volume of voxel i of the view. */
static ptrdiff_t voxel_at(const view *v, ptrdiff_t i)
{
    ptrdiff_t a = i % v->dim[0], b = i / v->dim[0] % v->dim[1], c = i / v->dim[0] / v->dim[1];
    return kn_orientation_at(&v->o, v->low[0] + a * v->step, v->low[1] + b * v->step,
                             v->low[2] + c * v->step);
}

/* Returns the number of voxels of the view. */
static ptrdiff_t voxels_of(const view *v)
{
    return v->dim[0] * v->dim[1] * v->dim[2];
}

/* ---- packed data ---- */

/* Compresses n bytes with gzip; *out (*size bytes) is owned by the caller (kn_free). */
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

/* Writes n bytes, gzip and base64, and the closing tag of a <script
 * type="application/octet-stream"> that the caller has opened. */
static void write_packed(kn_html *out, const uint8_t *bytes, ptrdiff_t n)
{
    void *packed = NULL;
    ptrdiff_t size = 0;
    if (out->status == KN_OK)
        out->status = gzip_bytes(out->ctx, bytes, n, &packed, &size);
    kn_html_base64(out, packed, size);
    kn_html_raw(out, "</script>\n");
    kn_free(packed);
}

/* Replaces each byte by its difference from the previous one (mod 256), in place. */
static void take_differences(uint8_t *bytes, ptrdiff_t n)
{
    for (ptrdiff_t i = n - 1; i > 0; i--)
        bytes[i] = (uint8_t)(bytes[i] - bytes[i - 1]);
}

/* Writes members of the viewer's JSON object: step and missing code of z, largest z, colours from
 * -zmax to zmax. */
static void write_colours(kn_html *out)
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

/* ---- volume of the page ---- */

/* Writes the mask of the view as a <script> element: one bit per voxel, set if it has a response,
 * packed. */
static kn_status put_mask(const view *v, kn_html *out)
{
    void *memory = NULL;
    const ptrdiff_t n = voxels_of(v), bytes = (n + 7) / 8;
    kn_status status;
    KN_TRY(kn_alloc(out->ctx, bytes, 1, &memory));
    uint8_t *bit = memory;
    for (ptrdiff_t i = 0; i < n; i++)
        if (v->response[voxel_at(v, i)] >= 0)
            bit[i / 8] = (uint8_t)(bit[i / 8] | 1u << i % 8);
    kn_html_raw(out, "<script type=\"application/octet-stream\" id=\"viewer-mask\">");
    write_packed(out, bit, bytes);
out:
    kn_free(memory);
    return status;
}

/* Writes the background of the view as a <script> element: one grey byte per voxel, as differences,
 * packed. */
static kn_status put_ground(const kn_report *r, const view *v, kn_html *out)
{
    void *memory = NULL;
    const ptrdiff_t n = voxels_of(v);
    kn_status status;
    KN_TRY(kn_alloc(out->ctx, n, 1, &memory));
    uint8_t *grey = memory;
    for (ptrdiff_t i = 0; i < n; i++)
        grey[i] = (uint8_t)(r->space.background[voxel_at(v, i)] / GREY_STEP * GREY_STEP);
    take_differences(grey, n);
    kn_html_raw(out, "<script type=\"application/octet-stream\" id=\"viewer-ground\">");
    write_packed(out, grey, n);
out:
    kn_free(memory);
    return status;
}

/* Writes the geometry of the view as JSON in a <script> element: dimensions, affine, colours. */
static void put_json(const view *v, kn_html *out)
{
    char number[KN_NUMBER_SIZE];
    kn_html_print(out,
                  "<script type=\"application/json\" id=\"viewer-space\">"
                  "{\"dim\":[%td,%td,%td],\"thinned\":%s,\"sides\":%s,\"affine\":[",
                  v->dim[0], v->dim[1], v->dim[2], v->step > 1 ? "true" : "false",
                  v->o.known ? "true" : "false");
    for (int i = 0; i < 12; i++) {
        kn_number_text(v->affine[i / 4][i % 4], number);
        kn_html_print(out, "%s%s", i ? "," : "", number);
    }
    kn_html_raw(out, "],");
    write_colours(out);
    kn_html_raw(out, "}</script>\n");
}

void kn_viewer_space(const kn_report *r, kn_html *out)
{
    kn_arena arena = {0};
    view v = {0};
    if (out->status == KN_OK)
        out->status = view_make(out->ctx, r, &arena, &v);
    if (out->status == KN_OK)
        put_json(&v, out);
    if (out->status == KN_OK)
        out->status = put_mask(&v, out);
    if (out->status == KN_OK && r->space.background)
        out->status = put_ground(r, &v, out);
    kn_arena_clear(&arena);
}

/* Writes the z-map of a card, one byte for each voxel of the view that has a response, as
 * differences, packed, and the closing tag of its <script>. */
static kn_status put_z(const kn_report *r, const int8_t *z, kn_html *out)
{
    kn_arena arena = {0};
    view v = {0};
    void *memory;
    ptrdiff_t n = 0;
    kn_status status;
    KN_TRY(view_make(out->ctx, r, &arena, &v));
    KN_TRY(kn_arena_alloc(out->ctx, &arena, r->responses.T, 1, &memory));
    uint8_t *byte = memory;
    for (ptrdiff_t i = 0; i < voxels_of(&v); i++) {
        int32_t response = v.response[voxel_at(&v, i)];
        if (response >= 0)
            byte[n++] = (uint8_t)z[response];
    }
    take_differences(byte, n);
    write_packed(out, byte, n);
out:
    kn_arena_clear(&arena);
    return status;
}

void kn_viewer_card(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    if (!has_map(r, k))
        return;
    kn_html_print(out, "<script type=\"application/octet-stream\" id=\"z%td\">", k);
    kn_status status = out->status == KN_OK ? put_z(r, r->participants.card[k].z, out) : KN_OK;
    if (out->status == KN_OK)
        out->status = status;
}

/* ---- element in the card ---- */

void kn_viewer_element(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    static const char *const NAME[] = {"sagittal", "coronal",
                                       "axial"}; /* by the axis looked along */
    if (!has_map(r, k))
        return;
    kn_html_print(
        out, "<div class=\"viewer\" data-card=\"%td\" hidden>\n<div class=\"viewer-planes\">\n", k);
    for (int axis = 2; axis >= 0; axis--)
        kn_html_print(out,
                      "<canvas class=\"viewer-plane\" data-axis=\"%d\" width=\"10\" height=\"10\" "
                      "tabindex=\"0\" role=\"img\" aria-label=\"%s slice\"></canvas>\n",
                      axis, NAME[axis]);
    kn_html_print(
        out,
        "</div>\n<p class=\"viewer-controls\"><label>show |z| from <input type=\"range\" "
        "class=\"viewer-threshold\" min=\"0\" max=\"%.0f\" step=\"0.1\" value=\"%d\"></label> "
        "<output class=\"viewer-from\">%d</output>\n",
        KN_PICTURE_ZMAX, START, START);
    if (r->space.background)
        kn_html_raw(out, "<label><input type=\"checkbox\" class=\"viewer-background\" checked> "
                         "background</label>\n");
    kn_html_raw(out,
                "<button type=\"button\" class=\"viewer-peak\">largest |z|</button></p>\n"
                "<p class=\"viewer-where\" role=\"status\"></p>\n"
                "<p class=\"quiet\">Click or drag in a slice to move. Keyboard, after a click in a "
                "slice: arrow keys move within it, Page Up and Page Down move through it, and Home "
                "goes to the largest |z|.</p>\n</div>\n");
}
