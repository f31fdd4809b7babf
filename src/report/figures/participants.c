/* Figures of all participants: the statistic of the whole map, training above and scored below;
 * the share of responses beyond the threshold, by group; and for pairs of visits the statistic
 * against the interval. The height within a row has no meaning: it separates points. */
#include <math.h>
#include <stdio.h>

#include "report/figures/internal.h"

enum { ROW_NAME = 74, ROW_CUT = 18 }; /* least px at the left; longest name in characters */

/* Returns the left margin in px that the row names of the strip and burden figures need. */
static double row_width(const char *name)
{
    return fmax(ROW_NAME, fmin(kn_text_width(name), 7.8 * ROW_CUT) + 12);
}

typedef struct row {
    const char *name;
    double top, bottom;
} row;

/* Returns the y coordinate in px of point i in a row: a fixed pseudo-random height within its
 * middle 80 %, so that equal values do not overlap. */
static double point_height(const row *w, ptrdiff_t i)
{
    return w->top + (w->bottom - w->top) * (0.1 + 0.8 * kn_figure_jitter(i));
}

/* Writes the name of a row of points and "n = <n>" at its left, at half height. */
static void name_row(kn_svg *svg, const row *w, ptrdiff_t n)
{
    char text[32];
    const double y = (w->top + w->bottom) / 2;
    snprintf(text, sizeof text, "n = %td", n);
    kn_svg_group(svg, "strong");
    kn_svg_text_cut(svg, "start", 4, y - 3, w->name, ROW_CUT);
    kn_svg_group_end(svg);
    kn_svg_text(svg, NULL, "start", 4, y + 13, text);
}

/* Returns the number of finite values among x (n values; NULL has none). */
static ptrdiff_t count_finite(const double *x, ptrdiff_t n)
{
    ptrdiff_t finite = 0;
    for (ptrdiff_t i = 0; x && i < n; i++)
        finite += isfinite(x[i]);
    return finite;
}

/* ---- strip ---- */

/* Returns how many scored participants have a finite extreme-value statistic. */
static ptrdiff_t count_strip_scored(const kn_report *r)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        n += isfinite(r->participants.participant[i].extreme_z);
    return n;
}

/* Returns how many training participants the strip figure shows in a row of their own: 0 for a
 * report on change (another statistic), and for a model alone, where the report's participants are
 * the training sample. */
static ptrdiff_t count_strip_training(const kn_report *r)
{
    const bool none =
        r->kind == KN_REPORT_CHANGE || (r->kind == KN_REPORT_MODEL && r->participants.n > 0);
    return none ? 0 : count_finite(r->participants.training, r->participants.N);
}

/* Returns the count (kn_figure.count) of the strip figure: 1 if any participant has an
 * extreme-value statistic, else 0. / */
static ptrdiff_t count_strip(const kn_report *r)
{
    return count_strip_training(r) + count_strip_scored(r) > 0;
}

/* Draws the row of training participants at their extreme-value statistics: a dot each, or
 * densities above KN_FIGURE_DOTS participants. */
static void draw_strip_training(kn_plot *p, const kn_report_participants *o, const row *w)
{
    kn_density d = {.limit = 0};
    if (o->N > KN_FIGURE_DOTS) {
        for (ptrdiff_t i = 0; i < o->N; i++)
            kn_density_add(&d, kn_plot_x(p, o->training[i]), point_height(w, i));
        kn_density_draw(p->svg, &d, NULL);
        return;
    }
    kn_svg_pen(p->svg, "dots");
    for (ptrdiff_t i = 0; i < o->N; i++)
        kn_svg_pen_dot(p->svg, kn_plot_x(p, o->training[i]), point_height(w, i));
    kn_svg_pen_up(p->svg, false);
}

/* Draws the row of scored participants at their extreme-value statistics: densities of those
 * without a mark of their own, then circles, then diamonds for labelled cases on top. */
