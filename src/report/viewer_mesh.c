#include "report/viewer_mesh.h"

#include <math.h>
#include <string.h>

#include "io/number.h"
#include "report/picture.h"
#include "report/raster.h"
#include "report/viewer.h"
#include "report/viewer_pack.h"

/* mm: a hundredth does for a head. What is much smaller or larger has its largest number at
 * LARGEST. */
static const double STEP = .01;
enum { LARGEST = 32767, LEAST = 2000 };

static double scale_of(const kn_surface *s)
{
    double most = 0;
    for (ptrdiff_t i = 0; i < 3 * s->vertices; i++)
        most = fmax(most, fabs(s->xyz[i]));
    return most > 0 && (most < STEP * LEAST || most > STEP * LARGEST) ? most / LARGEST : STEP;
}

static void begin(kn_html *out, int mesh, const char *what)
{
    kn_html_print(out, "<script type=\"application/octet-stream\" id=\"mesh%d-%s\">", mesh, what);
}

static void put_xyz(const kn_surface *s, int m, int32_t *number, kn_html *out)
{
    const double scale = scale_of(s);
    for (ptrdiff_t i = 0; i < 3 * s->vertices; i++)
        number[i % 3 * s->vertices + i / 3] = (int32_t)lround(s->xyz[i] / scale);
    begin(out, m, "xyz");
    kn_pack_numbers(out, number, 3 * s->vertices);
}

static kn_status put_mesh(const kn_report *r, int m, kn_html *out)
{
    const kn_report_mesh *mesh = &r->space.mesh[m];
    const kn_surface *s = &mesh->surface;
    const ptrdiff_t most = s->vertices > s->triangles ? s->vertices : s->triangles;
    void *numbers = NULL, *grey = NULL;
    kn_status status;
    KN_TRY(kn_alloc(out->ctx, 3 * most, sizeof(int32_t), &numbers));
    KN_TRY(kn_alloc(out->ctx, s->vertices, 1, &grey));
    int32_t *number = numbers;
    put_xyz(s, m, number, out);
    for (ptrdiff_t i = 0; i < 3 * s->triangles; i++)
        number[i] = (int32_t)s->corner[i];
    begin(out, m, "corner");
    kn_pack_numbers(out, number, 3 * s->triangles);
    for (ptrdiff_t v = 0; v < s->vertices; v++)
        number[v] = mesh->response[v] < r->responses.T ? (int32_t)mesh->response[v] : -1;
    begin(out, m, "response");
    kn_pack_numbers(out, number, s->vertices);
    KN_TRY(kn_raster_greys(out->ctx, mesh, grey));
    kn_pack_differences(grey, s->vertices);
    begin(out, m, "grey");
    kn_pack_bytes(out, grey, s->vertices);
    status = out->status;
out:
    kn_free(numbers);
    kn_free(grey);
    return status;
}

void kn_viewer_meshes(const kn_report *r, kn_html *out)
{
    char scale[KN_NUMBER_SIZE];
    kn_html_raw(out, "<script type=\"application/json\" id=\"viewer-space\">{\"meshes\":[");
    for (int m = 0; m < r->space.meshes; m++) {
        const kn_report_mesh *mesh = &r->space.mesh[m];
        kn_number_text(scale_of(&mesh->surface), scale);
        kn_html_print(out, "%s{\"side\":\"%s\",\"vertices\":%td,\"triangles\":%td,\"scale\":%s}",
                      m ? "," : "", mesh->side == 0 ? "left" : "right", mesh->surface.vertices,
                      mesh->surface.triangles, scale);
    }
    kn_html_raw(out, "],");
    kn_pack_colours(out);
    kn_html_raw(out, "}</script>\n");
    for (int m = 0; m < r->space.meshes && out->status == KN_OK; m++)
        out->status = put_mesh(r, m, out);
}

void kn_viewer_mesh_z(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    void *byte = NULL;
    if (out->status == KN_OK)
        out->status = kn_alloc(out->ctx, r->responses.T, 1, &byte);
    if (out->status == KN_OK) {
        memcpy(byte, r->people.card[k].z, (size_t)r->responses.T);
        kn_pack_differences(byte, r->responses.T);
    }
    kn_pack_bytes(out, byte, r->responses.T);
    kn_free(byte);
}

void kn_viewer_mesh_place(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    kn_html_print(
        out,
        "<div class=\"viewer meshes\" data-card=\"%td\" hidden>\n<p class=\"viewer-controls\">"
        "<label>show |z| from <input type=\"range\" class=\"viewer-threshold\" min=\"0\" "
        "max=\"%.0f\" step=\"0.1\" value=\"%d\"></label> <output "
        "class=\"viewer-from\">%d</output>\n",
        k, KN_PICTURE_ZMAX, KN_VIEWER_START, KN_VIEWER_START);
    for (int m = 0; m < r->space.meshes && r->space.meshes > 1; m++)
        kn_html_print(out,
                      "<label><input type=\"checkbox\" class=\"viewer-mesh\" data-mesh=\"%d\" "
                      "checked> %s hemisphere</label>\n",
                      m, r->space.mesh[m].side == 0 ? "left" : "right");
    kn_html_raw(out, "</p>\n</div>\n");
}
