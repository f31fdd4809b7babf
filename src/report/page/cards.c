/* Section 5, continued: a card for each of the most abnormal, or the selected, participants:
 * findings in words, the map, clusters or responses, and a comparison with the training sample.
 * report/compute/cards.c chooses the participants and writes the sentences. */
#include <math.h>

#include "report/figures/figures.h"
#include "report/page/internal.h"
#include "report/viewer/viewer.h"

ptrdiff_t kn_page_card_of(const kn_page *p, ptrdiff_t participant)
{
    for (ptrdiff_t k = 0; k < p->plan.cards; k++)
        if (p->r->participants.card[k].participant == participant)
            return k;
    return -1;
}

/* Returns how many clusters the table of a card lists: those of two or more voxels, or the first
 * three single voxels if there are no larger ones. */
static ptrdiff_t clusters_shown(const kn_report_card *card)
{
    enum { SINGLES = 3 };
    ptrdiff_t n = 0;
    while (n < card->clusters && card->cluster[n].size > 1)
        n++;
    return n > 0 ? n : card->clusters < SINGLES ? card->clusters : SINGLES;
}

/* Writes how many clusters the table of a card does not list: "Not listed: 2 smaller clusters, and
 * 21 single voxels."; nothing if it lists all. */
static void write_other_clusters(kn_page *p, const kn_report_card *card, ptrdiff_t shown)
{
    const bool volume = p->r->space.kind == KN_REPORT_VOLUME;
    const bool single = card->cluster[0].size == 1; /* only single voxels */
    const ptrdiff_t singles = card->clusters_single - (single ? shown : 0);
    const ptrdiff_t others = card->clusters_found - card->clusters_single - (single ? 0 : shown);
    if (singles + others <= 0)
        return;
    kn_html_raw(p->h, "<p class=\"quiet\">Not listed: ");
    if (others > 0)
        kn_page_count(p, others, "smaller cluster", "smaller clusters");
    kn_html_raw(p->h, others > 0 && singles > 0 ? ", and " : "");
    if (singles > 0)
        kn_page_count(p, singles, volume ? "single voxel" : "single vertex",
                      volume ? "single voxels" : "single vertices");
    kn_html_raw(p->h, ".</p>\n");
}

/* Writes the table of clusters of a card: peak in mm, region, z-score of the peak, and size. */
static void write_clusters(kn_page *p, const kn_report_card *card)
{
    const bool volume = p->r->space.kind == KN_REPORT_VOLUME;
    const ptrdiff_t shown = clusters_shown(card);
    bool regions = false;
    for (ptrdiff_t k = 0; k < shown; k++)
        regions = regions || card->cluster[k].region;
    const char *const titles[] = {"Peak (mm)", regions ? "Region" : NULL, "z",
                                  volume ? "Voxels" : "Vertices", volume ? "Volume (ml)" : NULL};
    kn_page_table_open(p, "Clusters with |z| &gt; 3");
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
    write_other_clusters(p, card, shown);
}

/* Writes a table cell with a centile in per cent, never 0 or 100: beyond two digits it is the tail
 * of a fitted distribution. */
static void write_centile(kn_page *p, double x)
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

/* Writes the table of the most extreme responses of a card, with z-score and centile. */
static void write_tops(kn_page *p, const kn_report_card *card)
{
    static const char *const titles[] = {"Response", "z", "Centile"};
    kn_page_table_open(p, "Most extreme responses");
    kn_page_th(p, titles, 3);
    for (ptrdiff_t k = 0; k < card->extremes; k++) {
        kn_html_raw(p->h, "<tr><th scope=\"row\">");
        kn_page_response(p, card->extreme[k].response);
        kn_html_raw(p->h, "</th>");
        kn_page_td(p, card->extreme[k].z, 2);
        write_centile(p, card->extreme[k].centile);
        kn_html_raw(p->h, "</tr>\n");
    }
    kn_page_table_close(p);
}

/* Writes a fact "name: count"; nothing for NaN. */
static void write_count(kn_page *p, const char *name, double count)
{
    if (isnan(count))
        return;
    kn_page_fact(p, name);
    kn_html_fixed(p->h, count, 0);
    kn_page_fact_end(p);
}

/* Writes the list of facts on the extent of a participant's deviations: numbers of responses beyond
 * the threshold, mean z with p-value, and numbers after FDR correction. */
