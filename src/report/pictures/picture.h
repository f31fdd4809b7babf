/* Maps as pictures: slices of a volume, or views of meshes, drawn here so that they are there
 * without JavaScript and on paper. All pictures of a page have one layout: a ground, drawn once,
 * and over it one transparent picture for each map. */
#ifndef KN_REPORT_PICTURES_PICTURE_H
#define KN_REPORT_PICTURES_PICTURE_H

#include "report/report.h"

typedef struct kn_picture { /* a PNG */
    void *bytes;            /* kn_free */
    ptrdiff_t n;
    ptrdiff_t width, height;
} kn_picture;
void kn_picture_clear(kn_picture *p); /* {0} is fine */

typedef struct kn_picture_label { /* a word on the ground, which the page writes */
    ptrdiff_t x, y;               /* of its foot; in the middle of it by anchor */
    const char *anchor;           /* "start", "middle", "end" */
    char text[32];                /* ours; "z −40", "L" */
} kn_picture_label;
enum { KN_PICTURE_LETTER = 11 }; /* height of the letters */

typedef struct kn_pictures kn_pictures;

/* NULL with KN_OK: responses of a table without a surface have no picture. space must outlive it.
 */
kn_status kn_pictures_new(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                          kn_pictures **out);
void kn_pictures_free(kn_pictures *p);
/* "Axial slices at z = -40, -28 .. mm, the left of the brain on the left." */
const char *kn_pictures_words(const kn_pictures *p);

kn_status kn_pictures_ground(kn_ctx *ctx, kn_pictures *p, kn_picture *out);
/* How many labels there are on it, and these. */
ptrdiff_t kn_pictures_labels(const kn_pictures *p, const kn_picture_label **out);
/* z, blue below and orange above 0, the more opaque the larger (quadratic up to |z| = 3, full from
 * there; colour up to KN_PICTURE_ZMAX). */
#define KN_PICTURE_ZMAX 6.0
kn_status kn_pictures_z(kn_ctx *ctx, kn_pictures *p, const int8_t *z, kn_picture *out);
/* A share or R2: from `low`, transparent, to `high`; T values. */
kn_status kn_pictures_values(kn_ctx *ctx, kn_pictures *p, const double *value, double low,
                             double high, kn_picture *out);
/* A small one, ground and all: of a volume the largest |z| along the line of sight, seen from
 * above. */
kn_status kn_pictures_thumb(kn_ctx *ctx, kn_pictures *p, const int8_t *z, kn_picture *out);
/* The colours from -ZMAX to ZMAX, or from low to high, as over a brain of middle grey: a bar
 * 256 wide and 12 high. */
kn_status kn_pictures_bar(kn_ctx *ctx, bool z, kn_picture *out);

#endif
