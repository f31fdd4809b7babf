/* Colours of maps. Lightness rises evenly (Oklab) from one end of a scale to the other, and the two
 * arms of z are blue and orange of equal lightness: they can be told apart by every kind of colour
 * vision, and strength also without any. */
#ifndef KN_REPORT_PICTURES_COLORMAPS_H
#define KN_REPORT_PICTURES_COLORMAPS_H

#include "io/formats/png.h"
#include "report/pictures/picture.h"

/* z is shown in steps of a quarter from -ZMAX to ZMAX, the middle one is 0. */
enum { KN_ZLEVELS = 49 };
/* From tenths (KN_REPORT_ZSTEP) to 0 .. KN_ZLEVELS - 1; beyond ZMAX the outermost. A missing z
 * counts as 0. */
int kn_zlevel(int8_t z);
/* Colour of a level; alpha = min(1, |z|/3)^2, and nothing below KN_ZFAINT, where none would be
 * seen. */
#define KN_ZFULL  3.0
#define KN_ZFAINT 0.6
kn_png_colour kn_zcolour(int level);

/* A share or R2: level 0 is nothing, 1 .. KN_VLEVELS - 1 from low to high. The first quarter fades
 * in. */
enum { KN_VLEVELS = 64 };
int kn_vlevel(double value, double low, double high); /* NaN: 0 */
kn_png_colour kn_vcolour(int level);

/* top over an opaque ground. */
kn_png_colour kn_colour_over(kn_png_colour top, uint8_t grey);

#endif
