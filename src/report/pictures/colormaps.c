/* Implements colormaps.h by linear interpolation between anchors. Colours are those of a diverging
 * scale for z-scores and a sequential one for values. */
#include "report/pictures/colormaps.h"

#include <math.h>

enum { ANCHORS = 9 };

/* Oklab lightness .44 to .90 at hues 262 to 220 and 36 to 96 degrees; .34 to .92 at 300 to 90. */
static const uint8_t BELOW[ANCHORS][3] = {{2, 68, 190},    {1, 94, 194},    {1, 116, 206},
                                          {13, 137, 218},  {46, 158, 226},  {74, 178, 234},
                                          {102, 198, 242}, {131, 217, 250}, {169, 234, 255}};
static const uint8_t ABOVE[ANCHORS][3] = {{147, 38, 0},   {163, 62, 1},   {179, 84, 0},
                                          {194, 106, 1},  {210, 127, 0},  {224, 149, 1},
                                          {235, 173, 33}, {244, 197, 63}, {252, 221, 91}};
static const uint8_t PROPORTION[ANCHORS][3] = {{74, 1, 132},   {115, 14, 138},  {156, 33, 132},
                                               {193, 52, 119}, {226, 76, 100},  {252, 107, 76},
                                               {254, 152, 84}, {255, 191, 112}, {255, 226, 149}};

static const double ZLEVEL = 2 * KN_PICTURE_ZMAX / (KN_ZLEVELS - 1);

/* Returns the colour at t in 0 .. 1 along a scale, linear between its anchors, with opacity alpha
 * in 0 .. 1. */
static kn_png_colour interpolate_colour(const uint8_t scale[ANCHORS][3], double t, double alpha)
{
    uint8_t c[3];
    double at = t * (ANCHORS - 1);
    int k = at < ANCHORS - 2 ? (int)at : ANCHORS - 2;
    for (int i = 0; i < 3; i++)
        c[i] = (uint8_t)lround(scale[k][i] + (at - k) * (scale[k + 1][i] - scale[k][i]));
    return (kn_png_colour){c[0], c[1], c[2], (uint8_t)lround(255 * alpha)};
}

int kn_zlevel(int8_t z)
{
    const int middle = KN_ZLEVELS / 2;
    if (z == KN_REPORT_NO_Z)
        return middle;
    long level = lround(z * KN_REPORT_ZSTEP / ZLEVEL);
    return middle + (int)(level < -middle ? -middle : level > middle ? middle : level);
}

kn_png_colour kn_zcolour(int level)
{
    double z = (level - KN_ZLEVELS / 2) * ZLEVEL, size = fabs(z);
    double alpha = size < KN_ZFAINT ? 0 : size < KN_ZFULL ? size * size / (KN_ZFULL * KN_ZFULL) : 1;
    return interpolate_colour(z < 0 ? BELOW : ABOVE, size / KN_PICTURE_ZMAX, alpha);
}

int kn_vlevel(double value, double low, double high)
{
    if (!(value > low))
        return 0;
    if (!(value < high))
        return KN_VLEVELS - 1;
    return 1 + (int)((value - low) / (high - low) * (KN_VLEVELS - 1));
}

kn_png_colour kn_vcolour(int level)
{
    const double fade = .25;
    double t = (double)level / (KN_VLEVELS - 1);
    return interpolate_colour(PROPORTION, t, t < fade ? t / fade : 1);
}

/* Returns one colour channel of `top` over `under` at opacity alpha; all 0 .. 255. */
static uint8_t blend_channel(uint8_t top, uint8_t under, uint8_t alpha)
{
    return (uint8_t)((top * alpha + under * (255 - alpha) + 127) / 255);
}

kn_png_colour kn_colour_over(kn_png_colour top, uint8_t grey)
{
    return (kn_png_colour){blend_channel(top.red, grey, top.alpha),
                           blend_channel(top.green, grey, top.alpha),
                           blend_channel(top.blue, grey, top.alpha), 255};
}
