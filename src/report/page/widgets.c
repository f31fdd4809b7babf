/* Elements that all sections use: names, tables, facts. Texts of users are escaped here. */
#include <math.h>
#include <string.h>

#include "report/figures/figures.h"
#include "report/page/internal.h"

/* Writes a name, escaped and cut to `limit` characters; a cut name is complete in the title
 * attribute. */
static void write_shortened(kn_page *p, const char *name, ptrdiff_t limit)
{
    if (kn_html_length(name) <= limit) {
        kn_html_text(p->h, name);
        return;
    }
    kn_html_raw(p->h, "<span title=\"");
    kn_html_cut(p->h, name, 1000);
    kn_html_raw(p->h, "\">");
    kn_html_cut(p->h, name, limit);
    kn_html_raw(p->h, "</span>");
}

void kn_page_name(kn_page *p, const char *name)
{
    write_shortened(p, name, KN_PAGE_NAME);
}

void kn_page_id(kn_page *p, const char *id)
{
    write_shortened(p, id, KN_PAGE_ID);
}

/* Returns whether a space between these two characters must not break the line, as in "p = 0.01".
 */
static bool is_unbreakable(char before, char after)
{
    const bool next = after >= '0' && after <= '9';
    return (before == 'p' && (after == '=' || after == '<')) ||
           ((before == '=' || before == '<') && next);
}

/* Returns the typographic replacement for text[i]: a true minus sign, a superscript 2, or a
 * no-break space; NULL: none. *n: bytes of text that it replaces. */
static const char *find_replacement(const char *text, size_t i, size_t *n)
{
    const bool begins = i == 0 || text[i - 1] == ' ' || text[i - 1] == '(';
    *n = 1;
    if (text[i] == '-' && begins &&
        (text[i + 1] == '.' || (text[i + 1] >= '0' && text[i + 1] <= '9')))
        return "−";
    if (text[i] == '^' && text[i + 1] == '2') {
        *n = 2;
        return "²";
    }
    if (text[i] == ' ' && i > 0 && is_unbreakable(text[i - 1], text[i + 1]))
        return "\u00a0";
    return NULL;
}

void kn_page_text(kn_page *p, const char *text)
{
    char piece[512];
    size_t used = 0, n;
    for (size_t i = 0; text[i]; i += n) {
        const char *better = find_replacement(text, i, &n);
        const bool begins =
            ((unsigned char)text[i] & 0xc0) != 0x80; /* not a UTF-8 continuation byte */
        if ((used + 5 > sizeof piece - 8 && begins) || used + 5 > sizeof piece) {
            piece[used] = 0;
            kn_html_text(p->h, piece);
            used = 0;
        }
        if (better) {
            memcpy(piece + used, better, strlen(better));
            used += strlen(better);
        } else
            piece[used++] = text[i];
    }
    piece[used] = 0;
    kn_html_text(p->h, piece);
}

/* Returns whether responses are voxels of a volume, with positions in mm. */
static bool has_position(const kn_page *p)
{
    return p->r->space.kind == KN_REPORT_VOLUME && p->r->space.voxel;
}

/* Writes the centre of a response's voxel in mm, "−12, 10, 46 mm". */
static void write_position(kn_page *p, ptrdiff_t response)
{
    const kn_report_space *s = &p->r->space;
    const ptrdiff_t v = s->voxel[response], xy = s->dim[0] * s->dim[1];
    const double at[3] = {(double)(v % s->dim[0]), (double)(v % xy / s->dim[0]), (double)(v / xy)};
    for (int k = 0; k < 3; k++) {
        const double *A = s->affine[k];
        kn_html_raw(p->h, k > 0 ? ", " : "");
        kn_html_fixed(p->h, A[0] * at[0] + A[1] * at[1] + A[2] * at[2] + A[3], 0);
    }
    kn_html_raw(p->h, "&nbsp;mm");
}

/* Writes "left, vertex 753", with the region instead of the side if the vertex has a label. Returns
 * false, and writes nothing, if no mesh contains the response. */
