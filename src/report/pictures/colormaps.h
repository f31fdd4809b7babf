/* Colours of maps. Lightness changes evenly (Oklab) along a scale, and the two arms of z are
 * blue and orange of equal lightness. They are distinguishable with every kind of colour vision,
 * and magnitude is visible even in grey. */
#ifndef KN_REPORT_PICTURES_COLORMAPS_H
#define KN_REPORT_PICTURES_COLORMAPS_H

#include "io/formats/png.h"
#include "report/pictures/picture.h"

/* z is shown in steps of a quarter from -ZMAX to ZMAX; the middle level is 0. */
enum { KN_ZLEVELS = 49 };
/* Converts z in tenths (KN_REPORT_ZSTEP) to a level 0 .. KN_ZLEVELS - 1, limited to +-ZMAX. A
 * missing z is level 0 of z. */
int kn_zlevel(int8_t z);
/* |z| from which maps are opaque, and |z| below which they are transparent. */
#define KN_ZFULL  3.0
#define KN_ZFAINT 0.6
/* Returns the colour of a z level, with alpha = min(1, |z|/3)^2, and 0 below KN_ZFAINT, where the
 * colour would be invisible. */
kn_png_colour kn_zcolour(int level);

/* Levels of a share or R2: 0 is transparent, 1 .. KN_VLEVELS - 1 run from low to high. The first
 * quarter fades in. */
enum { KN_VLEVELS = 64 };
/* Returns the level of a value between low and high, 0 .. KN_VLEVELS - 1; 0, which is transparent,
 * for a value of at most `low` and for NaN. */
int kn_vlevel(double value, double low, double high);
/* Returns the colour of such a level; the first quarter of the levels fades in. */
kn_png_colour kn_vcolour(int level);

/* Blends `top` over an opaque grey. */
kn_png_colour kn_colour_over(kn_png_colour top, uint8_t grey);

#endif
