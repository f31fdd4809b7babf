/* Writes the page: head, navigation, sections, script. It is first drawn with everything, and
 * every element that could be omitted is measured; if the page is too large, size_budget.c plans
 * a smaller one and the page is drawn again. */
#include "report/page/page.h"

#include <string.h>

#include "report/assets/assets.h"
#include "report/page/internal.h"
#include "report/viewer/viewer.h"

typedef struct section {
    const char *id, *title; /* literals; an id is also a link target */
    bool (*has)(const kn_report *r);
    void (*draw)(kn_page *p);
} section;

static const section SECTIONS[] = {
    {"summary", "Summary", kn_page_summary_has, kn_page_summary},
    {"cohort", "Cohort", kn_page_cohort_has, kn_page_cohort},
    {"model", "Model and calibration", kn_page_model_has, kn_page_model},
    {"curves", "Centile curves", kn_page_curves_has, kn_page_curves},
    {"people", "Participants", kn_page_participants_has, kn_page_participants},
    {"group", "Group", kn_page_group_has, kn_page_group},
    {"change", "Change", kn_page_change_has, kn_page_change},
    {"methods", "Methods text", kn_page_methods_has, kn_page_methods},
    {"reproduce", "Reproduce", kn_page_reproduce_has, kn_page_reproduce},
};
enum { N_SECTIONS = sizeof SECTIONS / sizeof *SECTIONS };

/* Writes a compiled-in file (CSS or JavaScript) in an element, <style> or <script>. */
static void write_asset(kn_page *p, const char *element, const kn_asset *a)
{
    kn_html_print(p->h, "<%s>", element);
    kn_html_raw(p->h, a->text);
    kn_html_print(p->h, "</%s>\n", element);
}

/* Writes the Content-Security-Policy: the page may show its own pictures, and run only scripts and
 * styles whose hashes are those compiled into kronorm. */
static void write_policy(kn_page *p)
{
    kn_html_print(p->h,
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action "
                  "'none'\">\n",
                  kn_asset_page_css.csp, kn_asset_page_js.csp);
}

/* Writes the <head> of the page: policy, title, style. */
static void write_head(kn_page *p)
{
    kn_html_raw(p->h, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    write_policy(p);
    kn_html_raw(p->h, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      "<meta name=\"color-scheme\" content=\"light dark\">\n"
                      "<meta name=\"referrer\" content=\"no-referrer\">\n"
                      "<meta name=\"robots\" content=\"noindex, nofollow\">\n");
    kn_html_print(p->h, "<meta name=\"generator\" content=\"kronorm %s\">\n<title>", kn_version());
    kn_html_cut(p->h, p->r->title ? p->r->title : "kronorm report", 200);
    kn_html_raw(p->h, "</title>\n");
    write_asset(p, "style", &kn_asset_page_css);
    kn_html_raw(p->h, "</head>\n");
}

/* Writes links to the sections that have content. */
static void write_navigation(kn_page *p)
{
    kn_html_raw(p->h, "<a class=\"skip\" href=\"#summary\">Skip to the summary</a>\n"
                      "<header class=\"top\"><nav aria-label=\"Sections of the report\"><ul>\n");
    for (int k = 0; k < N_SECTIONS; k++)
        if (SECTIONS[k].has(p->r))
            kn_html_print(p->h, "<li><a href=\"#%s\">%s</a></li>\n", SECTIONS[k].id,
                          SECTIONS[k].title);
    kn_html_raw(p->h, "</ul></nav></header>\n");
}

/* Draws the whole page into p->h, with the cards, maps and rows that p->plan includes. A failure,
 * or a cancellation, is in p->h->status. */
static void draw_page(kn_page *p)
{
    write_head(p);
    kn_html_raw(p->h, "<body>\n");
    write_navigation(p);
    kn_page_maps_shared(p);
    kn_html_raw(p->h, "<main>\n");
    for (int k = 0; k < N_SECTIONS; k++)
        if (SECTIONS[k].has(p->r)) {
            if (p->h->status == KN_OK) /* cards with maps take a while */
                p->h->status = kn_check_cancel(p->ctx);
            kn_html_print(p->h, "<section id=\"%s\" aria-labelledby=\"h-%s\">\n", SECTIONS[k].id,
                          SECTIONS[k].id);
            kn_html_print(p->h, "<h%d id=\"h-%s\">", k == 0 ? 1 : 2, SECTIONS[k].id);
            if (k == 0)
                kn_html_cut(p->h, p->r->title ? p->r->title : "kronorm report", 200);
            else
                kn_html_raw(p->h, SECTIONS[k].title);
            kn_html_print(p->h, "</h%d>\n", k == 0 ? 1 : 2);
            SECTIONS[k].draw(p);
            kn_html_raw(p->h, "</section>\n");
        }
    kn_html_print(
        p->h,
        "</main>\n<footer><p>%s</p>\n<p>Made by kronorm %s. This report loads nothing from "
        "elsewhere and sends nothing.</p></footer>\n",
        KN_PAGE_INTENDED_USE, kn_version());
    write_asset(p, "script", &kn_asset_page_js);
    kn_html_raw(p->h, "</body>\n</html>\n");
}

/* Draws the page by p->plan into a temporary file and sets *bytes to its size. *fits: it is within
 * max_size and was committed to `path`; otherwise it is discarded. */
static kn_status try_plan(kn_page *p, const char *path, ptrdiff_t *bytes, bool *fits)
{
    kn_status status;
    kn_html h = {.ctx = p->ctx};
    KN_TRY(kn_writer_new(p->ctx, path, &p->options->write, &h.file));
    p->h = &h;
    draw_page(p);
    KN_TRY(h.status);
    KN_TRY(kn_check_cancel(p->ctx));
    *bytes = h.bytes;
    *fits = (double)h.bytes <= p->options->max_size;
    if (*fits)
        KN_TRY(kn_writer_commit(p->ctx, h.file));
out:
    p->h = NULL;
    kn_writer_free(h.file);
    return status;
}

kn_status kn_page_write(kn_ctx *ctx, const kn_report *r, const char *path,
                        const kn_page_options *options, ptrdiff_t *cards, ptrdiff_t *bytes)
{
    kn_status status;
    kn_page p = {.ctx = ctx, .r = r, .options = options};
    bool fits = false;
    KN_TRY(kn_page_plan_all(&p));
    KN_TRY(kn_pictures_new(ctx, &r->space, r->responses.T, &p.pictures));
    if (p.pictures)
        KN_TRY(kn_pictures_background(ctx, p.pictures, &p.background));
    KN_TRY(try_plan(&p, path, bytes, &fits));
    while (!fits) { /* each plan omits more than the last, or fails */
        KN_TRY(kn_page_plan_reduce(&p, path, *bytes));
        KN_TRY(try_plan(&p, path, bytes, &fits));
    }
    *cards = p.plan.cards;
out:
    kn_page_plan_clear(&p);
    kn_picture_clear(&p.background);
    kn_pictures_free(p.pictures);
    return status;
}
