/* Implements surface_laplacian.h: L is assembled twice, in the order of the surface to find the
 * numbering, and in that numbering. Vertices are numbered so that the matrix has a narrow band
 * (Cuthill-McKee). */
#include "data/basis/surface_laplacian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void kn_laplacian_clear(kn_laplacian *l)
{
    kn_free(l->vertex);
    kn_free(l->start);
    kn_free(l->col);
    kn_free(l->value);
    kn_free(l->mass);
    kn_free(l->part);
    *l = (kn_laplacian){0};
}

void kn_laplacian_times(const kn_laplacian *l, const double *x, double *y)
{
    for (ptrdiff_t i = 0; i < l->n; i++) {
        double sum = 0;
        for (ptrdiff_t k = l->start[i]; k < l->start[i + 1]; k++)
            sum += l->value[k] * x[l->col[k]];
        y[i] = sum;
    }
}

/* ---- triangles ------------------------------------------------------------------------------ */

typedef struct triangle {
    double cot[3]; /* half the cotangent of the angle at each corner */
    double area;
} triangle;

/* Sets half the cotangent of the angle at each of the three corners, and the area of the triangle.
 * corner: 3 vertices of s. Returns false if the area is negligible or not finite. */
static bool measure_triangle(const kn_surface *s, const ptrdiff_t *corner, triangle *t)
{
    static const double FLAT = 1e-10; /* twice the area over the squared longest edge */
    double e[3][3], dot[3], longest = 0;
    for (int k = 0; k < 3; k++) { /* edge k is opposite corner k */
        const double *a = s->xyz + 3 * corner[(k + 1) % 3], *b = s->xyz + 3 * corner[(k + 2) % 3];
        double length = 0;
        for (int d = 0; d < 3; d++) {
            e[k][d] = b[d] - a[d];
            length += e[k][d] * e[k][d];
        }
        longest = fmax(longest, length);
    }
    double x = e[0][1] * e[1][2] - e[0][2] * e[1][1], y = e[0][2] * e[1][0] - e[0][0] * e[1][2],
           z = e[0][0] * e[1][1] - e[0][1] * e[1][0], twice = sqrt(x * x + y * y + z * z);
    if (!(twice > FLAT * longest) || !isfinite(twice))
        return false;
    for (int k = 0; k < 3; k++) {
        const double *p = e[(k + 1) % 3], *q = e[(k + 2) % 3];
        dot[k] = -(p[0] * q[0] + p[1] * q[1] + p[2] * q[2]);
        t->cot[k] = 0.5 * dot[k] / twice;
    }
    t->area = 0.5 * twice;
    return true;
}

/* ---- L and A in a numbering of the vertices ----------------------------------------------------
 */

typedef struct assembly {
    const kn_surface *s;
    ptrdiff_t *place; /* number of each vertex of the surface; -1: not used */
    char *counts;     /* per triangle: it is used and has an area */
} assembly;

typedef struct entry {
    ptrdiff_t col;
    double value;
} entry;

/* Comparison for qsort of the entries of a row: by column. */
static int by_column(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->col > y->col) - (x->col < y->col);
}

/* Sorts the n entries of a sparse row by column and adds up those of the same column, in place.
 * Returns how many are left. */
static ptrdiff_t merge_row(entry *row, ptrdiff_t n)
{
    ptrdiff_t out = 0;
    qsort(row, (size_t)n, sizeof *row, by_column);
    for (ptrdiff_t k = 0; k < n; k++)
        if (out > 0 && row[out - 1].col == row[k].col)
            row[out - 1].value += row[k].value;
        else
            row[out++] = row[k];
    return out;
}

/* Adds the contributions of each triangle in use to L and A: 4 entries of weight +-cot/2 to the row
 * of each corner, a third of the area to l->mass. Row i of e starts at first[i] and has used[i]
 * entries, which may repeat columns. */
static void deal_entries(const assembly *a, const ptrdiff_t *first, ptrdiff_t *used, entry *e,
                         kn_laplacian *l)
{
    for (ptrdiff_t m = 0; m < a->s->triangles; m++) {
        const ptrdiff_t *corner = a->s->corner + 3 * m;
        triangle t;
        if (!a->counts[m] || !measure_triangle(a->s, corner, &t))
            continue;
        for (int k = 0; k < 3; k++) {
            ptrdiff_t i = a->place[corner[(k + 1) % 3]], j = a->place[corner[(k + 2) % 3]];
            e[first[i] + used[i]++] = (entry){j, -t.cot[k]};
            e[first[j] + used[j]++] = (entry){i, -t.cot[k]};
            e[first[i] + used[i]++] = (entry){i, t.cot[k]};
            e[first[j] + used[j]++] = (entry){j, t.cot[k]};
            l->mass[a->place[corner[k]]] += t.area / 3;
        }
    }
}

