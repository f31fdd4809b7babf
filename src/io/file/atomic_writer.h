/* Atomic output files: a file is complete or absent, never half written.
 *
 * kn_writer_new creates a hidden temporary file in the target folder, kn_writer_write fills it, and
 * kn_writer_commit calls fsync and renames it to the target. Until the commit the target keeps its
 * old content. All writers of src/io use this one. */
#ifndef KN_IO_FILE_ATOMIC_WRITER_H
#define KN_IO_FILE_ATOMIC_WRITER_H

#include "base/memory/alloc.h"

enum { KN_WRITER_BUFFER = 1 << 16 }; /* bytes of buffer per open writer */

/* The files and folders that a command has created, in order of creation, so that a command that
 * fails can remove them. */
typedef struct kn_created_files {
    char **path; /* owned */
    ptrdiff_t n, capacity;
} kn_created_files;

/* Creates the folder `path` unless it exists, and adds it to `made` only if this call created it.
 * If it cannot be added, the folder is removed again. */
kn_status kn_created_files_folder(kn_ctx *ctx, kn_created_files *made, const char *path);
/* Removes the listed files and folders from disk, latest first; a non-empty folder stays. */
void kn_created_files_remove(const kn_created_files *made);
/* Frees the list of paths; the files stay on disk. {0} is allowed. */
void kn_created_files_clear(kn_created_files *made);

/* Temporary files that are complete and synced but not yet renamed. A command with several outputs
 * renames all of them at its end, so that until then every target keeps its old content. */
typedef struct kn_uncommitted_files {
    struct kn_pending_file *file;
    ptrdiff_t n, capacity;
} kn_uncommitted_files;

/* Renames the files in the order in which they were added, and appends their paths to `made` (may
 * be NULL). Stops at the first failure (KN_ERR_IO); earlier files keep their new names. */
kn_status kn_uncommitted_files_commit(kn_ctx *ctx, kn_uncommitted_files *pending,
                                      kn_created_files *made);
/* Returns the number of files in the list; 0 for NULL. */
ptrdiff_t kn_uncommitted_files_count(const kn_uncommitted_files *pending);
/* Returns the final path of file i of the list; borrowed. */
const char *kn_uncommitted_files_path(const kn_uncommitted_files *pending, ptrdiff_t i);
/* Removes the temporary files that were not renamed, and frees the list. */
void kn_uncommitted_files_clear(kn_uncommitted_files *pending);

typedef struct kn_write_options {
    bool force;                /* replace an existing file */
    const char *const *inputs; /* n_inputs paths that were read: never replaced, even with force */
    ptrdiff_t n_inputs;
    kn_created_files *made;        /* borrowed; receives committed paths; NULL: not recorded */
    kn_uncommitted_files *pending; /* borrowed; commit adds the file here instead of renaming it;
                                      NULL: commit renames at once */
    ptrdiff_t unlisted; /* so many of `pending`, from the first, are not named in summary.json */
} kn_write_options;

typedef struct kn_writer kn_writer;

/* Opens a temporary file next to `path`; *out is owned (kn_writer_free). options may be NULL (no
 * force, no inputs). Fails as kn_writer_check does. */
kn_status kn_writer_new(kn_ctx *ctx, const char *path, const kn_write_options *options,
                        kn_writer **out);
/* Opens a writer into memory; *out is owned (kn_writer_free). `name` appears in messages. End it
 * with kn_writer_take instead of kn_writer_commit. */
kn_status kn_writer_new_memory(kn_ctx *ctx, const char *name, kn_writer **out);
/* Moves the bytes of a memory writer to the caller (free with kn_free; NULL if *n is 0). */
kn_status kn_writer_take(kn_ctx *ctx, kn_writer *writer, void **bytes, ptrdiff_t *n);
/* Appends n bytes to the file. KN_ERR_IO, for example if the disk is full. */
kn_status kn_writer_write(kn_ctx *ctx, kn_writer *writer, const void *bytes, ptrdiff_t n);

/* Writes n bytes at `offset`, which may lie beyond the end; the gap is zero until it is written.
 * kn_writer_write goes on at the end of the file, which moves only if the patch exceeds it. */
kn_status kn_writer_patch(kn_ctx *ctx, kn_writer *writer, ptrdiff_t offset, const void *bytes,
                          ptrdiff_t n);
/* Syncs the file and renames it to its path, or adds it to options->pending. After it, only
 * kn_writer_free may be called. Without force, KN_ERR_IO if the path exists by now. */
kn_status kn_writer_commit(kn_ctx *ctx, kn_writer *writer);
/* Frees the writer; an uncommitted temporary file is removed. NULL is allowed. */
void kn_writer_free(kn_writer *writer);
/* The target path or name; borrowed, valid until the commit. */
const char *kn_writer_path(const kn_writer *writer);

/* Tests before a long computation whether `path` can be written. KN_ERR_IO if it exists (without
 * force; also as a symbolic link to nothing), is one of the inputs, is no regular file, or its
 * folder is missing or read-only. */
kn_status kn_writer_check(kn_ctx *ctx, const char *path, const kn_write_options *options);

/* Writes `text` and a final newline to the file `path`, atomically. options may be NULL. */
kn_status kn_write_text(kn_ctx *ctx, const char *path, const char *text,
                        const kn_write_options *options);

#endif
