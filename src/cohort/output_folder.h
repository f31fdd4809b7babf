/* A folder whose files are created together: at the end all of them exist, or none. Holds texts,
 * JSON, tables and compressed NIfTI images. */
#ifndef KN_COHORT_OUTPUT_FOLDER_H
#define KN_COHORT_OUTPUT_FOLDER_H

#include <jansson.h>

#include "io/file/atomic_writer.h"
#include "io/formats/nifti_header.h"
#include "io/table/table.h"

typedef struct kn_folder kn_folder;

typedef struct kn_folder_entry { /* a file or folder; owned by the kn_folder */
    struct kn_folder_entry *next;
    char *path;     /* relative to the working directory, or absolute */
    bool directory; /* a subfolder, or the folder itself */
    bool made;      /* created by this run; the writer sets it after committing the file */
} kn_folder_entry;

/* Creates the folder; its parent must exist. A non-empty folder is refused unless `force`; then
 * files of the same name are replaced and others kept. */
kn_status kn_folder_open(kn_ctx *ctx, const char *dir, bool force, kn_folder **out);
/* Frees the folder; keep false: removes the files and folders that this run created. NULL is
 * allowed. */
void kn_folder_close(kn_folder *folder, bool keep);

/* Creates a subfolder, or uses an existing one. KN_ERR_IO if it cannot be written. */
kn_status kn_folder_sub(kn_ctx *ctx, kn_folder *folder, const char *name);

/* Writes a file of n bytes into the folder. KN_ERR_IO if it cannot be written. */
kn_status kn_folder_text(kn_ctx *ctx, kn_folder *folder, const char *name, const char *text,
                         ptrdiff_t n);
/* Writes JSON. `json` is moved; NULL, which jansson returns when memory is exhausted, is an
 * error. */
kn_status kn_folder_json(kn_ctx *ctx, kn_folder *folder, const char *name, json_t *json);

/* ---- tables ---- */

typedef struct kn_folder_table {     /* a table being written; w is owned */
    kn_folder_entry *file, *sidecar; /* sidecar: NULL without one */
    bool is_new;                     /* there was no sidecar before */
    kn_table_writer *w;
} kn_folder_table;

/* Begins a table. file: its columns in src/columns.def, from which its sidecar is made; NULL: no
 * sidecar. */
kn_status kn_folder_table_open(kn_ctx *ctx, kn_folder *folder, const char *name, const char *file,
                               kn_folder_table *out);
/* Completes the table and its sidecar; without it kn_folder_table_free leaves neither. */
kn_status kn_folder_table_commit(kn_ctx *ctx, kn_folder_table *table);
/* Frees the writer; without a commit no file remains. {0} is allowed. */
void kn_folder_table_free(kn_folder_table *table);

/* ---- images ---- */

/* Writes compressed NIfTI images of a chosen number type, volume by volume, into an output
 * folder. */

typedef struct kn_sim_image kn_sim_image;

/* Starts an image. name ends in .nii.gz; code is KN_VOXEL_FLOAT32, _FLOAT64 or _INT64; volumes
 * 0: a 3D image. */
kn_status kn_sim_image_new(kn_ctx *ctx, kn_folder *folder, const char *name,
                           const kn_nifti_header *header, int code, ptrdiff_t volumes,
                           kn_sim_image **out);
/* Appends a volume: voxel index[i] = values[i] for n voxels, the others 0. */
kn_status kn_sim_image_volume(kn_ctx *ctx, kn_sim_image *image, const double *values,
                              const ptrdiff_t *index, ptrdiff_t n);
/* Completes the file; without it kn_sim_image_free leaves no file. */
kn_status kn_sim_image_commit(kn_ctx *ctx, kn_sim_image *image);
/* Frees the image; without a commit no file remains. NULL is allowed. */
void kn_sim_image_free(kn_sim_image *image);

/* Writes a whole 3D image: voxel index[i] = values[i] for n voxels, the others 0; values NULL: all
 * 1. code: as in kn_sim_image_new. */
kn_status kn_sim_image_write(kn_ctx *ctx, kn_folder *folder, const char *name,
                             const kn_nifti_header *header, int code, const double *values,
                             const ptrdiff_t *index, ptrdiff_t n);

#endif
