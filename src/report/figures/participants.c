/* Figures of all participants: the statistic of the whole map, training above and scored below;
 * the share of responses beyond the threshold, by group; and for pairs of visits the statistic
 * against the interval. The height within a row has no meaning: it separates points. */
#include <math.h>
#include <stdio.h>

#include "report/figures/common.h"

enum { ROW_NAME = 74 /* px at the left */ };

typedef struct row {
    const char *name;
    double top, bottom;
} row;

static double level(const row *w, ptrdiff_t i)
{
    return w->top + (w->bottom - w->top) * (0.1 + 0.8 * kn_figure_spread(i));
}

static void name_row(kn_svg *svg, const row *w, ptrdiff_t n)
{
    char text[32];
    const double y = (w->top + w->bottom) / 2;
    snprintf(text, sizeof text, "n = %td", n);
    kn_svg_text(svg, "strong", "start", 4, y - 3, w->name);
    kn_svg_text(svg, NULL, "start", 4, y + 13, text);
}

static ptrdiff_t finite_of(const double *x, ptrdiff_t n)
{
    ptrdiff_t some = 0;
    for (ptrdiff_t i = 0; x && i < n; i++)
        some += isfinite(x[i]);
    return some;
}

/* ---- strip ---- */

static ptrdiff_t strip_scored(const kn_report *r)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        n += isfinite(r->people.person[i].statistic);
    return n;
}

/* Number of training participants shown: none for change, whose statistic is not comparable, and
 * none for a model alone, where they are the participants themselves. */
static ptrdiff_t strip_known(const kn_report *r)
{
    const bool none =
        r->kind == KN_REPORT_CHANGE || (r->kind == KN_REPORT_MODEL && r->people.n > 0);
    return none ? 0 : finite_of(r->people.training, r->people.N);
}

static ptrdiff_t strip_count(const kn_report *r)
{
    return strip_known(r) + strip_scored(r) > 0;
}

static void strip_training(kn_plot *p, const kn_report_people *o, const row *w)
{
    kn_density d = {.most = 0};
    if (o->N > KN_FIGURE_DOTS) {
        for (ptrdiff_t i = 0; i < o->N; i++)
            kn_density_take(&d, kn_plot_x(p, o->training[i]), level(w, i));
        kn_density_draw(p->svg, &d, NULL);
        return;
    }
    kn_svg_pen(p->svg, "dots");
    for (ptrdiff_t i = 0; i < o->N; i++)
        kn_svg_pen_dot(p->svg, kn_plot_x(p, o->training[i]), level(w, i));
    kn_svg_pen_up(p->svg, false);
}

static void strip_people(kn_plot *p, const kn_report *r, const row *w)
{
    kn_density d = {.most = 0};
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        if (!kn_figure_marked(r, i))
            kn_density_take(&d, kn_plot_x(p, r->people.person[i].statistic), level(w, i));
    kn_density_draw(p->svg, &d, "scored");
    p->svg->many = kn_figure_many(r->people.n);
    for (int labelled = 0; labelled < 2; labelled++) {
        kn_svg_group(p->svg, labelled ? "labelled" : "person");
        for (ptrdiff_t i = 0; i < r->people.n; i++)
            if (kn_figure_labelled(r, i) == labelled && kn_figure_marked(r, i))
                kn_svg_mark(p->svg, NULL, labelled ? KN_MARK_DIAMOND : KN_MARK_CIRCLE,
                            kn_plot_x(p, r->people.person[i].statistic), level(w, i), i);
        kn_svg_group_end(p->svg);
    }
    p->svg->many = 0;
}

static ptrdiff_t labelled_of(const kn_report *r)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        n += kn_figure_labelled(r, i);
    return n;
}

/* Draws the key if there are labels. */
static void key_of_labels(kn_plot *p, const kn_report *r)
{
    if (labelled_of(r) > 0)
        kn_plot_key(p,
                    (kn_key[]){{"person", KN_SWATCH_CIRCLE, "others", -1},
                               {"labelled", KN_SWATCH_DIAMOND, "labelled", -1}},
                    2);
}

