/* What only the files of this folder use, one section per file: lists of image files, and the
 * struct behind kn_images. Start with image_set.h. */
#ifndef KN_IO_IMAGE_INTERNAL_H
#define KN_IO_IMAGE_INTERNAL_H

#include "io/file/byte_source.h"
#include "io/image/image_set.h"

/* ---- list_file.c ----------------------------------------------------------------------------- */

/* Reads a .txt list of images: a line is `path` or `id<TAB>path`, or has two paths if two images
 * form a row of responses; a header line is optional. Spaces may replace the tab after an id if
 * no file has the whole line as its name. */

typedef struct kn_image_list {
    ptrdiff_t count; /* lines with images */
    int parts;       /* paths per line, 1 or 2 */
    char **path;     /* count x parts, row-major; relative to the working directory or absolute */
    char **id;       /* count; may repeat; NULL: no ids */
    char **session;  /* count; label ses-XXX; NULL: no ids, or not exactly one label per line */
    ptrdiff_t *line; /* count; line of the file, from 1 */
    ptrdiff_t path_capacity, id_capacity, line_capacity;
} kn_image_list;

/* Reads a list file. Paths in it are relative to its folder. Ids are the given ones, else the
 * labels sub-XXX of the (first) paths. KN_ERR_FORMAT names the line that is wrong. */
kn_status kn_image_list_read(kn_ctx *ctx, const char *path, kn_image_list *out);
/* Like kn_image_list_read, from n characters of text; `name` is the path of the list. */
kn_status kn_image_list_parse(kn_ctx *ctx, const char *name, const char *text, ptrdiff_t n,
                              kn_image_list *out);
/* Lists the files that match a shell pattern, sorted bytewise by name, or of two patterns 'A,B' the
 * pairs of hemispheres. KN_ERR_IO if none does; KN_ERR_DATA if the names of a pair differ in more
 * than the hemisphere. */
kn_status kn_image_list_glob(kn_ctx *ctx, const char *pattern, kn_image_list *out);
/* Frees the list. {0} is allowed. */
void kn_image_list_clear(kn_image_list *list);

/* ---- image_set.c and image_set_read.c -------------------------------------------------------- */

/* Definition of kn_images, shared by image_set.c (opening) and image_set_read.c (reading). */

struct kn_images {
    ptrdiff_t count;    /* images */
    ptrdiff_t files;    /* image files of all parts */
    int parts;          /* 1 or 2 */
    kn_image *file;     /* list: count x parts, row-major; 4D: one per part */
    kn_image_list list; /* count 0: a 4D file */
    bool globbed;       /* the list comes from a shell pattern */
    char *name;         /* of the list, pattern or 4D file */
    bool later;         /* headers after the first are read together with their image */
    kn_image_part part[KN_PARTS];
    kn_geometry geometry;            /* of a row: all parts */
    ptrdiff_t memory;                /* bytes for decompressing a 4D file */
    kn_image_reader *kept[KN_PARTS]; /* readers of a 4D file that needs a single one, or NULL */
};

/* Opens the file(s) of image i of a list and compares them with the first image. */
kn_status kn_images_open_row(kn_ctx *ctx, kn_images *images, ptrdiff_t i);

#endif