static void draw_strip_scored(kn_plot *p, const kn_report *r, const row *w)
{
    kn_density d = {.limit = 0};
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        if (!kn_figure_has_mark(r, i))
            kn_density_add(&d, kn_plot_x(p, r->participants.participant[i].extreme_z),
                           point_height(w, i));
    kn_density_draw(p->svg, &d, "scored");
    p->svg->many = kn_figure_mark_size(r->participants.n);
    for (int labelled = 0; labelled < 2; labelled++) {
        kn_svg_group(p->svg, labelled ? "labelled" : "participant");
        for (ptrdiff_t i = 0; i < r->participants.n; i++)
            if (kn_figure_is_labelled(r, i) == labelled && kn_figure_has_mark(r, i))
                kn_svg_mark(p->svg, NULL, labelled ? KN_MARK_DIAMOND : KN_MARK_CIRCLE,
                            kn_plot_x(p, r->participants.participant[i].extreme_z),
                            point_height(w, i), i);
        kn_svg_group_end(p->svg);
    }
    p->svg->many = 0;
}

/* Returns how many participants of the report are labelled as cases. */
static ptrdiff_t count_labelled(const kn_report *r)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        n += kn_figure_is_labelled(r, i);
    return n;
}

/* Draws the key of the symbols, circle for others and diamond for labelled cases, if anyone is
 * labelled. */
static void draw_label_key(kn_plot *p, const kn_report *r)
{
    if (count_labelled(r) > 0)
        kn_plot_key(p,
                    (kn_key[]){{"participant", KN_SWATCH_CIRCLE, "others", -1},
                               {"labelled", KN_SWATCH_DIAMOND, kn_report_cases(r), -1}},
                    2);
}

/* Draws (kn_figure.draw) the strip figure: the extreme-value statistic of each participant on the x
 * axis, training sample above and scored participants below, with lines at p = 0.05 and 0.001. */
