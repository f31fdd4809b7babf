/* Section 5, participants: figure, search, table and thumbnails; cards.c writes the cards. Columns
 * of the table are rows of one array here. */
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "report/figures/figures.h"
#include "report/page/internal.h"

enum { COVARIATES_SHOWN = 6, TEXT_SHOWN = 24, PRINTED_ROWS = 100 };

bool kn_page_participants_has(const kn_report *r)
{
    return r->participants.n > 0;
}

/* ---- table ---- */

typedef struct column {
    const char *title, *means;
    size_t at;  /* offset of a double in kn_report_participant */
    int digits; /* decimals; P, RANK_P: a p-value */
    double scale;
    const char *of_change; /* explanation for a pair of visits; NULL: the same */
} column;

enum { P = -1, RANK_P = -2 }; /* a p-value; one that is a rank */
#define AT(field) offsetof(kn_report_participant, field)

static const column COLUMNS[] = {
    {"Interval", "time between the two visits", AT(interval), 2, 1, NULL},
    {"Extreme z", "extreme-value statistic: trimmed mean of the largest |z|", AT(extreme_z), 2, 1,
     "extreme-value statistic of the change: trimmed mean of the largest |z|"},
    {"p", "p-value of Extreme z; &lt;: smaller than the reference sample resolves", AT(extreme_z_p),
     P, 1, NULL},
    {"Deviance", "whole-map deviance (squared Mahalanobis distance)", AT(deviance), 1, 1, NULL},
    {"p (deviance)", "p-value of Deviance", AT(deviance_p), RANK_P, 1, NULL},
    {"p (noise only)",
     "p-value of Deviance without the prediction uncertainty; use it if Extrapolation is above 99",
     AT(deviance_noise_p), RANK_P, 1, NULL},
    {"Mean z²", "mean squared z-score of the change over all responses", AT(mean_z2), 2, 1, NULL},
    {"p (mean z²)", "p-value of Mean z²", AT(mean_z2_p), RANK_P, 1, NULL},
    {"Mean z", "mean z-score over all responses", AT(mean_z), 2, 1, NULL},
    {"n low", "number of responses below minus the threshold", AT(n_low), 0, 1, NULL},
    {"n high", "number of responses above the threshold", AT(n_high), 0, 1, NULL},
    {"% extreme", "percentage of responses beyond the threshold, low or high", AT(proportion), 1,
     100, NULL},
    {"FDR low", "number of low responses after FDR correction (q ≤ 0.05)", AT(n_low_fdr), 0, 1,
     NULL},
    {"FDR high", "number of high responses after FDR correction (q ≤ 0.05)", AT(n_high_fdr), 0, 1,
     NULL},
    {"Extrapolation",
     "percentile of the covariates' distance from the training sample; above 99, a small z-score "
     "reflects uncertainty, not normality",
     AT(extrapolation_pct), 0, 1, NULL},
};
enum { N_COLUMNS = sizeof COLUMNS / sizeof *COLUMNS };

/* Returns the value of column c of the table for one participant, scaled for display; NaN: not
 * known. */
static double column_value(const kn_report_participant *participant, const column *c)
{
    return c->scale * *(const double *)((const char *)participant + c->at);
}

typedef struct shape { /* which columns have values */
    bool number[N_COLUMNS], label, visits, notes;
    ptrdiff_t covariates;
} shape;

/* Returns whether the notes column has an entry for this participant. */
static bool has_note(const kn_report_participant *participant)
{
    return participant->training || participant->unseen || participant->implausible ||
           participant->adapted || participant->note;
}

/* Determines which columns the table of participants has: those in which at least one participant
 * has a value, and at most COVARIATES_SHOWN covariates. */
static shape shape_of(const kn_report *r)
{
    shape s = {.covariates = r->cohort.n < COVARIATES_SHOWN ? r->cohort.n : COVARIATES_SHOWN};
    bool covariates = false;
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        const kn_report_participant *participant = &r->participants.participant[i];
        for (int k = 0; k < N_COLUMNS; k++)
            s.number[k] = s.number[k] || !isnan(column_value(participant, &COLUMNS[k]));
        s.label = s.label || participant->label >= 0;
        s.visits = s.visits || participant->visit1;
        s.notes = s.notes || has_note(participant);
        covariates = covariates || participant->covariate;
    }
    s.number[0] = s.number[0] && r->kind == KN_REPORT_CHANGE;
    if (!covariates)
        s.covariates = 0;
    return s;
}

/* Writes a column heading, which report.js turns into a button for sorting. class: attribute text
 * such as " class=\"n\"", or "". */
static void write_heading(kn_page *p, const char *class, const char *title)
{
    kn_html_print(p->h, "<th scope=\"col\"%s>%s</th>", class, title);
}