/* Assembles L as compressed rows, the diagonal A as l->mass, and the bandwidth l->width, for the
 * triangles in use and the vertex numbers a->place. l->n is set; l owns the arrays, also on
 * failure. */
static kn_status assemble_matrix(kn_ctx *ctx, const assembly *a, kn_laplacian *l)
{
    enum { OF_TRIANGLE = 4 }; /* entries per triangle in the row of each corner */
    kn_status status;
    void *memory = NULL;
    ptrdiff_t *first = NULL, *used = NULL, total = 0;
    KN_TRY(kn_alloc_d(ctx, l->n, &l->mass));
    KN_TRY(kn_alloc_i(ctx, l->n + 1, &l->start));
    KN_TRY(kn_alloc_i(ctx, l->n + 1, &first));
    KN_TRY(kn_alloc_i(ctx, l->n, &used));
    for (ptrdiff_t m = 0; m < a->s->triangles; m++)
        for (int k = 0; k < 3 && a->counts[m]; k++)
            first[a->place[a->s->corner[3 * m + k]] + 1] += OF_TRIANGLE;
    for (ptrdiff_t i = 0; i < l->n; i++)
        first[i + 1] += first[i];
    KN_TRY(kn_alloc(ctx, first[l->n], sizeof(entry), &memory));
    entry *e = memory;
    deal_entries(a, first, used, e, l);
    for (ptrdiff_t i = 0; i < l->n; i++) {
        used[i] = merge_row(e + first[i], used[i]);
        l->start[i + 1] = total += used[i];
    }
    KN_TRY(kn_alloc_i(ctx, total, &l->col));
    KN_TRY(kn_alloc_d(ctx, total, &l->value));
    for (ptrdiff_t i = 0; i < l->n; i++)
        for (ptrdiff_t k = 0; k < used[i]; k++) {
            const entry *from = &e[first[i] + k];
            l->col[l->start[i] + k] = from->col;
            l->value[l->start[i] + k] = from->value;
            ptrdiff_t distance = from->col > i ? from->col - i : i - from->col;
            l->width = distance > l->width ? distance : l->width;
        }
out:
    kn_free(memory);
    kn_free(first);
    kn_free(used);
    return status;
}

/* ---- reverse Cuthill-McKee ------------------------------------------------------------------ */

typedef struct ordering {
    const kn_laplacian *l; /* in the order of the surface */
    ptrdiff_t *queue;      /* n, vertices in the order of discovery */
    ptrdiff_t *level;      /* n, distance from the root; -1: not reached */
} ordering;

/* Returns the number of stored entries in row i of the Laplacian. */
static ptrdiff_t vertex_degree(const kn_laplacian *l, ptrdiff_t i)
{
    return l->start[i + 1] - l->start[i];
}

/* Breadth-first search from vertex `root`, neighbours in the order of degree and then of number.
 * Writes the vertices to o->queue[from ..] and their distances to o->level. Returns how many it
 * reaches. */
static ptrdiff_t search_breadth_first(ordering *o, ptrdiff_t root, ptrdiff_t from)
{
    ptrdiff_t end = from + 1;
    o->queue[from] = root;
    o->level[root] = 0;
    for (ptrdiff_t at = from; at < end; at++) {
        ptrdiff_t i = o->queue[at], begin = end;
        for (ptrdiff_t k = o->l->start[i]; k < o->l->start[i + 1]; k++) {
            ptrdiff_t j = o->l->col[k], to = end;
            if (o->level[j] >= 0)
                continue;
            o->level[j] = o->level[i] + 1;
            for (; to > begin && vertex_degree(o->l, o->queue[to - 1]) > vertex_degree(o->l, j);
                 to--)
                o->queue[to] = o->queue[to - 1];
            o->queue[to] = j;
            end++;
        }
    }
    return end - from;
}

/* Returns a vertex at the end of a longest known shortest path in the connected component of
 * `root`, where a narrow numbering should start (George & Liu 1979). Uses o->queue[from ..] as work
 * space. */