static void draw_strip(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_report_participants *o = &r->participants;
    const kn_svg_head own = kn_figure_head(
        head, "Extreme-value statistic of all participants", NULL,
        "The extreme-value statistic of each training participant and of each scored "
        "participant, with lines at p = 0.05 and, if the reference sample resolves it, 0.001.");
    kn_plot p = kn_plot_new(svg, &own);
    const ptrdiff_t training = count_strip_training(r), scored = count_strip_scored(r);
    kn_range x = kn_range_empty();
    if (training > 0)
        kn_range_include_all(&x, o->training, o->N);
    kn_range_include_all(&x, o->line, 2);
    for (ptrdiff_t i = 0; i < o->n; i++)
        kn_range_include(&x, o->participant[i].extreme_z);
    p.left = ROW_NAME;
    kn_plot_scales(&p, kn_range_widen(x, 0.03), (kn_range){0, 1});
    const double middle = training > 0 && scored > 0 ? (p.top + p.bottom) / 2
                          : training > 0             ? p.bottom
                                                     : p.top;
    const row above = {"Training", p.top + 4, middle},
              below = {r->kind == KN_REPORT_CHANGE  ? "Pairs"
                       : r->kind == KN_REPORT_MODEL ? "Training"
                                                    : "Scored",
                       middle, p.bottom - 4};
    kn_svg_open(svg, &own);
    if (training > 0) {
        draw_strip_training(&p, o, &above);
        name_row(svg, &above, training);
    }
    if (scored > 0)
        name_row(svg, &below, scored);
    p.top -= 16; /* room for the words of the lines above the points */
    kn_plot_vertical_line(&p, "limit", o->line[0], "p = 0.05");
    kn_plot_vertical_line(&p, "limit", o->line[1], "p = 0.001");
    p.top += 16;
    draw_strip_scored(&p, r, &below);
    kn_plot_x_axis(&p,
                   r->kind == KN_REPORT_CHANGE
                       ? "Extreme z of the change (trimmed mean of the largest |z|)"
                       : "Extreme z (trimmed mean of the largest |z|)",
                   false);
    p.top -= 14;
    draw_label_key(&p, r);
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the strip figure: numbers of participants and meaning
 * of the lines. */
static void caption_strip(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    const ptrdiff_t training = count_strip_training(r), scored = count_strip_scored(r);
    kn_html_raw(out, "Extreme-value statistic (trimmed mean of the largest |z|) of ");
    if (training > 0)
        kn_html_print(out, "%td training participants (cross-validated)%s", training,
                      scored > 0 ? " and " : "");
    if (scored > 0)
        kn_html_print(out, "%td %s", scored,
                      r->kind == KN_REPORT_CHANGE  ? "pairs of visits"
                      : r->kind == KN_REPORT_MODEL ? "training participants (cross-validated)"
                                                   : "scored participants");
    kn_html_raw(out, ".");
    if (isfinite(r->participants.line[0]))
        kn_html_raw(out, " Dashed lines: p = 0.05");
    if (isfinite(r->participants.line[0]))
        kn_html_raw(out, isfinite(r->participants.line[1]) ? " and p = 0.001." : ".");
    kn_html_raw(out, " Vertical positions are jittered for visibility.");
    kn_figure_caption_marks(r, out);
}

/* Writes the table (kn_figure.data) of the strip figure: a row per participant with kind, id,
 * statistic and p-value. Training participants have no id. */
static kn_status tabulate_strip(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    const kn_report_participants *o = &r->participants;
    KN_TRY(kn_figure_columns(ctx, csv, "kind id extreme_z extreme_z_p"));
    for (ptrdiff_t i = 0; count_strip_training(r) > 0 && i < o->N; i++)
        if (isfinite(o->training[i]))
            KN_TRY(kn_figure_row(ctx, csv, (const char *[]){"training", "n/a"}, 2,
                                 (double[]){o->training[i], NAN}, 2));
    for (ptrdiff_t i = 0; i < o->n; i++)
        KN_TRY(kn_figure_row(ctx, csv,
                             (const char *[]){kn_figure_is_labelled(r, i)  ? kn_report_cases(r)
                                              : r->kind == KN_REPORT_MODEL ? "training"
                                                                           : "scored",
                                              o->participant[i].id},
                             2,
                             (double[]){o->participant[i].extreme_z, o->participant[i].extreme_z_p},
                             2));
out:
    return status;
}

const kn_figure kn_figure_strip = {.name = "strip",
                                   .title = "All participants",
                                   .count = count_strip,
                                   .draw = draw_strip,
                                   .caption = caption_strip,
                                   .data = tabulate_strip,
                                   .height = 240};

/* ---- burden ---- */

/* Returns how many participants have a known proportion of responses beyond the threshold, among
 * the labelled cases or among the others. */
static ptrdiff_t count_burden_group(const kn_report *r, bool labelled)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        n += isfinite(r->participants.participant[i].proportion) &&
             kn_figure_is_labelled(r, i) == labelled;
    return n;
}

/* Returns the count (kn_figure.count) of the burden figure: 1 if the report compares groups and a
 * proportion is known, else 0. */
static ptrdiff_t count_burden(const kn_report *r)
{
    return r->group.known && count_burden_group(r, true) + count_burden_group(r, false) > 0;
}

/* Draws one group of the burden figure (labelled cases or the others) in row w: a mark or density
 * per participant at its proportion of responses beyond the threshold, and a line at the group's
 * median. */
static void draw_burden_row(kn_plot *p, const kn_report *r, bool labelled, const row *w)
{
    const double median = kn_plot_x(p, r->group.proportion_median[labelled ? 0 : 1]);
    kn_density d = {.limit = 0};
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        if (kn_figure_is_labelled(r, i) == labelled && !kn_figure_has_mark(r, i))
            kn_density_add(&d, kn_plot_x(p, r->participants.participant[i].proportion),
                           point_height(w, i));
    kn_density_draw(p->svg, &d, "scored");
    p->svg->many = kn_figure_mark_size(r->participants.n);
    kn_svg_group(p->svg, labelled ? "labelled" : "participant");
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        if (kn_figure_is_labelled(r, i) == labelled && kn_figure_has_mark(r, i))
            kn_svg_mark(p->svg, NULL, labelled ? KN_MARK_DIAMOND : KN_MARK_CIRCLE,
                        kn_plot_x(p, r->participants.participant[i].proportion), point_height(w, i),
                        i);
    kn_svg_group_end(p->svg);
    p->svg->many = 0;
    if (isfinite(median))
        kn_svg_line(p->svg, "median", median, w->top + 6, median, w->bottom - 6);
    name_row(p->svg, w, count_burden_group(r, labelled));
}