/* Writes the heading row of the table of participants with the columns of s. */
static void write_table_head(kn_page *p, const shape *s)
{
    kn_html_raw(p->h, "<thead><tr>");
    write_heading(p, "", p->r->kind == KN_REPORT_CHANGE ? "Pair" : "Participant");
    if (s->label)
        write_heading(p, "", "Group");
    if (s->visits) {
        write_heading(p, "", "From");
        write_heading(p, "", "To");
    }
    for (ptrdiff_t j = 0; j < s->covariates; j++) {
        kn_html_raw(p->h, p->r->cohort.column[j].numeric ? "<th scope=\"col\" class=\"n\">"
                                                         : "<th scope=\"col\">");
        kn_html_cut(p->h, p->r->cohort.column[j].name, TEXT_SHOWN);
        kn_html_raw(p->h, "</th>");
    }
    for (int k = 0; k < N_COLUMNS; k++)
        if (s->number[k])
            write_heading(p, " class=\"n\"", COLUMNS[k].title);
    if (s->notes)
        write_heading(p, "", "Notes");
    kn_html_raw(p->h, "</tr></thead>\n<tbody>\n");
}

/* Writes the cell of notes on a participant, such as "in training sample, bound". */
static void write_notes(kn_page *p, const kn_report_participant *participant)
{
    const struct {
        bool is;
        const char *words;
    } flags[] = {{participant->training, "in training sample"},
                 {participant->adapted, "site adapted"},
                 {participant->unseen, "new level"},
                 {participant->implausible, "implausible values"}};
    bool any = false;
    kn_html_raw(p->h, "<td>");
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (flags[k].is) {
            kn_html_print(p->h, "%s%s", any ? ", " : "", flags[k].words);
            any = true;
        }
    if (participant->note) {
        kn_html_raw(p->h, any ? ", " : "");
        kn_html_text(p->h, participant->note);
    }
    kn_html_raw(p->h, "</td>");
}

/* Writes a table cell with a text, escaped and cut to TEXT_SHOWN characters; "n/a" for NULL.
 * number: aligned to the right. */
static void write_text_cell(kn_page *p, const char *text, bool number)
{
    kn_html_raw(p->h, number ? "<td class=\"n\">" : "<td>");
    kn_html_cut(p->h, text ? text : "n/a", TEXT_SHOWN);
    kn_html_raw(p->h, "</td>");
}

/* Writes row i of the table of participants, in the columns of s, with a link to the participant's
 * card if there is one. */
static void write_row(kn_page *p, const shape *s, ptrdiff_t i)
{
    const char *const group[] = {"other", kn_report_cases(p->r)};
    const kn_report_participant *participant = &p->r->participants.participant[i];
    const bool card = kn_page_card_of(p, i) >= 0;
    kn_html_print(p->h, "<tr id=\"row%td\" data-p=\"%td\"><th scope=\"row\">", i, i);
    if (card)
        kn_html_print(p->h, "<a href=\"#card%td\">", i);
    kn_page_id(p, participant->id);
    kn_html_raw(p->h, card ? "</a></th>" : "</th>");
    if (s->label)
        write_text_cell(p, participant->label < 0 ? "n/a" : group[participant->label > 0], false);
    if (s->visits) {
        write_text_cell(p, participant->visit1, false);
        write_text_cell(p, participant->visit2, false);
    }
    for (ptrdiff_t j = 0; j < s->covariates; j++)
        write_text_cell(p, participant->covariate ? participant->covariate[j] : NULL,
                        p->r->cohort.column[j].numeric);
    for (int k = 0; k < N_COLUMNS; k++)
        if (s->number[k] && COLUMNS[k].digits == RANK_P)
            kn_page_td_rank_p(p, column_value(participant, &COLUMNS[k]),
                              participant->smallest_rank_p);
        else if (s->number[k] && COLUMNS[k].digits == P && participant->p_is_attained)
            kn_page_td_rank_p(p, column_value(participant, &COLUMNS[k]),
                              participant->smallest_rank_p);
        else if (s->number[k] && COLUMNS[k].digits == P)
            kn_page_td_p(p, column_value(participant, &COLUMNS[k]), participant->p_is_bound);
        else if (s->number[k])
            kn_page_td(p, column_value(participant, &COLUMNS[k]), COLUMNS[k].digits);
    if (s->notes)
        write_notes(p, participant);
    kn_html_raw(p->h, "</tr>\n");
}

/* Writes a folded list that explains the columns of the table that are present, the threshold, and
 * the sign ≤. */
