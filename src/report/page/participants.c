/* Section 5, participants: figure, search, table and thumbnails; cards.c writes the cards. */
#include <math.h>
#include <stddef.h>

#include "report/figures/figures.h"
#include "report/page/internal.h"

enum { COVARIATES_SHOWN = 6, TEXT_SHOWN = 24, PRINTED_ROWS = 100 };

bool kn_page_people_has(const kn_report *r)
{
    return r->people.n > 0;
}

/* ---- table ---- */

typedef struct column {
    const char *title, *means;
    size_t at;  /* offset of a double in kn_report_person */
    int digits; /* decimals; P: a p-value */
    double scale;
    const char *of_change; /* explanation for a pair of visits; NULL: the same */
} column;

enum { P = -1 };
#define AT(field) offsetof(kn_report_person, field)

static const column COLUMNS[] = {
    {"interval", "time between the two visits", AT(interval), 2, 1, NULL},
    {"top", "how far the most extreme responses are from what is expected: mean of the largest |z|",
     AT(statistic), 2, 1,
     "how far the largest changes are from those of stable people: mean of the largest |z|"},
    {"p",
     "share of normal people who are as extreme as that; after &lt; the smallest share that can be "
     "told",
     AT(p), P, 1,
     "share of stable people whose largest changes are as extreme; after &lt; the smallest share "
     "that can be told"},
    {"deviance", "how unusual the whole map is, all responses together", AT(deviance), 1, 1,
     "how unusual all changes together are"},
    {"p of it", "share of normal people whose map is as unusual", AT(deviance_p), P, 1,
     "share of stable people whose changes together are as unusual"},
    {"p of its noise", "the same of what no component explains", AT(deviance_noise_p), P, 1, NULL},
    {"mean z", "over all responses", AT(mean_z), 2, 1, NULL},
    {"beyond −", "responses below minus the threshold", AT(negative), 0, 1, NULL},
    {"beyond +", "responses above the threshold", AT(positive), 0, 1, NULL},
    {"beyond, %", "share of responses beyond the threshold, either way", AT(share), 1, 100, NULL},
    {"FDR −", "responses below what is expected, at 5 % false discoveries", AT(fdr_negative), 0, 1,
     NULL},
    {"FDR +", "responses above what is expected, at 5 % false discoveries", AT(fdr_positive), 0, 1,
     NULL},
    {"covariates",
     "percentile of how far the covariates are from those of training; above 99 z is a guess",
     AT(extrapolation_pct), 0, 1, NULL},
};
enum { N_COLUMNS = sizeof COLUMNS / sizeof *COLUMNS };

static double value(const kn_report_person *person, const column *c)
{
    return c->scale * *(const double *)((const char *)person + c->at);
}

typedef struct shape { /* which columns have values */
    bool number[N_COLUMNS], label, visits, notes;
    ptrdiff_t covariates;
} shape;

static bool has_note(const kn_report_person *person)
{
    return person->training || person->unseen || person->implausible || person->adapted ||
           person->note;
}

static shape shape_of(const kn_report *r)
{
    shape s = {.covariates = r->cohort.n < COVARIATES_SHOWN ? r->cohort.n : COVARIATES_SHOWN};
    bool covariates = false;
    for (ptrdiff_t i = 0; i < r->people.n; i++) {
        const kn_report_person *person = &r->people.person[i];
        for (int k = 0; k < N_COLUMNS; k++)
            s.number[k] = s.number[k] || !isnan(value(person, &COLUMNS[k]));
        s.label = s.label || person->label >= 0;
        s.visits = s.visits || person->visit1;
        s.notes = s.notes || has_note(person);
        covariates = covariates || person->covariate;
    }
    s.number[0] = s.number[0] && r->kind == KN_REPORT_CHANGE;
    if (!covariates)
        s.covariates = 0;
    return s;
}

/* Writes a heading that report.js turns into a button for sorting. */
static void heading(kn_page *p, const char *class, const char *title)
{
    kn_html_print(p->h, "<th scope=\"col\"%s>%s</th>", class, title);
}

static void table_head(kn_page *p, const shape *s)
{
    kn_html_raw(p->h, "<thead><tr>");
    heading(p, "", p->r->kind == KN_REPORT_CHANGE ? "pair" : "person");
    if (s->label)
        heading(p, "", "group");
    if (s->visits) {
        heading(p, "", "from");
        heading(p, "", "to");
    }
    for (ptrdiff_t j = 0; j < s->covariates; j++) {
        kn_html_raw(p->h, p->r->cohort.column[j].numeric ? "<th scope=\"col\" class=\"n\">"
                                                         : "<th scope=\"col\">");
        kn_html_cut(p->h, p->r->cohort.column[j].name, TEXT_SHOWN);
        kn_html_raw(p->h, "</th>");
    }
    for (int k = 0; k < N_COLUMNS; k++)
        if (s->number[k])
            heading(p, " class=\"n\"", COLUMNS[k].title);
    if (s->notes)
        heading(p, "", "notes");
    kn_html_raw(p->h, "</tr></thead>\n<tbody>\n");
}

