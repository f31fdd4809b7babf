/* The paper's figure: layout, axes and series of the panels, written as SVG. The numbers are those
 * of results.json. */
#include "paper/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/table/number.h"
#include "report/markup/svg.h"

/* Layout in px. */
enum {
    WIDTH = 900,
    LEGEND_ROW = 24,
    ROW = 306, /* height of a row of panels, with titles and labels */
    PANEL_WIDTH = 226,
    PANEL_HEIGHT = 216,
    PANEL_STEP = 296,
    LEFT = 66,
    TOP = 34,
    LABEL_ROOM = 30 /* px of the axis per component number */
};

/* Okabe & Ito's palette, distinguishable with every common colour blindness; marks distinguish
 * further series. */
#define SERIES_STYLE(class, colour) ".fig ." class " { color: " colour "; }\n"
static const char STYLE[] = SERIES_STYLE("orange", "#D55E00") SERIES_STYLE("amber", "#E69F00")
    SERIES_STYLE("blue", "#0072B2") SERIES_STYLE("sky", "#56B4E9") SERIES_STYLE("black", "#000000")
        SERIES_STYLE("wine", "#882255") SERIES_STYLE("olive", "#999933")
            SERIES_STYLE("green", "#009E73") SERIES_STYLE("rose", "#CC79A7")
                SERIES_STYLE("brown", "#7F4F24") SERIES_STYLE(
                    "ink", "#222222") ".fig .run { stroke: currentColor; stroke-width: 1.8px; "
                                      "fill: currentColor; }\n"
                                      ".fig .bar { stroke: currentColor; stroke-width: 1.2px; }\n"
                                      ".fig .dashed { stroke-dasharray: 5 3; }\n"
                                      ".fig .open { fill: var(--paper); stroke-dasharray: none; }\n"
                                      ".fig .large { font-size: 14px; fill: var(--ink); }\n";

static const struct series {
    int method, variant;
    const char *colour; /* CSS class of STYLE */
    kn_mark mark;
} SERIES[] = {{KN_RUN_SMTGPR, KN_VAR_PAPER, "orange", KN_MARK_CIRCLE},
              {KN_RUN_SMTGPR, KN_VAR_ISO_EXACT, "amber", KN_MARK_CIRCLE},
              {KN_RUN_SMTGPR, KN_VAR_DEFAULT, "blue", KN_MARK_CIRCLE},
              {KN_RUN_SMTGPR, KN_VAR_KNOWN, "sky", KN_MARK_CIRCLE},
              {KN_RUN_WHITENED, KN_VAR_DEFAULT, "black", KN_MARK_SQUARE},
              {KN_RUN_MTGPR, KN_VAR_DEFAULT, "wine", KN_MARK_TRIANGLE},
              {KN_RUN_CONVOLVED, KN_VAR_DEFAULT, "olive", KN_MARK_DIAMOND},
              {KN_RUN_STGPR, KN_VAR_DEFAULT, "green", KN_MARK_CIRCLE},
              {KN_RUN_KRONPROD, KN_VAR_DEFAULT, "rose", KN_MARK_SQUARE},
              {KN_RUN_KRONSUM, KN_VAR_DEFAULT, "brown", KN_MARK_TRIANGLE}};
enum { N_SERIES = sizeof SERIES / sizeof *SERIES, NAME = 64, CLASS = 48 };

typedef struct curve {
    kn_quantity quantity;
    bool dashed;
    const char *name; /* title, if a figure has several panels */
} curve;

static const struct panel {
    const char *title, *unit;
    bool log;
    int n;
    curve curve[2];
} PANELS[] = {{"Runtime of the fit", "seconds", true, 1, {{KN_Q_SECONDS_FIT, false, NULL}}},
              {"R² of unseen random patterns", "mean", false, 1, {{KN_Q_R2, false, NULL}}},
              {"Detection of figures",
               "AUC",
               false,
               2,
               {{KN_Q_AUC_DEVIANCE, false, "joint deviance"},
                {KN_Q_AUC_EXTREME_Z, true, "extreme values"}}}};
