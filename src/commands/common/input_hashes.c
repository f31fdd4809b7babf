/* Implements input_hashes.h. Files are hashed by their bytes. */
#include "commands/common/input_hashes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash/xxh64.h"
#include "base/memory/plan.h"
#include "io/file/byte_source.h"

/* XXH64 of the content of a file, as xxhsum -H64 prints it. */
static kn_status file_hash(kn_ctx *ctx, const char *path, uint64_t *out)
{
    enum { PIECE = 1 << 14 };
    unsigned char piece[PIECE];
    kn_byte_source file;
    kn_status status = kn_byte_source_open(ctx, path, &file);
    if (status != KN_OK)
        return status;
    kn_hashing h = kn_hashing_begin(0);
    for (ptrdiff_t at = 0, n; status == KN_OK && at < file.size; at += n) {
        n = kn_min_size(file.size - at, PIECE);
        status = kn_byte_source_read(ctx, &file, at, n, piece);
        if (status == KN_OK)
            kn_hashing_add(&h, piece, (size_t)n);
    }
    *out = kn_hashing_end(&h);
    kn_byte_source_close(&file);
    return status;
}

/* Continue the hash *h with a file that may be very large: its length, and PIECES + 1 pieces spread
 * over it including its end, where a compressed file has its checksum. */
static kn_status sampled_hash(kn_ctx *ctx, const char *path, uint64_t *h)
{
    enum { PIECE = 4096, PIECES = 64 };
    unsigned char piece[PIECE];
    kn_byte_source file;
    kn_status status = kn_byte_source_open(ctx, path, &file);
    if (status != KN_OK)
        return status;
    ptrdiff_t n = kn_min_size(file.size, PIECE), last = file.size - n;
    *h = kn_hash(&file.size, sizeof file.size, *h);
    for (ptrdiff_t k = 0; k <= PIECES && status == KN_OK; k++) {
        ptrdiff_t at = last / PIECES * k + last % PIECES * k / PIECES; /* k = PIECES gives `last` */
        status = kn_byte_source_read(ctx, &file, at, n, piece);
        if (status == KN_OK)
            *h = kn_hash(piece, (size_t)n, *h);
    }
    kn_byte_source_close(&file);
    return status;
}

bool kn_responses_are_several(const kn_data *d)
{
    return d->n_response_files > 1 ||
           (d->n_response_files == 1 && strcmp(d->response_file[0], d->responses_path) != 0);
}

kn_status kn_responses_stamp(kn_ctx *ctx, const kn_data *d, uint64_t *out)
{
    kn_status status = KN_OK;
    bool list = d->images && kn_images_is_list(d->images);
    *out = 0;
    if (!d->responses_path)
        return KN_OK;
    struct stat info;
    bool several = kn_responses_are_several(d);
    for (ptrdiff_t k = 0; several && k < d->n_response_files; k++) {
        uint64_t one = 0;
        status = file_hash(ctx, d->response_file[k], &one);
        if (status != KN_OK)
            return status;
        *out = kn_hash(&one, sizeof one, *out);
    }
    if (several)
        return KN_OK;
    if (d->responses || list) /* a pattern of images is not a file */
        return stat(d->responses_path, &info) == 0 && S_ISREG(info.st_mode)
                   ? file_hash(ctx, d->responses_path, out)
                   : KN_OK;
    for (ptrdiff_t k = 0; d->images && k < kn_images_files(d->images) && status == KN_OK; k++)
        status = sampled_hash(ctx, kn_images_file(d->images, k), out);
    return d->images ? status : sampled_hash(ctx, d->responses_path, out);
}

json_t *kn_hash_json(const char *kind, uint64_t h)
{
    char text[48];
    snprintf(text, sizeof text, "%s:%016" PRIx64, kind, h);
    return json_string(text);
}

json_t *kn_file_hash_json(kn_ctx *ctx, const char *path)
{
    uint64_t h = 0;
    return path && file_hash(ctx, path, &h) == KN_OK ? kn_hash_json("xxh64", h) : json_null();
}