static void strip_draw(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_report_people *o = &r->people;
    const kn_svg_head own =
        kn_figure_head(head, "How abnormal everybody is", NULL,
                       "The statistic of each person of training and of each person scored, with "
                       "lines where few normal people are beyond.");
    kn_plot p = kn_plot_new(svg, &own);
    const ptrdiff_t training = strip_known(r), scored = strip_scored(r);
    kn_range x = kn_range_none();
    if (training > 0)
        kn_range_take_all(&x, o->training, o->N);
    kn_range_take_all(&x, o->line, 2);
    for (ptrdiff_t i = 0; i < o->n; i++)
        kn_range_take(&x, o->person[i].statistic);
    p.left = ROW_NAME;
    kn_plot_scales(&p, kn_range_wide(x, 0.03), (kn_range){0, 1});
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
        strip_training(&p, o, &above);
        name_row(svg, &above, training);
    }
    if (scored > 0)
        name_row(svg, &below, scored);
    p.top -= 16; /* room for the words of the lines above the points */
    kn_plot_upright(&p, "limit", o->line[0], "p = 0.05");
    kn_plot_upright(&p, "limit", o->line[1], "p = 0.001");
    p.top += 16;
    strip_people(&p, r, &below);
    kn_plot_x_axis(&p,
                   r->kind == KN_REPORT_CHANGE ? "statistic of the change: mean of the largest |z|"
                                               : "statistic: mean of the largest |z|",
                   false);
    p.top -= 14;
    key_of_labels(&p, r);
    kn_svg_close(svg);
}

static void strip_caption(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    const ptrdiff_t training = strip_known(r), scored = strip_scored(r);
    kn_html_raw(out, "The further to the right, the more abnormal: ");
    if (training > 0)
        kn_html_print(out, "%td of training (cross-validated)%s", training,
                      scored > 0 ? " and " : "");
    if (scored > 0)
        kn_html_print(out, "%td %s", scored,
                      r->kind == KN_REPORT_CHANGE  ? "pairs of visits"
                      : r->kind == KN_REPORT_MODEL ? "people of training (cross-validated)"
                                                   : "people scored");
    kn_html_raw(out, ".");
    if (isfinite(r->people.line[0]))
        kn_html_raw(out, " Dashed: beyond it are 5 of 100 normal people");
    if (isfinite(r->people.line[0]))
        kn_html_raw(out, isfinite(r->people.line[1]) ? ", and one of 1000." : ".");
    kn_html_raw(out, " Heights within a row mean nothing.");
    kn_figure_marked_words(r, out);
}

static kn_status strip_data(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    const kn_report_people *o = &r->people;
    KN_TRY(kn_figure_columns(ctx, csv, "kind id statistic p"));
    for (ptrdiff_t i = 0; strip_known(r) > 0 && i < o->N; i++)
        if (isfinite(o->training[i]))
            KN_TRY(kn_figure_row(ctx, csv, (const char *[]){"training", "n/a"}, 2,
                                 (double[]){o->training[i], NAN}, 2));
    for (ptrdiff_t i = 0; i < o->n; i++)
        KN_TRY(kn_figure_row(ctx, csv,
                             (const char *[]){kn_figure_labelled(r, i)     ? "labelled"
                                              : r->kind == KN_REPORT_MODEL ? "training"
                                                                           : "scored",
                                              o->person[i].id},
                             2, (double[]){o->person[i].statistic, o->person[i].p}, 2));
out:
    return status;
}

const kn_figure kn_figure_strip = {.name = "strip",
                                   .title = "Everybody",
                                   .count = strip_count,
                                   .draw = strip_draw,
                                   .caption = strip_caption,
                                   .data = strip_data,
                                   .width = KN_FIGURE_WIDTH,
                                   .height = 240};

/* ---- burden ---- */

static ptrdiff_t burden_of(const kn_report *r, bool labelled)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        n += isfinite(r->people.person[i].share) && kn_figure_labelled(r, i) == labelled;
    return n;
}

