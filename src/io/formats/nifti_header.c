/* Parses and encodes NIfTI headers (nifti_header.h); image/geometry.c has the geometry. Headers of
 * either byte order are accepted and checked before any size is used. */
#include "io/formats/nifti_header.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/file/byte_order.h"

/* Byte offsets of the fields that are used. Floats are 4 and 8 bytes, in versions 1 and 2. */
enum {
    V1_DIM = 40,
    V1_INTENT = 68,
    V1_DATATYPE = 70,
    V1_BITPIX = 72,
    V1_PIXDIM = 76,
    V1_OFFSET = 108,
    V1_SLOPE = 112,
    V1_INTER = 116,
    V1_UNITS = 123,
    V1_GLMIN = 144,
    V1_DESCRIP = 148,
    V1_QFORM = 252,
    V1_SFORM = 254,
    V1_QUATERN = 256,
    V1_QOFFSET = 268,
    V1_SROW = 280,
    V1_MAGIC = 344,
    ANALYZE_ORIGIN = 253,

    V2_MAGIC = 4,
    V2_DATATYPE = 12,
    V2_BITPIX = 14,
    V2_DIM = 16,
    V2_PIXDIM = 104,
    V2_OFFSET = 168,
    V2_SLOPE = 176,
    V2_INTER = 184,
    V2_DESCRIP = 240,
    V2_QFORM = 344,
    V2_SFORM = 348,
    V2_QUATERN = 352,
    V2_QOFFSET = 376,
    V2_SROW = 400,
    V2_UNITS = 500,
    V2_INTENT = 504,
    V2_INTENT_NAME = 508,

    DESCRIP_SIZE = 80,
    EXTENDER = 4, /* bytes after the header: flag for extensions, 0 */
    CIFTI_FIRST_INTENT = 3000,
    CIFTI_LAST_INTENT = 3099,
    CIFTI_SCALARS = 3006,
    INTENT_NAME_SIZE = 16,
    ALIGNED = 2 /* NIFTI_XFORM_ALIGNED_ANAT */
};

static const unsigned char V2_TAIL[4] = {'\r', '\n', 0x1a, '\n'};

/* Fields whose width differs between the versions, not yet checked. */
typedef struct raw_fields {
    int64_t dim[8];
    int datatype;
    double offset, slope, inter;
} raw_fields;

/* Loads n floats of NIfTI-1, 4 bytes each, as doubles. */
static void load_floats1(const unsigned char *p, bool swap, int n, double *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (double)kn_load_f32(p + 4 * i, swap);
}

/* Loads n floats of NIfTI-2, 8 bytes each. */
static void load_floats2(const unsigned char *p, bool swap, int n, double *out)
{
    for (int i = 0; i < n; i++)
        out[i] = kn_load_f64(p + 8 * i, swap);
}

/* Loads the fields of a NIfTI-1 or ANALYZE header p into *h, and those that still need checks into
 * *raw. */
static void load_fields1(const unsigned char *p, kn_nifti_header *h, raw_fields *raw)
{
    bool s = h->swapped;
    for (int i = 0; i < 8; i++)
        raw->dim[i] = (int16_t)kn_load16(p + V1_DIM + 2 * i, s);
    raw->datatype = (int16_t)kn_load16(p + V1_DATATYPE, s);
    load_floats1(p + V1_OFFSET, s, 1, &raw->offset);
    load_floats1(p + V1_SLOPE, s, 1, &raw->slope);
    load_floats1(p + V1_INTER, s, 1, &raw->inter);
    load_floats1(p + V1_PIXDIM, s, 8, h->pixdim);
    if (h->version == 0) {
        for (int i = 0; i < 3; i++)
            h->origin[i] = (int16_t)kn_load16(p + ANALYZE_ORIGIN + 2 * i, s);
        return; /* ANALYZE has other fields in the bytes below */
    }
    /* FreeSurfer stores a surface of more than 32767 vertices with dim -1 1 1 and their number in
     * glmin. */
    if (raw->dim[1] == -1 && raw->dim[2] == 1 && raw->dim[3] == 1)
        raw->dim[1] = (int32_t)kn_load32(p + V1_GLMIN, s);
    h->intent_code = (int16_t)kn_load16(p + V1_INTENT, s);
    h->xyzt_units = p[V1_UNITS];
    h->qform_code = (int16_t)kn_load16(p + V1_QFORM, s);
    h->sform_code = (int16_t)kn_load16(p + V1_SFORM, s);
    load_floats1(p + V1_QUATERN, s, 3, h->quatern);
    load_floats1(p + V1_QOFFSET, s, 3, h->qoffset);
    load_floats1(p + V1_SROW, s, 12, &h->srow[0][0]);
}

