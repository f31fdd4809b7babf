/* The images that are shown: strokes of each figure, and the pixels nearest to them. They are the
 * covariates of the experiment. */
#include "paper/visual/internal.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_STROKES = 10, SHAPES = 5, LETTERS = 5 };

typedef struct stroke { /* from (x0, y0) to (x1, y1) in the unit square, y downwards */
    double x0, y0, x1, y1;
} stroke;

static const struct {
    const char *name;
    int n;
    stroke s[MAX_STROKES];
} DRAWING[SHAPES + LETTERS] = {
    {"large frame", 4, {{0, 0, 1, 0}, {1, 0, 1, 1}, {1, 1, 0, 1}, {0, 1, 0, 0}}},
    {"small frame", 4, {{.2, .2, .8, .2}, {.8, .2, .8, .8}, {.8, .8, .2, .8}, {.2, .8, .2, .2}}},
    {"plus", 2, {{.5, 0, .5, 1}, {0, .5, 1, .5}}},
    {"cross", 2, {{0, 0, 1, 1}, {1, 0, 0, 1}}},
    {"square", 3, {{.3, .3, .7, .3}, {.3, .5, .7, .5}, {.3, .7, .7, .7}}},
    {"n", 4, {{0, 0, 0, 1}, {0, .25, .4, 0}, {.4, 0, 1, .25}, {1, .25, 1, 1}}},
    {"e",
     8,
     {{0, .5, 1, .5},
      {1, .5, 1, .2},
      {1, .2, .75, 0},
      {.75, 0, .25, 0},
      {.25, 0, 0, .25},
      {0, .25, 0, .75},
      {0, .75, .25, 1},
      {.25, 1, .9, 1}}},
    {"u", 4, {{0, 0, 0, .75}, {0, .75, .6, 1}, {.6, 1, 1, .75}, {1, 0, 1, 1}}},
    {"r", 3, {{0, 0, 0, 1}, {0, .3, .4, 0}, {.4, 0, 1, .1}}},
    {"o",
     8,
     {{.3, 0, .7, 0},
      {.7, 0, 1, .3},
      {1, .3, 1, .7},
      {1, .7, .7, 1},
      {.7, 1, .3, 1},
      {.3, 1, 0, .7},
      {0, .7, 0, .3},
      {0, .3, .3, 0}}},
};

static const struct {
    double scale; /* px per side of the unit square */
    double slant; /* px of x from the centre to the top */
} STYLE[] = {{6.5, 0}, {6, 1.5}, {4.5, 0}};

/* Returns the index of the drawing (shape or letter) of a figure. */
static int drawing_of(int figure)
{
    return figure < SHAPES ? figure : SHAPES + (figure - SHAPES) % LETTERS;
}

/* Returns the style of a figure: 0 upright or a shape, 1 slanted, 2 small. */
static int style_of(int figure)
{
    return figure < SHAPES ? 0 : (figure - SHAPES) / LETTERS;
}

const char *kn_pattern_name(int figure)
{
    return DRAWING[drawing_of(figure)].name;
}

int kn_pattern_fill(int figure)
{
    enum { MIN = 34, STEP = 3, LEVELS = 5 };
    return MIN +
           /* So that the three styles of a letter differ. */
           STEP * ((figure + figure / LEVELS) % LEVELS);
}

/* Returns the distance of the point (x, y) from a line segment, in units of the drawing. */
static double stroke_distance(stroke s, double x, double y)
{
    double dx = s.x1 - s.x0, dy = s.y1 - s.y0;
    double t = ((x - s.x0) * dx + (y - s.y0) * dy) / (dx * dx + dy * dy);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return hypot(x - s.x0 - t * dx, y - s.y0 - t * dy);
}

typedef struct near_pixel {
    double distance;
    int pixel;
} near_pixel;

/* Comparison for qsort of pixels: by distance, then by number. */
static int by_distance(const void *a, const void *b)
{
    const near_pixel *p = a, *q = b;
    if (p->distance != q->distance)
        return p->distance < q->distance ? -1 : 1;
    return p->pixel - q->pixel;
}

/* Lights the `fill` pixels nearest to the strokes. Distances are rounded, so that ties are the
 * same on every machine; they are broken by pixel number. */
void kn_pattern_figure(int figure, unsigned char x[KN_PIXELS])
{
    const double middle = (KN_SCREEN - 1) / 2.0, digits = 1e6;
    int d = drawing_of(figure), fill = kn_pattern_fill(figure);
    double scale = STYLE[style_of(figure)].scale, slant = STYLE[style_of(figure)].slant;
    near_pixel order[KN_PIXELS];
    for (int i = 0; i < KN_PIXELS; i++) {
        double v = (i % KN_SCREEN - middle) / scale + 0.5, nearest = INFINITY;
        double u = (i / KN_SCREEN - middle - 2 * slant * (0.5 - v)) / scale + 0.5;
        for (int k = 0; k < DRAWING[d].n; k++)
            nearest = fmin(nearest, stroke_distance(DRAWING[d].s[k], u, v));
        order[i] = (near_pixel){floor(nearest * digits + 0.5), i};
        x[i] = 0;
    }
    qsort(order, KN_PIXELS, sizeof *order, by_distance);
    for (int k = 0; k < fill; k++)
        x[order[k].pixel] = 1;
}

void kn_pattern_random(kn_rng *rng, int fill, unsigned char x[KN_PIXELS])
{
    ptrdiff_t order[KN_PIXELS];
    kn_rng_permutation(rng, KN_PIXELS, order);
    for (int k = 0; k < KN_PIXELS; k++)
        x[order[k]] = k < fill;
}
