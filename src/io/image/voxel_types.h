/* Conversion of stored numbers of any type and byte order to float or double, for images and .npy
 * files. Types are identified by their NIfTI datatype code. */
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

/* out[i] = slope * raw[first + i * stride] + inter, computed in double and rounded once; `raw` is
 * counted in elements of the type. Slope 1 and intercept -0.0 (which, unlike 0.0, keeps the sign of
 * zero) leave values unchanged. */
typedef void (*kn_floats_fn)(const unsigned char *raw, ptrdiff_t first, ptrdiff_t stride,
                             ptrdiff_t n, double slope, double inter, float *out);

/* The same for raw[first + index[i] * stride], i < n. */
typedef void (*kn_gather_fn)(const unsigned char *raw, ptrdiff_t first, ptrdiff_t stride,
                             const ptrdiff_t *index, ptrdiff_t n, double slope, double inter,
                             float *out);

/* out[i] = raw[i] as double, i < n, without scaling. */
typedef void (*kn_doubles_fn)(const unsigned char *raw, ptrdiff_t n, double *out);

typedef struct kn_voxel_type {
    int code;               /* KN_VOXEL_* */
    int bytes;              /* per element */
    const char *name;       /* "int16" */
    kn_floats_fn floats[2]; /* [0]: this machine's byte order; [1]: swapped */
    kn_gather_fn gather[2];
    kn_doubles_fn doubles[2];
} kn_voxel_type;

/* The type of a NIfTI code; NULL if such numbers cannot be read. */
const kn_voxel_type *kn_voxel_type_find(int code);
/* Name for messages, also of types that cannot be read; "unknown" for an unknown code. */
const char *kn_voxel_type_name(int code);

#endif