static ptrdiff_t burden_count(const kn_report *r)
{
    return r->group.known && burden_of(r, true) + burden_of(r, false) > 0;
}

static void burden_row(kn_plot *p, const kn_report *r, bool labelled, const row *w)
{
    const double median = kn_plot_x(p, r->group.share_median[labelled ? 0 : 1]);
    kn_density d = {.most = 0};
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        if (kn_figure_labelled(r, i) == labelled && !kn_figure_marked(r, i))
            kn_density_take(&d, kn_plot_x(p, r->people.person[i].share), level(w, i));
    kn_density_draw(p->svg, &d, "scored");
    p->svg->many = kn_figure_many(r->people.n);
    kn_svg_group(p->svg, labelled ? "labelled" : "person");
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        if (kn_figure_labelled(r, i) == labelled && kn_figure_marked(r, i))
            kn_svg_mark(p->svg, NULL, labelled ? KN_MARK_DIAMOND : KN_MARK_CIRCLE,
                        kn_plot_x(p, r->people.person[i].share), level(w, i), i);
    kn_svg_group_end(p->svg);
    p->svg->many = 0;
    if (isfinite(median))
        kn_svg_line(p->svg, "median", median, w->top + 6, median, w->bottom - 6);
    name_row(p->svg, w, burden_of(r, labelled));
}

static void burden_draw(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_svg_head own =
        kn_figure_head(head, "Share of responses beyond the threshold, by group", NULL,
                       "A point for each person, labelled above and others below, with medians and "
                       "the share that is expected.");
    kn_plot p = kn_plot_new(svg, &own);
    kn_range x = {0, 0.01};
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        kn_range_take(&x, r->people.person[i].share);
    kn_range_take(&x, r->group.share_expected);
    p.left = ROW_NAME;
    kn_plot_scales(&p, (kn_range){-0.02 * x.high, 1.03 * x.high}, (kn_range){0, 1});
    const double middle = (p.top + p.bottom) / 2;
    kn_svg_open(svg, &own);
    p.top -= 16;
    kn_plot_upright(&p, "limit", r->group.share_expected, "expected");
    p.top += 16;
    burden_row(&p, r, true, &(row){"Labelled", p.top + 4, middle - 4});
    burden_row(&p, r, false, &(row){"Others", middle + 4, p.bottom - 4});
    kn_plot_x_axis(&p, "responses beyond the threshold", true);
    kn_svg_close(svg);
}

static void burden_caption(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_raw(out, "Share of each person's responses with |z| &gt; ");
    kn_html_fixed(out, r->people.threshold, 2);
    kn_html_print(
        out,
        ", of %td people with the label and %td others; bars: medians; dashed: the share that a "
        "normal person has on average",
        burden_of(r, true), burden_of(r, false));
    if (isfinite(r->group.share_p)) {
        kn_html_raw(out, ". Difference of the groups (Mann-Whitney): p = ");
        kn_html_p(out, r->group.share_p, false);
    }
    kn_html_raw(out, ".");
    kn_figure_marked_words(r, out);
}

static kn_status burden_data(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv, "group id share"));
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        KN_TRY(kn_figure_row(ctx, csv,
                             (const char *[]){kn_figure_labelled(r, i) ? "labelled" : "others",
                                              r->people.person[i].id},
                             2, &r->people.person[i].share, 1));
out:
    return status;
}

const kn_figure kn_figure_burden = {.name = "burden",
                                    .title = "Burden by group",
                                    .count = burden_count,
                                    .draw = burden_draw,
                                    .caption = burden_caption,
                                    .data = burden_data,
                                    .width = KN_FIGURE_WIDTH,
                                    .height = 220};

/* ---- change ---- */

static ptrdiff_t change_pairs(const kn_report *r)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < r->people.n; i++)
        n += isfinite(r->people.person[i].statistic) && isfinite(r->people.person[i].interval);
    return n;
}

static ptrdiff_t change_count(const kn_report *r)
{
    return r->kind == KN_REPORT_CHANGE && change_pairs(r) > 0;
}

