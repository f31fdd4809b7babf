/* Reads a .txt list of images: a line is `path` or `id<TAB>path`, or has two paths if two images
 * form a row of responses; a header line is optional. Spaces may replace the tab after an id if
 * no file has the whole line as its name. */
#ifndef KN_IO_IMAGE_LIST_FILE_H
#define KN_IO_IMAGE_LIST_FILE_H

#include "io/file/byte_source.h"

typedef struct kn_image_list {
    ptrdiff_t count; /* lines with images */
    int parts;       /* paths per line, 1 or 2 */
    char **path;     /* count x parts, row-major; relative to the working directory or absolute */
    char **id;       /* count; may repeat; NULL: no ids */
    char **session;  /* count; label ses-XXX; NULL: no ids, or not exactly one label per line */
    ptrdiff_t *line; /* count; line of the file, from 1 */
    ptrdiff_t path_room, id_room, line_room;
} kn_image_list;

/* Reads a list file. Paths in it are relative to its folder. Ids are the given ones, else the
 * labels sub-XXX of the (first) paths. KN_ERR_FORMAT names the line that is wrong. */
kn_status kn_image_list_read(kn_ctx *ctx, const char *path, kn_image_list *out);
/* Like kn_image_list_read, from n characters of text; `name` is the path of the list. */
kn_status kn_image_list_parse(kn_ctx *ctx, const char *name, const char *text, ptrdiff_t n,
                              kn_image_list *out);
/* Lists the files that match a shell pattern, sorted bytewise by name. KN_ERR_IO if none does. */
kn_status kn_image_list_glob(kn_ctx *ctx, const char *pattern, kn_image_list *out);
/* Frees the list. {0} is allowed. */
void kn_image_list_clear(kn_image_list *list);

#endif
