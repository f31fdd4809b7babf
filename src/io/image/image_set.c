/* Opens the images of all participants and describes them (image_set.h). image_set_read.c reads
 * their voxels. */
#include <string.h>
#include <unistd.h>

#include "io/file/path.h"
#include "io/image/internal.h"

bool kn_images_is_name(const char *path)
{
    return kn_path_ends(path, ".txt") || kn_image_is_name(path);
}

/* Replaces the current error message by "LIST line N: MESSAGE" and returns the status; out of
 * memory and cancellation stay as they are. */
static kn_status add_place(kn_ctx *ctx, kn_status status, const char *list, ptrdiff_t line)
{
    char what[1024];
    if (status == KN_ERR_MEMORY || status == KN_ERR_CANCELLED)
        return status;
    size_t n = strlen(kn_message(ctx));
    n = n < sizeof what ? n : sizeof what - 1;
    memcpy(what, kn_message(ctx), n);
    what[n] = '\0';
    return kn_fail(ctx, status, "%s line %td: %s", list, line, what);
}

/* Opens one image file as *out (kn_image_clear). KN_ERR_FORMAT for CIFTI other than dense scalars
 * and series, which has no brain models. */
static kn_status open_part(kn_ctx *ctx, const char *path, kn_image *out)
{
    kn_status status = kn_image_open(ctx, path, out);
    if (status == KN_OK && out->header.cifti && !out->brain.hash)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s has CIFTI intent %d, but must contain dense scalars or a dense series",
                       path, out->header.intent_code);
    return status;
}

/* Checks that an image has the hemisphere (KN_ERR_DATA), geometry and brain models (KN_ERR_SHAPE)
 * of the first one. Its copy of the brain models' XML is then freed. */
static kn_status compare_first(kn_ctx *ctx, kn_image *file, const kn_image *first)
{
    const char *side = kn_image_side(file->path), *expected = kn_image_side(first->path);
    kn_status status;
    if (*side && *expected && strcmp(side, expected) != 0)
        return kn_fail(
            ctx, KN_ERR_DATA,
            "%s is %s by its name, but this position is %s in %s; use the same order in every line",
            file->path, side, expected, first->path);
    KN_TRY(kn_geometry_compare(ctx, file->path, &file->geometry, first->path, &first->geometry));
    KN_TRY(kn_brain_compare(ctx, file->path, &file->brain, first->path, &first->brain));
    kn_free(file->brain.xml);
    file->brain.xml = NULL;
out:
    return status;
}

/* Opens the one or two files of image i of a list and compares them with those of image 0.
 * KN_ERR_SHAPE if one is 4D or differs. */
static kn_status open_listed(kn_ctx *ctx, kn_images *images, ptrdiff_t i)
{
    kn_status status = KN_OK;
    for (int k = 0; k < images->parts; k++) {
        ptrdiff_t at = i * images->parts + k;
        kn_image *file = &images->file[at];
        KN_TRY(open_part(ctx, images->list.path[at], file));
        if (file->header.volumes > 1)
            return kn_fail(ctx, KN_ERR_SHAPE,
                           "%s has %td volumes, but each image of a list must have one", file->path,
                           file->header.volumes);
        if (i > 0)
            KN_TRY(compare_first(ctx, file, &images->file[k]));
    }
out:
    return status;
}

/* Adds the line of the list to an error message. */
kn_status kn_images_open_row(kn_ctx *ctx, kn_images *images, ptrdiff_t i)
{
    kn_status status = open_listed(ctx, images, i);
    for (int k = 0; status != KN_OK && images->later && k < images->parts; k++)
        kn_image_clear(&images->file[i * images->parts + k]); /* so that a later read tries again */
    bool line = status != KN_OK && !images->globbed;          /* files of a pattern have no lines */
    return line ? add_place(ctx, status, images->name, images->list.line[i]) : status;
}

/* Allocates n x images->parts empty image structs in `images`, which owns them. Fails only without
 * memory. */
static kn_status make_files(kn_ctx *ctx, kn_images *images, ptrdiff_t n)
{
    void *files;
    kn_status status = kn_alloc(ctx, n * images->parts, sizeof *images->file, &files);
    images->file = files;
    if (status == KN_OK)
        images->files = n * images->parts;
    return status;
}

/* What is opened. */
typedef struct source {
    const char *path; /* of a 4D image or a list, or a pattern; with text a name for messages */
    const char *text; /* of a list; NULL: path is opened */
    ptrdiff_t memory; /* bytes for decompressed volumes, 0: KN_IMAGE_MEMORY */
    bool later;       /* headers are read when their image is needed */
} source;

/* Opens a text, a text file or a pattern as a list of images. All headers are read and compared, or
 * only the first if images->later. */
static kn_status open_list(kn_ctx *ctx, const source *from, kn_images *images)
{
    kn_status status;

    if (from->text)
        KN_TRY(kn_image_list_parse(ctx, "list", from->text, (ptrdiff_t)strlen(from->text),
                                   &images->list));
    else
        KN_TRY(images->globbed ? kn_image_list_glob(ctx, from->path, &images->list)
                               : kn_image_list_read(ctx, from->path, &images->list));
    images->count = images->list.count;
    images->parts = images->list.parts;
    KN_TRY(make_files(ctx, images, images->count));
    for (ptrdiff_t i = 0; i < (images->later ? 1 : images->count); i++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_images_open_row(ctx, images, i));
    }
out:
    return status;
}

/* Returns the comma between two image names "a,b"; NULL if `path` is a single name: it has no comma
 * or several, or such a file exists. */