static ptrdiff_t find_peripheral_vertex(ordering *o, ptrdiff_t root, ptrdiff_t from)
{
    for (ptrdiff_t deepest = -1;;) {
        ptrdiff_t n = search_breadth_first(o, root, from), last = o->queue[from + n - 1];
        ptrdiff_t depth = o->level[last];
        for (ptrdiff_t k = n; k-- > 0 && o->level[o->queue[from + k]] == depth;)
            if (vertex_degree(o->l, o->queue[from + k]) < vertex_degree(o->l, last))
                last = o->queue[from + k];
        for (ptrdiff_t k = 0; k < n; k++)
            o->level[o->queue[from + k]] = -1;
        if (depth <= deepest)
            return root;
        deepest = depth;
        root = last;
    }
}

/* Sets place[i] to the new number of vertex i of l, component after component in reverse
 * Cuthill-McKee order, so that the matrix is a narrow band. Sets out->part and out->parts, the
 * components in the new numbering. */
static kn_status number_vertices(kn_ctx *ctx, const kn_laplacian *l, ptrdiff_t *place,
                                 kn_laplacian *out)
{
    kn_status status;
    ordering o = {.l = l};
    KN_TRY(kn_alloc_i(ctx, l->n, &o.queue));
    KN_TRY(kn_alloc_i(ctx, l->n, &o.level));
    KN_TRY(kn_alloc_i(ctx, l->n, &out->part));
    for (ptrdiff_t i = 0; i < l->n; i++)
        o.level[i] = -1;
    for (ptrdiff_t i = 0, from = 0; i < l->n; i++) {
        if (o.level[i] >= 0)
            continue;
        ptrdiff_t n = search_breadth_first(&o, find_peripheral_vertex(&o, i, from), from);
        for (ptrdiff_t k = 0; k < n; k++) {
            place[o.queue[from + k]] = from + n - 1 - k;
            out->part[from + k] = out->parts;
        }
        out->parts++;
        from += n;
    }
out:
    kn_free(o.queue);
    kn_free(o.level);
    return status;
}

/* ---- assembly ---------------------------------------------------------------------------------
 */

/* Sets a->counts for the triangles whose corners are all in use (use NULL: all) and that have an
 * area, and a->place, l->n: the vertices of such triangles, numbered in the order of the surface.
 * Allocates l->vertex. l->flat counts triangles without area. */
static kn_status choose_vertices(kn_ctx *ctx, const bool *use, assembly *a, kn_laplacian *l)
{
    kn_status status;
    const kn_surface *s = a->s;
    void *memory = NULL;
    KN_TRY(kn_alloc_i(ctx, s->vertices, &a->place));
    KN_TRY(kn_alloc(ctx, s->triangles, 1, &memory));
    a->counts = memory;
    for (ptrdiff_t v = 0; v < s->vertices; v++)
        a->place[v] = -1;
    for (ptrdiff_t m = 0; m < s->triangles; m++) {
        const ptrdiff_t *corner = s->corner + 3 * m;
        triangle t;
        if (use && !(use[corner[0]] && use[corner[1]] && use[corner[2]]))
            continue;
        a->counts[m] = measure_triangle(s, corner, &t);
        l->flat += !a->counts[m];
        for (int k = 0; k < 3 && a->counts[m]; k++)
            a->place[corner[k]] = 0;
    }
    for (ptrdiff_t v = 0; v < s->vertices; v++)
        if (a->place[v] == 0)
            a->place[v] = l->n++;
    KN_TRY(kn_alloc_i(ctx, l->n, &l->vertex));
out:
    return status;
}

kn_status kn_laplacian_new(kn_ctx *ctx, const kn_surface *surface, const bool *use,
                           kn_laplacian *out)
{
    kn_status status;
    assembly a = {.s = surface};
    kn_laplacian first = {0};
    ptrdiff_t *order = NULL;
    *out = (kn_laplacian){0};
    KN_TRY(choose_vertices(ctx, use, &a, out));
    first.n = out->n;
    KN_TRY(assemble_matrix(ctx, &a, &first));
    KN_TRY(kn_alloc_i(ctx, out->n, &order));
    KN_TRY(number_vertices(ctx, &first, order, out));
    for (ptrdiff_t v = 0; v < surface->vertices; v++)
        if (a.place[v] >= 0) {
            a.place[v] = order[a.place[v]];
            out->vertex[a.place[v]] = v;
        }
    KN_TRY(assemble_matrix(ctx, &a, out));
out:
    kn_laplacian_clear(&first);
    kn_free(order);
    kn_free(a.place);
    kn_free(a.counts);
    if (status != KN_OK)
        kn_laplacian_clear(out);
    return status;
}
