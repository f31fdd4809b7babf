/* Section 5, continued: a card for each of the most abnormal, or the selected, participants:
 * findings in words, the map, clusters or responses, and a comparison with the training sample. */
#include <math.h>

#include "report/figures/figures.h"
#include "report/page/internal.h"
#include "report/viewer/viewer.h"

ptrdiff_t kn_page_card_of(const kn_page *p, ptrdiff_t person)
{
    for (ptrdiff_t k = 0; k < p->plan.cards; k++)
        if (p->r->people.card[k].person == person)
            return k;
    return -1;
}

/* Number of rows: clusters of two or more voxels, or the first few single voxels if there are no
 * others. */
static ptrdiff_t clusters_shown(const kn_report_card *card)
{
    enum { SINGLES = 3 };
    ptrdiff_t n = 0;
    while (n < card->clusters && card->cluster[n].size > 1)
        n++;
    return n > 0 ? n : card->clusters < SINGLES ? card->clusters : SINGLES;
}

/* Writes "And 21 single voxels beyond 3." */
static void clusters_left_out(kn_page *p, const kn_report_card *card, ptrdiff_t shown)
{
    const bool volume = p->r->space.kind == KN_REPORT_VOLUME;
    const bool single = card->cluster[0].size == 1; /* only single voxels */
    const ptrdiff_t singles = card->clusters_single - (single ? shown : 0);
    const ptrdiff_t others = card->clusters_found - card->clusters_single - (single ? 0 : shown);
    if (singles + others <= 0)
        return;
    kn_html_raw(p->h, "<p class=\"quiet\">And ");
    if (others > 0)
        kn_page_count(p, others, "smaller cluster", "smaller clusters");
    kn_html_raw(p->h, others > 0 && singles > 0 ? ", and " : "");
    if (singles > 0)
        kn_page_count(p, singles, volume ? "single voxel" : "single vertex",
                      volume ? "single voxels" : "single vertices");
    kn_html_raw(p->h, ".</p>\n");
}

static void clusters(kn_page *p, const kn_report_card *card)
{
    const bool volume = p->r->space.kind == KN_REPORT_VOLUME;
    const ptrdiff_t shown = clusters_shown(card);
    bool regions = false;
    for (ptrdiff_t k = 0; k < shown; k++)
        regions = regions || card->cluster[k].region;
    const char *const titles[] = {"peak, mm", regions ? "region" : NULL, "z",
                                  volume ? "voxels" : "vertices", volume ? "ml" : NULL};
    kn_page_table_open(p, "Clusters of |z| above 3");
    kn_page_th(p, titles, 5);
    for (ptrdiff_t k = 0; k < shown; k++) {
        const kn_report_cluster *c = &card->cluster[k];
        kn_html_raw(p->h, "<tr><th scope=\"row\">");
        for (int j = 0; j < 3; j++) {
            kn_html_raw(p->h, j > 0 ? ", " : "");
            kn_html_fixed(p->h, c->mm[j], 0);
        }
        kn_html_raw(p->h, "</th>");
        if (regions) {
            kn_html_raw(p->h, "<td>");
            kn_html_cut(p->h, c->region ? c->region : "n/a", KN_PAGE_NAME);
            kn_html_raw(p->h, "</td>");
        }
        kn_page_td(p, c->z, 1);
        kn_page_td(p, (double)c->size, 0);
        if (volume)
            kn_page_td(p, c->ml, 2);
        kn_html_raw(p->h, "</tr>\n");
    }
    kn_page_table_close(p);
    clusters_left_out(p, card, shown);
}

/* Writes a centile, never 0 or 100: beyond two digits it is the tail of a fitted distribution. */
static void centile(kn_page *p, double x)
{
    kn_html_raw(p->h, "<td class=\"n\">");
    if (x < .01)
        kn_html_raw(p->h, "&lt; 0.01");
    else if (x > 99.99)
        kn_html_raw(p->h, "&gt; 99.99");
    else
        kn_html_fixed(p->h, x, x < 1 || x > 99 ? 2 : 1);
    kn_html_raw(p->h, "</td>");
}

