/* Section 1, summary: warnings first, then checks that passed. It has no figures, so that it can
 * be read at once. */
#include <math.h>
#include <string.h>

#include "report/page/internal.h"

bool kn_page_summary_has(const kn_report *r)
{
    (void)r;
    return true;
}

/* Writes a note of the summary as a highlighted list item, title in bold. */
static void write_warning(kn_page *p, const kn_report_note *note)
{
    kn_html_raw(p->h, "<li class=\"warning\">");
    if (note->title && *note->title) {
        kn_html_raw(p->h, "<strong>");
        kn_page_text(p, note->title);
        kn_html_raw(p->h, "</strong> ");
    }
    kn_html_raw(p->h, "<span>");
    kn_page_text(p, note->words);
    kn_html_raw(p->h, "</span></li>\n");
}

/* Writes a note of the summary as a plain list item. */
static void write_good(kn_page *p, const kn_report_note *note)
{
    kn_html_raw(p->h, "<li>");
    if (note->title && *note->title) {
        kn_page_text(p, note->title);
        kn_html_raw(p->h, " ");
    }
    kn_page_text(p, note->words);
    kn_html_raw(p->h, "</li>\n");
}

/* ---- key numbers ---- */

/* Opens a tile of a key number under this name; the caller writes the value. name is not escaped.
 */
static void open_number(kn_page *p, const char *name)
{
    kn_html_print(p->h, "<div><dt>%s</dt><dd>", name);
}

/* Closes the tile that open_number() opened, with a short explanation, not escaped. */
static void close_number(kn_page *p, const char *explanation)
{
    kn_html_print(p->h, " <small>%s</small></dd></div>\n", explanation);
}

/* Writes a tile of key numbers: a count of n, and the range expected by chance; NaN: none. */
static void write_tile_count(kn_page *p, const char *name, kn_flag_counts count, double low,
                             double high)
{
    if (count.n == 0)
        return;
    kn_html_raw(p->h, "<div><dt>");
    kn_page_name(p, name);
    kn_html_print(p->h, " flagged</dt><dd>%td <small>/ %td", count.flagged, count.n);
    if (!isnan(low)) {
        kn_html_raw(p->h, " (");
        kn_html_fixed(p->h, low, 0);
        kn_html_raw(p->h, " to ");
        kn_html_fixed(p->h, high, 0);
        kn_html_raw(p->h, " expected by chance)");
    }
    kn_html_raw(p->h, "</small></dd></div>\n");
}

/* Writes two tiles with the numbers of flagged participants: other participants, then cases, each
 * with the range expected by chance. */
static void write_flagged(kn_page *p)
{
    const kn_report_participants *o = &p->r->participants;
    const kn_flag_counts controls = o->flag;
    const char *others = p->r->kind == KN_REPORT_CHANGE ? "Changes"
                         : o->cases_flagged.n > 0       ? "Other participants"
                                                        : "Participants";
    write_tile_count(p, others, controls, o->flagged_expected_low, o->flagged_expected_high);
    write_tile_count(p, kn_report_cases(p->r), o->cases_flagged, o->cases_expected_low,
                     o->cases_expected_high);
}

/* Writes the tiles at the top of the page: flagged participants, mean z^2, coverage of the 95 %
 * interval, mean R2; those that are known. */
static void write_key_numbers(kn_page *p)
{
    const kn_report *r = p->r;
    const bool scored = r->calibration[1].n > 0;
    const kn_report_calibration *c = &r->calibration[scored];
    const kn_report_participants *o = &r->participants;
    if (c->n == 0 && o->flag.n == 0 && o->cases_flagged.n == 0)
        return;
    kn_html_raw(p->h, "<dl class=\"glance\">\n");
    write_flagged(p);
    if (c->n > 0) {
        open_number(p, "Mean z²");
        kn_html_fixed(p->h, c->z2, 2);
        close_number(p, scored ? "(1 expected)" : "(training sample; 1 expected)");
        open_number(p, "Coverage of the 95% interval");
        kn_html_fixed(p->h, 100 * c->coverage[2], 1);
        kn_html_raw(p->h, "%");
        close_number(p, scored ? "of z-scores" : "of z-scores (training sample)");
    }
    if (c->n > 0 && !isnan(r->responses.mean_R2)) {
        open_number(p, "Mean R²");
        kn_html_fixed(p->h, r->responses.mean_R2, 2);
        close_number(p, r->responses.R2_of_training ? "(training sample, cross-validated)"
                                                    : "(out of sample)");
    }
    kn_html_raw(p->h, "</dl>\n");
    if (o->flag.n + o->cases_flagged.n > 0)
        kn_html_print(p->h,
                      "<p class=\"quiet\">Flagged: %s (%s) with p ≤ " KN_FLAG_P_TEXT ".</p>\n",
                      kn_report_flag_title(r),
                      r->kind == KN_REPORT_CHANGE ? KN_FLAG_CHANGE_MEANS : KN_FLAG_MEANS);
}

/* Writes a list of notes under a heading, each by the function `write`; nothing if the list is
 * empty. */
static void write_notes(kn_page *p, const char *heading, const char *class,
                        const kn_report_notes *notes,
                        void (*write)(kn_page *, const kn_report_note *))
{
    if (notes->n == 0)
        return;
    kn_html_print(p->h, "<h2 class=\"small\">%s</h2>\n<ul class=\"%s\">\n", heading, class);
    for (ptrdiff_t k = 0; k < notes->n; k++)
        write(p, &notes->note[k]);
    kn_html_raw(p->h, "</ul>\n");
}

/* Returns whether the page shows data of individual participants. */
static bool has_participants(const kn_report *r)
{
    bool any = r->participants.n > 0 || r->cohort.n_excluded > 0;
    for (ptrdiff_t j = 0; j < r->cohort.n; j++)
        any = any || r->cohort.column[j].training || r->cohort.column[j].scored;
    return any;
}

void kn_page_summary(kn_page *p)
{
    const kn_report *r = p->r;
    if (r->sentence) {
        kn_html_raw(p->h, "<p class=\"lead\">");
        kn_page_text(p, r->sentence);
        kn_html_raw(p->h, "</p>\n");
    }
    kn_html_print(p->h, "<p class=\"note\">%s</p>\n", KN_PAGE_INTENDED_USE);
    write_key_numbers(p);
    write_notes(p, "Warnings", "warnings", &r->warnings, write_warning);
    write_notes(p, "Checks passed", "fine", &r->good, write_good);
    write_notes(p, "Notes", "notes", &r->notes, write_good);
    if (r->space.surface_note) {
        kn_html_raw(p->h, "<p class=\"note\" id=\"surface-note\">");
        kn_page_text(p, r->space.surface_note);
        kn_html_raw(p->h, "</p>\n");
    }
    kn_html_raw(
        p->h,
        !has_participants(r)
            ? "<p class=\"personal\"><strong>No personal data.</strong> The model and this report "
              "contain no individual data.</p>\n"
        : r->anonymized
            ? "<p class=\"personal\"><strong>Personal data.</strong> IDs were replaced by "
              "numbers, but this report still shows individual measurements. Protect it like the "
              "table of participants.</p>\n"
            : "<p class=\"personal\"><strong>Personal data.</strong> This report shows IDs, "
              "covariates and individual measurements. Protect it like the table of "
              "participants.</p>\n");
}
