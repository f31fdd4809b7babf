/* The source of the basis that {basis} names: principal components, a .npy file, an atlas or
 * surface harmonics [METHOD 1e]
 *
 * kn_basis_source_open reads the files and counts the columns before any response is read;
 * kn_basis_source_view makes the columns once the response space is known.
 *
 * fit.c passes the columns to the method. */
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

/* An opened {basis}. Owns its data; {0} is not opened. */
typedef struct kn_basis_source {
    kn_basis_kind kind;
    int files;
    char *file[KN_PARTS];         /* input files; owned */
    char name[KN_BASIS_NAME];     /* description for the model record; file names without folders */
    ptrdiff_t cols;               /* columns of the basis; 0: principal components */
    char *path;                   /* labels: path as given, one file or two with a comma */
    ptrdiff_t K;                  /* harmonics per surface */
    kn_npy npy;                   /* KN_BASIS_FILE */
    kn_atlas labels;              /* KN_BASIS_LABELS */
    kn_surface surface[KN_PARTS]; /* KN_BASIS_HARMONICS */
    /* columns of labels or harmonics, T x cols */
    kn_mat B;
    ptrdiff_t *voxel; /* harmonics: voxels that the rows of B belong to */
} kn_basis_source;

/* Parses {basis} and reads its files: "pca", FILE.npy, labels:ATLAS[,ATLAS] or
 * harmonics:SURF.gii[,SURF.gii],K. KN_ERR_ARGUMENT for any other text. */
kn_status kn_basis_source_open(kn_ctx *ctx, const char *text, kn_basis_source *out);
void kn_basis_source_clear(kn_basis_source *s); /* accepts {0} */

/* Sets *out to the T x cols basis for the responses in `space` (empty for principal components);
 * borrowed from s until the next call or _clear. `name` is the responses file, for messages.
 * Harmonics are reused if the voxels are the same. KN_ERR_SHAPE, KN_ERR_DATA or KN_ERR_ARGUMENT if
 * basis and responses do not fit. */
kn_status kn_basis_source_view(kn_ctx *ctx, kn_basis_source *s, const char *name,
                               const kn_space *space, kn_view *out);
/* Bytes per response that the basis takes in addition to the fit, for the memory plan. */
double kn_basis_source_bytes(const kn_basis_source *s);

#endif
