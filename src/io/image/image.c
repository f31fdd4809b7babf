/* Implements image.h except reading voxels (read_voxels.c): formats by extension, opening, size
 * check. A format is chosen by the extension of the file name, in the order of KN_IMAGE_FORMATS. */
#include "io/image/image.h"

#include <stdio.h>
#include <string.h>

#include "io/file/byte_order.h"
#include "io/file/path.h"
#include "io/gzip/gzip.h"
#include "io/image/image_format.h"

#define ROW(name) &kn_format_##name,
static const kn_image_format *const FORMATS[] = {KN_IMAGE_FORMATS(ROW)};
#undef ROW
enum { N_FORMATS = sizeof FORMATS / sizeof *FORMATS };

/* Returns whether the path has one of the extensions; the list ends with NULL. */
static bool has_extension(const char *path, const char *const *endings)
{
    for (; *endings; endings++)
        if (kn_path_ends(path, *endings))
            return true;
    return false;
}

const kn_image_writing *kn_image_writing_of(const char *path)
{
    for (int i = 0; i < N_FORMATS; i++)
        if (has_extension(path, FORMATS[i]->writing->endings))
            return FORMATS[i]->writing;
    return NULL;
}

/* Returns the format for the extension of `path`; NULL if it is unknown. */
static const kn_image_format *format_of(const char *path)
{
    for (int i = 0; i < N_FORMATS; i++)
        if (has_extension(path, FORMATS[i]->endings))
            return FORMATS[i];
    return NULL;
}

bool kn_image_is_name(const char *path)
{
    return format_of(path) != NULL;
}

kn_image_names kn_image_known_names(void)
{
    kn_image_names names = {""};
    size_t at = 0;
    for (int i = 0; i < N_FORMATS && at < sizeof names.text; i++)
        if (FORMATS[i]->names)
            at += (size_t)snprintf(names.text + at, sizeof names.text - at, "%s%s",
                                   at > 0 ? ", " : "", FORMATS[i]->names);
    return names;
}

const char *kn_image_ending(const kn_image *image)
{
    const kn_image_writing *w = image->format->writing;
    if (image->brain.hash)
        w = kn_format_cifti.writing;
    else if (image->header.cifti)
        w = kn_format_nifti.writing;
    int longest = -1; /* index of the longest match: .func.gii rather than .gii */
    for (int i = 0; w->keeps && w->endings[i]; i++)
        if (kn_path_ends(image->path, w->endings[i]) &&
            (longest < 0 || strlen(w->endings[i]) > strlen(w->endings[longest])))
            longest = i;
    return w->endings[longest < 0 ? 0 : longest];
}

const char *kn_image_ending_known(const char *ending)
{
    for (int i = 0; i < N_FORMATS; i++)
        for (int k = 0; FORMATS[i]->writing->endings[k]; k++)
            if (strcmp(ending, FORMATS[i]->writing->endings[k]) == 0)
                return FORMATS[i]->writing->endings[k];
    return NULL;
}

/* ---- headers ------------------------------------------------------------------------------ */

/* Reads the first bytes of a file, at most KN_NIFTI2_SIZE, decompressed if it is gzip (*gzip); *got
 * is how many. */
static kn_status first_bytes(kn_ctx *ctx, const kn_byte_source *source, unsigned char *out,
                             ptrdiff_t *got, bool *gzip)
{
    kn_gunzip *g = NULL;
    kn_status status;

    ptrdiff_t n = source->size < KN_NIFTI2_SIZE ? source->size : KN_NIFTI2_SIZE;
    KN_TRY(kn_byte_source_read(ctx, source, 0, n, out));
    *got = n;
    *gzip = kn_is_gzip(out, n);
    if (*gzip) {
        KN_TRY(kn_gunzip_new(ctx, &g));
        KN_TRY(kn_gunzip_start(ctx, g, source));
        KN_TRY(kn_gunzip_read(ctx, g, KN_NIFTI2_SIZE, out, got));
    }
out:
    kn_gunzip_free(g);
    return status;
}

kn_status kn_image_open_header(kn_ctx *ctx, kn_image *image, const kn_byte_source *source,
                               kn_header_parse parse)
{
    unsigned char head[KN_NIFTI2_SIZE];
    ptrdiff_t got;
    kn_status status = first_bytes(ctx, source, head, &got, &image->gzip);
    return status == KN_OK ? parse(ctx, source->name, head, got, &image->header) : status;
}

/* Fails with KN_ERR_FORMAT because the header announces more bytes than `has`; limit: the words
 * before that size. */