static void tops(kn_page *p, const kn_report_card *card)
{
    static const char *const titles[] = {"response", "z", "centile"};
    kn_page_table_open(p, "Responses that stand out most");
    kn_page_th(p, titles, 3);
    for (ptrdiff_t k = 0; k < card->tops; k++) {
        kn_html_raw(p->h, "<tr><th scope=\"row\">");
        kn_page_response(p, card->top[k].response);
        kn_html_raw(p->h, "</th>");
        kn_page_td(p, card->top[k].z, 2);
        centile(p, card->top[k].centile);
        kn_html_raw(p->h, "</tr>\n");
    }
    kn_page_table_close(p);
}

static void count_p(kn_page *p, const char *name, double count, double probability)
{
    if (isnan(count))
        return;
    kn_page_fact(p, name);
    kn_html_fixed(p->h, count, 0);
    if (!isnan(probability)) {
        kn_html_raw(p->h, " <span class=\"quiet\">p ");
        kn_html_p(p->h, probability, false);
        kn_html_raw(p->h, "</span>");
    }
    kn_page_fact_end(p);
}

static void burden(kn_page *p, const kn_report_person *person)
{
    kn_html_raw(p->h, "<dl class=\"facts burden\">\n");
    count_p(p, "responses below the threshold", person->negative, person->negative_p);
    count_p(p, "responses above it", person->positive, person->positive_p);
    if (!isnan(person->share)) {
        kn_page_fact(p, "share beyond, either way");
        kn_html_fixed(p->h, 100 * person->share, 1);
        kn_html_raw(p->h, "&nbsp;%");
        kn_page_fact_end(p);
    }
    if (!isnan(person->mean_z)) {
        kn_page_fact(p, "mean z");
        kn_html_fixed(p->h, person->mean_z, 2);
        if (!isnan(person->mean_z_p)) {
            kn_html_raw(p->h, " <span class=\"quiet\">p ");
            kn_html_p(p->h, person->mean_z_p, false);
            kn_html_raw(p->h, "</span>");
        }
        kn_page_fact_end(p);
    }
    if (!isnan(person->fdr_negative + person->fdr_positive))
        count_p(p, "stand out at 5 % FDR", person->fdr_negative + person->fdr_positive, NAN);
    count_p(p, "responses with a z", person->responses, NAN);
    kn_html_raw(p->h, "</dl>\n");
}

static void map(kn_page *p, const kn_report_card *card)
{
    if (!p->pictures || !card->z)
        return;
    kn_html_raw(p->h, "<figure class=\"wide\">");
    kn_page_map_z(p, card->z, "Map of z: the table beside it has the largest deviations");
    kn_page_bar_z(p);
    kn_html_raw(p->h, "</figure>\n");
}

/* Explains once how to read a card. */
static void how_to_read(kn_page *p)
{
    bool maps = false;
    for (ptrdiff_t k = 0; k < p->plan.cards; k++)
        maps = maps || p->r->people.card[k].z;
    kn_html_raw(p->h, "<p>One card for each of the ");
    kn_page_count(p, p->plan.cards, "person", "people");
    kn_html_raw(p->h, p->plan.cards == p->r->people.n_cards ? ". " : " that there is room for. ");
    if (p->pictures && maps) {
        kn_html_raw(p->h, "Maps are of z: blue is less than expected of such a person, orange "
                          "more, and the larger |z|, the more opaque. ");
        kn_page_words(p, kn_pictures_words(p->pictures));
    }
    kn_html_raw(p->h, "</p>\n");
}