/* Loads the fields of a NIfTI-2 header p into *h, and those that still need checks into *raw. */
static void load_fields2(const unsigned char *p, kn_nifti_header *h, raw_fields *raw)
{
    bool s = h->swapped;
    for (int i = 0; i < 8; i++)
        raw->dim[i] = (int64_t)kn_load64(p + V2_DIM + 8 * i, s);
    raw->datatype = (int16_t)kn_load16(p + V2_DATATYPE, s);
    raw->offset = (double)(int64_t)kn_load64(p + V2_OFFSET, s);
    load_floats2(p + V2_SLOPE, s, 1, &raw->slope);
    load_floats2(p + V2_INTER, s, 1, &raw->inter);
    load_floats2(p + V2_PIXDIM, s, 8, h->pixdim);
    h->intent_code = (int32_t)kn_load32(p + V2_INTENT, s);
    h->xyzt_units = (int32_t)kn_load32(p + V2_UNITS, s);
    h->qform_code = (int32_t)kn_load32(p + V2_QFORM, s);
    h->sform_code = (int32_t)kn_load32(p + V2_SFORM, s);
    load_floats2(p + V2_QUATERN, s, 3, h->quatern);
    load_floats2(p + V2_QOFFSET, s, 3, h->qoffset);
    load_floats2(p + V2_SROW, s, 12, &h->srow[0][0]);
}

/* Sets version, byte order and pair of *h from sizeof_hdr and the magic bytes among the n bytes of
 * a header. KN_ERR_FORMAT if it is no NIfTI or too short. */
static kn_status identify_header(kn_ctx *ctx, const char *name, const unsigned char *p, ptrdiff_t n,
                                 kn_nifti_header *h)
{
    if (n < KN_NIFTI1_SIZE)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: %td bytes are too few for a NIfTI header", name, n);
    uint32_t native = kn_load32(p, false), swapped = kn_load32(p, true);
    h->swapped = native != KN_NIFTI1_SIZE && native != KN_NIFTI2_SIZE;
    uint32_t size = h->swapped ? swapped : native;
    if (size == KN_NIFTI2_SIZE) {
        if (n < KN_NIFTI2_SIZE)
            return kn_fail(ctx, KN_ERR_FORMAT, "%s: %td bytes are too few for a NIfTI-2 header",
                           name, n);
        h->version = 2;
        h->pair = memcmp(p + V2_MAGIC, "ni2", 4) == 0;
        if ((h->pair || memcmp(p + V2_MAGIC, "n+2", 4) == 0) &&
            memcmp(p + V2_MAGIC + 4, V2_TAIL, 4) == 0)
            return KN_OK;
    } else if (size == KN_NIFTI1_SIZE) {
        h->version = 1;
        h->pair = memcmp(p + V1_MAGIC, "ni1", 4) == 0;
        if (h->pair || memcmp(p + V1_MAGIC, "n+1", 4) == 0)
            return KN_OK;
        h->version = 0;
        h->pair = true;
        return KN_OK;
    }
    return kn_fail(ctx, KN_ERR_FORMAT, "%s is not a NIfTI file", name);
}

/* Returns whether a header is that of CIFTI-2, which has its matrix in axes 5 and 6 (maps x places)
 * and length 1 in axes 1 to 4. */
static bool is_cifti(const kn_nifti_header *h, const raw_fields *raw)
{
    return h->version == 2 && h->intent_code >= CIFTI_FIRST_INTENT &&
           h->intent_code <= CIFTI_LAST_INTENT && raw->dim[0] >= 6 && raw->dim[1] == 1 &&
           raw->dim[2] == 1 && raw->dim[3] == 1 && raw->dim[4] == 1;
}

