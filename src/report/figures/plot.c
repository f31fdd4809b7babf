/* The frame of a figure: grid, axes, reference lines and key. Margins do not depend on
 * the data. */
#include "report/figures/internal.h"

#include <math.h>
#include <stdio.h>

enum {
    MARGIN_LEFT = 52,
    MARGIN_TOP = 42, /* for the name of the y axis and the key */
    MARGIN_RIGHT = 14,
    MARGIN_BOTTOM = 44,
    KEY_SPACE = 32,  /* px of a swatch and the space before it */
    NAME_LIMIT = 48, /* bytes of a name from a file */
};

kn_plot kn_plot_new(kn_svg *svg, const kn_svg_head *head)
{
    return (kn_plot){.svg = svg,
                     .left = MARGIN_LEFT,
                     .top = MARGIN_TOP,
                     .right = head->width - MARGIN_RIGHT,
                     .bottom = head->height - MARGIN_BOTTOM};
}

void kn_plot_scales(kn_plot *p, kn_range x, kn_range y)
{
    p->x = (kn_axis_scale){.range = x, .from = p->left, .to = p->right, .log = p->x.log};
    p->y = (kn_axis_scale){.range = y, .from = p->bottom, .to = p->top, .log = p->y.log};
}

double kn_plot_x(const kn_plot *p, double x)
{
    return kn_axis_scale_px(&p->x, x);
}

double kn_plot_y(const kn_plot *p, double y)
{
    return kn_axis_scale_px(&p->y, y);
}

/* Draws a grid line and a number at each tick of the y axis, and the name of the axis above it. */
static void draw_y_ticks(kn_plot *p, const kn_ticks *t, const char *name)
{
    kn_svg_group(p->svg, "grid");
    for (int k = 0; k < t->n; k++)
        kn_svg_line(p->svg, NULL, p->left, kn_plot_y(p, t->value[k]), p->right,
                    kn_plot_y(p, t->value[k]));
    kn_svg_group_end(p->svg);
    for (int k = 0; k < t->n; k++) {
        char text[KN_TICK_TEXT];
        kn_tick_text(t, t->value[k], text);
        kn_svg_text(p->svg, NULL, "end", p->left - 7, kn_plot_y(p, t->value[k]) + 4.4, text);
    }
    kn_svg_text_cut(p->svg, "start", 4, 15, name, NAME_LIMIT);
}

/* Returns round tick values of the y axis, at least 32 px apart. */
static kn_ticks choose_y_ticks(const kn_plot *p)
{
    static const double STEP = 32; /* least px between ticks */
    return kn_ticks_of(&p->y, (int)((p->bottom - p->top) / STEP));
}

void kn_plot_y_axis(kn_plot *p, const char *name, bool percent)
{
    kn_ticks t = choose_y_ticks(p);
    t.percent = percent;
    draw_y_ticks(p, &t, name);
}

/* Returns only those ticks whose value is an integer, for axes of counts. */
static kn_ticks keep_whole_ticks(kn_ticks t)
{
    kn_ticks kept = {0};
    for (int k = 0; k < t.n; k++)
        if (t.value[k] == round(t.value[k]))
            kept.value[kept.n++] = t.value[k];
    return kept;
}

void kn_plot_y_integer_axis(kn_plot *p, const char *name)
{
    const kn_ticks t = keep_whole_ticks(choose_y_ticks(p));
    draw_y_ticks(p, &t, name);
}

/* Draws the x axis: a line, the caller's ticks with their numbers, and the name of the axis,
 * escaped. */
static void draw_x_ticks(kn_plot *p, const kn_ticks *t, const char *name)
{
    kn_svg_line(p->svg, "axis", p->left, p->bottom, p->right, p->bottom);
    for (int k = 0; k < t->n; k++) {
        char text[KN_TICK_TEXT];
        const double x = kn_plot_x(p, t->value[k]);
        kn_tick_text(t, t->value[k], text);
        kn_svg_line(p->svg, "axis", x, p->bottom, x, p->bottom + 4);
        kn_svg_text(p->svg, NULL, "middle", x, p->bottom + 17, text);
    }
    kn_svg_text_more(p->svg, "middle", (p->left + p->right) / 2, p->bottom + 36, name, NAME_LIMIT,
                     p->x_more ? p->x_more : "");
}

