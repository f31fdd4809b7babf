#include "io/nifti.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/gifti.h"
#include "io/gzip.h"
#include "io/mgh.h"
#include "io/path.h"

typedef kn_status (*parse_fn)(kn_ctx *ctx, const char *name, const unsigned char *bytes,
                              ptrdiff_t n, kn_nifti_header *out);

/* Where the two halves are when a file of this name is given; NULL: in the file itself. */
static const struct {
    const char *ending, *header, *data;
    bool pair;      /* may be one */
    parse_fn parse; /* NULL: GIFTI, which has no header of its own */
} names[] = {
    {".nii.gz", NULL, NULL, false, kn_nifti_header_parse},
    {".nii", NULL, NULL, false, kn_nifti_header_parse},
    {".hdr.gz", NULL, ".img", true, kn_nifti_header_parse},
    {".hdr", NULL, ".img", true, kn_nifti_header_parse},
    {".img.gz", ".hdr", NULL, true, kn_nifti_header_parse},
    {".img", ".hdr", NULL, true, kn_nifti_header_parse},
    {".mgh", NULL, NULL, false, kn_mgh_header_parse},
    {".mgz", NULL, NULL, false, kn_mgh_header_parse},
    {".mgh.gz", NULL, NULL, false, kn_mgh_header_parse},
    {".gii", NULL, NULL, false, NULL},
    {".gii.gz", NULL, NULL, false, NULL},
};
enum { N_NAMES = sizeof names / sizeof names[0] };

static int find_name(const char *path)
{
    int i = 0;
    while (i < N_NAMES && !kn_path_ends(path, names[i].ending))
        i++;
    return i;
}

bool kn_nifti_is_name(const char *path)
{
    return find_name(path) < N_NAMES;
}

/* *out = the path with another ending, plain or compressed, whichever exists; no ending: itself. */
static kn_status partner(kn_ctx *ctx, const char *path, const char *ending, const char *wanted,
                         char **out)
{
    char compressed[16];
    char *plain = NULL;
    kn_status status;

    *out = NULL;
    if (!wanted)
        return kn_text_copy(ctx, path, strlen(path), out);
    KN_TRY(kn_path_swap(ctx, path, strlen(ending), wanted, &plain));
    if (access(plain, F_OK) == 0) {
        *out = plain;
        return KN_OK;
    }
    snprintf(compressed, sizeof compressed, "%s.gz", wanted);
    KN_TRY(kn_path_swap(ctx, path, strlen(ending), compressed, out));
    if (access(*out, F_OK) != 0) {
        status = kn_fail(ctx, KN_ERR_IO, "%s: its other half, %s, is missing", path, plain);
        kn_free(*out);
        *out = NULL;
    }
out:
    kn_free(plain);
    return status;
}

/* ---- opening ------------------------------------------------------------------------------ */