static void change_pairs_draw(kn_plot *p, const kn_report *r)
{
    kn_density d = {.most = 0};
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        const kn_report_person *o = &r->people.person[i];
        if (!kn_figure_marked(r, i))
            kn_density_take(&d, kn_plot_x(p, o->interval), kn_plot_y(p, o->statistic));
    }
    kn_density_draw(p->svg, &d, "scored");
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        const kn_report_person *o = &r->people.person[i];
        const bool labelled = kn_figure_labelled(r, i);
        if (kn_figure_marked(r, i))
            kn_svg_mark(p->svg, labelled ? "labelled" : "person",
                        labelled ? KN_MARK_DIAMOND : KN_MARK_CIRCLE, kn_plot_x(p, o->interval),
                        kn_plot_y(p, o->statistic), i);
    }
}

static void change_draw(const kn_report *r, ptrdiff_t k, const kn_svg_head *head, kn_svg *svg)
{
    (void)k;
    const kn_report_people *o = &r->people;
    const kn_svg_head own = kn_figure_head(
        head, "Change against the time between visits", NULL,
        "A point for each pair of visits, and a line where few stable people are beyond.");
    kn_plot p = kn_plot_new(svg, &own);
    kn_range x = kn_range_none(), y = kn_range_none();
    for (ptrdiff_t i = 0; i < o->n; i++) {
        kn_range_take(&x, o->person[i].interval);
        kn_range_take(&y, o->person[i].statistic);
    }
    kn_range_take(&y, o->line[0]);
    kn_plot_scales(&p, kn_range_wide(x, 0.05), kn_range_wide(y, 0.08));
    kn_svg_open(svg, &own);
    kn_plot_y_axis(&p, "statistic of the change", false);
    kn_plot_level(&p, "limit", o->line[0]);
    if (kn_axis_scale_holds(&p.y, o->line[0]))
        kn_svg_text(svg, "halo", "end", p.right - 2, kn_plot_y(&p, o->line[0]) - 5, "p = 0.05");
    change_pairs_draw(&p, r);
    p.x_more = r->change.interval_units ? " between visits" : NULL;
    kn_plot_x_axis(&p, r->change.interval_units ? r->change.interval_units : "time between visits",
                   false);
    key_of_labels(&p, r);
    kn_svg_close(svg);
}

static void change_caption(const kn_report *r, ptrdiff_t k, kn_html *out)
{
    (void)k;
    kn_html_print(out, "How far %td pairs of visits changed from what stable people do",
                  change_pairs(r));
    if (r->change.reference) {
        kn_html_raw(out, " (");
        kn_html_text(out, r->change.reference);
        kn_html_print(out, ", n = %td)", r->change.reference_people);
    }
    kn_html_raw(out, ", against the time between the two visits.");
    if (isfinite(r->people.line[0]))
        kn_html_raw(out, " Above the dashed line are 5 of 100 stable people.");
    kn_figure_marked_words(r, out);
}

static kn_status change_data(kn_ctx *ctx, const kn_report *r, ptrdiff_t k, kn_table_writer *csv)
{
    (void)k;
    kn_status status;
    KN_TRY(kn_figure_columns(ctx, csv, "group id visit1 visit2 interval statistic p"));
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        const kn_report_person *o = &r->people.person[i];
        KN_TRY(kn_figure_row(ctx, csv,
                             (const char *[]){kn_figure_labelled(r, i) ? "labelled" : "others",
                                              o->id, o->visit1 ? o->visit1 : "n/a",
                                              o->visit2 ? o->visit2 : "n/a"},
                             4, (double[]){o->interval, o->statistic, o->p}, 3));
    }
out:
    return status;
}

const kn_figure kn_figure_change = {.name = "change",
                                    .title = "Change",
                                    .count = change_count,
                                    .draw = change_draw,
                                    .caption = change_caption,
                                    .data = change_data,
                                    .width = KN_FIGURE_WIDTH,
                                    .height = KN_FIGURE_HEIGHT};
