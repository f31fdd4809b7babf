/* Locations of the responses as JSON: voxels, meshes, regions. The numbers of voxels and vertices
 * let a program draw the maps itself. */
#include "report/json/internal.h"

/* Adds the dimensions, affine (3 x 4, voxel to mm), voxel of each response and background of a
 * volume to the object j. */
static void put_volume(kn_page_json *w, json_t *j)
{
    const kn_report_space *s = &w->r->space;
    json_t *affine = json_array();
    for (int d = 0; d < 3; d++)
        kn_page_json_append(w, affine, kn_page_json_numbers(s->affine[d], 4));
    kn_page_json_set(w, j, "dims", kn_page_json_counts(s->dim, 3));
    kn_page_json_set(w, j, "affine", affine);
    kn_page_json_set(w, j, "voxel", kn_page_json_counts(s->voxel, w->r->responses.T));
    kn_page_json_set(w, j, "background",
                     kn_page_json_bytes(w, s->background, s->dim[0] * s->dim[1] * s->dim[2]));
}

/* Returns a JSON array of the meshes: side, sizes, and the response of each vertex. */
static json_t *make_meshes(kn_page_json *w)
{
    json_t *a = json_array();
    for (int k = 0; k < w->r->space.meshes; k++) {
        const kn_report_mesh *m = &w->r->space.mesh[k];
        json_t *mesh = json_object();
        kn_page_json_set(w, mesh, "side", json_string(m->side == 0 ? "left" : "right"));
        kn_page_json_set(w, mesh, "vertices", kn_page_json_count(m->surface.vertices));
        kn_page_json_set(w, mesh, "triangles", kn_page_json_count(m->surface.triangles));
        kn_page_json_set(w, mesh, "response",
                         kn_page_json_counts(m->response, m->surface.vertices));
        kn_page_json_append(w, a, mesh);
    }
    return a;
}

/* Returns a JSON array of the region of each response: side, name, lobe; null if responses are no
 * regions. */
static json_t *make_regions(kn_page_json *w)
{
    const kn_report_space *s = &w->r->space;
    if (!s->region)
        return json_null();
    json_t *a = json_array();
    for (ptrdiff_t j = 0; j < w->r->responses.T; j++) {
        json_t *region = json_object();
        kn_page_json_set(w, region, "side", json_integer(s->region[j].side));
        kn_page_json_set(w, region, "name", kn_page_json_text(s->region[j].name));
        kn_page_json_set(w, region, "full", kn_page_json_text(s->region[j].full));
        kn_page_json_set(w, region, "lobe", kn_page_json_text(s->region[j].lobe));
        kn_page_json_append(w, a, region);
    }
    return a;
}

json_t *kn_page_json_space(kn_page_json *w)
{
    static const char *const KINDS[] = {"table", "volume", "surface"};
    const kn_report_space *s = &w->r->space;
    json_t *j = json_object();
    kn_page_json_set(w, j, "kind", json_string(KINDS[s->kind]));
    if (s->kind == KN_REPORT_VOLUME)
        put_volume(w, j);
    kn_page_json_set(w, j, "meshes", make_meshes(w));
    kn_page_json_set(w, j, "atlas", kn_page_json_text(s->atlas));
    kn_page_json_set(w, j, "regions", make_regions(w));
    kn_page_json_set(w, j, "unmatched", kn_page_json_count(s->unmatched));
    kn_page_json_set(w, j, "surface_note", kn_page_json_text(s->surface_note));
    return j;
}
