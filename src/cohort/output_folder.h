/* A folder of files that belong together: all of them are there at the end, or none. */
#ifndef KN_COHORT_OUTPUT_FOLDER_H
#define KN_COHORT_OUTPUT_FOLDER_H

#include <jansson.h>

#include "io/file/atomic_writer.h"

typedef struct kn_folder kn_folder;

typedef struct kn_folder_entry { /* belongs to the folder */
    struct kn_folder_entry *next;
    char *path;     /* as seen from here */
    bool directory; /* a folder inside the folder, or itself */
    bool made;      /* by this run: to be set when the file has been committed */
} kn_folder_entry;

/* Makes the folder; its parent must exist. One that holds anything is refused unless `force`, when
 * files of the same name are replaced and others are left alone. */
kn_status kn_folder_open(kn_ctx *ctx, const char *dir, bool force, kn_folder **out);
void kn_folder_close(kn_folder *folder, bool keep); /* keep false: what was made is removed */

kn_status kn_folder_sub(kn_ctx *ctx, kn_folder *folder, const char *name); /* a folder inside */
const kn_write_options *kn_folder_options(const kn_folder *folder);        /* for its writers */

/* Announces a file. From any thread. */
kn_status kn_folder_add(kn_ctx *ctx, kn_folder *folder, const char *name, kn_folder_entry **out);

kn_status kn_folder_text(kn_ctx *ctx, kn_folder *folder, const char *name, const char *text,
                         ptrdiff_t n);
/* Takes over `json`; NULL, as jansson returns when memory is out, is a failure. */
kn_status kn_folder_json(kn_ctx *ctx, kn_folder *folder, const char *name, json_t *json);

#endif
