/* One participant of a table of regions: z-scores of the most extreme regions, the left hemisphere
 * to the left of their names, the right to the right, by lobe. It stands for the map of data
 * without positions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/figures/internal.h"

enum {
    MAX_ROWS = 20,
    WIDTH = 560,
    NAMES = 248,
    EDGE = 14,
    TOP = 30,
    ROW = 17,
    HEADING = 20,
    BELOW = 36,
    CUT = 38
};
static const double BEYOND = 1.96;

typedef struct row { /* a region, with both sides if the table has both */
    const kn_report_region *region;
    double z[2], limit; /* left, right; NaN: none. limit: the larger |z| */
    bool sided;
    int group; /* index of its lobe */
} row;

typedef struct rows {
    int n;
    row row[MAX_ROWS];
    const char *measure; /* of the first region that has one ... */
    bool measures;       /* ... and whether others have another */
} rows;

static const char *const LOBES[] = {"frontal",    "cingulate",    "insula",      "parietal",
                                    "temporal",   "occipital",    "subcortical", "cerebellum",
                                    "ventricles", "white matter", "whole",       NULL};

/* Returns the count (kn_figure.count) of the region figure: one figure per card of a participant if
 * responses are regions of an atlas, else 0. */
static ptrdiff_t count_regions(const kn_report *r)
{
    return r->space.region ? r->participants.n_cards : 0;
}

/* Returns the z-score of response t on card k, decoded from its 8-bit steps; NaN if it is missing
 * or the response is not a region. */
static double z_of(const kn_report *r, ptrdiff_t k, ptrdiff_t t)
{
    const kn_report_card *card = &r->participants.card[k];
    return card->z && r->space.region[t].name && card->z[t] != KN_REPORT_NO_Z
               ? card->z[t] * KN_REPORT_ZSTEP
               : NAN;
}

/* Returns whether two texts are equal; NULL equals only NULL. */
static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Returns whether two responses are one region in one measure; they may differ in the hemisphere.
 */
static bool is_same_region(const kn_report_region *a, const kn_report_region *b)
{
    return strcmp(a->name, b->name) == 0 && same_text(a->measure, b->measure);
}

/* Returns the row of the figure that shows this region in either hemisphere; NULL if none does. */
static row *find_row(rows *all, const kn_report_region *region)
{
    for (int i = 0; i < all->n; i++)
        if (is_same_region(all->row[i].region, region))
            return &all->row[i];
    return NULL;
}

/* Returns the position at which a region's lobe is drawn: known lobes in the order of LOBES;
 * networks and other names after them, in the order of the table. */
static int group_of(const kn_report *r, const kn_report_region *region)
{
    int k = 0;
    while (LOBES[k] && !same_text(LOBES[k], region->lobe))
        k++;
    ptrdiff_t t = 0;
    while (!LOBES[k] && !same_text(r->space.region[t].lobe, region->lobe))
        t++;
    return LOBES[k] ? k : k + (int)t;
}

/* Appends a row for the region with the largest |z| on card k that has no row yet; of equals the
 * first. Returns false if no region is left. Cost O(T). */
static bool add_next(const kn_report *r, ptrdiff_t k, rows *all)
{
    const kn_report_region *best = NULL;
    double limit = -1;
    for (ptrdiff_t t = 0; t < r->responses.T; t++) {
        const double z = fabs(z_of(r, k, t));
        if (z > limit && !find_row(all, &r->space.region[t])) {
            limit = z;
            best = &r->space.region[t];
        }
    }
    if (best)
        all->row[all->n++] =
            (row){.region = best, .z = {NAN, NAN}, .limit = limit, .group = group_of(r, best)};
    return best != NULL;
}

/* Returns whether row a is drawn above row b: by lobe, then by decreasing |z|. */
static bool is_before(const row *a, const row *b)
{
    return a->group != b->group ? a->group < b->group : a->limit > b->limit;
}

/* Returns the at most MAX_ROWS most extreme regions of card k, sorted for drawing, each with the
 * z-scores of its left and right hemisphere. */