/* The first bytes of a header file, decompressed if need be; *gzip says whether. */
static kn_status first_bytes(kn_ctx *ctx, const kn_source *source, unsigned char *out,
                             ptrdiff_t *got, bool *gzip)
{
    kn_gunzip *g = NULL;
    kn_status status;

    ptrdiff_t n = source->size < KN_NIFTI2_SIZE ? source->size : KN_NIFTI2_SIZE;
    KN_TRY(kn_source_read(ctx, source, 0, n, out));
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

static kn_status too_short(kn_ctx *ctx, const char *name, const kn_nifti_header *h,
                           const char *limit, ptrdiff_t has)
{
    double need = (double)h->data_offset + (double)kn_nifti_data_size(h);
    return kn_fail(ctx, KN_ERR_FORMAT, "%s: the header promises %s, %s %s", name,
                   kn_size_in_words(need).text, limit, kn_size_in_words((double)has).text);
}

/* The data are there: all bytes up to data_offset + data size. A compressed file is believed when
 * deflate could hold that much and its last bytes say that it does; else (several members, bytes
 * after the image, a file cut short) it is decompressed once, keeping nothing. */
static kn_status check_size(kn_ctx *ctx, const kn_source *source, bool gzip,
                            const kn_nifti_header *h)
{
    ptrdiff_t size = kn_nifti_data_size(h), has = source->size, hint;
    if (!gzip)
        return h->data_offset <= has && size <= has - h->data_offset
                   ? KN_OK
                   : too_short(ctx, source->name, h, "the file has", has);
    if (size > PTRDIFF_MAX - h->data_offset || has > PTRDIFF_MAX / KN_GZIP_MAX_RATIO ||
        h->data_offset + size > has * KN_GZIP_MAX_RATIO)
        return too_short(ctx, source->name, h, "the compressed file cannot hold more than",
                         has > PTRDIFF_MAX / KN_GZIP_MAX_RATIO ? PTRDIFF_MAX
                                                               : has * KN_GZIP_MAX_RATIO);
    kn_status status = kn_gzip_hint(ctx, source, &hint);
    /* beyond 4 GiB the hint is the length modulo 2^32 */
    if (status != KN_OK || hint == ((h->data_offset + size) & 0xffffffff))
        return status;
    status = kn_gzip_length(ctx, source, &has);
    if (status == KN_OK && h->data_offset + size > has)
        status = too_short(ctx, source->name, h, "the decompressed file has", has);
    return status;
}

/* All of a GIFTI file is read to know what it holds, and again for its values, so that a list of
 * them needs no memory. */
static kn_status open_gifti(kn_ctx *ctx, const kn_source *source, kn_nifti *image)
{
    kn_gifti gifti = {0};
    kn_status status;
    image->gifti = true;
    KN_TRY(kn_gifti_read_source(ctx, source, image->data_path != NULL, &gifti));
    KN_TRY(kn_gifti_header(ctx, source->name, &gifti, &image->header));
out:
    kn_gifti_clear(&gifti);
    return status;
}

kn_status kn_nifti_open_memory(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                               kn_nifti *out)
{
    unsigned char head[KN_NIFTI2_SIZE];
    kn_source source = kn_source_of(name, bytes, n);
    ptrdiff_t got;
    int kind = find_name(name);
    parse_fn parse = kind < N_NAMES ? names[kind].parse : kn_nifti_header_parse;
    kn_status status;

    *out = (kn_nifti){.memory = source.memory, .memory_size = n};
    KN_TRY(kn_text_copy(ctx, name, strlen(name), &out->path));
    if (!parse) {
        KN_TRY(open_gifti(ctx, &source, out));
    } else {
        KN_TRY(first_bytes(ctx, &source, head, &got, &out->gzip));
        KN_TRY(parse(ctx, name, head, got, &out->header));
        if (out->header.pair) {
            status = kn_fail(ctx, KN_ERR_FORMAT, "%s: its data are in another file", name);
            goto out;
        }
        KN_TRY(check_size(ctx, &source, out->gzip, &out->header));
    }
    KN_TRY(kn_geometry_of(ctx, name, &out->header, &out->geometry));
out:
    if (status != KN_OK)
        kn_nifti_clear(out);
    return status;
}

/* The second file of a pair; *source becomes it. */
static kn_status open_pair(kn_ctx *ctx, int name, kn_nifti *image, kn_source *source)
{
    unsigned char head[2];
    kn_status status;

    if (!names[name].pair)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: is the header of a pair .hdr and .img without data",
                       image->path);
    kn_source_close(source);
    kn_free(image->data_path);
    image->data_path = NULL;
    KN_TRY(partner(ctx, image->path, names[name].ending, names[name].data, &image->data_path));
    KN_TRY(kn_source_open(ctx, image->data_path, source));
    ptrdiff_t n = source->size < 2 ? source->size : 2;
    KN_TRY(kn_source_read(ctx, source, 0, n, head));
    /* By name here: raw voxels may begin with gzip's two bytes. */
    image->gzip = kn_path_ends(image->data_path, ".gz") && kn_is_gzip(head, n);
out:
    return status;
}

kn_status kn_nifti_open(kn_ctx *ctx, const char *path, kn_nifti *out)
{
    unsigned char head[KN_NIFTI2_SIZE];
    kn_source source = {.fd = -1};
    ptrdiff_t got;
    int name = find_name(path);
    kn_status status;

    *out = (kn_nifti){0};
    if (name == N_NAMES)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s: expected an image named .nii, .nii.gz, .hdr, .img, .mgh, .mgz or .gii",
                       path);
    KN_TRY(kn_text_copy(ctx, path, strlen(path), &out->path));
    KN_TRY(partner(ctx, path, names[name].ending, names[name].header, &out->data_path));
    KN_TRY(kn_source_open(ctx, out->data_path, &source));
    if (!names[name].parse) {
        KN_TRY(open_gifti(ctx, &source, out));
    } else {
        KN_TRY(first_bytes(ctx, &source, head, &got, &out->gzip));
        KN_TRY(names[name].parse(ctx, source.name, head, got, &out->header));
        if (out->header.pair)
            KN_TRY(open_pair(ctx, name, out, &source));
        KN_TRY(check_size(ctx, &source, out->gzip, &out->header));
    }
    KN_TRY(kn_geometry_of(ctx, path, &out->header, &out->geometry));
out:
    kn_source_close(&source);
    if (status != KN_OK)
        kn_nifti_clear(out);
    return status;
}

void kn_nifti_clear(kn_nifti *image)
{
    kn_free(image->path);
    kn_free(image->data_path);
    *image = (kn_nifti){0};
}
