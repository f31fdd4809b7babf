/* The image format MGH (io/image/image_format.h), and its headers (internal.h). This is the format
 * of FreeSurfer's maps, big-endian and with a footer that is ignored. */
#include "io/formats/internal.h"

#include <math.h>
#include <string.h>

#include "io/file/byte_order.h"
#include "io/image/image_format.h"

/* ---- header and reader ----------------------------------------------------------------------- */

/* Byte offsets of the fields. */
enum {
    DIMS = 4, /* width, height, depth, frames */
    TYPE = 20,
    GOOD_RAS = 28,
    SPACING = 30,
    COSINES = 42, /* direction cosines of axes x, y, z */
    CENTRE = 78,
    INTENT = 0xff00, /* bits of the version field that newer FreeSurfer uses for an intent */
    SCANNER = 1,     /* NIFTI_XFORM_SCANNER_ANAT */
    MM = 2           /* NIFTI_UNITS_MM */
};

static const bool SWAP = !KN_BIG_ENDIAN;

/* Returns the voxel type of an MGH type code; NULL if it is not supported. */
static const kn_voxel_type *find_type(int32_t code)
{
    switch (code) {
    case 0: return kn_voxel_type_find(KN_VOXEL_UINT8);
    case 1: return kn_voxel_type_find(KN_VOXEL_INT32);
    case 3: return kn_voxel_type_find(KN_VOXEL_FLOAT32);
    case 4: return kn_voxel_type_find(KN_VOXEL_INT16);
    case 10: return kn_voxel_type_find(KN_VOXEL_UINT16);
    default: return NULL;
    }
}

/* Sets dimensions and number of volumes from the header p. KN_ERR_FORMAT unless they are positive
 * and the size in bytes stays below PTRDIFF_MAX. */
static kn_status take_dims(kn_ctx *ctx, const char *name, const unsigned char *p,
                           kn_nifti_header *h)
{
    ptrdiff_t d[4], total = 1;
    for (int i = 0; i < 4; i++) {
        d[i] = (int32_t)kn_load32(p + DIMS + 4 * i, SWAP);
        if (d[i] < 1)
            return kn_fail(ctx, KN_ERR_FORMAT, "%s: dimension %d has length %td", name, i + 1,
                           d[i]);
    }
    for (int i = 0; i < 4; i++) {
        if (d[i] > PTRDIFF_MAX / 64 / total)
            return kn_fail(ctx, KN_ERR_FORMAT, "%s: %td x %td x %td x %td voxels cannot exist",
                           name, d[0], d[1], d[2], d[3]);
        total *= d[i];
    }
    for (int i = 0; i < 3; i++)
        h->dim[i] = d[i];
    h->volumes = d[3];
    h->dims = d[3] > 1 ? 4 : 3;
    return KN_OK;
}

/* Sets h->srow, the affine from voxels to mm, from spacing, direction cosines and centre in the
 * header p, rounded to float as NIfTI stores it. Without them (goodRASFlag 0): coronal, 1 mm,
 * centred at the origin. */
static void take_affine(const unsigned char *p, kn_nifti_header *h)
{
    float spacing[3] = {1, 1, 1}, cosine[3][3] = {{-1, 0, 0}, {0, 0, -1}, {0, 1, 0}};
    float centre[3] = {0, 0, 0};
    if (kn_load16(p + GOOD_RAS, SWAP) != 0)
        for (int i = 0; i < 3; i++) {
            spacing[i] = kn_load_f32(p + SPACING + 4 * i, SWAP);
            centre[i] = kn_load_f32(p + CENTRE + 4 * i, SWAP);
            for (int j = 0; j < 3; j++)
                cosine[i][j] = kn_load_f32(p + COSINES + 4 * (3 * i + j), SWAP);
        }
    for (int i = 0; i < 3; i++) {
        double middle = 0;
        for (int j = 0; j < 3; j++) {
            h->srow[i][j] = (double)(cosine[j][i] * spacing[j]);
            middle += h->srow[i][j] * (double)h->dim[j];
        }
        h->srow[i][3] = (double)(float)((double)centre[i] - middle / 2);
        h->pixdim[i + 1] = (double)spacing[i];
    }
    h->pixdim[0] = 1;
    h->sform_code = SCANNER;
    h->xyzt_units = MM;
}

/* Parses the first n bytes of a file; `name` is for messages. KN_ERR_FORMAT if it is no valid
 * header. The caller checks that the file holds the data (kn_image_check_size). */
