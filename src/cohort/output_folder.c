/* Implements output_folder.h: a list of created entries that kn_folder_close removes on failure,
 * and NIfTI images on the gzip writer. A failed simulation leaves no folder behind. */
#include "cohort/output_folder.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/byte_order.h"
#include "io/file/byte_source.h"
#include "io/file/path.h"
#include "io/gzip/gzip.h"
#include "io/table/sidecar.h"

struct kn_folder {
    char *dir;
    kn_write_options options;
    kn_folder_entry *last; /* latest first, so that folders are removed after their files */
    pthread_mutex_t lock;  /* protects the list */
};

/* Sets *empty to whether the folder has no entry. KN_ERR_IO if it cannot be read. */
static kn_status is_empty(kn_ctx *ctx, const char *dir, bool *empty)
{
    DIR *d = opendir(dir);
    if (!d)
        return kn_fail_errno(ctx, dir, "cannot be read", errno);
    *empty = true;
    for (struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            *empty = false;
    closedir(d);
    return KN_OK;
}

/* Creates the folder of this entry, or uses an existing one that can be written; KN_ERR_IO
 * otherwise. */
static kn_status make_folder(kn_ctx *ctx, kn_folder_entry *entry)
{
    struct stat info;
    entry->directory = true;
    if (mkdir(entry->path, 0777) == 0) {
        entry->made = true;
        return KN_OK;
    }
    if (errno != EEXIST)
        return kn_fail_errno(ctx, entry->path, "cannot be created", errno);
    if (stat(entry->path, &info) != 0 || !S_ISDIR(info.st_mode))
        return kn_fail(ctx, KN_ERR_IO, "%s is a file; give the name of a folder", entry->path);
    if (access(entry->path, W_OK | X_OK) != 0)
        return kn_fail_errno(ctx, entry->path, "cannot be written", errno);
    return KN_OK;
}

/* Registers a file before it is written; *out is borrowed. Thread-safe. */
static kn_status add_entry(kn_ctx *ctx, kn_folder *folder, const char *name, kn_folder_entry **out)
{
    kn_folder_entry *entry = NULL;
    size_t size = strlen(folder->dir) + strlen(name) + 2;
    void *p;
    kn_status status;

    *out = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *entry, &p));
    entry = p;
    KN_TRY(kn_alloc(ctx, (ptrdiff_t)size, 1, &p));
    entry->path = p;
    snprintf(entry->path, size, "%s%s%s", folder->dir, *name ? "/" : "", name);
    pthread_mutex_lock(&folder->lock);
    entry->next = folder->last;
    folder->last = entry;
    pthread_mutex_unlock(&folder->lock);
    *out = entry;
    entry = NULL;
out:
    kn_free(entry);
    return status;
}

kn_status kn_folder_sub(kn_ctx *ctx, kn_folder *folder, const char *name)
{
    kn_folder_entry *entry;
    kn_status status = add_entry(ctx, folder, name, &entry);
    return status == KN_OK ? make_folder(ctx, entry) : status;
}

kn_status kn_folder_open(kn_ctx *ctx, const char *dir, bool force, kn_folder **out)
{
    kn_folder *folder = NULL;
    bool empty = true;
    void *p;
    kn_status status;

    *out = NULL;
    if (!dir || !*dir)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "no output folder was named");
    KN_TRY(kn_alloc(ctx, 1, sizeof *folder, &p));
    folder = p;
    pthread_mutex_init(&folder->lock, NULL);
    folder->options.force = force;
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    KN_TRY(kn_text_copy(ctx, dir, n, &folder->dir));
    KN_TRY(kn_folder_sub(ctx, folder, ""));
    if (!force)
        KN_TRY(is_empty(ctx, folder->dir, &empty));
    if (!empty)
        status =
            kn_fail(ctx, KN_ERR_IO, "%s is not empty; use {force} to write there", folder->dir);
out:
    if (status == KN_OK)
        *out = folder;
    else
        kn_folder_close(folder, false);
    return status;
}

void kn_folder_close(kn_folder *folder, bool keep)
{
    if (!folder)
        return;
    for (kn_folder_entry *e = folder->last, *next; e; e = next) {
        next = e->next;
        if (e->made && !keep && e->directory)
            rmdir(e->path); /* fails, as it should, if it contains other files */
        else if (e->made && !keep)
            unlink(e->path);
        kn_free(e->path);
        kn_free(e);
    }
    pthread_mutex_destroy(&folder->lock);
    kn_free(folder->dir);
    kn_free(folder);
}

/* Returns the options for writers of files in this folder; borrowed. */
static const kn_write_options *folder_options(const kn_folder *folder)
{
    return &folder->options;
}

kn_status kn_folder_text(kn_ctx *ctx, kn_folder *folder, const char *name, const char *text,
                         ptrdiff_t n)
{
    kn_folder_entry *entry;
    kn_writer *w = NULL;
    kn_status status;

    KN_TRY(add_entry(ctx, folder, name, &entry));
    KN_TRY(kn_writer_new(ctx, entry->path, &folder->options, &w));
    KN_TRY(kn_writer_write(ctx, w, text, n));
    KN_TRY(kn_writer_commit(ctx, w));
    entry->made = true;
out:
    kn_writer_free(w);
    return status;
}