static void write_meanings(kn_page *p, const shape *s)
{
    kn_html_raw(p->h, "<details><summary>What the columns mean</summary>\n<dl class=\"facts\">\n");
    if (s->label) {
        kn_html_raw(p->h, "<div><dt>Group</dt><dd><b>");
        kn_page_name(p, kn_report_cases(p->r));
        kn_html_raw(p->h, "</b>, or another participant</dd></div>\n");
    }
    for (int k = 0; k < N_COLUMNS; k++)
        if (s->number[k])
            kn_html_print(p->h, "<div><dt>%s</dt><dd>%s</dd></div>\n", COLUMNS[k].title,
                          p->r->kind == KN_REPORT_CHANGE && COLUMNS[k].of_change
                              ? COLUMNS[k].of_change
                              : COLUMNS[k].means);
    if (s->notes)
        kn_html_raw(p->h,
                    "<div><dt>Notes</dt><dd>bound (the smallest possible p of Extreme z), rough "
                    "(approximate "
                    "p-value from a small reference sample), in training sample (cross-validated "
                    "z-scores), site adapted (by 'kronorm adapt'), new level (not in the training "
                    "sample), implausible values (check the data first)</dd></div>\n");
    kn_html_raw(p->h, "</dl>\n<p>The threshold is |z| = ");
    kn_html_fixed(p->h, p->r->participants.threshold, 2);
    kn_html_raw(p->h, ". ≤: smallest possible p-value");
    if (p->r->participants.reference_n > 0)
        kn_html_print(p->h, " with %td reference participants", p->r->participants.reference_n);
    kn_html_raw(p->h, ".</p></details>\n");
}

/* Writes the table of participants, most abnormal first, up to plan.rows rows, and records the size
 * of each row in p->sizes. */
static void write_table(kn_page *p)
{
    const kn_report_participants *participants = &p->r->participants;
    const shape s = shape_of(p->r);
    kn_html_raw(p->h, "<h3>Table</h3>\n<p class=\"quiet\">");
    if (p->plan.rows < participants->n)
        kn_html_print(p->h, "The table lists the %td most abnormal of %td; %s. ", p->plan.rows,
                      participants->n,
                      p->plan.rows < KN_REPORT_TABLE
                          ? "more would exceed max-size"
                          : "the others are in the tables of the scored folder");
    kn_html_raw(p->h, p->plan.cards > 0
                          ? "Sorted by the p-value of Extreme z; linked IDs lead to a card."
                          : "Sorted by the p-value of Extreme z.");
    if (p->plan.rows > PRINTED_ROWS)
        kn_html_print(p->h, " <span class=\"on-paper\">The first %d rows are printed.</span>",
                      PRINTED_ROWS);
    kn_html_raw(p->h, "</p>\n<div class=\"scroll tall\" role=\"group\" tabindex=\"0\" "
                      "aria-label=\"Table of participants\"><table class=\"sortable\">"
                      "<caption>Participants by the p-value of Extreme z</caption>\n");
    write_table_head(p, &s);
    for (ptrdiff_t k = 0; k < p->plan.rows; k++) {
        const ptrdiff_t before = p->h->bytes;
        write_row(p, &s, participants->order[k]);
        p->sizes.row[k] = p->h->bytes - before;
    }
    kn_page_table_close(p);
    write_meanings(p, &s);
}

/* ---- thumbnails ---- */

/* Writes small map k as a list item with the id, which links to the participant's row of the table.
 */
static void write_thumb(kn_page *p, ptrdiff_t k)
{
    const ptrdiff_t participant = p->r->participants.thumb[k];
    kn_picture picture = {0};
    kn_html *h = p->h;
    if (h->status != KN_OK)
        return;
    h->status = kn_pictures_thumb(p->ctx, p->pictures, p->r->participants.thumb_z[k], &picture);
    if (h->status == KN_OK) {
        kn_html_print(
            h,
            "<li data-p=\"%td\"><a href=\"#row%td\"><img alt=\"\" width=\"%td\" height=\"%td\" "
            "src=\"data:image/png;base64,",
            participant, participant, picture.width, picture.height);
        kn_html_base64(h, picture.bytes, picture.n);
        kn_html_raw(h, "\"><span>");
        kn_html_cut(h, p->r->participants.participant[participant].id, TEXT_SHOWN);
        kn_html_raw(h, "</span></a></li>\n");
    }
    kn_picture_clear(&picture);
}