static bool write_vertex(kn_page *p, ptrdiff_t response)
{
    int k;
    ptrdiff_t v;
    if (!kn_figure_vertex(p->r, response, &k, &v))
        return false;
    const kn_report_mesh *mesh = &p->r->space.mesh[k];
    if (mesh->region && mesh->region[v])
        kn_html_cut(p->h, mesh->region[v], KN_PAGE_NAME);
    else
        kn_html_raw(p->h, mesh->side == 0 ? "left" : "right");
    kn_html_print(p->h, ", vertex %td", v);
    return true;
}

void kn_page_response_short(kn_page *p, ptrdiff_t response)
{
    if (has_position(p))
        write_position(p, response);
    else if (!write_vertex(p, response))
        kn_html_cut(p->h, p->r->responses.name[response], KN_PAGE_NAME);
}

void kn_page_response(kn_page *p, ptrdiff_t response)
{
    static const char *const side[] = {"left ", "right "};
    const kn_report_region *region = p->r->space.region ? &p->r->space.region[response] : NULL;
    if (has_position(p)) {
        write_position(p, response);
        kn_html_raw(p->h, " <span class=\"quiet at\">voxel ");
        kn_html_cut(p->h, p->r->responses.name[response], KN_PAGE_NAME);
        kn_html_raw(p->h, "</span>");
        return;
    }
    if (write_vertex(p, response))
        return;
    kn_page_name(p, p->r->responses.name[response]);
    if (region && region->full) {
        kn_html_raw(p->h, " <span class=\"quiet\">");
        if (region->side == 0 || region->side == 1)
            kn_html_raw(p->h, side[region->side]);
        kn_html_text(p->h, region->full);
        kn_html_raw(p->h, "</span>");
    }
}

/* A scrollable region must be reachable by keyboard: hence tabindex and name. */
void kn_page_table_open(kn_page *p, const char *caption)
{
    kn_html_print(p->h,
                  "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"%s\">"
                  "<table><caption>%s</caption>\n",
                  caption, caption);
}

void kn_page_table_close(kn_page *p)
{
    kn_html_raw(p->h, "</tbody></table></div>\n");
}

void kn_page_th(kn_page *p, const char *const *titles, ptrdiff_t n)
{
    kn_html_raw(p->h, "<thead><tr>");
    for (ptrdiff_t k = 0; k < n; k++)
        if (titles[k])
            kn_html_print(p->h, "<th scope=\"col\"%s>%s</th>", k > 0 ? " class=\"n\"" : "",
                          titles[k]);
    kn_html_raw(p->h, "</tr></thead>\n<tbody>\n");
}

void kn_page_td(kn_page *p, double x, int digits)
{
    kn_html_raw(p->h, "<td class=\"n\">");
    kn_html_fixed(p->h, x, digits);
    kn_html_raw(p->h, "</td>");
}

void kn_page_td_p(kn_page *p, double x, bool bound)
{
    kn_html_raw(p->h, "<td class=\"n\">");
    kn_html_p(p->h, x, bound);
    kn_html_raw(p->h, "</td>");
}

void kn_page_td_rank_p(kn_page *p, double x, double smallest)
{
    kn_html_raw(p->h, "<td class=\"n\">");
    kn_html_rank_p(p->h, x, smallest);
    kn_html_raw(p->h, "</td>");
}

void kn_page_fact(kn_page *p, const char *name)
{
    kn_html_print(p->h, "<div><dt>%s</dt><dd>", name);
}

void kn_page_fact_end(kn_page *p)
{
    kn_html_raw(p->h, "</dd></div>\n");
}

bool kn_page_report_progress(kn_page *p, const char *stage, ptrdiff_t k, ptrdiff_t n)
{
    if (p->h->status == KN_OK)
        p->h->status = kn_check_cancel(p->ctx);
    if (p->h->status == KN_OK)
        kn_report_progress(p->ctx, stage, k + 1, n, NAN);
    return p->h->status == KN_OK;
}

void kn_page_count(kn_page *p, ptrdiff_t n, const char *one, const char *many)
{
    kn_html_print(p->h, "%td %s", n, n == 1 ? one : many);
}
