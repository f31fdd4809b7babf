/* A folder whose files are created together: at the end all of them exist, or none. */
#ifndef KN_COHORT_OUTPUT_FOLDER_H
#define KN_COHORT_OUTPUT_FOLDER_H

#include <jansson.h>

#include "io/file/atomic_writer.h"

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
/* Frees the folder; keep false: removes what this run created. */
void kn_folder_close(kn_folder *folder, bool keep);

/* Creates a subfolder. */
kn_status kn_folder_sub(kn_ctx *ctx, kn_folder *folder, const char *name);
/* Returns the options for writers of files in this folder; borrowed. */
const kn_write_options *kn_folder_options(const kn_folder *folder);

/* Registers a file before it is written; *out is borrowed. Thread-safe. */
kn_status kn_folder_add(kn_ctx *ctx, kn_folder *folder, const char *name, kn_folder_entry **out);

/* Writes a text of n bytes. */
kn_status kn_folder_text(kn_ctx *ctx, kn_folder *folder, const char *name, const char *text,
                         ptrdiff_t n);
/* Writes JSON. `json` is moved; NULL, which jansson returns when memory is exhausted, is an
 * error. */
kn_status kn_folder_json(kn_ctx *ctx, kn_folder *folder, const char *name, json_t *json);

#endif
