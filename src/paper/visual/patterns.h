/* The 10 x 10 images of the experiment: figures drawn from strokes, and random patterns with the
 * same numbers of lit pixels. Pixel (row i, column j) is element i + 10 j, as in the label
 * files. */
#ifndef KN_PAPER_VISUAL_PATTERNS_H
#define KN_PAPER_VISUAL_PATTERNS_H

#include "base/random.h"

enum { KN_SCREEN = 10, KN_PIXELS = KN_SCREEN * KN_SCREEN, KN_FIGURES = 20 };

/* Draws one of KN_FIGURES figures: 5 shapes, then 5 letters upright, slanted and small. The
 * thickness of the strokes is chosen so that 34, 37, 40, 43 or 46 pixels are lit, each equally
 * often. */
void kn_pattern_figure(int figure, unsigned char x[KN_PIXELS]);
int kn_pattern_fill(int figure); /* number of lit pixels */
const char *kn_pattern_name(int figure);

/* Draws a random pattern with `fill` lit pixels. */
void kn_pattern_random(kn_rng *rng, int fill, unsigned char x[KN_PIXELS]);

#endif
