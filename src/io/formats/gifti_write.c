/* Writes GIFTI (internal.h). Holds one volume, its compressed form and its base64 text in memory.
 */
#include "io/formats/internal.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "io/file/byte_order.h"
#include "io/gzip/gzip.h"

typedef struct gifti_writer {
    kn_maybe_gzip_file file;
    unsigned char *volume, *packed;
    char *text;
    ptrdiff_t capacity, voxels, done; /* bytes of `packed`; voxels per volume; volumes written */
    const char *const *names;         /* borrowed until the state is freed; NULL: description */
    char description[80];
} gifti_writer;

/* Returns the number of base64 characters of n bytes. */
static ptrdiff_t base64_size(ptrdiff_t n)
{
    return (n + 2) / 3 * 4;
}

/* Encodes n bytes as base64: base64_size(n) characters and a NUL in `out`. */
static void to_base64(const unsigned char *bytes, ptrdiff_t n, char *out)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (; n > 0; n -= 3, bytes += 3) {
        unsigned x = (unsigned)bytes[0] << 16 | (n > 1 ? (unsigned)bytes[1] << 8 : 0) |
                     (n > 2 ? (unsigned)bytes[2] : 0);
        *out++ = digit[x >> 18];
        *out++ = digit[x >> 12 & 63];
        *out++ = n > 1 ? digit[x >> 6 & 63] : '=';
        *out++ = n > 2 ? digit[x & 63] : '=';
    }
    *out = '\0';
}

/* Writes a NUL-terminated text to the file, compressed if its name ends in .gz. */
static kn_status write_text(kn_ctx *ctx, gifti_writer *w, const char *text)
{
    return kn_maybe_gzip_write(ctx, &w->file, text, (ptrdiff_t)strlen(text));
}

/* Frees the writer of a GIFTI file (kn_image_format.free); an uncommitted file is removed. NULL is
 * allowed. */
static void free_gifti_writer(void *state)
{
    gifti_writer *w = state;
    if (!w)
        return;
    kn_maybe_gzip_clear(&w->file);
    kn_free(w->volume);
    kn_free(w->packed);
    kn_free(w->text);
    kn_free(w);
}

/* Writes <MetaData> with one name and value, escaped; an empty element if value is NULL. */
static kn_status put_meta(kn_ctx *ctx, gifti_writer *w, const char *name, const char *value)
{
    kn_status status;
    char *escaped = NULL;
    if (!value)
        return write_text(ctx, w, "<MetaData/>\n");
    KN_TRY(kn_xml_text(ctx, value, &escaped));
    KN_TRY(write_text(ctx, w, "<MetaData><MD><Name>"));
    KN_TRY(write_text(ctx, w, name));
    KN_TRY(write_text(ctx, w, "</Name><Value>"));
    KN_TRY(write_text(ctx, w, escaped));
    KN_TRY(write_text(ctx, w, "</Value></MD></MetaData>\n"));
out:
    kn_free(escaped);
    return status;
}

/* Returns GIFTI's name of a hemisphere, for "lh" and "rh"; NULL for any other side. */
static const char *structure_name(const char *side)
{
    return !side                     ? NULL
           : strcmp(side, "lh") == 0 ? "CortexLeft"
           : strcmp(side, "rh") == 0 ? "CortexRight"
                                     : NULL;
}

/* Opens a GIFTI file for writing and writes the XML before the first DataArray. *state
 * (gifti_writer) is owned by the caller; NULL on failure. */
static kn_status begin_gifti(kn_ctx *ctx, const char *path, const kn_image_target *target,
                             const kn_write_options *options, void **state)
{
    const ptrdiff_t *dim = target->geometry->dim;
    gifti_writer *w = NULL;
    char line[256];
    void *p;
    kn_status status;

    *state = NULL;
    KN_TRY(kn_alloc(ctx, 1, sizeof *w, &p));
    w = p;
    w->voxels = dim[0] * dim[1] * dim[2];
    w->names = target->names;
    snprintf(w->description, sizeof w->description, "%s", target->description);
    w->capacity = (ptrdiff_t)compressBound((uLong)(4 * w->voxels));
    KN_TRY(kn_alloc(ctx, w->voxels, sizeof(float), &p));
    w->volume = p;
    KN_TRY(kn_alloc(ctx, w->capacity, 1, &p));
    w->packed = p;
    KN_TRY(kn_alloc(ctx, base64_size(w->capacity) + 1, 1, &p));
    w->text = p;
    KN_TRY(kn_maybe_gzip_open(ctx, path, options, &w->file));
    KN_TRY(write_text(ctx, w,
                      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<!DOCTYPE GIFTI SYSTEM "
                      "\"http://www.nitrc.org/frs/download.php/115/gifti.dtd\">\n"));
    snprintf(line, sizeof line, "<GIFTI Version=\"1.0\" NumberOfDataArrays=\"%td\">\n",
             kn_image_volumes(target));
    KN_TRY(write_text(ctx, w, line));
    KN_TRY(put_meta(ctx, w, "AnatomicalStructurePrimary", structure_name(target->side)));
    KN_TRY(write_text(ctx, w, "<LabelTable/>\n"));
out:
    if (status == KN_OK)
        *state = w;
    else
        free_gifti_writer(w);
    return status;
}

/* Writes one volume as a DataArray, float32 as zlib in base64 (state: gifti_writer). */
static kn_status put_volume(kn_ctx *ctx, void *state, const kn_volume *v)
{
    gifti_writer *w = state;
    uLongf packed = (uLongf)w->capacity;
    char line[512];
    kn_status status;
    kn_volume_store(v, w->voxels, KN_BIG_ENDIAN, w->volume);
    if (compress2(w->packed, &packed, w->volume, (uLong)(4 * w->voxels), Z_DEFAULT_COMPRESSION) !=
        Z_OK)
        return kn_fail(ctx, KN_ERR_MEMORY, "%s: out of memory for compressing",
                       kn_writer_path(w->file.file));
    to_base64(w->packed, (ptrdiff_t)packed, w->text);
    snprintf(line, sizeof line,
             "<DataArray Intent=\"NIFTI_INTENT_NONE\" DataType=\"NIFTI_TYPE_FLOAT32\" "
             "ArrayIndexingOrder=\"RowMajorOrder\" Dimensionality=\"1\" Dim0=\"%td\" "
             "Encoding=\"GZipBase64Binary\" Endian=\"LittleEndian\" ExternalFileName=\"\" "
             "ExternalFileOffset=\"\">\n",
             w->voxels);
    KN_TRY(write_text(ctx, w, line));
    KN_TRY(put_meta(ctx, w, "Name", w->names ? w->names[w->done] : w->description));
    KN_TRY(write_text(ctx, w, "<Data>"));
    KN_TRY(write_text(ctx, w, w->text));
    KN_TRY(write_text(ctx, w, "</Data>\n</DataArray>\n"));
    w->done++;
out:
    return status;
}

/* Writes the end of the XML and completes the file (state: gifti_writer). */
static kn_status commit_gifti(kn_ctx *ctx, void *state)
{
    gifti_writer *w = state;
    kn_status status = write_text(ctx, w, "</GIFTI>\n");
    return status == KN_OK ? kn_maybe_gzip_commit(ctx, &w->file) : status;
}

static const char *const ENDINGS[] = {".gii", ".func.gii", ".shape.gii", ".gii.gz", NULL};

const kn_image_writing kn_gifti_writing = {.begin = begin_gifti,
                                           .volume = put_volume,
                                           .commit = commit_gifti,
                                           .free = free_gifti_writer,
                                           .endings = ENDINGS,
                                           .keeps = true};