static rows rows_of(const kn_report *r, ptrdiff_t k)
{
    rows all = {0};
    while (all.n < MAX_ROWS && add_next(r, k, &all))
        ;
    for (ptrdiff_t t = 0; t < r->responses.T; t++) {
        const kn_report_region *region = &r->space.region[t];
        const double z = z_of(r, k, t);
        row *found = isnan(z) ? NULL : find_row(&all, region);
        if (!found)
            continue;
        double *to = &found->z[region->side == 0 ? 0 : 1];
        *to = isnan(*to) || fabs(z) > fabs(*to) ? z : *to;
        found->sided = found->sided || region->side >= 0;
        if (!all.measure)
            all.measure = region->measure;
        all.measures =
            all.measures || (region->measure && strcmp(region->measure, all.measure) != 0);
    }
    for (int i = 1; i < all.n; i++) /* few rows: insertion sort, which is stable */
        for (int j = i; j > 0 && is_before(&all.row[j], &all.row[j - 1]); j--) {
            const row other = all.row[j];
            all.row[j] = all.row[j - 1];
            all.row[j - 1] = other;
        }
    return all;
}

/* Returns the height in px of the figure: rows, a heading per lobe, and margins. */
static double height_of(const rows *all)
{
    double y = TOP + BELOW;
    for (int i = 0; i < all->n; i++)
        y += ROW + (i == 0 || all->row[i].group != all->row[i - 1].group ? HEADING : 0);
    return y;
}

/* Returns the x axis of a hemisphere (side 0: left, 1: right), symmetric about 0 and equal for
 * both; negative z is to the left in both. */
static kn_axis_scale scale_of(const rows *all, int side)
{
    const double wide = (WIDTH - NAMES) / 2.0 - 2 * EDGE,
                 left = side == 0 ? EDGE : WIDTH - EDGE - wide;
    double limit = 3;
    for (int i = 0; i < all->n; i++)
        limit = fmax(limit, all->row[i].limit);
    limit = ceil(limit);
    return (kn_axis_scale){.range = {-limit, limit}, .from = left, .to = left + wide};
}

/* Draws the axis of one hemisphere from TOP to `bottom` (px): its name, grid, numbers and lines at
 * z = -1.96 and 1.96. */
static void draw_frame(kn_svg *svg, const kn_axis_scale *s, const char *name, double bottom)
{
    const kn_ticks ticks = kn_ticks_of(s, 5);
    char text[KN_TICK_TEXT];
    kn_svg_text(svg, "strong", "middle", (s->from + s->to) / 2, TOP - 14, name);
    for (int i = 0; i < ticks.n; i++) {
        const double x = kn_axis_scale_px(s, ticks.value[i]);
        kn_svg_line(svg, ticks.value[i] == 0 ? "zero" : "grid", x, TOP, x, bottom);
        kn_tick_text(&ticks, ticks.value[i], text);
        kn_svg_text(svg, NULL, "middle", x, bottom + 16, text);
    }
    for (int sign = -1; sign <= 1; sign += 2)
        kn_svg_line(svg, "limit", kn_axis_scale_px(s, sign * BEYOND), TOP,
                    kn_axis_scale_px(s, sign * BEYOND), bottom);
    kn_svg_text(svg, NULL, "middle", (s->from + s->to) / 2, bottom + 31, "z");
}

/* Draws a bar from 0 to z in the row at y (px), grey within 1.96 and coloured by `labelled` beyond;
 * nothing if z is not finite. */
static void draw_bar(kn_svg *svg, const kn_axis_scale *s, double z, double y, bool labelled)
{
    const double zero = kn_axis_scale_px(s, 0), end = kn_axis_scale_px(s, z);
    const char *class = fabs(z) < BEYOND ? "bar-off" : labelled ? "bar-labelled" : "bar";
    if (isfinite(z))
        kn_svg_rect(svg, class, fmin(zero, end), y + 3, fmax(fabs(end - zero), 0.5), ROW - 6);
}

/* Writes the name of a region in the middle of the row at y (px), with its measure if the table has
 * several. A long name is cut before the measure. */
