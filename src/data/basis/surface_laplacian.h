/* The Laplace-Beltrami operator of a triangulated surface, by linear finite elements [METHOD 1e]
 *
 *     L_ij = -1/2 (cot a_ij + cot b_ij), a, b the angles opposite edge ij     L_ii = -sum_j L_ij
 *     A_ii = 1/3 of the areas of the triangles at i
 *
 * Vertices out of use go with their triangles; triangles without area are passed over, and vertices
 * that are left without any triangle are not among the n. These are numbered so that L is a narrow
 * band: reverse Cuthill-McKee from a vertex at the edge of each connected part. */
#ifndef KN_DATA_BASIS_SURFACE_LAPLACIAN_H
#define KN_DATA_BASIS_SURFACE_LAPLACIAN_H

#include "io/formats/surface_mesh.h"

typedef struct kn_laplacian {
    ptrdiff_t n;
    ptrdiff_t *vertex;      /* n  of the surface */
    ptrdiff_t *start, *col; /* rows of L, the diagonal among them: n + 1, start[n] */
    double *value;
    double *mass;    /* n  A_ii > 0 */
    ptrdiff_t width; /* largest |i - j| with L_ij */
    ptrdiff_t *part; /* n  connected parts, in the order of the numbering */
    ptrdiff_t parts;
    ptrdiff_t flat; /* triangles without area */
} kn_laplacian;

/* use: vertices of the surface; NULL: all. */
kn_status kn_laplacian_new(kn_ctx *ctx, const kn_surface *surface, const bool *use,
                           kn_laplacian *out);
void kn_laplacian_clear(kn_laplacian *l); /* {0} is fine */

/* y = L x */
void kn_laplacian_times(const kn_laplacian *l, const double *x, double *y);

#endif
