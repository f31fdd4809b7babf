/* Output files that appear whole or not at all.
 *
 * Bytes go to a hidden file next to the place; commit makes them safe on disk and gives them their
 * name in one step. Whatever happens before that, the place keeps what it had. */
#ifndef KN_IO_FILE_ATOMIC_WRITER_H
#define KN_IO_FILE_ATOMIC_WRITER_H

#include "base/memory/alloc.h"

enum { KN_WRITER_BUFFER = 1 << 16 }; /* bytes that an open file holds */

/* What a run has put on disk, in order, so that a run that fails can take it away again. */
typedef struct kn_created_files {
    char **path;
    ptrdiff_t n, capacity;
} kn_created_files;

/* The folder, if it is not there; only one that was not is noted, and none is left unnoted. */
kn_status kn_created_files_folder(kn_ctx *ctx, kn_created_files *made, const char *path);
void kn_created_files_remove(
    const kn_created_files *made); /* the latest first; a folder goes if it is empty */
void kn_created_files_clear(kn_created_files *made); /* forgets, and leaves the files */

/* Files that are whole and safe on disk but have no name yet: a run gives all of them theirs at its
 * end, and until then every place keeps what it had. */
typedef struct kn_uncommitted_files {
    struct kn_uncommitted_files_file *file;
    ptrdiff_t n, capacity;
} kn_uncommitted_files;

kn_status kn_uncommitted_files_commit(kn_ctx *ctx, kn_uncommitted_files *pending,
                                      kn_created_files *made); /* in their order */
void kn_uncommitted_files_clear(
    kn_uncommitted_files *pending); /* what has no name by now is removed */

typedef struct kn_write_options {
    bool force;                /* an existing file may be replaced */
    const char *const *inputs; /* files that were read: never replaced, force or not */
    ptrdiff_t n_inputs;
    kn_created_files *made;        /* NULL, or where committed files are noted */
    kn_uncommitted_files *pending; /* NULL, or where they wait for their names instead */
} kn_write_options;

typedef struct kn_writer kn_writer;

kn_status kn_writer_new(kn_ctx *ctx, const char *path, const kn_write_options *options,
                        kn_writer **out); /* options may be NULL: no force, no inputs */
/* The same without a file: bytes are collected, and _take hands them over (free with kn_free) in
 * the place of _commit. `name` is for messages. */
kn_status kn_writer_new_memory(kn_ctx *ctx, const char *name, kn_writer **out);
kn_status kn_writer_take(kn_ctx *ctx, kn_writer *writer, void **bytes, ptrdiff_t *n);
kn_status kn_writer_write(kn_ctx *ctx, kn_writer *writer, const void *bytes, ptrdiff_t n);

/* Overwrites bytes at `offset`, or leaves a gap to be filled later; the end for _write moves only
 * when the patch reaches beyond it. */
kn_status kn_writer_patch(kn_ctx *ctx, kn_writer *writer, ptrdiff_t offset, const void *bytes,
                          ptrdiff_t n);
kn_status kn_writer_commit(kn_ctx *ctx, kn_writer *writer); /* then only _free is allowed */
void kn_writer_free(kn_writer *writer);                     /* not committed: removes the file */
const char *kn_writer_path(const kn_writer *writer);

/* What _new would refuse, asked before hours of work: existing, an input, no such directory. */
kn_status kn_writer_check(kn_ctx *ctx, const char *path, const kn_write_options *options);

/* A whole text file, a newline added. */
kn_status kn_write_text(kn_ctx *ctx, const char *path, const char *text,
                        const kn_write_options *options);

#endif