static void notes(kn_page *p, const kn_report_person *person)
{
    const struct {
        bool is;
        const char *words;
    } said[] = {{person->training, "in training"},
                {person->adapted, "site adapted"},
                {person->unseen, "site or level unseen"},
                {person->implausible, "values implausible"}};
    bool any = false;
    kn_html_raw(p->h, "<td>");
    for (size_t k = 0; k < sizeof said / sizeof *said; k++)
        if (said[k].is) {
            kn_html_print(p->h, "%s%s", any ? ", " : "", said[k].words);
            any = true;
        }
    if (person->note) {
        kn_html_raw(p->h, any ? ", " : "");
        kn_html_text(p->h, person->note);
    }
    kn_html_raw(p->h, "</td>");
}

static void text_cell(kn_page *p, const char *text, bool number)
{
    kn_html_raw(p->h, number ? "<td class=\"n\">" : "<td>");
    kn_html_cut(p->h, text ? text : "n/a", TEXT_SHOWN);
    kn_html_raw(p->h, "</td>");
}

static void row(kn_page *p, const shape *s, ptrdiff_t i)
{
    static const char *const group[] = {"others", "labelled"};
    const kn_report_person *person = &p->r->people.person[i];
    const bool card = kn_page_card_of(p, i) >= 0;
    kn_html_print(p->h, "<tr id=\"row%td\" data-p=\"%td\"><th scope=\"row\">", i, i);
    if (card)
        kn_html_print(p->h, "<a href=\"#card%td\">", i);
    kn_page_id(p, person->id);
    kn_html_raw(p->h, card ? "</a></th>" : "</th>");
    if (s->label)
        text_cell(p, person->label < 0 ? "n/a" : group[person->label > 0], false);
    if (s->visits) {
        text_cell(p, person->visit1, false);
        text_cell(p, person->visit2, false);
    }
    for (ptrdiff_t j = 0; j < s->covariates; j++)
        text_cell(p, person->covariate ? person->covariate[j] : NULL,
                  p->r->cohort.column[j].numeric);
    for (int k = 0; k < N_COLUMNS; k++)
        if (s->number[k] && COLUMNS[k].digits == P)
            kn_page_td_p(p, value(person, &COLUMNS[k]),
                         COLUMNS[k].at == AT(p) && person->p_is_bound);
        else if (s->number[k])
            kn_page_td(p, value(person, &COLUMNS[k]), COLUMNS[k].digits);
    if (s->notes)
        notes(p, person);
    kn_html_raw(p->h, "</tr>\n");
}

static void meanings(kn_page *p, const shape *s)
{
    kn_html_raw(p->h, "<details><summary>What the columns mean</summary>\n<dl class=\"facts\">\n");
    if (s->label) {
        kn_html_raw(p->h, "<div><dt>group</dt><dd>labelled: whoever is <b>");
        kn_page_name(p, p->r->group.label ? p->r->group.label : "labelled");
        kn_html_raw(p->h, "</b></dd></div>\n");
    }
    for (int k = 0; k < N_COLUMNS; k++)
        if (s->number[k])
            kn_html_print(p->h, "<div><dt>%s</dt><dd>%s</dd></div>\n", COLUMNS[k].title,
                          p->r->kind == KN_REPORT_CHANGE && COLUMNS[k].of_change
                              ? COLUMNS[k].of_change
                              : COLUMNS[k].means);
    if (s->notes)
        kn_html_raw(p->h,
                    "<div><dt>notes</dt><dd>bound: p is the smallest that can be told. rough: few "
                    "people stand behind p. in training: z by models without this person. site "
                    "adapted: by 'kronorm adapt'. site or level unseen: training did not have it. "
                    "values implausible: look at the data first</dd></div>\n");
    kn_html_raw(p->h, "</dl>\n<p>The threshold is |z| = ");
    kn_html_fixed(p->h, p->r->people.threshold, 2);
    kn_html_raw(p->h, ".</p></details>\n");
}

void kn_page_table(kn_page *p)
{
    const kn_report_people *people = &p->r->people;
    const shape s = shape_of(p->r);
    kn_html_raw(p->h, "<h3>Table</h3>\n<p class=\"quiet\">");
    if (p->plan.rows < people->n)
        kn_html_print(p->h, "The %td most abnormal of %td; %s. ", p->plan.rows, people->n,
                      p->plan.rows < KN_REPORT_TABLE
                          ? "more would make the page larger than max-size"
                          : "the others are in the scored folder's table");
    kn_html_raw(p->h, p->plan.cards > 0
                          ? "The most abnormal first; a name that is a link leads to a card."
                          : "The most abnormal first.");
    if (p->plan.rows > PRINTED_ROWS)
        kn_html_print(p->h, " <span class=\"on-paper\">The first %d rows are printed.</span>",
                      PRINTED_ROWS);
    kn_html_raw(p->h, "</p>\n<div class=\"scroll tall\" role=\"group\" tabindex=\"0\" "
                      "aria-label=\"Table of people\"><table class=\"sortable\">"
                      "<caption>People, the most abnormal first</caption>\n");
    table_head(p, &s);
    for (ptrdiff_t k = 0; k < p->plan.rows; k++) {
        const ptrdiff_t before = p->h->bytes;
        row(p, &s, people->order[k]);
        p->sizes.row[k] = p->h->bytes - before;
    }
    kn_page_table_close(p);
    meanings(p, &s);
}

