/* Draws the tables that bench_growth printed with the figures of the report:
 *
 *     bench_growth_figure RESULTS.md FOLDER      FOLDER/growth_participants.svg,
 * FOLDER/growth_responses.svg */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/atomic_writer.h"
#include "report/figures/internal.h"

enum { MAX_SERIES = 4, MAX_POINTS = 16, LINE = 1024 };

/* Seconds of the rows in which one size stays and the other grows. */
typedef struct series {
    char name[32]; /* "T = 150" */
    int n;
    double size[MAX_POINTS], seconds[MAX_POINTS];
} series;

typedef struct table {
    int n, measured; /* series; rows with seconds */
    series series[MAX_SERIES];
} table;

enum { BY_PARTICIPANTS, BY_RESPONSES, TABLES };

static const struct {
    const char *file, *what, *how, *axis;
    char given; /* the size that stays, first column of the table */
} FIGURE[TABLES] = {{"growth_participants.svg", "Seconds of a whole fit by participants",
                     "Seconds of kronorm fit against the number of participants, both on log "
                     "scales, one line per number of responses T; "
                     "the dashed line is proportional to the participants.",
                     "participants N", 'T'},
                    {"growth_responses.svg", "Seconds of a whole fit by responses",
                     "Seconds of kronorm fit against the number of responses, both on log scales, "
                     "one line per number of participants N; "
                     "the dashed line is proportional to the responses.",
                     "responses T", 'N'}};

/* ---- reading ---- */

/* The series of this name; a new one if there is none yet; NULL if there are too many. */
static series *find_series(table *t, const char *name)
{
    for (int k = 0; k < t->n; k++)
        if (strcmp(t->series[k].name, name) == 0)
            return &t->series[k];
    if (t->n == MAX_SERIES)
        return NULL;
    snprintf(t->series[t->n].name, sizeof t->series->name, "%s", name);
    return &t->series[t->n++];
}

/* Adds "| 150 | 4000 | 3 | 1.52 |": given size, growing size, runs, seconds. "-" instead of the
 * last two interrupts the line. False if there are too many rows. */
static bool add_row(table *t, char given, const char *line)
{
    double fixed, size, seconds = NAN;
    char name[sizeof t->series->name];
    const int read = sscanf(line, "| %lf | %lf | %*d | %lf |", &fixed, &size, &seconds);
    if (read < 2) /* head */
        return true;
    snprintf(name, sizeof name, "%c = %.0f", given, fixed);
    series *s = find_series(t, name);
    if (!s || s->n == MAX_POINTS)
        return false;
    s->size[s->n] = size;
    s->seconds[s->n++] = seconds;
    t->measured += read == 3;
    return true;
}

/* Reads the tables below the heading "## growth". False if one has no numbers, or is too large. */
static bool read_tables(FILE *in, table t[TABLES])
{
    char line[LINE];
    int at = -1;
    bool inside = false;
    while (fgets(line, sizeof line, in)) {
        if (strncmp(line, "## ", 3) == 0)
            inside = strcmp(line, "## growth\n") == 0;
        if (!inside || line[0] != '|')
            continue;
        for (int k = 0; k < TABLES; k++)
            if (line[2] == FIGURE[k].given)
                at = k;
        if (at >= 0 && !add_row(&t[at], FIGURE[at].given, line))
            return false;
    }
    return t[0].measured > 0 && t[1].measured > 0;
}

/* ---- drawing ---- */

static const char *const COLOUR[MAX_SERIES] = {"line-training", "line-a", "line-b", "line-c"};
static const char STYLE[] =
    ".fig .line-c { fill: none; stroke: var(--magenta); stroke-width: 2px; }\n"
    ".fig .dot-line-training { fill: var(--grey); }\n"
    ".fig .dot-line-a { fill: var(--blue); }\n"
    ".fig .dot-line-b { fill: var(--orange); }\n"
    ".fig .dot-line-c { fill: var(--magenta); }\n";