static void write_burden(kn_page *p, const kn_report_participant *participant)
{
    kn_html_raw(p->h, "<dl class=\"facts burden\">\n");
    write_count(p, "n low", participant->n_low);
    write_count(p, "n high", participant->n_high);
    if (!isnan(participant->mean_z)) {
        kn_page_fact(p, "Mean z");
        kn_html_fixed(p->h, participant->mean_z, 2);
        if (!isnan(participant->mean_z_p)) {
            kn_html_raw(p->h, " <span class=\"quiet\">p ");
            kn_html_rank_p(p->h, participant->mean_z_p, participant->smallest_rank_p);
            kn_html_raw(p->h, "</span>");
        }
        kn_page_fact_end(p);
    }
    write_count(p, "Significant after FDR correction",
                participant->n_low_fdr + participant->n_high_fdr);
    write_count(p, "Responses with a z-score", participant->responses);
    kn_html_raw(p->h, "</dl>\n");
}

/* Writes " p <value>" with the words `what` before it, such as "low: "; "≤" if it is the smallest
 * possible rank p-value. Nothing for NaN. */
static void write_tile_p(kn_page *p, const char *what, double x, double smallest)
{
    if (isnan(x))
        return;
    kn_html_print(p->h, " %sp ", what);
    kn_html_rank_p(p->h, x, smallest);
}

/* Writes the tile of a statistic: name, value with `digits` decimals, and its p-value by rank;
 * nothing if value is NaN. */
static void write_rank_tile(kn_page *p, const kn_report_participant *o, const char *name,
                            double value, int digits, double rank_p)
{
    if (isnan(value))
        return;
    kn_html_print(p->h, "<div><dt>%s</dt><dd>", name);
    kn_html_fixed(p->h, value, digits);
    kn_html_raw(p->h, " <small>");
    write_tile_p(p, "", rank_p, o->smallest_rank_p);
    kn_html_raw(p->h, "</small></dd></div>\n");
}

/* Writes the tiles with the main numbers of a participant (extreme z, whole-map deviance or mean
 * z^2 of the change, burden) and their p-values; nothing if all are NaN. */
static void write_main_numbers(kn_page *p, const kn_report_participant *o)
{
    if (isnan(o->extreme_z) && isnan(o->deviance) && isnan(o->mean_z2) && isnan(o->proportion))
        return;
    kn_html_raw(p->h, "<dl class=\"glance three\">\n");
    if (!isnan(o->extreme_z)) {
        kn_html_raw(p->h, "<div><dt>Extreme z</dt><dd>");
        kn_html_fixed(p->h, o->extreme_z, 2);
        kn_html_raw(p->h, " <small>");
        if (!isnan(o->extreme_z_p)) {
            kn_html_raw(p->h, "p ");
            kn_html_raw(p->h, o->p_is_attained ? "≤ " : "");
            kn_html_p(p->h, o->extreme_z_p, o->p_is_bound);
        }
        kn_html_raw(p->h, "</small></dd></div>\n");
    }
    write_rank_tile(p, o, "Whole-map deviance", o->deviance, 0, o->deviance_p);
    write_rank_tile(p, o, "Mean z² of the change", o->mean_z2, 2, o->mean_z2_p);
    if (!isnan(o->proportion)) {
        kn_html_raw(p->h, "<div><dt>Burden (|z| &gt; ");
        kn_html_fixed(p->h, p->r->participants.threshold, 2);
        kn_html_raw(p->h, ")</dt><dd>");
        kn_html_fixed(p->h, 100 * o->proportion, 1);
        kn_html_raw(p->h, "% <small>");
        write_tile_p(p, "low: ", o->n_low_p, o->smallest_rank_p);
        kn_html_raw(p->h, isnan(o->n_low_p) || isnan(o->n_high_p) ? "" : ",");
        write_tile_p(p, "high: ", o->n_high_p, o->smallest_rank_p);
        kn_html_raw(p->h, "</small></dd></div>\n");
    }
    kn_html_raw(p->h, "</dl>\n");
}

/* Writes the picture of a card's z-map with its colour bar; nothing if responses have no location,
 * or the card has no map. */
static void write_map(kn_page *p, const kn_report_card *card)
{
    if (!p->pictures || !card->z)
        return;
    kn_html_raw(p->h, "<figure class=\"wide\">");
    kn_page_map_z(p, card->z,
                  "Map of z-scores: the table of the card lists the largest deviations");
    kn_page_bar_z(p);
    kn_html_raw(p->h, "</figure>\n");
}

/* Writes a paragraph on how many cards follow and how to read their maps. */
static void write_reading_help(kn_page *p)
{
    bool maps = false;
    for (ptrdiff_t k = 0; k < p->plan.cards; k++)
        maps = maps || p->r->participants.card[k].z;
    kn_html_raw(p->h, "<p>Cards of ");
    kn_page_count(p, p->plan.cards, "participant", "participants");
    kn_html_raw(p->h,
                p->plan.cards == p->r->participants.n_cards ? ". " : " that fit into max-size. ");
    if (p->pictures && maps) {
        kn_html_raw(p->h, "Maps show z-scores: blue is below the prediction, orange above. Opacity "
                          "increases with |z|. ");
        kn_page_text(p, kn_pictures_description(p->pictures));
    }
    kn_html_raw(p->h, "</p>\n");
}

