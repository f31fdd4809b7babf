/* Geometry of an image (io/formats/nifti_header.h): the affine from sform, qform or pixdim. Two
 * images have one geometry if their shapes agree and their affines nearly do. */
#include <math.h>
#include <string.h>

#include "io/file/byte_order.h"
#include "io/formats/nifti_header.h"

static const double AFFINE_TOLERANCE = 1e-3; /* mm, on each entry */

/* Sets R to the rotation matrix of the unit quaternion (a, b, c, d) with q = (b, c, d). The file
 * omits a = sqrt(1 - |q|^2) >= 0. */
static void rotation_matrix(const double q[3], double R[3][3])
{
    double b = q[0], c = q[1], d = q[2], a2 = 1 - (b * b + c * c + d * d), a = 0;
    const double tiny = 1e-14; /* relative to 1 */
    if (a2 > tiny) {
        a = sqrt(a2);
    } else { /* |q| >= 1 up to rounding: a rotation by 180 degrees, a = 0 */
        double norm = sqrt(b * b + c * c + d * d);
        b /= norm;
        c /= norm;
        d /= norm;
    }
    double M[3][3] = {{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
                      {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
                      {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}};
    memcpy(R, M, sizeof M);
}

/* Returns the voxel size along axis i in mm: the absolute value of the stored size; 1 if that is 0.
 */
static double voxel_size(const kn_nifti_header *h, int i)
{
    double size = fabs(h->pixdim[i + 1]);
    return size == 0 ? 1 : size;
}

/* Sets the affine A (voxel to mm) from qform: rotation times voxel sizes; pixdim[0] = -1 flips the
 * third axis. */
static void from_qform(const kn_nifti_header *h, double A[4][4])
{
    double R[3][3], qfac = h->pixdim[0] == -1 ? -1 : 1;
    rotation_matrix(h->quatern, R);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            A[i][j] = R[i][j] * voxel_size(h, j) * (j == 2 ? qfac : 1);
        A[i][3] = h->qoffset[i];
    }
}

/* Sets the affine A (voxel to mm) of a header without orientation: x runs from right to left; the
 * origin is SPM's (ANALYZE), else the centre of the image. */
static void from_pixdim(const kn_nifti_header *h, double A[4][4])
{
    for (int i = 0; i < 3; i++) {
        double origin = h->version == 0 ? h->origin[i] - 1 : ((double)h->dim[i] - 1) / 2;
        A[i][i] = i == 0 ? -voxel_size(h, i) : voxel_size(h, i);
        A[i][3] = -A[i][i] * origin;
    }
}

kn_status kn_geometry_of(kn_ctx *ctx, const char *name, const kn_nifti_header *header,
                         kn_geometry *out)
{
    unsigned char bytes[KN_NIFTI2_SIZE + 4];
    kn_nifti_header h = *header;
    *out = (kn_geometry){.dim = {h.dim[0], h.dim[1], h.dim[2]}};
    out->affine[3][3] = 1;
    if (h.sform_code > 0)
        memcpy(out->affine, h.srow, sizeof h.srow);
    else if (h.qform_code > 0)
        from_qform(&h, out->affine);
    else
        from_pixdim(&h, out->affine);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            if (!isfinite(out->affine[i][j]))
                return kn_fail(ctx, KN_ERR_FORMAT,
                               "%s: row %d column %d of the affine is not "
                               "finite",
                               name, i + 1, j + 1);
    if (h.version == 0) { /* ANALYZE: out->header is NIfTI, which stores the affine as sform */
        h.sform_code = 2;
        memcpy(h.srow, out->affine, sizeof h.srow);
    }
    ptrdiff_t n = kn_nifti_header_encode(&h, 0, "", bytes);
    out->header_size = n > KN_NIFTI2_SIZE ? KN_NIFTI2_SIZE : KN_NIFTI1_SIZE;
    memcpy(out->header, bytes, (size_t)out->header_size);
    return KN_OK;
}

kn_status kn_geometry_from_header(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                                  ptrdiff_t n, kn_geometry *out)
{
    kn_nifti_header h;
    *out = (kn_geometry){0};
    kn_status status = kn_nifti_header_parse(ctx, name, bytes, n, &h);
    return status == KN_OK ? kn_geometry_of(ctx, name, &h, out) : status;
}

bool kn_geometry_is_placed(const kn_geometry *g)
{
    return !(g->dim[0] > 1 && g->dim[1] == 1 && g->dim[2] == 1);
}

kn_status kn_geometry_compare(kn_ctx *ctx, const char *name, const kn_geometry *g,
                              const char *expected_name, const kn_geometry *e)
{
    if (memcmp(g->dim, e->dim, sizeof g->dim) != 0)
        return kn_fail(ctx, KN_ERR_SHAPE,
                       "%s: the image has %td x %td x %td voxels instead of the %td x %td x %td of "
                       "%s; resample the images to one space",
                       name, g->dim[0], g->dim[1], g->dim[2], e->dim[0], e->dim[1], e->dim[2],
                       expected_name);
    if (!kn_geometry_is_placed(g))
        return KN_OK;
    int row = 0, col = 0;
    double worst = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            double d = fabs(g->affine[i][j] - e->affine[i][j]);
            if (d > worst) {
                worst = d;
                row = i;
                col = j;
            }
        }
    if (worst > AFFINE_TOLERANCE)
        return kn_fail(ctx, KN_ERR_SHAPE,
                       "%s: row %d, column %d of the affine is %.6g, but %.6g in %s; resample the "
                       "images to one space",
                       name, row + 1, col + 1, g->affine[row][col], e->affine[row][col],
                       expected_name);
    return KN_OK;
}
