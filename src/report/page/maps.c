/* Maps in the page: a background stored once, and over it one transparent picture per map, both in
 * an <svg>, so that style and size come from the page and no style attribute is needed.
 * report/pictures makes the pictures. */
#include <math.h>

#include "report/page/internal.h"

/* Writes a picture as a data: URL of base64. */
static void write_data_url(kn_page *p, const kn_picture *picture)
{
    kn_html_raw(p->h, "data:image/png;base64,");
    kn_html_base64(p->h, picture->bytes, picture->n);
}

/* Writes the background picture with its labels once as <g id="ground">, to which maps refer by
 * <use>. */
static void write_ground(kn_page *p)
{
    const kn_picture_label *label;
    const ptrdiff_t n = kn_pictures_labels(p->pictures, &label);
    kn_html_print(p->h, "<g id=\"ground\"><image width=\"%td\" height=\"%td\" href=\"",
                  p->background.width, p->background.height);
    write_data_url(p, &p->background);
    kn_html_raw(p->h, "\"/><g class=\"letters\">");
    for (ptrdiff_t k = 0; k < n; k++)
        kn_html_print(p->h, "<text x=\"%td\" y=\"%td\" text-anchor=\"%s\">%s</text>", label[k].x,
                      label[k].y, label[k].anchor, label[k].text);
    kn_html_raw(p->h, "</g></g>\n");
}

/* Writes a picture once as <image id="id"> at its own size, to be referred to by <use>. */
static void write_shared_image(kn_page *p, const char *id, const kn_picture *picture)
{
    kn_html_print(p->h, "<image id=\"%s\" width=\"%td\" height=\"%td\" href=\"", id, picture->width,
                  picture->height);
    write_data_url(p, picture);
    kn_html_raw(p->h, "\"/>\n");
}

void kn_page_maps_shared(kn_page *p)
{
    kn_picture bar = {0};
    kn_html *h = p->h;
    if (!p->pictures)
        return;
    kn_html_raw(h, "<svg class=\"shared\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>\n");
    if (p->background.n > 0)
        write_ground(p);
    for (int z = 0; z < 2 && h->status == KN_OK; z++) {
        h->status = kn_pictures_bar(p->ctx, z == 1, &bar);
        if (h->status == KN_OK)
            write_shared_image(p, z == 1 ? "bar-z" : "bar-value", &bar);
        kn_picture_clear(&bar);
    }
    kn_html_raw(h, "</defs></svg>\n");
}

/* Writes the picture of a map over the background, with `words` as alternative text. The picture is
 * moved: it is cleared here, also after failure. */
static void write_over_ground(kn_page *p, kn_picture *picture, const char *words)
{
    kn_html *h = p->h;
    if (h->status == KN_OK) {
        kn_html_print(
            h,
            "<svg class=\"map\" viewBox=\"0 0 %td %td\" width=\"%td\" height=\"%td\" role=\"img\">"
            "<title>%s</title>",
            picture->width, picture->height, picture->width, picture->height, words);
        if (p->background.n > 0)
            kn_html_raw(h, "<use href=\"#ground\"/>");
        kn_html_print(h, "<image width=\"%td\" height=\"%td\" href=\"", picture->width,
                      picture->height);
        write_data_url(p, picture);
        kn_html_raw(h, "\"/></svg>\n");
    }
    kn_picture_clear(picture);
}

void kn_page_map_z(kn_page *p, const int8_t *z, const char *words)
{
    kn_picture picture = {0};
    if (!p->pictures || !z || p->h->status != KN_OK)
        return;
    p->h->status = kn_pictures_z(p->ctx, p->pictures, z, &picture);
    write_over_ground(p, &picture, words);
}

void kn_page_map_values(kn_page *p, const double *value, double low, double high, const char *words)
{
    kn_picture picture = {0};
    if (!p->pictures || !value || p->h->status != KN_OK)
        return;
    p->h->status = kn_pictures_values(p->ctx, p->pictures, value, low, high, &picture);
    write_over_ground(p, &picture, words);
}

/* Writes a colour bar of 256 x 12 px; id: "bar-z" or "bar-value", written by kn_page_maps_shared().
 */
static void write_bar(kn_page *p, const char *id)
{
    kn_html_print(p->h,
                  " <svg class=\"colours\" viewBox=\"0 0 256 12\" width=\"256\" height=\"12\" "
                  "aria-hidden=\"true\"><use href=\"#%s\"/></svg> ",
                  id);
}

void kn_page_bar_z(kn_page *p)
{
    if (!p->pictures)
        return;
    kn_html_raw(p->h, "<p class=\"legend\"><span>z</span> ");
    kn_html_fixed(p->h, -KN_PICTURE_ZMAX, 0);
    write_bar(p, "bar-z");
    kn_html_fixed(p->h, KN_PICTURE_ZMAX, 0);
    kn_html_raw(p->h,
                " <span class=\"quiet\">blue: below the prediction, orange: above</span></p>\n");
}

void kn_page_bar_values(kn_page *p, double low, double high, int digits, const char *words)
{
    if (!p->pictures)
        return;
    kn_html_print(p->h, "<p class=\"legend\"><span>%s</span> ", words);
    kn_html_fixed(p->h, low, digits);
    write_bar(p, "bar-value");
    kn_html_fixed(p->h, high, digits);
    kn_html_raw(p->h, "</p>\n");
}

double kn_page_largest(const double *value, ptrdiff_t T, double lowest)
{
    for (ptrdiff_t t = 0; t < T; t++)
        if (value[t] > lowest && isfinite(value[t]))
            lowest = value[t];
    return lowest;
}
