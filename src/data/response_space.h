/* The space of the responses: voxels of an image, columns of a table, or plain numbers. Stored in
 * the model, so that maps are written in the space they came from. */
#ifndef KN_DATA_RESPONSE_SPACE_H
#define KN_DATA_RESPONSE_SPACE_H

#include "base/memory/alloc.h"
#include "io/image/image_set.h"

typedef enum kn_space_kind {
    KN_SPACE_NONE = 0,  /* columns without names: arrays */
    KN_SPACE_TABLE = 1, /* named columns */
    KN_SPACE_IMAGE = 2  /* voxels of one geometry */
} kn_space_kind;

typedef struct kn_space {
    kn_space_kind kind;
    ptrdiff_t T;
    char **name;          /* T column names; tables only */
    kn_geometry geometry; /* of both hemispheres together; images only */
    int parts;            /* images per participant: 1, or 2 hemispheres; images only */
    kn_image_part part[KN_PARTS];
    ptrdiff_t *voxel; /* T voxel indices, ascending, x fastest; images only */
} kn_space;

/* Returns the noun for one response in messages: "voxel", "vertex", or "response" for tables,
 * arrays and CIFTI. */
const char *kn_space_noun(const kn_space *s);

/* Name of response j: column name, voxel indices "x,y,z" from 0, or a number from 1; truncated to
 * `size`. */
void kn_response_name(const kn_space *space, ptrdiff_t j, char *out, size_t size);

/* Makes *out a deep copy of `from`, owned by the caller (kn_space_clear). */
kn_status kn_space_copy(kn_ctx *ctx, const kn_space *from, kn_space *out);
/* Frees the contents, which the struct owns; accepts {0}. */
void kn_space_clear(kn_space *s);

/* Copies n texts; free with kn_names_free. */
kn_status kn_names_copy(kn_ctx *ctx, const char *const *from, ptrdiff_t n, char ***out);
/* Frees n texts and the array; names may be NULL. */
void kn_names_free(char **names, ptrdiff_t n);

/* Checks that s fits the space `expected` of a model: kind and number of responses; for images
 * their number per participant, geometry, brain models and hemispheres. Does not compare names or
 * voxels. KN_ERR_SHAPE with a message that names the difference; `name` is the file. */
kn_status kn_space_compare(kn_ctx *ctx, const char *name, const kn_space *s,
                           const kn_space *expected);

#endif