/* Sets dimensions and number of volumes of *h from the raw fields. KN_ERR_FORMAT unless there are 3
 * or 4, all positive, and sizes in bytes stay below PTRDIFF_MAX. */
static kn_status take_dims(kn_ctx *ctx, const char *name, const raw_fields *raw, kn_nifti_header *h)
{
    int64_t dims = raw->dim[0], d[8];
    if (dims < 1 || dims > 7)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s: the image has %lld dimensions, but must have 1 to 7", name,
                       (long long)dims);
    for (int i = 1; i < 8; i++) {
        d[i] = i <= dims ? raw->dim[i] : 1;
        if (d[i] < 1)
            return kn_fail(ctx, KN_ERR_FORMAT, "%s: dimension %d has length %lld", name, i,
                           (long long)d[i]);
    }
    h->cifti = is_cifti(h, raw);
    if (h->cifti) {
        d[1] = d[6];
        d[4] = d[5];
        d[5] = d[6] = 1;
        dims = 4;
    }
    for (int i = 5; i < 8; i++)
        if (d[i] > 1)
            return kn_fail(
                ctx, KN_ERR_FORMAT,
                "%s: dimension %d has length %lld, but images must have 3 or 4 dimensions", name, i,
                (long long)d[i]);
    ptrdiff_t total = 1;
    for (int i = 1; i <= 4; i++) {
        if (d[i] > PTRDIFF_MAX / 64 / total)
            return kn_fail(ctx, KN_ERR_FORMAT, "%s: %lld x %lld x %lld x %lld voxels cannot exist",
                           name, (long long)d[1], (long long)d[2], (long long)d[3],
                           (long long)d[4]);
        total *= d[i];
    }
    for (int i = 0; i < 3; i++)
        h->dim[i] = d[i + 1];
    h->volumes = d[4];
    h->dims = dims >= 4 ? 4 : 3;
    return KN_OK;
}

/* Sets slope and intercept of stored values in *h from the fields of the file's header. An
 * intercept of 0 becomes -0.0, which keeps the sign of zero. KN_ERR_FORMAT if they are not finite.
 */
static kn_status take_scaling(kn_ctx *ctx, const char *name, const raw_fields *raw,
                              kn_nifti_header *h)
{
    h->slope = 1;
    h->inter = -0.0;
    if (raw->slope == 0 || isnan(raw->slope)) /* NIfTI: not scaled */
        return KN_OK;
    if (isinf(raw->slope))
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s: the intensity scaling in the header (scl_slope) is %g, but must be a "
                       "finite number; write the image again",
                       name, raw->slope);
    if (!isfinite(raw->inter))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: scl_slope is %g but scl_inter is not finite", name,
                       raw->slope);
    h->slope = raw->slope;
    h->inter = raw->inter == 0 ? -0.0 : raw->inter;
    return KN_OK;
}

/* Sets the offset of the data. KN_ERR_FORMAT unless it is a whole number behind the header. */
static kn_status take_offset(kn_ctx *ctx, const char *name, const raw_fields *raw,
                             kn_nifti_header *h)
{
    const double largest = 0x1p53; /* doubles hold all integers up to here */
    double lowest = h->pair ? 0 : (h->version == 2 ? KN_NIFTI2_SIZE : KN_NIFTI1_SIZE) + EXTENDER;
    double offset = raw->offset;
    if (!(offset >= lowest && offset <= largest) || offset != floor(offset))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: the data cannot start at byte %g", name, offset);
    h->data_offset = (ptrdiff_t)offset;
    return KN_OK;
}

/* Fails with KN_ERR_FORMAT for an ANALYZE 7.5 header without a plausible SPM origin: the plain
 * format has no orientation. */
