/* Surfaces: reads the meshes and finds the response of each vertex. Vertices of a model are two
 * parts, one per hemisphere; one part, left before right; one hemisphere; or the brain models of
 * a CIFTI file. Responses of a table are regions, placed by vertex labels. */
#include <math.h>
#include <string.h>

#include "io/formats/cifti.h"
#include "io/formats/vertex_labels.h"
#include "report/atlas/regions.h"
#include "report/compute/internal.h"

typedef struct pair { /* LEFT,RIGHT of an option, or one of them */
    int n;
    const char *path[2];
} pair;

/* Splits LEFT,RIGHT of an option into two paths, or takes one file; texts are in the arena. key:
 * option, for the message. KN_ERR_ARGUMENT if one is empty or there are three. */
static kn_status split_pair(kn_ctx *ctx, kn_arena *arena, const char *key, const char *text,
                            pair *out)
{
    kn_status status;
    const char *comma = strchr(text, ',');
    *out = (pair){.n = 1};
    KN_TRY(kn_arena_print(ctx, arena, &out->path[0], "%.*s",
                          (int)(comma ? comma - text : (ptrdiff_t)strlen(text)), text));
    if (comma) {
        out->n = 2;
        KN_TRY(kn_arena_text(ctx, arena, comma + 1, &out->path[1]));
    }
    if (!*out->path[0] || (comma && (!*out->path[1] || strchr(out->path[1], ','))))
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} is '%s', but must be LEFT,RIGHT or one file",
                         key, text);
out:
    return status;
}

/* ---- meshes and their sides ---- */

/* Returns the mean x coordinate of a surface in mm. */
static double mean_x(const kn_surface *s)
{
    double x = 0;
    for (ptrdiff_t v = 0; v < s->vertices; v++)
        x += s->xyz[3 * v] / (double)s->vertices;
    return x;
}

static const double MIN_OFFSET = 5; /* mm: a mean |x| above it determines the side */

/* Returns the hemisphere of a surface, 0 left, 1 right: by the file name, lh.pial.surf.gii or
 * pial_left.gii, else by position; -1 if it is not determined. */
static int side_of(const char *path, const kn_surface *s)
{
    const char *named = kn_image_side(path), *slash = strrchr(path, '/');
    const double x = mean_x(s);
    kn_region_name words;
    if (*named)
        return strcmp(named, "rh") == 0;
    if (kn_region_parse(slash ? slash + 1 : path, &words) && words.side >= 0)
        return words.side;
    return x < -MIN_OFFSET ? 0 : x > MIN_OFFSET ? 1 : -1;
}

/* Reads one or two surfaces into space->mesh and determines their sides. KN_ERR_DATA if two are not
 * left, then right, or the side of one is not known. */
static kn_status read_meshes(kn_ctx *ctx, const pair *files, kn_report_space *space)
{
    kn_status status;
    int side[2] = {-1, -1};
    for (int k = 0; k < files->n; k++) {
        kn_report_mesh *mesh = &space->mesh[k];
        KN_TRY(kn_surface_read(ctx, files->path[k], &mesh->surface));
        space->meshes = k + 1; /* kn_report_free clears these */
        side[k] = side_of(files->path[k], &mesh->surface);
        mesh->side = files->n == 2 ? k : side[k];
        if (files->n == 2 && side[k] == 1 - k) {
            status = kn_fail(ctx, KN_ERR_DATA,
                             "%s is the %s hemisphere, but {surface} needs the left one first, "
                             "then the right one",
                             files->path[k], side[k] == 0 ? "left" : "right");
            goto out;
        }
    }
    if (files->n == 1 && side[0] < 0)
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s does not show the hemisphere in its name; use a name such as lh.%s",
                         files->path[0], "pial.surf.gii");
out:
    return status;
}

/* Reads the sulcal depth of each vertex of a mesh from an image. KN_ERR_SHAPE if its number of
 * values differs. */
