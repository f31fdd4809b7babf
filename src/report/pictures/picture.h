/* Maps as PNG pictures: slices of a volume or views of meshes, drawn in C so that they appear
 * without JavaScript and in print. All pictures of a page share one layout: one background
 * (ground), and a transparent picture per map over it. */
#ifndef KN_REPORT_PICTURES_PICTURE_H
#define KN_REPORT_PICTURES_PICTURE_H

#include "report/report.h"

typedef struct kn_picture { /* a PNG */
    void *bytes;            /* owned, kn_free */
    ptrdiff_t n;
    ptrdiff_t width, height;
} kn_picture;
/* Frees the PNG and sets *p to {0}; {0} is allowed. */
void kn_picture_clear(kn_picture *p);

typedef struct kn_picture_label { /* a label on the background; the page writes it as text */
    ptrdiff_t x, y;               /* px of the baseline; see anchor */
    const char *anchor;           /* "start", "middle", "end" */
    char text[32];                /* generated: "z −40", "L" */
} kn_picture_label;
enum { KN_PICTURE_LETTER = 11 }; /* font size in px */

typedef struct kn_pictures kn_pictures;

/* Prepares the pictures of a space. *out is NULL with KN_OK for a table without a surface. space
 * is borrowed and must outlive *out. */
kn_status kn_pictures_new(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                          kn_pictures **out);
/* Frees the tables; NULL is fine. */
void kn_pictures_free(kn_pictures *p);
/* Returns a description: "Axial slices at z = -40, -28 .. mm, the left of the brain on the
 * left." */
const char *kn_pictures_description(const kn_pictures *p);

/* Draws the background of all maps in 64 greys, transparent outside; *out is owned
 * (kn_picture_clear). */
kn_status kn_pictures_background(kn_ctx *ctx, kn_pictures *p, kn_picture *out);
/* Returns the number of labels on the background; *out points to them, borrowed. */
ptrdiff_t kn_pictures_labels(const kn_pictures *p, const kn_picture_label **out);
/* Draws a z-map (T values in KN_REPORT_ZSTEP): blue below and orange above 0; opacity grows
 * quadratically up to |z| = 3, colour up to KN_PICTURE_ZMAX. */
#define KN_PICTURE_ZMAX 6.0
/* Draws a map of z (T values in steps of KN_REPORT_ZSTEP) as a transparent picture: blue below and
 * orange above 0; opacity grows quadratically up to |z| = 3, colour up to KN_PICTURE_ZMAX. *out is
 * owned (kn_picture_clear). */
kn_status kn_pictures_z(kn_ctx *ctx, kn_pictures *p, const int8_t *z, kn_picture *out);
/* Draws a map of T values, such as a proportion or R2, coloured from `low` (transparent) to `high`;
 * NaN is not drawn. *out is owned (kn_picture_clear). */
kn_status kn_pictures_values(kn_ctx *ctx, kn_pictures *p, const double *value, double low,
                             double high, kn_picture *out);
/* Draws a thumbnail with its background; for a volume a maximum-|z| projection seen from above. */
kn_status kn_pictures_thumb(kn_ctx *ctx, kn_pictures *p, const int8_t *z, kn_picture *out);
/* Draws a colour bar, 256 x 12 px, over middle grey: from -ZMAX to ZMAX if `z`, else low to
 * high. */
kn_status kn_pictures_bar(kn_ctx *ctx, bool z, kn_picture *out);

#endif
