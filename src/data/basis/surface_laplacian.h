/* Laplace-Beltrami operator of a triangulated surface by linear finite elements     [METHOD 1e]
 *
 *     L_ij = -1/2 (cot a_ij + cot b_ij), a, b the angles opposite edge ij     L_ii = -sum_j L_ij
 *     A_ii = 1/3 of the areas of the triangles at i
 *
 * Vertices that are not used are removed with their triangles. Triangles without area are skipped,
 * and vertices without any triangle are not among the n. The n vertices are renumbered so that L
 * has a narrow band: reverse Cuthill-McKee from a vertex at the edge of each connected component.
 * surface_harmonics.h is the user. */
#ifndef KN_DATA_BASIS_SURFACE_LAPLACIAN_H
#define KN_DATA_BASIS_SURFACE_LAPLACIAN_H

#include "io/formats/surface_mesh.h"

typedef struct kn_laplacian {
    ptrdiff_t n;
    ptrdiff_t *vertex; /* n, index of each in the surface */
    ptrdiff_t *start,
        *col; /* compressed rows of L with the diagonal: n + 1 entries, start[n] entries */
    double *value;
    double *mass;    /* n, A_ii > 0 */
    ptrdiff_t width; /* bandwidth: largest |i - j| with L_ij != 0 */
    ptrdiff_t *part; /* n, connected component of each vertex, in the order of the numbering */
    ptrdiff_t parts;
    ptrdiff_t flat; /* number of triangles without area */
} kn_laplacian;

/* Assembles L and A of a surface; *out is owned (kn_laplacian_clear). use: flag per vertex of the
 * surface; NULL: all are used. Fails only without memory. */
kn_status kn_laplacian_new(kn_ctx *ctx, const kn_surface *surface, const bool *use,
                           kn_laplacian *out);
/* Frees the entries of the matrix; {0} is allowed. */
void kn_laplacian_clear(kn_laplacian *l);

/* Computes y = L x (n values each). */
void kn_laplacian_times(const kn_laplacian *l, const double *x, double *y);

#endif