static kn_status read_sulc(kn_ctx *ctx, kn_arena *arena, const char *path, kn_report_mesh *mesh)
{
    kn_status status;
    kn_image image = {0};
    kn_image_reader *reader = NULL;
    KN_TRY(kn_image_open(ctx, path, &image));
    const ptrdiff_t n = kn_nifti_voxels(&image.header);
    if (n != mesh->surface.vertices) {
        status = kn_fail(ctx, KN_ERR_SHAPE, "%s has %td values, but its surface has %td vertices",
                         path, n, mesh->surface.vertices);
        goto out;
    }
    KN_TRY(kn_arena_f(ctx, arena, n, &mesh->sulc));
    KN_TRY(kn_image_reader_new(ctx, KN_IMAGE_MEMORY, &reader));
    KN_TRY(kn_image_read(ctx, reader, &image, 0, NULL, n, mesh->sulc));
out:
    kn_image_reader_free(reader);
    kn_image_clear(&image);
    return status;
}

/* ---- vertices of a model ---- */

/* Sets mesh->response for vertices stored as voxels first, first + 1, ... of the space; of_voxel:
 * response of each voxel, -1 none. */
static void assign_run(const ptrdiff_t *of_voxel, ptrdiff_t first, kn_report_mesh *mesh)
{
    for (ptrdiff_t v = 0; v < mesh->surface.vertices; v++)
        mesh->response[v] = of_voxel[first + v];
}

/* Sets mesh->response from the CIFTI brain model of the mesh's hemisphere. KN_ERR_SHAPE if there is
 * none. */
static kn_status assign_cifti(kn_ctx *ctx, const kn_space *s, const ptrdiff_t *of_voxel,
                              kn_report_mesh *mesh)
{
    kn_status status;
    bool found = false;
    ptrdiff_t first = 0, *location = NULL;
    KN_TRY(kn_alloc_i(ctx, mesh->surface.vertices, &location));
    for (int k = 0; k < s->parts && !found;
         first += kn_geometry_voxels(&s->part[k].geometry), k++) {
        const kn_cifti_cortex cortex = {.side = mesh->side,
                                        .places = kn_geometry_voxels(&s->part[k].geometry),
                                        .vertices = mesh->surface.vertices};
        if (s->part[k].brain.xml)
            KN_TRY(
                kn_cifti_vertices(ctx, "the model", &s->part[k].brain, &cortex, location, &found));
        for (ptrdiff_t v = 0; found && v < mesh->surface.vertices; v++)
            mesh->response[v] = location[v] >= 0 ? of_voxel[first + location[v]] : -1;
    }
    if (!found)
        status = kn_fail(ctx, KN_ERR_SHAPE,
                         "{surface}: the responses do not include the %s cortex; give only the "
                         "surface that they are on",
                         mesh->side == 0 ? "left" : "right");
out:
    kn_free(location);
    return status;
}

/* Sets mesh->response for images of two hemispheres: by the sides in their names, else left before
 * right. KN_ERR_SHAPE if the numbers of vertices differ. */
static kn_status assign_hemispheres(kn_ctx *ctx, const kn_space *s, const pair *files,
                                    const ptrdiff_t *of_voxel, kn_report_space *space)
{
    const bool swapped = strcmp(s->part[0].side, "rh") == 0;
    ptrdiff_t first = 0;
    if (space->meshes != 2)
        return kn_fail(ctx, KN_ERR_SHAPE,
                       "{surface} needs two surfaces, because each participant has two images, one "
                       "per hemisphere");
    for (int k = 0; k < 2; k++) {
        kn_report_mesh *mesh = &space->mesh[swapped ? 1 - k : k];
        const ptrdiff_t n = kn_geometry_voxels(&s->part[k].geometry);
        if (n != mesh->surface.vertices)
            return kn_fail(ctx, KN_ERR_SHAPE,
                           "%s has %td vertices, but the %s hemisphere of the responses has %td",
                           files->path[swapped ? 1 - k : k], mesh->surface.vertices,
                           mesh->side == 0 ? "left" : "right", n);
        assign_run(of_voxel, first, mesh);
        first += n;
    }
    return KN_OK;
}