/* ---- thumbnails ---- */

static void thumb(kn_page *p, ptrdiff_t k)
{
    const ptrdiff_t person = p->r->people.thumb[k];
    kn_picture picture = {0};
    kn_html *h = p->h;
    if (h->status != KN_OK)
        return;
    h->status = kn_pictures_thumb(p->ctx, p->pictures, p->r->people.thumb_z[k], &picture);
    if (h->status == KN_OK) {
        kn_html_print(
            h,
            "<li data-p=\"%td\"><a href=\"#row%td\"><img alt=\"\" width=\"%td\" height=\"%td\" "
            "src=\"data:image/png;base64,",
            person, person, picture.width, picture.height);
        kn_html_base64(h, picture.bytes, picture.n);
        kn_html_raw(h, "\"><span>");
        kn_html_cut(h, p->r->people.person[person].id, TEXT_SHOWN);
        kn_html_raw(h, "</span></a></li>\n");
    }
    kn_picture_clear(&picture);
}

void kn_page_thumbs(kn_page *p)
{
    const kn_report_people *people = &p->r->people;
    if (!p->pictures || p->plan.thumbs == 0)
        return;
    kn_html_raw(p->h, "<h3>Everyone at a glance</h3>\n<p class=\"quiet\">");
    if (p->plan.thumbs < people->n)
        kn_html_print(p->h, "The %td most abnormal of %td people. ", p->plan.thumbs, people->n);
    kn_html_raw(p->h,
                p->r->space.kind == KN_REPORT_VOLUME
                    ? "The largest |z| along the line of sight, seen from above: for an overview, "
                      "not for places."
                    : "Small views of the same maps.");
    kn_html_raw(p->h, "</p>\n<ul class=\"thumbs\">\n");
    for (ptrdiff_t k = 0; k < p->plan.thumbs; k++) {
        const ptrdiff_t before = p->h->bytes;
        if (!kn_page_goes_on(p, "page, small maps", k, p->plan.thumbs))
            return;
        thumb(p, k);
        p->sizes.thumb[k] = p->h->bytes - before;
    }
    kn_html_raw(p->h, "</ul>\n");
}

/* ---- section ---- */

/* Writes all ids for the search: those in the table are cut, and the table may be incomplete. */
static void ids(kn_page *p)
{
    kn_html_raw(p->h, "<script type=\"application/json\" id=\"ids\">[");
    for (ptrdiff_t i = 0; i < p->r->people.n; i++) {
        kn_html_raw(p->h, i > 0 ? "," : "");
        kn_html_json(p->h, p->r->people.person[i].id);
    }
    kn_html_raw(p->h, "]</script>\n");
}

static void how_many(kn_page *p)
{
    const kn_report_people *people = &p->r->people;
    if (people->deviance_of <= 0)
        return;
    kn_html_print(p->h, "<p>%td of ", people->deviance_found);
    kn_page_count(p, people->deviance_of, "person has", "people have");
    kn_html_raw(p->h, " a deviance with p&nbsp;≤&nbsp;0.05");
    if (!isnan(people->deviance_expected_low)) {
        kn_html_raw(p->h, "; of normal people it would be ");
        kn_html_fixed(p->h, people->deviance_expected_low, 0);
        kn_html_raw(p->h, " to ");
        kn_html_fixed(p->h, people->deviance_expected_high, 0);
    }
    kn_html_raw(p->h, ".</p>\n");
}

void kn_page_people(kn_page *p)
{
    how_many(p);
    kn_html_raw(p->h,
                "<p class=\"control search\" hidden><label for=\"find\">Find a person</label> "
                "<input type=\"search\" id=\"find\" autocomplete=\"off\" spellcheck=\"false\" "
                "placeholder=\"id, or #3 for the third\"> <button type=\"button\" "
                "id=\"find-next\">Next</button> "
                "<span id=\"found\" role=\"status\"></span></p>\n");
    kn_html_raw(p->h, "<div class=\"beside\">\n");
    kn_figure_inline(p->r, "strip", 0, p->h);
    kn_html_raw(p->h, "</div>\n");
    kn_page_table(p);
    kn_page_thumbs(p);
    kn_page_cards(p);
    ids(p);
}