enum { N_PANELS = sizeof PANELS / sizeof *PANELS };

typedef struct axis {
    double low, high; /* log axis: of log10 */
    bool log;
} axis;

typedef struct drawing {
    kn_svg svg;
    const kn_group *group;
    ptrdiff_t n;
    int split;
    double left, top; /* of the current panel */
    axis x, y;
} drawing;

/* Returns where a value lies on an axis, from 0 (low end) to 1; 0.5 if the axis has no extent. */
static double axis_fraction(axis a, double value)
{
    double v = a.log ? log10(value) : value;
    return a.high > a.low ? (v - a.low) / (a.high - a.low) : 0.5;
}

/* Returns the x coordinate in px of a number of components in the current panel. */
static double x_position(const drawing *d, double components)
{
    return d->left + PANEL_WIDTH * axis_fraction(d->x, components);
}

/* Returns the y coordinate in px of a value in the current panel; y runs downwards. */
static double y_position(const drawing *d, double value)
{
    return d->top + PANEL_HEIGHT * (1 - axis_fraction(d->y, value));
}

/* Extends the range of an axis to a value, if it is finite. */
static void widen_axis(axis *a, double value)
{
    double v = a->log ? log10(value) : value;
    if (isfinite(v)) {
        a->low = fmin(a->low, v);
        a->high = fmax(a->high, v);
    }
}

/* Returns an end of the error bar of quantity q, mean + side * sd (side: -1, 0, 1); the mean if
 * there is no sd. */
static double bar_end(const kn_group *g, int q, int side)
{
    return isfinite(g->sd[q]) ? g->mean[q] + side * g->sd[q] : g->mean[q];
}

/* Sets the axes of a panel: numbers of components (log), and all values of its curves with their
 * error bars, plus a margin. */
static void find_axes(drawing *d, const struct panel *p)
{
    d->x = (axis){INFINITY, -INFINITY, true};
    d->y = (axis){INFINITY, -INFINITY, p->log};
    for (ptrdiff_t i = 0; i < d->n; i++) {
        const kn_group *g = &d->group[i];
        if (g->run.split != d->split)
            continue;
        if (g->run.components > 0)
            widen_axis(&d->x, (double)g->run.components);
        for (int c = 0; c < p->n; c++)
            for (int side = -1; side <= 1; side++)
                widen_axis(&d->y, bar_end(g, (int)p->curve[c].quantity, side));
    }
    /* No system with components: horizontal lines, axis without numbers. */
    if (d->x.low > d->x.high)
        d->x = (axis){0, 1, true};
    if (d->x.low == d->x.high) {
        d->x.low -= 0.5;
        d->x.high += 0.5;
    }
    double capacity = 0.04 * (d->x.high - d->x.low);
    d->x.low -= capacity;
    d->x.high += capacity;
    if (d->y.low > d->y.high) /* no values */
        d->y.low = d->y.high = 0;
    if (d->y.high - d->y.low < 1e-9) {
        d->y.low -= 0.5;
        d->y.high += 0.5;
    }
    capacity = 0.06 * (d->y.high - d->y.low);
    d->y.low -= capacity;
    d->y.high += capacity;
}

/* Draws the grid line and the number of a value on the y axis. */
static void y_tick(drawing *d, double value)
{
    char text[KN_NUMBER_SIZE];
    double y = y_position(d, value);
    kn_number_text(value + 0.0, text); /* -0 becomes 0 */
    kn_svg_line(&d->svg, "grid", d->left, y, d->left + PANEL_WIDTH, y);
    kn_svg_text(&d->svg, NULL, "end", d->left - 6, y + 4, text);
}

/* Draws four to eight ticks on a linear y axis, at multiples of 1, 2 or 5 times a power of ten,
 * printed as exact decimals. */
static void linear_ticks(drawing *d)
{
    double range = d->y.high - d->y.low, power = pow(10, floor(log10(range / 4)));
    double rest = range / 4 / power, step = power * (rest >= 5 ? 5 : rest >= 2 ? 2 : 1);
    for (double k = ceil(d->y.low / step); k * step <= d->y.high; k++)
        y_tick(d, power < 1 ? round(k * step / power) / round(1 / power) : k * step);
}