static void draw_name(kn_svg *svg, const row *w, const rows *all, double y)
{
    const kn_report_region *g = w->region;
    const char *words = g->full ? g->full : g->name, *measure = all->measures ? g->measure : NULL;
    char text[192];
    const int limit = CUT - (measure ? (int)strlen(measure) + 2 : 0);
    const bool cut = measure && (int)strlen(words) > limit;
    snprintf(text, sizeof text, "%.*s%s%s%s", cut ? limit - 1 : (int)sizeof text - 64, words,
             cut ? "\u2026" : "", measure ? ", " : "", measure ? measure : "");
    kn_svg_text_cut(svg, "middle", WIDTH / 2.0, y + ROW - 4, text, CUT);
}

/* Draws (kn_figure.draw) the region figure of card k: the most extreme regions by lobe, with bars
 * for left and right hemisphere. */
static void draw_regions(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    const rows all = rows_of(r, k);
    const ptrdiff_t participant = r->participants.card[k].participant;
    const bool labelled = kn_figure_is_labelled(r, participant);
    const kn_axis_scale left = scale_of(&all, 0), right = scale_of(&all, 1);
    kn_svg_head own = kn_figure_head(
        head, "Regions of", r->participants.participant[participant].id,
        "Bars of the z-scores of the most extreme regions, left hemisphere on the left, "
        "right on the right.");
    own.height = height_of(&all);
    kn_svg_open(svg, &own);
    draw_frame(svg, &left, "left", own.height - BELOW);
    draw_frame(svg, &right, "right", own.height - BELOW);
    double y = TOP;
    for (int i = 0; i < all.n; i++) {
        const row *w = &all.row[i];
        if (i == 0 || w->group != all.row[i - 1].group) {
            kn_svg_text(svg, "strong", "middle", WIDTH / 2.0, y + HEADING - 4,
                        w->region->lobe ? w->region->lobe : "others");
            y += HEADING;
        }
        draw_name(svg, w, &all, y);
        draw_bar(svg, &left, w->z[0], y, labelled);
        draw_bar(svg, &right, w->z[1], y, labelled);
        if (!w->sided) /* a midline region has one bar, on the right */
            kn_svg_text(svg, NULL, "end", left.to, y + ROW - 4, "neither hemisphere:");
        y += ROW;
    }
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the region figure: number of regions, atlas, and
 * meaning of the bars. */
static void caption_regions(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    const rows all = rows_of(r, k);
    kn_html_print(out, "z-scores of %s%d regions of this participant%s, by lobe (",
                  all.n == MAX_ROWS ? "the most extreme " : "", all.n, "");
    kn_html_text(out, r->space.atlas ? r->space.atlas : "regions");
    kn_html_raw(out,
                "). Bars to the left of 0 are below the prediction, bars to the right above, "
                "in both hemispheres. Dashed lines: &#8722;1.96 and 1.96; bars within them are "
                "grey.");
}

/* Writes the table (kn_figure.data) of the region figure: a row per drawn region with left and
 * right z. */
static kn_status tabulate_regions(kn_ctx *ctx, const kn_report *r, ptrdiff_t k,
                                  kn_table_writer *csv)
{
    kn_status status;
    const rows all = rows_of(r, k);
    KN_TRY(kn_figure_columns(ctx, csv, "id lobe region words measure left right"));
    for (int i = 0; i < all.n; i++) {
        const kn_report_region *g = all.row[i].region;
        const char *text[] = {r->participants.participant[r->participants.card[k].participant].id,
                              g->lobe ? g->lobe : "", g->name, g->full ? g->full : g->name,
                              g->measure ? g->measure : ""};
        KN_TRY(kn_figure_row(ctx, csv, text, 5, all.row[i].z, 2));
    }
out:
    return status;
}

const kn_figure kn_figure_regions = {.name = "regions",
                                     .title = "Most extreme regions",
                                     .count = count_regions,
                                     .draw = draw_regions,
                                     .caption = caption_regions,
                                     .data = tabulate_regions,
                                     .width = WIDTH,
                                     .height = 480,
                                     .many = true};
