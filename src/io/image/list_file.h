/* The text of a .txt list of images: `path` or `id<TAB>path` on each line, with or without a
 * header, or two paths, of the two images that make a row of responses. Spaces will do for the tab
 * of an id where no file has the whole line for its name. */
#ifndef KN_IO_IMAGE_LIST_FILE_H
#define KN_IO_IMAGE_LIST_FILE_H

#include "io/file/byte_source.h"

typedef struct kn_image_list {
    ptrdiff_t count;
    int parts;       /* paths a line, 1 or 2 */
    char **path;     /* parts of the first line, of the second, ...; as seen from here */
    char **id;       /* NULL: there are none; they may repeat */
    char **session;  /* ses-XXX, where every path has exactly one; NULL: not so */
    ptrdiff_t *line; /* of the file, from 1 */
    ptrdiff_t path_room, id_room, line_room;
} kn_image_list;

kn_status kn_image_list_read(kn_ctx *ctx, const char *path, kn_image_list *out);
kn_status kn_image_list_parse(kn_ctx *ctx, const char *name, const char *text, ptrdiff_t n,
                              kn_image_list *out);
/* The files that a shell pattern matches, in the order of their names. */
kn_status kn_image_list_glob(kn_ctx *ctx, const char *pattern, kn_image_list *out);
void kn_image_list_clear(kn_image_list *list); /* {0} is fine */

#endif
