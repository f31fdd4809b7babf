/* What slices of volumes and views of meshes have in common: a table from pixels to responses. A
 * kind makes the tables once a page; every picture of a person is then a look-up, and colouring is
 * report/pictures/picture.c for all kinds. */
#ifndef KN_REPORT_PICTURES_PICTURE_KIND_H
#define KN_REPORT_PICTURES_PICTURE_KIND_H

#include "report/pictures/picture.h"

typedef struct kn_picture_table {
    ptrdiff_t width, height; /* at least 1 pixel */
    ptrdiff_t *
        response; /* height x width, the top row first: the response that is seen there; -1: none */
    uint8_t
        *ground; /* height x width: grey under it; 0: nothing is there, the page shines through */
    /* Several responses behind one pixel, as on a thumbnail of a volume: then `response` is the
     * number of a cell, and the response of the largest |z| in the cell is shown. NULL: responses
     * are cells. */
    ptrdiff_t *cell; /* T; -1: in none */
    ptrdiff_t cells;
} kn_picture_table;

enum { KN_PICTURE_WORDS = 512, KN_PICTURE_LABELS = 80 };

typedef struct kn_picture_tables { /* all arrays are in the arena */
    kn_arena arena;
    kn_picture_table whole, thumb;
    kn_picture_label label[KN_PICTURE_LABELS]; /* of whole */
    ptrdiff_t labels;
    char words[KN_PICTURE_WORDS]; /* of `whole`: what is seen, from where, which side is left */
} kn_picture_tables;

/* A label more; one that there is no room for is left out. */
void kn_picture_label_add(kn_picture_tables *tables, const kn_picture_label *label);

/* out is {0}; what is in its arena on failure is cleared by the caller. A kind that has nothing to
 * draw leaves whole.width 0. */
typedef kn_status (*kn_picture_kind)(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                                     kn_picture_tables *out);

kn_status kn_mosaic_make(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                         kn_picture_tables *out); /* report/pictures/mosaic.c */
kn_status kn_raster_make(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                         kn_picture_tables *out); /* report/pictures/raster.c */

#endif
