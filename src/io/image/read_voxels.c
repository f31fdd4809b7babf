/* Reads voxels (kn_image_reader of image.h): plain files by volume, compressed files as a whole if
 * they fit the memory, else as a stream; GIFTI through the format's own loader. Readers of one
 * image must not be used by two threads at once. */
#include "base/memory/alloc.h"
#include "io/gzip/gzip.h"
#include "io/image/image_format.h"

/* The buffer `raw` holds stored bytes of the current image: one volume, or the whole file. */
struct kn_image_reader {
    kn_inflater *inflater; /* created on first use, as is `stream` */
    kn_gunzip *stream;
    ptrdiff_t memory;   /* bytes for decompressing a 4D file as a whole */
    void *packed, *raw; /* compressed file; stored voxels */
    ptrdiff_t packed_room, raw_capacity;
    const kn_image *whole;    /* image that `raw` holds completely; NULL: none */
    const kn_image *streamed; /* image of the stream; NULL: none */
    ptrdiff_t next;           /* block (volume) at which the stream stands */
    kn_byte_source source;    /* of the stream */
};

kn_status kn_image_reader_new(kn_ctx *ctx, ptrdiff_t memory, kn_image_reader **out)
{
    void *p;
    kn_status status = kn_alloc(ctx, 1, sizeof **out, &p);
    *out = p;
    if (status == KN_OK) {
        (*out)->memory = memory;
        (*out)->source.fd = -1;
    }
    return status;
}

void kn_image_reader_free(kn_image_reader *r)
{
    if (!r)
        return;
    kn_byte_source_close(&r->source);
    kn_inflater_free(r->inflater);
    kn_gunzip_free(r->stream);
    kn_free(r->packed);
    kn_free(r->raw);
    kn_free(r);
}

/* Opens the file, or the memory, that holds the voxels. KN_ERR_IO if the file changed since its
 * header was read. */
static kn_status open_data(kn_ctx *ctx, const kn_image *image, kn_byte_source *out)
{
    if (!image->data_path) {
        *out = kn_byte_source_of(image->path, image->memory, image->memory_size);
        return KN_OK;
    }
    kn_status status = kn_byte_source_open(ctx, image->data_path, out);
    return status == KN_OK ? kn_file_stamp_compare(ctx, image->path, &image->stamp, &out->stamp)
                           : status;
}

kn_status kn_image_changed(kn_ctx *ctx, const kn_image *image)
{
    return kn_fail(ctx, KN_ERR_IO, "%s changed while it was read; run again when it is complete",
                   image->path);
}

/* Returns the number of volumes per block, the unit of reading: 1, or all for CIFTI, where maps
 * vary fastest. */
static ptrdiff_t block_volumes(const kn_nifti_header *h)
{
    return h->cifti ? h->volumes : 1;
}

/* ---- plain files -------------------------------------------------------------------------- */

/* Reads n bytes at `offset` of an uncompressed file into r->raw. KN_ERR_IO if the file changed. */
static kn_status read_plain(kn_ctx *ctx, kn_image_reader *r, const kn_image *image,
                            ptrdiff_t offset, ptrdiff_t n)
{
    kn_byte_source source = {.fd = -1};
    kn_status status;
    KN_TRY(kn_reserve(ctx, n, &r->raw, &r->raw_capacity));
    KN_TRY(open_data(ctx, image, &source));
    KN_TRY(kn_byte_source_read(ctx, &source, offset, n, r->raw));
    KN_TRY(kn_byte_source_check(ctx, &source));
out:
    kn_byte_source_close(&source);
    return status;
}

/* ---- compressed files, whole -------------------------------------------------------------- */

/* Decompresses the whole file into r->raw. *fits is false if it holds more than the header
 * announces (by more than 64 kB), which is allowed; the caller then streams it. */
static kn_status read_whole(kn_ctx *ctx, kn_image_reader *r, const kn_image *image, bool *fits)
{
    enum { TAGS = 1 << 16 }; /* space for bytes after the voxels, such as FreeSurfer's tags */
    kn_byte_source source = {.fd = -1};
    const kn_nifti_header *h = &image->header;
    ptrdiff_t need = h->data_offset + kn_nifti_data_size(h), got;
    const unsigned char *packed;
    kn_status status;

    KN_TRY(open_data(ctx, image, &source));
    KN_TRY(kn_reserve(ctx, need + TAGS, &r->raw, &r->raw_capacity));
    packed = source.memory;
    if (!packed) {
        KN_TRY(kn_reserve(ctx, source.size, &r->packed, &r->packed_room));
        KN_TRY(kn_byte_source_read_wide(ctx, &source, 0, source.size, r->packed));
        packed = r->packed;
    }
    if (!r->inflater)
        KN_TRY(kn_inflater_new(ctx, &r->inflater));
    KN_TRY(kn_inflate(ctx, r->inflater, source.name, packed, source.size, r->raw, r->raw_capacity,
                      &got, fits));
    KN_TRY(kn_byte_source_check(ctx, &source));
    if (*fits && got < need)
        status = kn_image_changed(ctx, image);
out:
    kn_byte_source_close(&source);
    return status;
}

/* ---- compressed files, volume by volume --------------------------------------------------- */

/* Reads exactly n bytes of the stream into `to`, or skips them if that is NULL. KN_ERR_IO if the
 * stream ends before. */
static kn_status read_stream(kn_ctx *ctx, kn_image_reader *r, const kn_image *image, ptrdiff_t n,
                             void *to)
{
    ptrdiff_t got;
    kn_status status = kn_gunzip_read(ctx, r->stream, n, to, &got);
    return status == KN_OK && got < n ? kn_image_changed(ctx, image) : status;
}