void kn_plot_x_axis(kn_plot *p, const char *name, bool percent)
{
    kn_ticks t = kn_ticks_across(&p->x);
    t.percent = percent;
    draw_x_ticks(p, &t, name);
}

void kn_plot_x_integer_axis(kn_plot *p, const char *name)
{
    const kn_ticks t = keep_whole_ticks(kn_ticks_across(&p->x));
    draw_x_ticks(p, &t, name);
}

void kn_plot_horizontal_line(kn_plot *p, const char *class, double y)
{
    if (kn_axis_scale_contains(&p->y, y))
        kn_svg_line(p->svg, class, p->left, kn_plot_y(p, y), p->right, kn_plot_y(p, y));
}

void kn_plot_vertical_line(kn_plot *p, const char *class, double x, const char *words)
{
    if (!kn_axis_scale_contains(&p->x, x))
        return;
    const double position = kn_plot_x(p, x);
    const bool right = position + kn_text_width(words) + 6 > p->right;
    kn_svg_line(p->svg, class, position, p->top, position, p->bottom);
    if (*words)
        kn_svg_text(p->svg, "halo", right ? "end" : "start", right ? position - 5 : position + 5,
                    p->top + 10, words);
}

void kn_plot_path(kn_plot *p, const char *class, const double *x, const double *y, ptrdiff_t n)
{
    kn_svg_pen(p->svg, class);
    for (ptrdiff_t i = 0; i < n; i++)
        kn_svg_pen_to(p->svg, kn_plot_x(p, x[i]), kn_plot_y(p, y[i]));
    kn_svg_pen_up(p->svg, false);
}

void kn_plot_empty(kn_plot *p, const char *words)
{
    kn_svg_text(p->svg, NULL, "middle", (p->left + p->right) / 2, (p->top + p->bottom) / 2, words);
}

/* Draws the symbol of one entry of the key (area, line, dot, circle or diamond), 14 px wide from
 * (x, y). */
static void draw_swatch(kn_plot *p, const kn_key *key, double x, double y)
{
    switch (key->swatch) {
    case KN_SWATCH_AREA: kn_svg_rect(p->svg, key->class, x, y - 5, 14, 10); break;
    case KN_SWATCH_LINE: kn_svg_line(p->svg, key->class, x, y, x + 14, y); break;
    case KN_SWATCH_DOT:
        kn_svg_pen(p->svg, key->class);
        kn_svg_pen_dot(p->svg, x + 7, y);
        kn_svg_pen_up(p->svg, false);
        break;
    case KN_SWATCH_CIRCLE: kn_svg_mark(p->svg, key->class, KN_MARK_CIRCLE, x + 7, y, -1); break;
    case KN_SWATCH_DIAMOND: kn_svg_mark(p->svg, key->class, KN_MARK_DIAMOND, x + 7, y, -1); break;
    }
}

/* Returns the approximate width in px of an entry of the key whose name is cut to `cut` characters.
 * Writes " <n>" into count, or "" if the entry has no number. */
static double key_width(const kn_key *key, ptrdiff_t cut, char count[static 32])
{
    count[0] = '\0';
    if (key->n >= 0)
        snprintf(count, 32, " %td", key->n);
    return fmin(kn_text_width(key->name), 7.8 * (double)cut) + kn_text_width(count);
}

/* Returns the width in px of n entries of a key in one line, with names cut to `cut` characters. */
static double keys_width(const kn_key *key, int n, ptrdiff_t cut)
{
    double width = 0;
    char count[32];
    for (int k = 0; k < n; k++)
        width += key[k].name ? key_width(&key[k], cut, count) + KEY_SPACE : 0;
    return width;
}

/* Drawn between the name of the y axis and the plot; names are cut until they fit. */
void kn_plot_key(kn_plot *p, const kn_key *key, int n)
{
    double x = p->right;
    const double y = p->top - 13;
    ptrdiff_t cut = KN_KEY_CUT;
    while (cut > 4 && keys_width(key, n, cut) > p->right)
        cut--;
    for (int k = n - 1; k >= 0; k--) {
        char count[32];
        if (!key[k].name)
            continue;
        const double width = key_width(&key[k], cut, count);
        kn_svg_text_more(p->svg, "start", x - width, y + 4.4, key[k].name, cut, count);
        draw_swatch(p, &key[k], x - width - 20, y);
        x -= width + KEY_SPACE;
    }
}
