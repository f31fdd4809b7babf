/* Definition of kn_images, shared by image_set.c (opening) and image_set_read.c (reading). */
#ifndef KN_IO_IMAGE_IMAGE_SET_INTERNAL_H
#define KN_IO_IMAGE_IMAGE_SET_INTERNAL_H

#include "io/image/image_set.h"
#include "io/image/list_file.h"

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