/* Writes the small maps of the most abnormal participants, up to plan.thumbs. */
static void write_thumbs(kn_page *p)
{
    const kn_report_participants *participants = &p->r->participants;
    if (!p->pictures || p->plan.thumbs == 0)
        return;
    kn_html_raw(p->h, "<h3>Overview of all participants</h3>\n<p class=\"quiet\">");
    if (p->plan.thumbs < participants->n)
        kn_html_print(p->h, "The %td most abnormal of %td participants. ", p->plan.thumbs,
                      participants->n);
    kn_html_raw(p->h,
                p->r->space.kind == KN_REPORT_VOLUME
                    ? "Maximum-intensity projections of |z|, seen from above: for an overview, not "
                      "for localisation."
                    : "Small views of the same maps.");
    kn_html_raw(p->h, "</p>\n<ul class=\"thumbs\">\n");
    for (ptrdiff_t k = 0; k < p->plan.thumbs; k++) {
        const ptrdiff_t before = p->h->bytes;
        if (!kn_page_report_progress(p, "page, small maps", k, p->plan.thumbs))
            return;
        write_thumb(p, k);
        p->sizes.thumb[k] = p->h->bytes - before;
    }
    kn_html_raw(p->h, "</ul>\n");
}

/* ---- section ---- */

/* Writes the ids of all participants as JSON for the search, because the table may be incomplete
 * and cuts ids. */
static void write_ids(kn_page *p)
{
    kn_html_raw(p->h, "<script type=\"application/json\" id=\"ids\">[");
    for (ptrdiff_t i = 0; i < p->r->participants.n; i++) {
        kn_html_raw(p->h, i > 0 ? "," : "");
        kn_html_json(p->h, p->r->participants.participant[i].id);
    }
    kn_html_raw(p->h, "]</script>\n");
}

/* Writes "What: 18/20 with group=patient, 1/24 other participants at p ≤ 0.05 (0 to 3 expected)."
 * count: [0] others, [1] cases. low, high: range expected by chance; NaN: unknown. Nothing without
 * participants. */
static void write_counts(kn_page *p, const char *what, const kn_flag_counts *count, double low,
                         double high)
{
    const bool change = p->r->kind == KN_REPORT_CHANGE;
    if (count[0].n + count[1].n == 0)
        return;
    kn_html_print(p->h, "%c%s: ", toupper((unsigned char)*what), what + 1);
    if (count[1].n > 0) {
        kn_html_print(p->h, "%td/%td with ", count[1].flagged, count[1].n);
        kn_page_name(p, kn_report_cases(p->r));
        kn_html_raw(p->h, count[0].n > 0 ? ", " : "");
    }
    if (count[0].n > 0)
        kn_html_print(p->h, "%td/%td %s", count[0].flagged, count[0].n,
                      change           ? "changes"
                      : count[1].n > 0 ? "other participants"
                                       : "participants");
    kn_html_raw(p->h, " at p&nbsp;≤&nbsp;" KN_FLAG_P_TEXT);
    if (count[0].n > 0 && !isnan(low)) {
        kn_html_raw(p->h, " (");
        kn_html_fixed(p->h, low, 0);
        kn_html_raw(p->h, " to ");
        kn_html_fixed(p->h, high, 0);
        kn_html_raw(p->h,
                    count[1].n > 0 ? " of these expected by chance)" : " expected by chance)");
    }
    kn_html_raw(p->h, ". ");
}

/* Writes a paragraph on how many participants have p ≤ 0.05, by the statistic that flags and by the
 * extreme-value statistic. */
static void write_expected(kn_page *p)
{
    const kn_report_participants *o = &p->r->participants;
    const kn_flag_counts flagged[2] = {o->flag, o->cases_flagged};
    if (flagged[0].n + flagged[1].n + o->extreme[0].n + o->extreme[1].n == 0)
        return;
    kn_html_raw(p->h, "<p>");
    char title[96];
    snprintf(title, sizeof title, "%s (flagged)", kn_report_flag_title(p->r));
    write_counts(p, title, flagged, o->flagged_expected_low, o->flagged_expected_high);
    write_counts(p, "extreme values (figure)", o->extreme, NAN, NAN);
    kn_html_raw(p->h, "</p>\n");
}

void kn_page_participants(kn_page *p)
{
    write_expected(p);
    kn_html_raw(p->h,
                "<p class=\"control search\" hidden><label for=\"find\">Find a participant</label> "
                "<input type=\"search\" id=\"find\" autocomplete=\"off\" spellcheck=\"false\" "
                "placeholder=\"ID, or #3 for the third\"> <button type=\"button\" "
                "id=\"find-next\">Next</button> "
                "<span id=\"found\" role=\"status\"></span></p>\n");
    kn_html_raw(p->h, "<div class=\"beside\">\n");
    kn_figure_inline(p->r, "strip", 0, p->h);
    kn_html_raw(p->h, "</div>\n");
    write_table(p);
    write_thumbs(p);
    kn_page_cards(p);
    write_ids(p);
}