static const char *find_comma(const char *path)
{
    const char *comma = strchr(path, ',');
    return comma && !strchr(comma + 1, ',') && access(path, F_OK) != 0 ? comma : NULL;
}

/* Opens a 4D file, or two as "a,b" with the same number of volumes; else KN_ERR_SHAPE. */
static kn_status open_4d(kn_ctx *ctx, const char *path, kn_images *images)
{
    const char *comma = find_comma(path);
    char *first = NULL;
    kn_status status;
    images->parts = comma ? 2 : 1;
    KN_TRY(make_files(ctx, images, 1));
    KN_TRY(kn_text_copy(ctx, path, comma ? (size_t)(comma - path) : strlen(path), &first));
    KN_TRY(open_part(ctx, first, &images->file[0]));
    images->count = images->file[0].header.volumes;
    if (comma) {
        KN_TRY(open_part(ctx, comma + 1, &images->file[1]));
        if (images->file[1].header.volumes != images->count)
            status = kn_fail(ctx, KN_ERR_SHAPE, "%s has %td volumes instead of %td as in %s",
                             comma + 1, images->file[1].header.volumes, images->count, first);
    }
out:
    kn_free(first);
    return status;
}

/* Sets images->part (one per hemisphere) and images->geometry from the first image. */
static kn_status describe_parts(kn_ctx *ctx, const char *path, kn_images *images)
{
    kn_status status = KN_OK;
    for (int k = 0; k < images->parts; k++)
        KN_TRY(kn_image_part_of(ctx, &images->file[k], &images->part[k]));
    kn_image_parts_finalise(images->part, images->parts);
    KN_TRY(kn_image_parts_geometry(ctx, path, images->part, images->parts, &images->geometry));
out:
    return status;
}

/* Opens one 4D image, a list or a pattern as *out (kn_images_free; NULL on failure). */
static kn_status open_all(kn_ctx *ctx, const source *from, kn_images **out)
{
    const char *path = from->path;
    kn_images *images = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    if (!from->text && !kn_images_is_name(path))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s is neither an image (%s) nor a .txt list of images",
                       path, kn_image_known_names().text);
    KN_TRY(kn_alloc(ctx, 1, sizeof *images, &p));
    images = p;
    images->memory = from->memory > 0 ? from->memory : KN_IMAGE_MEMORY;
    images->later = from->later;
    KN_TRY(kn_text_copy(ctx, path, strlen(path), &images->name));
    images->globbed = from->text || (strpbrk(path, "*?[") && access(path, F_OK) != 0);
    KN_TRY(images->globbed || kn_path_ends(path, ".txt") ? open_list(ctx, from, images)
                                                         : open_4d(ctx, path, images));
    KN_TRY(describe_parts(ctx, path, images));
out:
    if (status == KN_OK)
        *out = images;
    else
        kn_images_free(images);
    return status;
}

kn_status kn_images_open(kn_ctx *ctx, const char *path, ptrdiff_t memory, kn_images **out)
{
    return open_all(ctx, &(source){.path = path, .memory = memory}, out);
}

kn_status kn_images_open_later(kn_ctx *ctx, const char *path, ptrdiff_t memory, kn_images **out)
{
    return open_all(ctx, &(source){.path = path, .memory = memory, .later = true}, out);
}

kn_status kn_images_open_text(kn_ctx *ctx, const char *name, const char *text, bool later,
                              kn_images **out)
{
    return open_all(ctx, &(source){.path = name, .text = text, .later = later}, out);
}

void kn_images_rest(kn_images *images)
{
    for (int k = 0; k < KN_PARTS; k++) {
        kn_image_reader_free(images->kept[k]);
        images->kept[k] = NULL;
    }
}

void kn_images_free(kn_images *images)
{
    if (!images)
        return;
    kn_images_rest(images);
    for (ptrdiff_t i = 0; i < images->files; i++)
        kn_image_clear(&images->file[i]);
    for (int k = 0; k < KN_PARTS; k++)
        kn_image_part_clear(&images->part[k]);
    kn_free(images->file);
    kn_free(images->name);
    kn_image_list_clear(&images->list);
    kn_free(images);
}

ptrdiff_t kn_images_count(const kn_images *images)
{
    return images->count;
}

const kn_geometry *kn_images_geometry(const kn_images *images)
{
    return &images->geometry;
}

int kn_images_parts(const kn_images *images)
{
    return images->parts;
}

const kn_image_part *kn_images_part(const kn_images *images, int k)
{
    return &images->part[k];
}

ptrdiff_t kn_images_files(const kn_images *images)
{
    return images->files;
}

const char *kn_images_file(const kn_images *images, ptrdiff_t i)
{
    return kn_images_is_list(images) ? images->list.path[i] : images->file[i].path;
}

bool kn_images_is_list(const kn_images *images)
{
    return images->list.count > 0;
}

const char *kn_images_id(const kn_images *images, ptrdiff_t i)
{
    return images->list.id ? images->list.id[i] : NULL;
}

const char *kn_images_session(const kn_images *images, ptrdiff_t i)
{
    return images->list.session ? images->list.session[i] : NULL;
}

ptrdiff_t kn_images_line(const kn_images *images, ptrdiff_t i)
{
    return images->globbed || !kn_images_is_list(images) ? 0 : images->list.line[i];
}

const char *kn_images_path(const kn_images *images, ptrdiff_t i)
{
    return kn_images_file(images, kn_images_is_list(images) ? i * images->parts : 0);
}