/* Draws ticks on a logarithmic y axis at 1, 2 and 5 per decade, or at powers of ten for a wide
 * range. */
static void log_ticks(drawing *d)
{
    static const double WITHIN[] = {1, 2, 5};
    int n = d->y.high - d->y.low > 2.5 ? 1 : 3;
    for (int k = (int)floor(d->y.low); k <= (int)ceil(d->y.high); k++)
        for (int i = 0; i < n; i++) {
            double v = WITHIN[i] * pow(10, k);
            if (log10(v) >= d->y.low && log10(v) <= d->y.high)
                y_tick(d, v);
        }
}

/* Draws a tick on the x axis at each number of components that has results, with numbers from the
 * right as far as they fit. */
static void x_ticks(drawing *d)
{
    double bottom = d->top + PANEL_HEIGHT, free_below = INFINITY;
    ptrdiff_t before = PTRDIFF_MAX;
    for (;;) { /* descending over the distinct numbers */
        ptrdiff_t P = 0;
        for (ptrdiff_t i = 0; i < d->n; i++) {
            const kn_run *u = &d->group[i].run;
            if (u->split == d->split && u->components < before && u->components > P)
                P = u->components;
        }
        if (P == 0)
            return;
        double x = x_position(d, (double)P);
        kn_svg_line(&d->svg, "axis", x, bottom, x, bottom + 4);
        if (x < free_below) {
            char text[KN_NUMBER_SIZE];
            kn_number_text((double)P, text);
            kn_svg_text(&d->svg, NULL, "middle", x, bottom + 17, text);
            free_below = x - LABEL_ROOM;
        }
        before = P;
    }
}

/* Writes the CSS classes "kind colour" to out and returns it. */
static const char *class_of(const char *kind, const char *colour, char out[CLASS])
{
    snprintf(out, CLASS, "%s %s", kind, colour);
    return out;
}

/* Draws one standard deviation to both sides of the mean of quantity q at x (px); nothing without
 * repeats. */
static void error_bar(drawing *d, double x, const kn_group *g, int q, const char *colour)
{
    char class[CLASS];
    if (!(g->sd[q] > 0))
        return;
    double low = bar_end(g, q, -1), up = y_position(d, bar_end(g, q, 1));
    double down = d->y.log && low <= 0 ? d->top + PANEL_HEIGHT : y_position(d, low);
    kn_svg_group(&d->svg, class_of("bar", colour, class));
    kn_svg_line(&d->svg, NULL, x, up, x, down);
    kn_svg_line(&d->svg, NULL, x - 3, up, x + 3, up);
    kn_svg_line(&d->svg, NULL, x - 3, down, x + 3, down);
    kn_svg_group_end(&d->svg);
}

/* Returns whether a value is finite and, on a logarithmic axis, positive. */
static bool is_drawable(const drawing *d, double value)
{
    return isfinite(value) && (!d->y.log || value > 0);
}

/* Returns whether a group of runs belongs to a series: same method and variant. */
static bool is_of(const kn_group *g, const struct series *s)
{
    return g->run.method == s->method && g->run.variant == s->variant;
}

/* Returns whether there is any result of this series. */
static bool has_series(const drawing *d, const struct series *s)
{
    for (ptrdiff_t i = 0; i < d->n; i++)
        if (is_of(&d->group[i], s))
            return true;
    return false;
}

/* Returns the horizontal offset in px of a series, so that error bars do not overlap: by its index
 * among the present series that have, or do not have, components. */
static double series_offset(const drawing *d, const struct series *s)
{
    int before = 0, all = 0;
    for (int k = 0; k < N_SERIES; k++)
        if (kn_systems[SERIES[k].method].components == kn_systems[s->method].components &&
            has_series(d, &SERIES[k])) {
            all++;
            before += &SERIES[k] < s;
        }
    return kn_systems[s->method].components ? 2.5 * (before - 0.5 * (all - 1)) : -8 - 8 * before;
}