/* Starts decompressing an image as a stream and skips to its first voxel. */
static kn_status start_stream(kn_ctx *ctx, kn_image_reader *r, const kn_image *image)
{
    kn_status status;
    r->streamed = NULL;
    kn_byte_source_close(&r->source);
    KN_TRY(open_data(ctx, image, &r->source));
    if (!r->stream)
        KN_TRY(kn_gunzip_new(ctx, &r->stream));
    KN_TRY(kn_gunzip_start(ctx, r->stream, &r->source));
    KN_TRY(read_stream(ctx, r, image, image->header.data_offset, NULL));
    r->streamed = image;
    r->next = 0;
out:
    return status;
}

/* Reads block `volume` of a compressed image from the stream into r->raw. Skips forward; going back
 * restarts the stream. */
static kn_status read_streamed(kn_ctx *ctx, kn_image_reader *r, const kn_image *image,
                               ptrdiff_t volume)
{
    const kn_nifti_header *h = &image->header;
    ptrdiff_t blocks = h->volumes / block_volumes(h), size = kn_nifti_data_size(h) / blocks, got;
    kn_status status;

    KN_TRY(kn_reserve(ctx, size, &r->raw, &r->raw_capacity));
    if (r->streamed != image || volume < r->next)
        KN_TRY(start_stream(ctx, r, image));
    KN_TRY(read_stream(ctx, r, image, (volume - r->next) * size, NULL));
    KN_TRY(read_stream(ctx, r, image, size, r->raw));
    r->next = volume + 1;
    if (r->next == blocks) /* read to the end, to verify the checksum */
        KN_TRY(kn_gunzip_read(ctx, r->stream, PTRDIFF_MAX, NULL, &got));
    KN_TRY(kn_byte_source_check(ctx, &r->source));
out:
    if (status != KN_OK)
        r->streamed = NULL;
    return status;
}

/* ---- formats with their own loader (GIFTI) ------------------------------------------------ */

/* Decodes all volumes of an image into r->raw by the format's function `load`. Fails as that
 * function does. */
static kn_status load_volumes(kn_ctx *ctx, kn_image_reader *r, const kn_image *image)
{
    kn_byte_source source = {.fd = -1};
    kn_status status;
    KN_TRY(kn_reserve(ctx, kn_nifti_data_size(&image->header), &r->raw, &r->raw_capacity));
    KN_TRY(open_data(ctx, image, &source));
    KN_TRY(image->format->load(ctx, image, &source, r->raw));
    KN_TRY(kn_byte_source_check(ctx, &source));
out:
    kn_byte_source_close(&source);
    return status;
}

/* ---- one volume --------------------------------------------------------------------------- */

/* Loads the block of a volume into r->raw, from memory, a plain file or a compressed one; *start is
 * its offset there. */
static kn_status load_block(kn_ctx *ctx, kn_image_reader *r, const kn_image *image,
                            ptrdiff_t volume, ptrdiff_t *start)
{
    const kn_nifti_header *h = &image->header;
    ptrdiff_t block = volume / block_volumes(h);
    ptrdiff_t size = kn_nifti_data_size(h) / (h->volumes / block_volumes(h));
    bool fits = false;
    kn_status status = KN_OK;

    *start = h->data_offset + block * size;
    if (r->whole == image)
        return KN_OK;
    r->whole = NULL;
    if (image->format->load) {
        KN_TRY(load_volumes(ctx, r, image));
        r->whole = h->volumes > 1 ? image : NULL;
        goto out;
    }
    if (!image->gzip && h->cifti && h->volumes > 1) { /* each map is spread over the file */
        KN_TRY(read_plain(ctx, r, image, 0, h->data_offset + size));
        r->whole = image;
        goto out;
    }
    if (!image->gzip) {
        KN_TRY(read_plain(ctx, r, image, *start, size));
        *start = 0;
        goto out;
    }
    /* A single volume is always held. An image that is being streamed did not fit before. */
    if (r->streamed != image && (h->volumes == 1 || kn_image_fits(image, r->memory)))
        KN_TRY(read_whole(ctx, r, image, &fits));
    if (fits) {
        /* Reuse the buffer only for 4D images. */
        r->whole = h->volumes > 1 ? image : NULL;
        goto out;
    }
    KN_TRY(read_streamed(ctx, r, image, block));
    *start = 0;
out:
    return status;
}

kn_status kn_image_read(kn_ctx *ctx, kn_image_reader *r, const kn_image *image, ptrdiff_t volume,
                        const ptrdiff_t *index, ptrdiff_t n, float *out)
{
    const kn_nifti_header *h = &image->header;
    ptrdiff_t start, stride = block_volumes(h);
    if (volume < 0 || volume >= h->volumes)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: volume %td of %td was asked for", image->path,
                       volume + 1, h->volumes);
    kn_status status = load_block(ctx, r, image, volume, &start);
    if (status != KN_OK)
        return status;
    const unsigned char *raw = (const unsigned char *)r->raw + start;
    ptrdiff_t first = h->cifti ? volume : 0;
    if (index)
        h->type->gather[h->swapped](raw, first, stride, index, n, h->slope, h->inter, out);
    else
        h->type->floats[h->swapped](raw, first, stride, n, h->slope, h->inter, out);
    return KN_OK;
}

bool kn_image_reader_holds(const kn_image_reader *r, const kn_image *image)
{
    return r->whole == image;
}

bool kn_image_fits(const kn_image *image, ptrdiff_t memory)
{
    const kn_nifti_header *h = &image->header;
    if (h->volumes == 1 || !kn_image_in_one_stream(image))
        return false;
    return !image->gzip || image->format->load || h->data_offset + kn_nifti_data_size(h) <= memory;
}

bool kn_image_in_one_stream(const kn_image *image)
{
    return image->gzip || image->format->load || (image->header.cifti && image->header.volumes > 1);
}