/* Draws (kn_figure.draw) the burden figure: the proportion of responses beyond the threshold, cases
 * above, others below, with medians and the expected proportion. */
static void draw_burden(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_svg_head own =
        kn_figure_head(head, "Proportion of responses beyond the threshold, by group", NULL,
                       "A point per participant, cases above and others below, with medians and "
                       "the expected proportion.");
    kn_plot p = kn_plot_new(svg, &own);
    kn_range x = {0, 0.01};
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        kn_range_include(&x, r->participants.participant[i].proportion);
    kn_range_include(&x, r->group.proportion_expected);
    p.left = row_width(kn_report_cases(r));
    kn_plot_scales(&p, (kn_range){-0.02 * x.high, 1.03 * x.high}, (kn_range){0, 1});
    const double middle = (p.top + p.bottom) / 2;
    kn_svg_open(svg, &own);
    p.top -= 16;
    kn_plot_vertical_line(&p, "limit", r->group.proportion_expected, "expected");
    p.top += 16;
    draw_burden_row(&p, r, true, &(row){kn_report_cases(r), p.top + 4, middle - 4});
    draw_burden_row(&p, r, false, &(row){"Others", middle + 4, p.bottom - 4});
    kn_plot_x_axis(&p, "responses beyond the threshold", true);
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the burden figure: threshold, group sizes and the
 * p-value of the Mann-Whitney test. */
static void caption_burden(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_raw(out, "Proportion of responses with |z| &gt; ");
    kn_html_fixed(out, r->participants.threshold, 2);
    kn_html_print(
        out,
        ", for %td cases and %td other participants. Bars: medians; dashed line: the proportion "
        "expected on average",
        count_burden_group(r, true), count_burden_group(r, false));
    if (isfinite(r->group.proportion_p)) {
        kn_html_raw(out, ". Mann-Whitney test: p = ");
        kn_html_p(out, r->group.proportion_p, false);
    }
    kn_html_raw(out, ".");
    kn_figure_caption_marks(r, out);
}

/* Writes the table (kn_figure.data) of the burden figure: a row per participant with group, id and
 * proportion. */
static kn_status tabulate_burden(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv, "group id share"));
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        KN_TRY(kn_figure_row(ctx, csv,
                             (const char *[]){kn_figure_is_labelled(r, i) ? kn_report_cases(r)
                                                                          : "others",
                                              r->participants.participant[i].id},
                             2, &r->participants.participant[i].proportion, 1));
out:
    return status;
}

const kn_figure kn_figure_burden = {.name = "burden",
                                    .title = "Burden by group",
                                    .count = count_burden,
                                    .draw = draw_burden,
                                    .caption = caption_burden,
                                    .data = tabulate_burden,
                                    .height = 220};

/* ---- change ---- */

/* Returns how many pairs of visits have a finite statistic of change and a known interval. */
static ptrdiff_t count_change_pairs(const kn_report *r)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < r->participants.n; i++)
        n += isfinite(r->participants.participant[i].extreme_z) &&
             isfinite(r->participants.participant[i].interval);
    return n;
}

/* Returns the count (kn_figure.count) of the change figure: 1 for a report on change with at least
 * one pair to draw, else 0. */
static ptrdiff_t count_change(const kn_report *r)
{
    return r->kind == KN_REPORT_CHANGE && count_change_pairs(r) > 0;
}

/* Draws each pair of visits at its interval (x) and extreme-value statistic of the change (y): a
 * mark, diamond if labelled, or a density if there are too many for marks. */