static kn_status check_analyze(kn_ctx *ctx, const char *name, const kn_nifti_header *h)
{
    bool plausible = h->origin[0] != 0 || h->origin[1] != 0 || h->origin[2] != 0;
    for (int i = 0; i < 3; i++)
        plausible =
            plausible && h->origin[i] > -(double)h->dim[i] && h->origin[i] < 2 * (double)h->dim[i];
    if (!plausible)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s is an ANALYZE 7.5 header, which does not define the position of the "
                       "image; convert it to NIfTI",
                       name);
    return KN_OK;
}

kn_status kn_nifti_header_parse(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                                ptrdiff_t n, kn_nifti_header *h)
{
    raw_fields raw = {0};
    kn_status status;

    *h = (kn_nifti_header){0};
    KN_TRY(identify_header(ctx, name, bytes, n, h));
    if (h->version == 2)
        load_fields2(bytes, h, &raw);
    else
        load_fields1(bytes, h, &raw);
    KN_TRY(take_dims(ctx, name, &raw, h));
    if (h->version == 0)
        KN_TRY(check_analyze(ctx, name, h));
    h->type = kn_voxel_type_find(raw.datatype);
    if (!h->type)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s: the voxels have type %s (code %d), but must be integers or floats of "
                       "up to 64 bits",
                       name, kn_voxel_type_name(raw.datatype), raw.datatype);
    KN_TRY(take_scaling(ctx, name, &raw, h));
    KN_TRY(take_offset(ctx, name, &raw, h));
out:
    return status;
}

ptrdiff_t kn_nifti_voxels(const kn_nifti_header *h)
{
    return h->dim[0] * h->dim[1] * h->dim[2];
}

