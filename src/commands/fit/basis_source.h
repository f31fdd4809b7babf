/* What {basis} names: principal components, a file of numbers, an atlas or surfaces  [METHOD 1e]
 *
 * Files are opened, and columns counted, before any response is read; the columns themselves need
 * to know where the responses are. */
#ifndef KN_COMMANDS_FIT_BASIS_SOURCE_H
#define KN_COMMANDS_FIT_BASIS_SOURCE_H

#include "data/basis/atlas.h"
#include "io/formats/surface_mesh.h"
#include "io/npy/npy.h"

typedef enum kn_basis_kind {
    KN_BASIS_PCA,
    KN_BASIS_FILE,
    KN_BASIS_LABELS,
    KN_BASIS_HARMONICS
} kn_basis_kind;

enum { KN_BASIS_NAME = 128 };

typedef struct kn_basis_source {
    kn_basis_kind kind;
    int files;
    char *file[KN_PARTS];     /* that are read */
    char name[KN_BASIS_NAME]; /* for the record: what it is, of files without folders */
    ptrdiff_t cols;           /* 0: principal components */
    char *path;               /* of labels: one file, or two with a comma */
    ptrdiff_t K;              /* harmonics of each surface */
    kn_npy npy;
    kn_atlas labels;
    kn_surface surface[KN_PARTS];
    kn_mat B;
    ptrdiff_t *voxel; /* of harmonics: places of the responses that B is of */
} kn_basis_source;

kn_status kn_basis_source_open(kn_ctx *ctx, const char *text, kn_basis_source *out);
void kn_basis_source_clear(kn_basis_source *s); /* {0} is fine */

/* The columns, T x cols of the responses in `space`, which the file `name` has; lent until the next
 * call or _clear. Harmonics of the same places are made once. */
kn_status kn_basis_source_view(kn_ctx *ctx, kn_basis_source *s, const char *name,
                               const kn_space *space, kn_view *out);
/* Bytes of a response that the columns take beside the fit. */
double kn_basis_source_beside(const kn_basis_source *s);

#endif