static kn_status parse_header(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                              ptrdiff_t n, kn_nifti_header *h)
{
    *h = (kn_nifti_header){
        .version = 1, .swapped = SWAP, .data_offset = KN_MGH_OFFSET, .slope = 1, .inter = -0.0};
    if (n < KN_MGH_OFFSET)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: %td bytes are too few for an MGH header", name, n);
    if ((kn_load32(bytes, SWAP) & ~(uint32_t)INTENT) != 1)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s is not an MGH file", name);
    kn_status status = take_dims(ctx, name, bytes, h);
    if (status != KN_OK)
        return status;
    int32_t type = (int32_t)kn_load32(bytes + TYPE, SWAP);
    h->type = find_type(type);
    if (!h->type)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s: the voxels have type %d, but must have type 0 (uchar), 1 (int), 3 "
                       "(float), 4 (short) or 10 (ushort)",
                       name, (int)type);
    take_affine(bytes, h);
    return KN_OK;
}

/* Encodes the header of a float32 image with `frames` volumes at p (KN_MGH_OFFSET bytes). Columns
 * of the affine are direction cosines times spacing; the centre is the position of voxel dim / 2.
 */
static void encode_header(const kn_geometry *g, ptrdiff_t frames, unsigned char *p)
{
    enum { VERSION = 1, FLOAT = 3 };
    memset(p, 0, KN_MGH_OFFSET);
    kn_store32(p, VERSION, SWAP);
    for (int i = 0; i < 3; i++)
        kn_store32(p + DIMS + 4 * i, (uint32_t)g->dim[i], SWAP);
    kn_store32(p + DIMS + 12, (uint32_t)frames, SWAP);
    kn_store32(p + TYPE, FLOAT, SWAP);
    kn_store16(p + GOOD_RAS, 1, SWAP);
    for (int j = 0; j < 3; j++) {
        double centre = g->affine[j][3], size = 0;
        for (int i = 0; i < 3; i++) {
            size += g->affine[i][j] * g->affine[i][j];
            centre += g->affine[j][i] * (double)g->dim[i] / 2;
        }
        size = size > 0 ? sqrt(size) : 1;
        kn_store_f32(p + SPACING + 4 * j, (float)size, SWAP);
        for (int i = 0; i < 3; i++)
            kn_store_f32(p + COSINES + 4 * (3 * j + i), (float)(g->affine[i][j] / size), SWAP);
        kn_store_f32(p + CENTRE + 4 * j, (float)centre, SWAP);
    }
}

/* Reads the header of an MGH file into image->header and checks that all voxels are there.
 * KN_ERR_FORMAT if not. */
static kn_status open_mgh(kn_ctx *ctx, kn_image *image, kn_byte_source *source)
{
    enum { TAGS = 1 << 24 }; /* bytes of tags after the voxels: transforms, a colour table */
    kn_status status = kn_image_open_header(ctx, image, source, parse_header);
    return status == KN_OK ? kn_image_check_size(ctx, image, source, TAGS) : status;
}

static const char *const READ_ENDINGS[] = {".mgh", ".mgz", ".mgh.gz", NULL};

const kn_image_format kn_format_mgh = {.endings = READ_ENDINGS,
                                       .names = ".mgh, .mgz",
                                       .open = open_mgh,
                                       .writing = &kn_mgh_writing};

/* ---- writer ---------------------------------------------------------------------------------- */

/* Opens an MGH file for writing and writes its header; *state is owned by the caller. KN_ERR_SHAPE
 * if a dimension exceeds 32 bits. */
static kn_status begin_mgh(kn_ctx *ctx, const char *path, const kn_image_target *target,
                           const kn_write_options *options, void **state)
{
    unsigned char header[KN_MGH_OFFSET];
    const ptrdiff_t *dim = target->geometry->dim, frames = kn_image_volumes(target);
    *state = NULL;
    for (int i = 0; i < 4; i++)
        if ((i < 3 ? dim[i] : frames) > INT32_MAX)
            return kn_fail(ctx, KN_ERR_SHAPE, "%s: %td exceeds what MGH can store", path,
                           i < 3 ? dim[i] : frames);
    encode_header(target->geometry, frames, header);
    kn_volume_layout layout = {header, sizeof header, dim[0] * dim[1] * dim[2], !KN_BIG_ENDIAN};
    return kn_volume_file_begin(ctx, path, &layout, options, state);
}

static const char *const WRITTEN_ENDINGS[] = {".mgz", ".mgh", NULL};

const kn_image_writing kn_mgh_writing = {.begin = begin_mgh,
                                         .volume = kn_volume_file_write,
                                         .commit = kn_volume_file_commit,
                                         .free = kn_volume_file_free,
                                         .endings = WRITTEN_ENDINGS,
                                         .keeps = true};