/* Draws one quantity of a series in the current panel: a curve over numbers of components, or a
 * horizontal line for a method without components. */
static void draw_series(drawing *d, const struct series *s, const curve *c)
{
    char line[CLASS], mark[CLASS];
    class_of(c->dashed ? "run dashed" : "run", s->colour, line);
    class_of(c->dashed ? "run open" : "run", s->colour, mark);
    double last_x = NAN, last_y = NAN, right = d->left + PANEL_WIDTH;
    int q = (int)c->quantity;
    for (ptrdiff_t i = 0; i < d->n; i++) {
        const kn_group *g = &d->group[i];
        if (g->run.split != d->split || !is_of(g, s) || !is_drawable(d, g->mean[q]))
            continue;
        bool curved = g->run.components > 0;
        double y = y_position(d, g->mean[q]);
        double x =
            series_offset(d, s) + (curved ? x_position(d, (double)g->run.components) : right);
        if (!curved)
            kn_svg_line(&d->svg, line, d->left, y, right, y);
        else if (isfinite(last_x))
            kn_svg_line(&d->svg, line, last_x, last_y, x, y);
        error_bar(d, x, g, q, s->colour);
        kn_svg_mark(&d->svg, mark, s->mark, x, y, -1);
        last_x = x;
        last_y = y;
    }
}

/* Draws a panel: axes, ticks, title and the curves of all series. */
static void draw_panel(drawing *d, const struct panel *p)
{
    double right = d->left + PANEL_WIDTH, bottom = d->top + PANEL_HEIGHT;
    char title[2 * NAME];
    find_axes(d, p);
    (p->log ? log_ticks : linear_ticks)(d);
    kn_svg_line(&d->svg, "axis", d->left, d->top, d->left, bottom);
    kn_svg_line(&d->svg, "axis", d->left, bottom, right, bottom);
    x_ticks(d);
    snprintf(title, sizeof title, "%s, %s", p->title, p->unit);
    kn_svg_text(&d->svg, "large", "start", d->left - 30, d->top - 14, title);
    kn_svg_text(&d->svg, NULL, "middle", d->left + PANEL_WIDTH / 2.0, bottom + 36,
                "basis functions (components)");
    for (int c = 0; c < p->n; c++)
        for (int k = 0; k < N_SERIES; k++)
            draw_series(d, &SERIES[k], &p->curve[c]);
}

/* Writes the name of a series, "S-MTGPR, paper"; a method with one variant by its title. */
static void name_series(const struct series *s, char name[NAME])
{
    const kn_system *system = &kn_systems[s->method];
    snprintf(name, NAME, "%s%s%s", system->title, system->variants ? ", " : "",
             !system->variants            ? ""
             : s->variant == KN_VAR_KNOWN ? "known patterns"
                                          : kn_variants[s->variant].name);
}

/* Returns the approximate width in px of an entry of the legend, with the line before it. */
static double text_width(const char *text)
{
    return 54 + 6.6 * (double)strlen(text); /* with the line before it */
}

/* Draws the legend of the series that have results from y = `top` px on, row by row; draw false:
 * only measures it. Returns its height in px without the last row. */
static double draw_systems(drawing *d, double top, bool draw)
{
    double x = LEFT, y = top + 14;
    for (int k = 0; k < N_SERIES; k++) {
        char name[NAME], class[CLASS];
        if (!has_series(d, &SERIES[k]))
            continue;
        name_series(&SERIES[k], name);
        if (x + text_width(name) > WIDTH) {
            x = LEFT;
            y += LEGEND_ROW;
        }
        if (draw) {
            class_of("run", SERIES[k].colour, class);
            kn_svg_line(&d->svg, class, x, y, x + 24, y);
            kn_svg_mark(&d->svg, class, SERIES[k].mark, x + 12, y, -1);
            kn_svg_text(&d->svg, NULL, "start", x + 30, y + 4, name);
        }
        x += text_width(name);
    }
    return y - top;
}