/* Sets the response of each vertex of all meshes for responses that are vertices. KN_ERR_SHAPE if
 * the numbers do not match. */
static kn_status assign_vertices(kn_ctx *ctx, const kn_report_job *job, const pair *files)
{
    kn_status status = KN_OK;
    const kn_space *s = &job->m->space;
    kn_report_space *space = &job->r->space;
    const bool image = s->kind == KN_SPACE_IMAGE;
    const ptrdiff_t n = image ? kn_geometry_voxels(&s->geometry) : job->m->T;
    ptrdiff_t *of_voxel = NULL, vertices = 0;
    KN_TRY(kn_alloc_i(ctx, n, &of_voxel));
    for (ptrdiff_t v = 0; v < n; v++)
        of_voxel[v] = image ? -1 : v;
    for (ptrdiff_t t = 0; image && t < job->m->T; t++)
        of_voxel[s->voxel[t]] = t;
    for (int k = 0; k < space->meshes; k++)
        vertices += space->mesh[k].surface.vertices;
    if (image && (s->part[0].brain.xml || (s->parts == 2 && s->part[1].brain.xml))) {
        for (int k = 0; k < space->meshes; k++)
            KN_TRY(assign_cifti(ctx, s, of_voxel, &space->mesh[k]));
    } else if (image && s->parts == 2) {
        KN_TRY(assign_hemispheres(ctx, s, files, of_voxel, space));
    } else if (vertices != n) {
        status = kn_fail(ctx, KN_ERR_SHAPE, "%s has %td vertices%s, but the responses have %td%s",
                         job->s->surface, vertices, space->meshes == 2 ? " in all" : "", n,
                         image ? "" : " (a table of regions needs {labels})");
    } else {
        for (ptrdiff_t k = 0, first = 0; k < space->meshes;
             first += space->mesh[k].surface.vertices, k++)
            assign_run(of_voxel, first, &space->mesh[k]);
    }
out:
    kn_free(of_voxel);
    return status;
}

/* ---- regions of a table ---- */

enum { NAMED = 5 };

/* Sets the note on responses that have no region on the surface and are not drawn, with the first
 * of their names. */
static kn_status name_unmatched(kn_ctx *ctx, const kn_report_job *job, const kn_region_table *table)
{
    kn_status status;
    kn_arena *arena = &job->r->arena;
    const ptrdiff_t n = job->r->space.unmatched;
    const char *list = "";
    ptrdiff_t named = 0;
    for (ptrdiff_t t = 0; t < table->T && named < NAMED; t++)
        if (!table->matched[t]) {
            KN_TRY(kn_arena_print(ctx, arena, &list, "%s%s%s", list, named ? ", " : "",
                                  table->name[t]));
            named++;
        }
    KN_TRY(kn_arena_print(ctx, arena, &job->r->space.surface_note,
                          "%td of %td responses %s no region on the surface and %s not drawn "
                          "there: %s%s.",
                          n, table->T, n == 1 ? "has" : "have", n == 1 ? "is" : "are", list,
                          n > named ? " and others" : ""));
out:
    return status;
}

/* Counts the responses without a region on the surface, and notes them; KN_ERR_DATA if no response
 * has one. */
static kn_status count_matched(kn_ctx *ctx, const kn_report_job *job, const kn_region_table *table,
                               const kn_vertex_labels *labels)
{
    ptrdiff_t found = 0;
    for (ptrdiff_t t = 0; t < table->T; t++)
        found += table->matched[t];
    job->r->space.unmatched = table->T - found;
    if (found == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: no region is a response; regions have names such as '%.40s', but "
                       "responses such as '%.40s'; use labels of the same atlas",
                       job->s->labels, labels->count > 0 ? labels->name[labels->count - 1] : "",
                       table->name[0]);
    if (found == table->T)
        return KN_OK;
    return name_unmatched(ctx, job, table);
}

