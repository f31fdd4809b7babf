/* Common interface of slices and mesh views: a table from pixels to responses. A kind (mosaic.c,
 * raster.c) builds the tables once per page; every map is then a look-up, coloured by picture.c. */
#ifndef KN_REPORT_PICTURES_PICTURE_KIND_H
#define KN_REPORT_PICTURES_PICTURE_KIND_H

#include "report/pictures/picture.h"

typedef struct kn_picture_table {
    ptrdiff_t width, height; /* px, at least 1 */
    /* height x width, top row first: the response seen at each pixel; -1: none. */
    ptrdiff_t *response;
    /* height x width: grey of the background; 0: transparent. */
    uint8_t *ground;
    /* If several responses project to one pixel, as on a thumbnail of a volume, `response` holds
     * the number of a cell, and the response with the largest |z| in the cell is shown. NULL:
     * `response` holds responses. */
    ptrdiff_t *cell; /* T  cell of each response; -1: none */
    ptrdiff_t cells;
} kn_picture_table;

enum { KN_PICTURE_WORDS = 512, KN_PICTURE_LABELS = 80 };

typedef struct kn_picture_tables { /* arrays are in the arena */
    kn_arena arena;
    kn_picture_table whole, thumb;
    kn_picture_label label[KN_PICTURE_LABELS]; /* labels on `whole` */
    ptrdiff_t labels;
    char words[KN_PICTURE_WORDS]; /* description of `whole`: view and orientation */
} kn_picture_tables;

/* Adds a label; ignored if KN_PICTURE_LABELS are present. */
void kn_picture_label_add(kn_picture_tables *tables, const kn_picture_label *label);

/* Builds the tables of a kind. out is {0} on entry; the caller clears its arena, also on
 * failure. A kind with nothing to draw leaves whole.width 0. */
typedef kn_status (*kn_picture_kind)(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                                     kn_picture_tables *out);

/* Slices of a volume (mosaic.c). */
kn_status kn_mosaic_make(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                         kn_picture_tables *out);
/* Views of meshes (raster.c). */
kn_status kn_raster_make(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                         kn_picture_tables *out);

#endif