ptrdiff_t kn_nifti_data_size(const kn_nifti_header *h)
{
    return kn_nifti_voxels(h) * h->volumes * h->type->bytes;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Stores n numbers as big-endian float32 at p, as NIfTI-1 has them. */
static void store_floats1(unsigned char *p, int n, const double *x)
{
    for (int i = 0; i < n; i++)
        kn_store_f32(p + 4 * i, (float)x[i], KN_BIG_ENDIAN);
}

/* Stores n numbers as big-endian float64 at p, as NIfTI-2 has them. */
static void store_floats2(unsigned char *p, int n, const double *x)
{
    for (int i = 0; i < n; i++)
        kn_store_f64(p + 8 * i, x[i], KN_BIG_ENDIAN);
}

/* Encodes a NIfTI-1 header of float32 data with the lengths dim into p, 348 zeroed bytes,
 * little-endian. */
static void encode_nifti1(const kn_nifti_header *h, const ptrdiff_t dim[8], unsigned char *p)
{
    static const double one = 1, offset = KN_NIFTI1_SIZE + EXTENDER;
    kn_store32(p, KN_NIFTI1_SIZE, KN_BIG_ENDIAN);
    for (int i = 0; i < 8; i++)
        kn_store16(p + V1_DIM + 2 * i, (uint16_t)dim[i], KN_BIG_ENDIAN);
    kn_store16(p + V1_DATATYPE, KN_VOXEL_FLOAT32, KN_BIG_ENDIAN);
    kn_store16(p + V1_BITPIX, 32, KN_BIG_ENDIAN);
    store_floats1(p + V1_PIXDIM, 8, h->pixdim);
    store_floats1(p + V1_OFFSET, 1, &offset);
    store_floats1(p + V1_SLOPE, 1, &one);
    p[V1_UNITS] = (unsigned char)h->xyzt_units;
    kn_store16(p + V1_QFORM, (uint16_t)h->qform_code, KN_BIG_ENDIAN);
    kn_store16(p + V1_SFORM, (uint16_t)h->sform_code, KN_BIG_ENDIAN);
    store_floats1(p + V1_QUATERN, 3, h->quatern);
    store_floats1(p + V1_QOFFSET, 3, h->qoffset);
    store_floats1(p + V1_SROW, 12, &h->srow[0][0]);
    memcpy(p + V1_MAGIC, "n+1", 4);
}

/* Encodes a NIfTI-2 header of float32 data with the lengths dim into p, 540 zeroed bytes,
 * little-endian. */
static void encode_nifti2(const kn_nifti_header *h, const ptrdiff_t dim[8], unsigned char *p)
{
    static const double one = 1;
    kn_store32(p, KN_NIFTI2_SIZE, KN_BIG_ENDIAN);
    memcpy(p + V2_MAGIC, "n+2", 4);
    memcpy(p + V2_MAGIC + 4, V2_TAIL, 4);
    for (int i = 0; i < 8; i++)
        kn_store64(p + V2_DIM + 8 * i, (uint64_t)dim[i], KN_BIG_ENDIAN);
    kn_store16(p + V2_DATATYPE, KN_VOXEL_FLOAT32, KN_BIG_ENDIAN);
    kn_store16(p + V2_BITPIX, 32, KN_BIG_ENDIAN);
    store_floats2(p + V2_PIXDIM, 8, h->pixdim);
    kn_store64(p + V2_OFFSET, KN_NIFTI2_SIZE + EXTENDER, KN_BIG_ENDIAN);
    store_floats2(p + V2_SLOPE, 1, &one);
    kn_store32(p + V2_QFORM, (uint32_t)h->qform_code, KN_BIG_ENDIAN);
    kn_store32(p + V2_SFORM, (uint32_t)h->sform_code, KN_BIG_ENDIAN);
    store_floats2(p + V2_QUATERN, 3, h->quatern);
    store_floats2(p + V2_QOFFSET, 3, h->qoffset);
    store_floats2(p + V2_SROW, 12, &h->srow[0][0]);
    kn_store32(p + V2_UNITS, (uint32_t)h->xyzt_units, KN_BIG_ENDIAN);
}

ptrdiff_t kn_nifti_header_encode(const kn_nifti_header *h, ptrdiff_t volumes,
                                 const char *description, unsigned char *out)
{
    ptrdiff_t dim[8] = {volumes > 0 ? 4 : 3,       h->dim[0], h->dim[1], h->dim[2],
                        volumes > 0 ? volumes : 1, 1,         1,         1};
    bool large = h->version == 2;
    for (int i = 1; i < 5; i++)
        large = large || dim[i] > KN_NIFTI_MAX_DIM1;
    memset(out, 0, KN_NIFTI2_SIZE + EXTENDER);
    if (large)
        encode_nifti2(h, dim, out);
    else
        encode_nifti1(h, dim, out);
    snprintf((char *)out + (large ? V2_DESCRIP : V1_DESCRIP), DESCRIP_SIZE, "%s", description);
    return (large ? KN_NIFTI2_SIZE : KN_NIFTI1_SIZE) + EXTENDER;
}

void kn_nifti_header_cifti(ptrdiff_t places, ptrdiff_t maps, ptrdiff_t offset,
                           const char *description, unsigned char *out)
{
    const kn_nifti_header h = {.pixdim = {1, 1, 1, 1, 1, 1, 1, 1}};
    const ptrdiff_t dim[8] = {6, 1, 1, 1, 1, maps, places, 1};
    memset(out, 0, KN_NIFTI2_SIZE + EXTENDER);
    encode_nifti2(&h, dim, out);
    kn_store64(out + V2_OFFSET, (uint64_t)offset, KN_BIG_ENDIAN);
    kn_store32(out + V2_INTENT, CIFTI_SCALARS, KN_BIG_ENDIAN);
    snprintf((char *)out + V2_INTENT_NAME, INTENT_NAME_SIZE, "ConnDenseScalar");
    snprintf((char *)out + V2_DESCRIP, DESCRIP_SIZE, "%s", description);
    out[KN_NIFTI2_SIZE] = 1; /* an extension follows */
}

void kn_nifti_header_set_type(unsigned char *encoded, int code)
{
    bool large = kn_load32(encoded, KN_BIG_ENDIAN) == KN_NIFTI2_SIZE;
    int bits = 8 * kn_voxel_type_find(code)->bytes;
    kn_store16(encoded + (large ? V2_DATATYPE : V1_DATATYPE), (uint16_t)code, KN_BIG_ENDIAN);
    kn_store16(encoded + (large ? V2_BITPIX : V1_BITPIX), (uint16_t)bits, KN_BIG_ENDIAN);
}
