/* The text of a .txt list of images: `path` or `id<TAB>path` on each line, or two paths, of the two
 * images that make a row of responses. */
#ifndef KN_IO_IMAGE_LIST_H
#define KN_IO_IMAGE_LIST_H

#include "io/source.h"

typedef struct kn_image_list {
    ptrdiff_t count;
    int parts;       /* paths a line, 1 or 2 */
    char **path;     /* parts of the first line, of the second, ...; as seen from here */
    char **id;       /* NULL: there are none */
    ptrdiff_t *line; /* of the file, from 1 */
    ptrdiff_t path_room, id_room, line_room;
} kn_image_list;

kn_status kn_image_list_read(kn_ctx *ctx, const char *path, kn_image_list *out);
kn_status kn_image_list_parse(kn_ctx *ctx, const char *name, const char *text, ptrdiff_t n,
                              kn_image_list *out);
void kn_image_list_clear(kn_image_list *list); /* {0} is fine */

#endif