/* Draws the legend from y = `top` px on: series, line styles of the two AUCs, and the meaning of
 * the bars. */
static void draw_legend(drawing *d, double top)
{
    const struct panel *auc = &PANELS[N_PANELS - 1];
    double x = LEFT, y = top + draw_systems(d, top, true) + LEGEND_ROW;
    for (int c = 0; c < auc->n; c++) {
        const bool dashed = auc->curve[c].dashed;
        char text[NAME];
        snprintf(text, sizeof text, "AUC by %s", auc->curve[c].name);
        kn_svg_line(&d->svg, dashed ? "run dashed ink" : "run ink", x, y, x + 24, y);
        kn_svg_mark(&d->svg, dashed ? "run open ink" : "run ink", KN_MARK_CIRCLE, x + 12, y, -1);
        kn_svg_text(&d->svg, NULL, "start", x + 30, y + 4, text);
        x += text_width(text);
    }
    bool bars = false;
    for (ptrdiff_t i = 0; i < d->n; i++)
        bars = bars || d->group[i].run.repeat > 1;
    if (bars)
        kn_svg_text(&d->svg, NULL, "start", x, y + 4, "Bars: standard deviation over repeats");
}

/* Sets d->group to the n groups without those that were refused, and has[s] to whether split s has
 * results. Returns the number of such splits. */
static int select_drawn(drawing *d, kn_group *group, ptrdiff_t n, bool has[KN_N_SPLITS])
{
    int rows = 0;
    d->group = group;
    for (ptrdiff_t i = 0; i < n; i++)
        if (!group[i].refused[0])
            group[d->n++] = group[i];
    for (ptrdiff_t i = 0; i < d->n; i++)
        has[group[i].run.split] = true;
    for (int s = 0; s < KN_N_SPLITS; s++)
        rows += has[s];
    return rows;
}

/* Draws the whole figure: a row of panels per split with results (`rows` of them), then the legend.
 */
static void draw_all(drawing *d, const bool has[KN_N_SPLITS], int rows)
{
    const double indent = rows > 1 ? 24 : 0; /* room for the name of the split above its row */
    double top = 0;
    kn_svg_open(&d->svg,
                &(kn_svg_head){.width = WIDTH,
                               .height = rows * (ROW + indent) + draw_systems(d, 0, false) +
                                         2 * LEGEND_ROW + 2,
                               .what = "Runtime, R2 and AUC against the number of basis functions",
                               .how = "A panel for each quantity, a line for each method.",
                               .style = STYLE,
                               .standalone = true});
    for (d->split = 0; d->split < KN_N_SPLITS; d->split++) {
        if (!has[d->split])
            continue;
        char name[64];
        snprintf(name, sizeof name, "Split by %s", kn_split_name[d->split]);
        if (rows > 1)
            kn_svg_text(&d->svg, "large", "start", LEFT, top + 24, name);
        d->top = top + indent + TOP;
        for (int p = 0; p < N_PANELS; p++) {
            d->left = LEFT + p * PANEL_STEP;
            draw_panel(d, &PANELS[p]);
        }
        top += ROW + indent;
    }
    draw_legend(d, top);
    kn_svg_close(&d->svg);
}

kn_status kn_paper_figure_write(kn_ctx *ctx, const kn_results *r, const char *path)
{
    const kn_write_options options = {.force = true};
    kn_status status;
    kn_writer *file = NULL;
    kn_group *group = NULL;
    ptrdiff_t n = 0;
    bool has[KN_N_SPLITS] = {false};
    KN_TRY(kn_results_group(ctx, r, &group, &n));
    KN_TRY(kn_writer_new(ctx, path, &options, &file));
    kn_html out = {.ctx = ctx, .file = file};
    drawing d = {.svg = {.out = &out}};
    const int rows = select_drawn(&d, group, n, has);
    draw_all(&d, has, rows);
    KN_TRY(out.status);
    KN_TRY(kn_writer_commit(ctx, file));
out:
    kn_writer_free(file);
    kn_free(group);
    return status;
}