static void draw_change_pairs(kn_plot *p, const kn_report *r)
{
    kn_density d = {.limit = 0};
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        const kn_report_participant *o = &r->participants.participant[i];
        if (!kn_figure_has_mark(r, i))
            kn_density_add(&d, kn_plot_x(p, o->interval), kn_plot_y(p, o->extreme_z));
    }
    kn_density_draw(p->svg, &d, "scored");
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        const kn_report_participant *o = &r->participants.participant[i];
        const bool labelled = kn_figure_is_labelled(r, i);
        if (kn_figure_has_mark(r, i))
            kn_svg_mark(p->svg, labelled ? "labelled" : "participant",
                        labelled ? KN_MARK_DIAMOND : KN_MARK_CIRCLE, kn_plot_x(p, o->interval),
                        kn_plot_y(p, o->extreme_z), i);
    }
}

/* Draws (kn_figure.draw) the change figure: the extreme-value statistic of the change against the
 * time between visits, with a line at p = 0.05. */
static void draw_change(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_report_participants *o = &r->participants;
    const kn_svg_head own = kn_figure_head(head, "Change against the time between visits", NULL,
                                           "A point per pair of visits, and a line at p = 0.05.");
    kn_plot p = kn_plot_new(svg, &own);
    kn_range x = kn_range_empty(), y = kn_range_empty();
    for (ptrdiff_t i = 0; i < o->n; i++) {
        kn_range_include(&x, o->participant[i].interval);
        kn_range_include(&y, o->participant[i].extreme_z);
    }
    kn_range_include(&y, o->line[0]);
    kn_plot_scales(&p, kn_range_widen(x, 0.05), kn_range_widen(y, 0.08));
    kn_svg_open(svg, &own);
    kn_plot_y_axis(&p, "Extreme z of the change", false);
    kn_plot_horizontal_line(&p, "limit", o->line[0]);
    if (kn_axis_scale_contains(&p.y, o->line[0]))
        kn_svg_text(svg, "halo", "end", p.right - 2, kn_plot_y(&p, o->line[0]) - 5, "p = 0.05");
    draw_change_pairs(&p, r);
    p.x_more = r->change.interval_units ? " between visits" : NULL;
    kn_plot_x_axis(&p, r->change.interval_units ? r->change.interval_units : "time between visits",
                   false);
    draw_label_key(&p, r);
    kn_svg_close(svg);
}

/* Writes the caption (kn_figure.caption) of the change figure: number of pairs, reference sample
 * and meaning of the line. */
static void caption_change(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(
        out,
        "Deviation of the change between visits from that of stable participants, for %td pairs",
        count_change_pairs(r));
    if (r->change.reference) {
        kn_html_raw(out, " (");
        kn_html_text(out, r->change.reference);
        kn_html_print(out, ", n = %td)", r->change.reference_participants);
    }
    kn_html_raw(out, ", against the time between the two visits.");
    if (isfinite(r->participants.line[0]))
        kn_html_raw(out, " Dashed line: p = 0.05 (exceeded by 5% of stable participants).");
    kn_figure_caption_marks(r, out);
}

/* Writes the table (kn_figure.data) of the change figure: a row per pair of visits with interval,
 * statistic and p-value. */
static kn_status tabulate_change(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv, "group id visit1 visit2 interval extreme_z extreme_z_p"));
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        const kn_report_participant *o = &r->participants.participant[i];
        KN_TRY(kn_figure_row(
            ctx, csv,
            (const char *[]){kn_figure_is_labelled(r, i) ? kn_report_cases(r) : "others", o->id,
                             o->visit1 ? o->visit1 : "n/a", o->visit2 ? o->visit2 : "n/a"},
            4, (double[]){o->interval, o->extreme_z, o->extreme_z_p}, 3));
    }
out:
    return status;
}

const kn_figure kn_figure_change = {.name = "change",
                                    .title = "Change",
                                    .count = count_change,
                                    .draw = draw_change,
                                    .caption = caption_change,
                                    .data = tabulate_change};