static void set_scales(kn_plot *p, const table *t)
{
    kn_range x = kn_range_empty(), y = kn_range_empty();
    for (int k = 0; k < t->n; k++) {
        kn_range_include_all(&x, t->series[k].size, t->series[k].n);
        kn_range_include_all(&y, t->series[k].seconds, t->series[k].n);
    }
    p->x.log = p->y.log = true;
    kn_plot_scales(p, (kn_range){x.low / 1.1, x.high * 1.1}, (kn_range){y.low / 1.3, y.high * 1.3});
}

/* From the lower left corner, as far as it is inside. */
static void draw_proportional(kn_plot *p)
{
    const kn_range x = p->x.range, y = p->y.range;
    const double factor = fmin(x.high / x.low, y.high / y.low);
    kn_svg_line(p->svg, "limit", p->left, p->bottom, kn_plot_x(p, x.low * factor),
                kn_plot_y(p, y.low * factor));
}

static void draw_series(kn_plot *p, const series *s, const char *class)
{
    char dot[32];
    snprintf(dot, sizeof dot, "dot-%s", class);
    kn_plot_path(p, class, s->size, s->seconds, s->n);
    for (int i = 0; i < s->n; i++)
        kn_svg_mark(p->svg, dot, KN_MARK_CIRCLE, kn_plot_x(p, s->size[i]),
                    kn_plot_y(p, s->seconds[i]), -1);
}

static void draw(kn_svg *svg, const table *t, int which)
{
    const kn_svg_head head = {.width = KN_FIGURE_WIDTH,
                              .height = KN_FIGURE_HEIGHT,
                              .what = FIGURE[which].what,
                              .how = FIGURE[which].how,
                              .style = STYLE,
                              .number = which,
                              .standalone = true};
    kn_key key[MAX_SERIES];
    kn_plot p = kn_plot_new(svg, &head);
    set_scales(&p, t);
    kn_svg_open(svg, &head);
    kn_plot_y_axis(&p, "seconds", false);
    draw_proportional(&p);
    for (int k = 0; k < t->n; k++) {
        draw_series(&p, &t->series[k], COLOUR[k]);
        key[k] = (kn_key){COLOUR[k], KN_SWATCH_LINE, t->series[k].name, -1};
    }
    kn_plot_x_axis(&p, FIGURE[which].axis, false);
    kn_plot_key(&p, key, t->n);
    kn_svg_close(svg);
}

static kn_status write_figure(kn_ctx *ctx, const table *t, int which, const char *folder)
{
    kn_status status;
    char path[LINE];
    kn_writer *file = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, FIGURE[which].file);
    KN_TRY(kn_writer_new(ctx, path, &(kn_write_options){.force = true}, &file));
    kn_html out = {.ctx = ctx, .file = file};
    kn_svg svg = {.out = &out};
    draw(&svg, t, which);
    KN_TRY(out.status);
    KN_TRY(kn_writer_commit(ctx, file));
out:
    kn_writer_free(file);
    return status;
}

int main(int argc, char **argv)
{
    static table t[TABLES];
    if (argc != 3) {
        fprintf(stderr, "usage: growth_figure RESULTS.md FOLDER\n");
        return 2;
    }
    FILE *in = fopen(argv[1], "r");
    if (!in || !read_tables(in, t)) {
        fprintf(stderr, "growth_figure: %s: %s\n", argv[1],
                in ? "no two tables with numbers below '## growth'" : strerror(errno));
        return 1;
    }
    fclose(in);
    kn_ctx *ctx = kn_ctx_new();
    kn_status status = KN_OK;
    for (int k = 0; k < TABLES && status == KN_OK; k++)
        status = write_figure(ctx, &t[k], k, argv[2]);
    if (status != KN_OK)
        fprintf(stderr, "growth_figure: %s\n", kn_message(ctx));
    kn_ctx_free(ctx);
    return status != KN_OK;
}
