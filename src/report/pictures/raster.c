/* Rasterises meshes. A triangle covers the pixels whose centre has three barycentric weights of
 * one sign; the depth buffer keeps the nearest, and of equals the first, so that the table is
 * deterministic. Two hemispheres give four views: lateral above, medial below; one gives two. */
#include "report/pictures/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VIEW = 360, THUMB = 72, MARGIN = 4, SMOOTH = 3, GREY = 202, FOLD = 39 };
static const double LIGHT[2] = {0.894, 0.447}; /* light from the eye and from above; unit length */
static const double AMBIENT = 0.35;

/* Sets x to the coordinates of vertex v in mm. */
static void copy_corner(const kn_surface *s, ptrdiff_t v, double x[3])
{
    memcpy(x, s->xyz + 3 * v, 3 * sizeof *x);
}

/* Sets out = a x b; out must not overlap a or b. */
static void cross_product(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot_product(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* ---- one view ---- */

typedef struct triangle { /* projected triangle */
    const ptrdiff_t *v;
    double x[3], y[3], depth[3], area; /* px, mm, twice the signed area */
} triangle;

/* Projects triangle k of the mesh to px, with depths in mm. Returns false if its area is 0 or not
 * finite. */
static bool project_triangle(const kn_surface *s, const kn_raster_frame *f, ptrdiff_t k,
                             triangle *t)
{
    const double direction = f->from_left ? -1 : 1;
    t->v = s->corner + 3 * k;
    for (int c = 0; c < 3; c++) {
        const double *p = s->xyz + 3 * t->v[c];
        t->x[c] = (double)f->width / 2 + direction * (p[1] - f->y) * f->scale;
        t->y[c] = (double)f->height / 2 - (p[2] - f->z) * f->scale;
        t->depth[c] = -direction * p[0];
    }
    t->area = (t->x[1] - t->x[0]) * (t->y[2] - t->y[0]) - (t->x[2] - t->x[0]) * (t->y[1] - t->y[0]);
    return t->area != 0 && isfinite(t->area);
}

/* Sets *from .. *to to the pixels whose centre may lie within the range of a, b and c (px), limited
 * to 0 .. n-1; *to < *from: none. */
static void find_pixel_range(double a, double b, double c, ptrdiff_t n, ptrdiff_t *from,
                             ptrdiff_t *to)
{
    const double low = ceil(fmin(a, fmin(b, c)) - 0.5), high = floor(fmax(a, fmax(b, c)) - 0.5);
    *from = low > 0 ? (low < (double)n ? (ptrdiff_t)low : n) : 0;
    *to = high < (double)(n - 1) ? (high >= 0 ? (ptrdiff_t)high : -1) : n - 1;
}

/* Replaces the pixel by triangle k if that is nearer to the eye at barycentric weights w. */
static void update_pixel(const triangle *t, ptrdiff_t k, const double w[3], kn_raster_pixel *pixel)
{
    const double depth = w[0] * t->depth[0] + w[1] * t->depth[1] + w[2] * t->depth[2];
    if (pixel->vertex >= 0 && depth >= pixel->depth)
        return;
    const int nearest = w[0] >= w[1] ? (w[0] >= w[2] ? 0 : 2) : (w[1] >= w[2] ? 1 : 2);
    *pixel = (kn_raster_pixel){.vertex = t->v[nearest],
                               .triangle = k,
                               .weight = {(float)w[0], (float)w[1], (float)w[2]},
                               .depth = depth};
}

void kn_raster_view(const kn_surface *s, const kn_raster_frame *f, kn_raster_pixel *out)
{
    for (ptrdiff_t i = 0; i < f->width * f->height; i++)
        out[i] = (kn_raster_pixel){.vertex = -1};
    for (ptrdiff_t k = 0; k < s->triangles; k++) {
        triangle t;
        ptrdiff_t left, right, top, bottom;
        if (!project_triangle(s, f, k, &t))
            continue;
        find_pixel_range(t.x[0], t.x[1], t.x[2], f->width, &left, &right);
        find_pixel_range(t.y[0], t.y[1], t.y[2], f->height, &top, &bottom);
        for (ptrdiff_t j = top; j <= bottom; j++)
            for (ptrdiff_t i = left; i <= right; i++) {
                const double x = (double)i + 0.5, y = (double)j + 0.5;
                double w[3];
                w[1] =
                    ((x - t.x[0]) * (t.y[2] - t.y[0]) - (t.x[2] - t.x[0]) * (y - t.y[0])) / t.area;
                w[2] =
                    ((t.x[1] - t.x[0]) * (y - t.y[0]) - (x - t.x[0]) * (t.y[1] - t.y[0])) / t.area;
                w[0] = 1 - w[1] - w[2];
                if (w[0] >= 0 && w[1] >= 0 && w[2] >= 0)
                    update_pixel(&t, k, w, &out[j * f->width + i]);
            }
    }
}

/* ---- shape of the surface ---- */

void kn_raster_normals(const kn_surface *s, double *normal)
{
    double middle[3] = {0}, volume = 0;
    memset(normal, 0, (size_t)s->vertices * 3 * sizeof *normal);
    for (ptrdiff_t v = 0; v < s->vertices; v++)
        for (int i = 0; i < 3; i++)
            middle[i] += s->xyz[3 * v + i] / (double)s->vertices;
    for (ptrdiff_t k = 0; k < s->triangles; k++) {
        const ptrdiff_t *v = s->corner + 3 * k;
        double a[3], b[3], c[3], n[3];
        copy_corner(s, v[0], a);
        copy_corner(s, v[1], b);
        copy_corner(s, v[2], c);
        for (int i = 0; i < 3; i++) {
            b[i] -= a[i];
            c[i] -= a[i];
            a[i] -= middle[i];
        }
        cross_product(b, c, n);
        volume += dot_product(a, n);
        for (int e = 0; e < 3; e++)
            for (int i = 0; i < 3; i++)
                normal[3 * v[e] + i] += n[i];
    }
    const double outward = volume < 0 ? -1 : 1; /* for either orientation of the triangles */
    for (ptrdiff_t v = 0; v < s->vertices; v++) {
        double *n = normal + 3 * v;
        const double length = sqrt(dot_product(n, n));
        for (int i = 0; i < 3; i++)
            n[i] = length > 0 ? outward * n[i] / length : 0;
    }
}

/* Sets to_v to the mean of `from` over the neighbours of vertex v (vertices x width values each);
 * inner edges count twice, boundary edges once. count: work space, one value per vertex. */
static void average_neighbours(const kn_surface *s, int width, const double *from, double *to,
                               double *count)
{
    memset(to, 0, (size_t)(s->vertices * width) * sizeof *to);
    memset(count, 0, (size_t)s->vertices * sizeof *count);
    for (ptrdiff_t k = 0; k < 3 * s->triangles; k++) {
        const ptrdiff_t v = s->corner[k];
        for (int e = 1; e < 3; e++) {
            const ptrdiff_t u = s->corner[k - k % 3 + (k + e) % 3];
            for (int i = 0; i < width; i++)
                to[width * v + i] += from[width * u + i];
        }
        count[v] += 2;
    }
    for (ptrdiff_t v = 0; v < s->vertices; v++)
        for (int i = 0; i < width; i++)
            to[width * v + i] = count[v] > 0 ? to[width * v + i] / count[v] : from[width * v + i];
}

/* Subtracts the mean of n values, divides by their standard deviation and limits the result to -1
 * .. 1; all 0 if they are equal. */
static void standardise_values(double *x, ptrdiff_t n)
{
    double mean = 0, square = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (ptrdiff_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / (double)n;
    const double sd = sqrt(square);
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = sd > 0 ? fmax(-1, fmin(1, (x[i] - mean) / sd)) : 0;
}

kn_status kn_raster_folds(kn_ctx *ctx, const kn_surface *s, const double *normal, const float *sulc,
                          double *fold)
{
    kn_status status;
    double *near = NULL, *count = NULL, agree = 0;
    KN_TRY(kn_alloc_d(ctx, 3 * s->vertices, &near));
    KN_TRY(kn_alloc_d(ctx, s->vertices, &count));
    average_neighbours(s, 3, s->xyz, near, count);
    for (ptrdiff_t v = 0; v < s->vertices; v++)
        fold[v] =
            dot_product(normal + 3 * v, near + 3 * v) - dot_product(normal + 3 * v, s->xyz + 3 * v);
    for (int k = 0; k < SMOOTH; k++) {
        average_neighbours(s, 1, fold, near, count);
        memcpy(fold, near, (size_t)s->vertices * sizeof *fold);
    }
    standardise_values(fold, s->vertices);
    if (sulc) {
        for (ptrdiff_t v = 0; v < s->vertices; v++)
            near[v] = isfinite(sulc[v]) ? sulc[v] : 0;
        standardise_values(near, s->vertices);
        for (ptrdiff_t v = 0; v < s->vertices; v++)
            agree += near[v] * fold[v];
        for (ptrdiff_t v = 0; v < s->vertices; v++)
            fold[v] = agree < 0 ? -near[v] : near[v];
    }
out:
    kn_free(near);
    kn_free(count);
    return status;
}

/* ---- picture ---- */

typedef struct sheet { /* one mesh, prepared for drawing */
    const kn_report_mesh *mesh;
    double *normal, *fold;
    double low[3], high[3];
} sheet;

/* Frees the normals and folding of both hemispheres. */
static void sheet_clear(sheet *sheets)
{
    for (int k = 0; k < 2; k++) {
        kn_free(sheets[k].normal);
        kn_free(sheets[k].fold);
    }
}

/* Computes normals, folding and bounding box (mm) of a mesh for drawing. out owns the arrays, also
 * after failure. */
static kn_status sheet_make(kn_ctx *ctx, const kn_report_mesh *mesh, sheet *out)
{
    const kn_surface *s = &mesh->surface;
    kn_status status;
    out->mesh = mesh;
    KN_TRY(kn_alloc_d(ctx, 3 * s->vertices, &out->normal));
    KN_TRY(kn_alloc_d(ctx, s->vertices, &out->fold));
    kn_raster_normals(s, out->normal);
    KN_TRY(kn_raster_folds(ctx, s, out->normal, mesh->sulc, out->fold));
    for (int i = 0; i < 3; i++) {
        out->low[i] = INFINITY;
        out->high[i] = -INFINITY;
    }
    for (ptrdiff_t v = 0; v < s->vertices; v++)
        for (int i = 0; i < 3; i++) {
            out->low[i] = fmin(out->low[i], s->xyz[3 * v + i]);
            out->high[i] = fmax(out->high[i], s->xyz[3 * v + i]);
        }
out:
    return status;
}

/* Returns the size and scale (px per mm) common to all views of n meshes: the widest mesh fills
 * `width` px, unless it would be too high. */
static kn_raster_frame frame_of(const sheet *sheets, int n, ptrdiff_t width)
{
    double wide = 0, high = 0;
    const double inner_width = (double)(width - 2 * MARGIN);
    for (int k = 0; k < n; k++) {
        wide = fmax(wide, sheets[k].high[1] - sheets[k].low[1]);
        high = fmax(high, sheets[k].high[2] - sheets[k].low[2]);
    }
    kn_raster_frame f = {.width = width, .scale = 1};
    if (wide > 0 || high > 0)
        f.scale = fmin(inner_width / wide, 1.5 * inner_width / high);
    f.height = (ptrdiff_t)ceil(fmax(high * f.scale, 1)) + 2 * MARGIN;
    return f;
}

/* Returns the grey of a pixel of the mesh, 1 to 255 (0 is transparent in a picture's table): lit
 * from the eye (x, either side) and from above (z), with the normal and the fold interpolated by
 * the pixel's barycentric weights; darker in sulci. */
static uint8_t shade_pixel(const sheet *s, const kn_raster_pixel *p)
{
    const ptrdiff_t *v = s->mesh->surface.corner + 3 * p->triangle;
    double n[3] = {0}, fold = 0;
    for (int c = 0; c < 3; c++) {
        fold += p->weight[c] * s->fold[v[c]];
        for (int i = 0; i < 3; i++)
            n[i] += p->weight[c] * s->normal[3 * v[c] + i];
    }
    const double length = sqrt(dot_product(n, n));
    const double shine = length > 0 ? (fabs(n[0]) * LIGHT[0] + n[2] * LIGHT[1]) / length : LIGHT[0];
    const double x = (GREY - FOLD * fold) * (AMBIENT + (1 - AMBIENT) * fmax(shine, 0));
    return (uint8_t)fmax(1, fmin(255, round(x)));
}

/* Copies a rendered view of a mesh to position at = {x, y} px of the table: the response and the
 * shaded grey of each pixel. */
static void copy_view(const sheet *s, const kn_raster_frame *f, const kn_raster_pixel *view,
                      ptrdiff_t T, kn_picture_table *table, const ptrdiff_t at[2])
{
    for (ptrdiff_t j = 0; j < f->height; j++)
        for (ptrdiff_t i = 0; i < f->width; i++) {
            const kn_raster_pixel *p = &view[j * f->width + i];
            const ptrdiff_t to = (at[1] + j) * table->width + at[0] + i;
            if (p->vertex < 0)
                continue;
            const ptrdiff_t response = s->mesh->response[p->vertex];
            table->background[to] = shade_pixel(s, p);
            table->response[to] = response < T ? response : -1;
        }
}

/* Draws the lateral and medial views of n meshes, each `width` px wide, into one table, in the
 * arena of out, and adds the labels L and R for the large size. Can be cancelled. */
static kn_status draw_views(kn_ctx *ctx, const sheet *sheets, int n, ptrdiff_t T, ptrdiff_t width,
                            kn_picture_tables *out, kn_picture_table *table)
{
    kn_status status;
    void *view = NULL, *background = NULL;
    kn_raster_frame f = frame_of(sheets, n, width);
    *table = (kn_picture_table){.width = 2 * width, .height = n * f.height};
    KN_TRY(kn_arena_i(ctx, &out->arena, table->width * table->height, &table->response));
    KN_TRY(kn_arena_alloc(ctx, &out->arena, table->width * table->height, 1, &background));
    KN_TRY(kn_alloc(ctx, f.width * f.height, sizeof(kn_raster_pixel), &view));
    table->background = background;
    for (ptrdiff_t i = 0; i < table->width * table->height; i++)
        table->response[i] = -1;
    for (int k = 0; k < n; k++)
        for (int inner = 0; inner < 2; inner++) {
            const sheet *s = &sheets[k];
            const ptrdiff_t at[2] = {(n == 2 ? k : inner) * width, (n == 2 ? inner : 0) * f.height};
            f.from_left = (s->mesh->side == 0) != (inner == 1);
            f.y = (s->low[1] + s->high[1]) / 2;
            f.z = (s->low[2] + s->high[2]) / 2;
            KN_TRY(kn_check_cancel(ctx));
            kn_raster_view(&s->mesh->surface, &f, view);
            copy_view(s, &f, view, T, table, at);
            if (inner == 0 && width == VIEW) /* in the outer corner */
                kn_picture_label_add(out,
                                     &(kn_picture_label){.x = k == 0 ? MARGIN
                                                                     : table->width - MARGIN,
                                                         .y = MARGIN + KN_PICTURE_LETTER,
                                                         .anchor = k == 0 ? "start" : "end",
                                                         .text = {s->mesh->side == 0 ? 'L' : 'R'}});
        }
out:
    kn_free(view);
    return status;
}

kn_status kn_raster_build(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                          kn_picture_tables *out)
{
    kn_status status = KN_OK;
    sheet sheets[2] = {{0}};
    if (space->meshes < 1)
        return KN_OK;
    for (int k = 0; k < space->meshes; k++)
        KN_TRY(sheet_make(ctx, &space->mesh[k], &sheets[k]));
    KN_TRY(draw_views(ctx, sheets, space->meshes, T, VIEW, out, &out->whole));
    KN_TRY(draw_views(ctx, sheets, space->meshes, T, THUMB, out, &out->thumb));
    if (space->meshes == 2)
        snprintf(out->words, sizeof out->words,
                 "The left hemisphere on the left, the right one on the right; above from outside, "
                 "below "
                 "from the middle.");
    else
        snprintf(out->words, sizeof out->words,
                 "The %s hemisphere, from outside on the left, from the middle on the right.",
                 space->mesh[0].side == 0 ? "left" : "right");
out:
    sheet_clear(sheets);
    return status;
}
