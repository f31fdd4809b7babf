/* Stored numbers of every type and byte order, turned into floats or doubles. The codes are
 * NIfTI's; .npy files use the same conversions. */
#ifndef KN_IO_IMAGE_VOXEL_TYPES_H
#define KN_IO_IMAGE_VOXEL_TYPES_H

#include <stdbool.h>
#include <stddef.h>

enum {
    KN_VOXEL_UINT8 = 2,
    KN_VOXEL_INT16 = 4,
    KN_VOXEL_INT32 = 8,
    KN_VOXEL_FLOAT32 = 16,
    KN_VOXEL_FLOAT64 = 64,
    KN_VOXEL_INT8 = 256,
    KN_VOXEL_UINT16 = 512,
    KN_VOXEL_UINT32 = 768,
    KN_VOXEL_INT64 = 1024,
    KN_VOXEL_UINT64 = 1280
};

/* out[i] = slope * raw[first + i * stride] + inter, computed in double, rounded once. Slope 1 and
 * intercept -0.0 (which, unlike 0.0, keeps the sign of zero) leave values as they are. */
typedef void (*kn_floats_fn)(const unsigned char *raw, ptrdiff_t first, ptrdiff_t stride,
                             ptrdiff_t n, double slope, double inter, float *out);

/* The same for raw[first + index[i] * stride]. */
typedef void (*kn_gather_fn)(const unsigned char *raw, ptrdiff_t first, ptrdiff_t stride,
                             const ptrdiff_t *index, ptrdiff_t n, double slope, double inter,
                             float *out);

typedef void (*kn_doubles_fn)(const unsigned char *raw, ptrdiff_t n, double *out);

typedef struct kn_voxel_type {
    int code;
    int bytes;
    const char *name;
    kn_floats_fn floats[2]; /* [1]: bytes are swapped against this machine's order */
    kn_gather_fn gather[2];
    kn_doubles_fn doubles[2];
} kn_voxel_type;

const kn_voxel_type *kn_voxel_type_find(int code); /* NULL: not one that is read */
const char *kn_voxel_type_name(int code);          /* also of the types that are not read */

#endif