/* Writes the interactive viewer of card k with its data if the plan of the page includes it, and
 * records its size in bytes. */
static void write_viewer(kn_page *p, ptrdiff_t k)
{
    const ptrdiff_t before = p->h->bytes;
    if (p->plan.viewer) {
        kn_viewer_element(p->r, k, p->h);
        kn_viewer_card(p->r, k, p->h);
    }
    p->sizes.viewer[k] = p->h->bytes - before;
}

/* Writes card k: id, map, viewer, main numbers, sentences, a table of clusters or responses, and
 * figures. */
static void write_card(kn_page *p, ptrdiff_t k)
{
    const kn_report_card *card = &p->r->participants.card[k];
    const kn_report_participant *participant = &p->r->participants.participant[card->participant];
    kn_html_print(p->h, "<details class=\"card\" id=\"card%td\" data-p=\"%td\" open><summary><h4>",
                  card->participant, card->participant);
    kn_page_name(p, participant->id);
    kn_html_raw(p->h, "</h4>");
    if (participant->label > 0 && p->r->group.label) {
        kn_html_raw(p->h, " <span class=\"tag\">");
        kn_html_cut(p->h, p->r->group.label, KN_PAGE_NAME);
        kn_html_raw(p->h, "</span>");
    }
    kn_html_raw(p->h, "</summary>\n");
    write_map(p, card);
    write_viewer(p, k);
    write_main_numbers(p, participant);
    if (card->words) {
        kn_html_raw(p->h, "<p>");
        kn_page_text(p, card->words);
        kn_html_raw(p->h, "</p>\n");
    }
    kn_html_raw(p->h, "<div class=\"sides\"><div>\n");
    if (card->clusters > 0)
        write_clusters(p, card);
    else if (card->extremes > 0)
        write_tops(p, card);
    write_burden(p, participant);
    kn_html_raw(p->h, "</div><div>\n");
    kn_figure_inline(p->r, "card", k, p->h);
    kn_figure_inline(p->r, "regions", k, p->h);
    kn_html_raw(p->h, "</div></div></details>\n");
}

/* Writes which cards and maps were omitted to keep the page within max-size; nothing if none were.
 */
static void write_omissions(kn_page *p)
{
    const kn_report_participants *participants = &p->r->participants;
    if (!p->plan.less)
        return;
    kn_html_print(p->h, "<p class=\"note\" id=\"less\"><strong>%td of %td cards</strong>",
                  p->plan.cards, participants->n_cards);
    if (p->plan.cards > 0 && !p->plan.viewer && kn_viewer_has(p->r))
        kn_html_raw(p->h, ", without the viewer");
    if (participants->n_thumbs > 0 && p->pictures && p->plan.thumbs < participants->n_thumbs)
        kn_html_print(p->h, ", %td of %td small maps", p->plan.thumbs, participants->n_thumbs);
    kn_html_raw(p->h, ": more would exceed ");
    kn_html_fixed(p->h, p->options->max_size / 1e6, 1);
    kn_html_raw(p->h, "&nbsp;MB (max-size).</p>\n");
}

void kn_page_cards(kn_page *p)
{
    if (p->plan.cards == 0 && !p->plan.less)
        return;
    kn_html_raw(p->h, "<h3>Individual participants</h3>\n");
    write_omissions(p);
    if (p->plan.cards == 0)
        return;
    write_reading_help(p);
    if (p->plan.cards > 1)
        kn_html_raw(p->h, "<p class=\"control\" hidden><button type=\"button\" id=\"fold\">Close "
                          "all cards</button></p>\n");
    ptrdiff_t viewer_bytes = 0; /* bytes saved without the viewer */
    if (p->plan.viewer) {
        const ptrdiff_t before = p->h->bytes;
        kn_viewer_space(p->r, p->h);
        p->sizes.viewer_space = p->h->bytes - before;
        viewer_bytes = p->sizes.viewer_space;
    }
    for (ptrdiff_t k = 0; k < p->plan.cards; k++) {
        const ptrdiff_t before = p->h->bytes;
        if (!kn_page_report_progress(p, "page, cards", k, p->plan.cards))
            return;
        write_card(p, k);
        p->sizes.card[k] = p->h->bytes - before - p->sizes.viewer[k];
        viewer_bytes += p->sizes.viewer[k];
        if ((double)(p->h->bytes - viewer_bytes) > p->options->max_size)
            p->plan.cards = k + 1; /* later cards fit into no plan and are not drawn */
    }
}