static void viewer(kn_page *p, ptrdiff_t k)
{
    const ptrdiff_t before = p->h->bytes;
    if (p->plan.viewer) {
        kn_viewer_place(p->r, k, p->h);
        kn_viewer_card(p->r, k, p->h);
    }
    p->sizes.viewer[k] = p->h->bytes - before;
}

static void one(kn_page *p, ptrdiff_t k)
{
    const kn_report_card *card = &p->r->people.card[k];
    const kn_report_person *person = &p->r->people.person[card->person];
    kn_html_print(p->h, "<details class=\"card\" id=\"card%td\" data-p=\"%td\" open><summary><h4>",
                  card->person, card->person);
    kn_page_name(p, person->id);
    kn_html_raw(p->h, "</h4>");
    if (person->label > 0 && p->r->group.label) {
        kn_html_raw(p->h, " <span class=\"tag\">");
        kn_html_cut(p->h, p->r->group.label, KN_PAGE_NAME);
        kn_html_raw(p->h, "</span>");
    }
    kn_html_raw(p->h, "</summary>\n");
    if (card->words) {
        kn_html_raw(p->h, "<p>");
        kn_page_words(p, card->words);
        kn_html_raw(p->h, "</p>\n");
    }
    map(p, card);
    viewer(p, k);
    kn_html_raw(p->h, "<div class=\"sides\"><div>\n");
    if (card->clusters > 0)
        clusters(p, card);
    else if (card->tops > 0)
        tops(p, card);
    burden(p, person);
    kn_html_raw(p->h, "</div><div>\n");
    kn_figure_inline(p->r, "card", k, p->h);
    kn_figure_inline(p->r, "regions", k, p->h);
    kn_html_raw(p->h, "</div></div></details>\n");
}

/* Says that cards were omitted for size. */
static void fewer(kn_page *p)
{
    const kn_report_people *people = &p->r->people;
    if (!p->plan.less)
        return;
    kn_html_print(p->h, "<p class=\"note\" id=\"less\"><strong>%td of %td cards</strong>",
                  p->plan.cards, people->n_cards);
    if (p->plan.cards > 0 && !p->plan.viewer && kn_viewer_has(p->r))
        kn_html_raw(p->h, ", without the viewer");
    if (people->n_thumbs > 0 && p->pictures && p->plan.thumbs < people->n_thumbs)
        kn_html_print(p->h, ", %td of %td small maps", p->plan.thumbs, people->n_thumbs);
    kn_html_raw(p->h, ": with more the page would be larger than ");
    kn_html_fixed(p->h, p->options->max_size / 1e6, 1);
    kn_html_raw(p->h, "&nbsp;MB, the max-size that it was made with.</p>\n");
}

void kn_page_cards(kn_page *p)
{
    if (p->plan.cards == 0 && !p->plan.less)
        return;
    kn_html_raw(p->h, "<h3>Person by person</h3>\n");
    fewer(p);
    if (p->plan.cards == 0)
        return;
    how_to_read(p);
    if (p->plan.cards > 1)
        kn_html_raw(p->h, "<p class=\"control\" hidden><button type=\"button\" id=\"fold\">Fold "
                          "all cards</button></p>\n");
    ptrdiff_t looked = 0; /* bytes saved without the viewer */
    if (p->plan.viewer) {
        const ptrdiff_t before = p->h->bytes;
        kn_viewer_space(p->r, p->h);
        p->sizes.viewer_space = p->h->bytes - before;
        looked = p->sizes.viewer_space;
    }
    for (ptrdiff_t k = 0; k < p->plan.cards; k++) {
        const ptrdiff_t before = p->h->bytes;
        if (!kn_page_goes_on(p, "page, cards", k, p->plan.cards))
            return;
        one(p, k);
        p->sizes.card[k] = p->h->bytes - before - p->sizes.viewer[k];
        looked += p->sizes.viewer[k];
        if ((double)(p->h->bytes - looked) > p->options->max_size)
            p->plan.cards = k + 1; /* later cards fit into no plan and are not drawn */
    }
}