static kn_status fail_too_short(kn_ctx *ctx, const char *name, const kn_nifti_header *h,
                                const char *limit, ptrdiff_t has)
{
    double need = (double)h->data_offset + (double)kn_nifti_data_size(h);
    return kn_fail(ctx, KN_ERR_FORMAT, "%s: the header declares %s, but %s %s", name,
                   kn_format_size(need).text, limit, kn_format_size((double)has).text);
}

/* Fails with KN_ERR_FORMAT because the file has more data than the `need` bytes that its header
 * announces. */
static kn_status fail_too_long(kn_ctx *ctx, const char *name, ptrdiff_t need)
{
    return kn_fail(ctx, KN_ERR_FORMAT,
                   "%s: the header declares %s, but the file contains more data; the header or the "
                   "file is wrong",
                   name, kn_format_size((double)need).text);
}

/* The file must have data_offset + data size bytes, and at most `surplus` more. A compressed file
 * is accepted if deflate can hold that much and the length in its last bytes agrees; else (several
 * members, bytes after the image, a truncated file) it is decompressed once, without storing. */
kn_status kn_image_check_size(kn_ctx *ctx, const kn_image *image, const kn_byte_source *source,
                              ptrdiff_t surplus)
{
    const kn_nifti_header *h = &image->header;
    ptrdiff_t size = kn_nifti_data_size(h), has = source->size, hint, need;
    if (!image->gzip && (h->data_offset > has || size > has - h->data_offset))
        return fail_too_short(ctx, source->name, h, "the file has", has);
    if (image->gzip &&
        (size > PTRDIFF_MAX - h->data_offset - surplus - 1 ||
         has > PTRDIFF_MAX / KN_GZIP_MAX_RATIO || h->data_offset + size > has * KN_GZIP_MAX_RATIO))
        return fail_too_short(ctx, source->name, h, "the compressed file cannot hold more than",
                              has > PTRDIFF_MAX / KN_GZIP_MAX_RATIO ? PTRDIFF_MAX
                                                                    : has * KN_GZIP_MAX_RATIO);
    need = h->data_offset + size;
    if (image->gzip) {
        kn_status status = kn_gzip_hint(ctx, source, &hint);
        /* the hint is the length modulo 2^32 */
        if (status != KN_OK || hint == (need & 0xffffffff))
            return status;
        status = kn_gzip_length(ctx, source, need + surplus + 1, &has);
        if (status == KN_OK && need > has)
            status = fail_too_short(ctx, source->name, h, "the decompressed file has", has);
        if (status != KN_OK)
            return status;
    }
    return has - need > surplus ? fail_too_long(ctx, source->name, need) : KN_OK;
}

/* ---- opening ------------------------------------------------------------------------------ */

/* Reads the header of the source by the format of *image, derives the geometry, and closes the
 * source. Clears *image on failure. */
static kn_status open_source(kn_ctx *ctx, kn_byte_source *source, kn_image *image)
{
    kn_status status;
    KN_TRY(image->format->open(ctx, image, source));
    KN_TRY(kn_geometry_of(ctx, image->path, &image->header, &image->geometry));
    image->stamp = source->stamp;
out:
    kn_byte_source_close(source);
    if (status != KN_OK)
        kn_image_clear(image);
    return status;
}

kn_status kn_image_open_memory(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                               kn_image *out)
{
    kn_byte_source source = kn_byte_source_of(name, bytes, n);
    const kn_image_format *format = format_of(name);
    *out = (kn_image){.memory = source.memory,
                      .memory_size = n,
                      .format = format ? format : &kn_format_nifti};
    kn_status status = kn_text_copy(ctx, name, strlen(name), &out->path);
    return status == KN_OK ? open_source(ctx, &source, out) : status;
}

kn_status kn_image_open(kn_ctx *ctx, const char *path, kn_image *out)
{
    kn_byte_source source = {.fd = -1};
    kn_status status;
    *out = (kn_image){.format = format_of(path)};
    if (!out->format)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s is not an image (%s)", path,
                       kn_image_known_names().text);
    KN_TRY(kn_text_copy(ctx, path, strlen(path), &out->path));
    KN_TRY(kn_text_copy(ctx, path, strlen(path), &out->data_path));
    KN_TRY(kn_byte_source_open(ctx, path, &source));
    return open_source(ctx, &source, out);
out:
    kn_image_clear(out);
    return status;
}

void kn_image_clear(kn_image *image)
{
    kn_free(image->path);
    kn_free(image->data_path);
    kn_brain_clear(&image->brain);
    *image = (kn_image){0};
}