/* Reads {labels}, one file per mesh, and names the region of each vertex. Fails if numbers of files
 * or vertices differ. */
static kn_status read_labels(kn_ctx *ctx, const kn_report_job *job, const pair *files,
                             kn_vertex_labels *labels)
{
    kn_report_space *space = &job->r->space;
    if (files->n != space->meshes)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{labels} names %d file%s, but {surface} %d", files->n,
                       files->n == 1 ? "" : "s", space->meshes);
    for (int k = 0; k < files->n; k++) {
        kn_report_mesh *mesh = &space->mesh[k];
        kn_status status = kn_vertex_labels_read(ctx, files->path[k], &labels[k]);
        if (status != KN_OK)
            return status;
        if (labels[k].vertices != mesh->surface.vertices)
            return kn_fail(ctx, KN_ERR_SHAPE,
                           "%s has labels of %td vertices, but its surface has %td", files->path[k],
                           labels[k].vertices, mesh->surface.vertices);
        status = kn_regions_label(ctx, &job->r->arena, &labels[k], mesh);
        if (status != KN_OK)
            return status;
    }
    return KN_OK;
}

/* Sets mesh->response for a table of regions by the vertex labels. KN_ERR_DATA if no label is a
 * response. */
static kn_status assign_regions(kn_ctx *ctx, const kn_report_job *job,
                                const kn_vertex_labels *labels)
{
    kn_status status;
    const kn_report_input *m = job->m;
    kn_report_space *space = &job->r->space;
    void *matched = NULL;
    KN_TRY(kn_alloc(ctx, m->T, sizeof(bool), &matched));
    const kn_region_table table = {.name = m->name,
                                   .T = m->T,
                                   .measure = kn_regions_measure(m->name, m->T),
                                   .matched = matched};
    for (int k = 0; k < space->meshes; k++)
        KN_TRY(kn_regions_match(ctx, &table, &labels[k], &space->mesh[k]));
    KN_TRY(count_matched(ctx, job, &table, &labels[0]));
    space->measure = table.measure;
out:
    kn_free(matched);
    return status;
}

kn_status kn_space_surface(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report_space *space = &job->r->space;
    kn_arena *arena = &job->r->arena;
    const kn_settings *s = job->s;
    kn_vertex_labels labels[2] = {{0}};
    pair surface, other;
    KN_TRY(split_pair(ctx, arena, "surface", s->surface, &surface));
    KN_TRY(read_meshes(ctx, &surface, space));
    for (int k = 0; k < space->meshes; k++)
        KN_TRY(kn_arena_i(ctx, arena, space->mesh[k].surface.vertices, &space->mesh[k].response));
    if (s->sulc) {
        KN_TRY(split_pair(ctx, arena, "sulc", s->sulc, &other));
        if (other.n != space->meshes) {
            status = kn_fail(ctx, KN_ERR_ARGUMENT, "{sulc} names %d file%s, but {surface} %d",
                             other.n, other.n == 1 ? "" : "s", space->meshes);
            goto out;
        }
        for (int k = 0; k < other.n; k++)
            KN_TRY(read_sulc(ctx, arena, other.path[k], &space->mesh[k]));
    }
    if (s->labels) {
        KN_TRY(split_pair(ctx, arena, "labels", s->labels, &other));
        KN_TRY(read_labels(ctx, job, &other, labels));
    }
    if (job->m->space.kind == KN_SPACE_TABLE && s->labels)
        KN_TRY(assign_regions(ctx, job, labels));
    else
        KN_TRY(assign_vertices(ctx, job, &surface));
    space->kind = KN_REPORT_SURFACE;
out:
    kn_vertex_labels_clear(&labels[0]);
    kn_vertex_labels_clear(&labels[1]);
    return status;
}