kn_status kn_folder_json(kn_ctx *ctx, kn_folder *folder, const char *name, json_t *json)
{
    enum { INDENT = 2, DIGITS = 10 };
    char *text = json ? json_dumps(json, JSON_INDENT(INDENT) | JSON_REAL_PRECISION(DIGITS)) : NULL;
    kn_status status = text ? kn_folder_text(ctx, folder, name, text, (ptrdiff_t)strlen(text))
                            : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for %s", name);
    free(text);
    json_decref(json);
    return status;
}

/* ---- tables ---- */

kn_status kn_folder_table_open(kn_ctx *ctx, kn_folder *folder, const char *name, const char *file,
                               kn_folder_table *out)
{
    enum { PATH = 256 };
    char sidecar[PATH];
    kn_status status;
    *out = (kn_folder_table){0};
    KN_TRY(add_entry(ctx, folder, name, &out->file));
    KN_TRY(kn_table_writer_new(ctx, out->file->path, &folder->options, &out->w));
    if (file) {
        KN_TRY(kn_sidecar_path(ctx, name, sidecar, PATH));
        KN_TRY(add_entry(ctx, folder, sidecar, &out->sidecar));
        KN_TRY(kn_table_writer_describe(ctx, out->w, file));
        out->is_new = access(out->sidecar->path, F_OK) != 0;
    }
out:
    return status;
}

kn_status kn_folder_table_commit(kn_ctx *ctx, kn_folder_table *table)
{
    kn_status status = kn_table_writer_commit(ctx, table->w);
    table->file->made = status == KN_OK;
    if (table->sidecar) /* it is written first */
        table->sidecar->made =
            status == KN_OK || (table->is_new && access(table->sidecar->path, F_OK) == 0);
    return status;
}

void kn_folder_table_free(kn_folder_table *table)
{
    kn_table_writer_free(table->w);
    table->w = NULL;
}

/* ---- images ---- */

struct kn_sim_image {
    kn_folder_entry *entry;
    kn_maybe_gzip_file file;
    int code, bytes; /* of a stored number */
    ptrdiff_t size;  /* of a volume, in bytes */
    unsigned char *volume;
};

kn_status kn_sim_image_new(kn_ctx *ctx, kn_folder *folder, const char *name,
                           const kn_nifti_header *header, int code, ptrdiff_t volumes,
                           kn_sim_image **out)
{
    unsigned char bytes[KN_NIFTI2_SIZE + 4];
    kn_sim_image *image = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    ptrdiff_t n = kn_nifti_header_encode(header, volumes, "simulated by kronorm", bytes);
    kn_nifti_header_set_type(bytes, code);
    KN_TRY(kn_alloc(ctx, 1, sizeof *image, &p));
    image = p;
    image->code = code;
    image->bytes = kn_voxel_type_find(code)->bytes;
    image->size = kn_nifti_voxels(header) * image->bytes;
    KN_TRY(kn_alloc(ctx, image->size, 1, &p));
    image->volume = p;
    KN_TRY(add_entry(ctx, folder, name, &image->entry));
    KN_TRY(kn_maybe_gzip_open(ctx, image->entry->path, folder_options(folder), &image->file));
    KN_TRY(kn_maybe_gzip_write(ctx, &image->file, bytes, n));
out:
    if (status == KN_OK)
        *out = image;
    else
        kn_sim_image_free(image);
    return status;
}

kn_status kn_sim_image_volume(kn_ctx *ctx, kn_sim_image *image, const double *values,
                              const ptrdiff_t *index, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        unsigned char *p = image->volume + index[i] * image->bytes;
        double x = values ? values[i] : 1;
        switch (image->code) {
        case KN_VOXEL_FLOAT32: kn_store_f32(p, (float)x, KN_BIG_ENDIAN); break;
        case KN_VOXEL_FLOAT64: kn_store_f64(p, x, KN_BIG_ENDIAN); break;
        default: kn_store64(p, (uint64_t)(int64_t)x, KN_BIG_ENDIAN); break;
        }
    }
    return kn_maybe_gzip_write(ctx, &image->file, image->volume, image->size);
}

kn_status kn_sim_image_commit(kn_ctx *ctx, kn_sim_image *image)
{
    kn_status status;
    KN_TRY(kn_maybe_gzip_commit(ctx, &image->file));
    image->entry->made = true;
out:
    return status;
}

void kn_sim_image_free(kn_sim_image *image)
{
    if (!image)
        return;
    kn_maybe_gzip_clear(&image->file);
    kn_free(image->volume);
    kn_free(image);
}

kn_status kn_sim_image_write(kn_ctx *ctx, kn_folder *folder, const char *name,
                             const kn_nifti_header *header, int code, const double *values,
                             const ptrdiff_t *index, ptrdiff_t n)
{
    kn_sim_image *image;
    kn_status status;
    KN_TRY(kn_sim_image_new(ctx, folder, name, header, code, 0, &image));
    KN_TRY(kn_sim_image_volume(ctx, image, values, index, n));
    KN_TRY(kn_sim_image_commit(ctx, image));
out:
    kn_sim_image_free(image);
    return status;
}
