/* What the images of a cohort are made of, for those who open and who read them. */
#ifndef KN_IO_IMAGE_IMAGE_SET_INTERNAL_H
#define KN_IO_IMAGE_IMAGE_SET_INTERNAL_H

#include "io/image/image_set.h"
#include "io/image/list_file.h"

struct kn_images {
    ptrdiff_t count; /* images */
    ptrdiff_t files; /* of all parts */
    int parts;
    kn_image *file;     /* parts of the first image, of the second, ...; of a 4D file only those */
    kn_image_list list; /* count 0: a 4D file */
    bool globbed;       /* the list is what a pattern matched */
    char *name;         /* of the list */
    bool later;         /* headers but the first are read when their image is */
    kn_image_part part[KN_PARTS];
    kn_geometry geometry; /* of all parts */
    ptrdiff_t memory;
    kn_image_reader *kept[KN_PARTS]; /* of a compressed 4D file */
};

/* Headers of image i of a list. */
kn_status kn_images_open_row(kn_ctx *ctx, kn_images *images, ptrdiff_t i);

#endif
