/* The parts of the page, one file each, and what they share. A part is drawn from the report alone,
 * to the page's kn_html; the plan says how much of it there is room for. */
#ifndef KN_REPORT_PAGE_INTERNAL_H
#define KN_REPORT_PAGE_INTERNAL_H

#include "report/markup/html.h"
#include "report/page/page.h"

typedef struct kn_page_plan { /* what there is room for */
    ptrdiff_t cards, thumbs, rows;
    bool viewer; /* its data */
    bool less;   /* than was asked for: the page says so */
} kn_page_plan;

typedef struct kn_page_sizes { /* bytes of what a plan can leave out, as they were drawn */
    ptrdiff_t *card;           /* n_cards, without viewer */
    ptrdiff_t *viewer;         /* n_cards */
    ptrdiff_t *thumb;          /* n_thumbs */
    ptrdiff_t *row;            /* of the table */
    ptrdiff_t viewer_space;
} kn_page_sizes;

typedef struct kn_page {
    kn_ctx *ctx;
    const kn_report *r;
    const kn_page_options *options;
    kn_html *h;
    kn_pictures *pictures; /* NULL: responses have no place to be drawn at */
    kn_picture ground;     /* n = 0: none */
    kn_page_plan plan;
    kn_page_sizes sizes;
} kn_page;

/* Is there anything to say, and the inside of its <section>, heading included. */
bool kn_page_summary_has(const kn_report *r);
void kn_page_summary(kn_page *p);
bool kn_page_cohort_has(const kn_report *r);
void kn_page_cohort(kn_page *p);
bool kn_page_model_has(const kn_report *r);
void kn_page_model(kn_page *p);
bool kn_page_curves_has(const kn_report *r);
void kn_page_curves(kn_page *p);
bool kn_page_people_has(const kn_report *r);
void kn_page_people(kn_page *p);
bool kn_page_group_has(const kn_report *r);
void kn_page_group(kn_page *p);
bool kn_page_change_has(const kn_report *r);
void kn_page_change(kn_page *p);
bool kn_page_methods_has(const kn_report *r);
void kn_page_methods(kn_page *p);
bool kn_page_reproduce_has(const kn_report *r);
void kn_page_reproduce(kn_page *p);

/* Of the part on people. */
void kn_page_table(kn_page *p);
void kn_page_thumbs(kn_page *p);
void kn_page_cards(kn_page *p);
ptrdiff_t kn_page_card_of(const kn_page *p, ptrdiff_t person); /* -1: he has none */

/* Before the k-th of n pictures: tells how far the page is. False: something failed, or the caller
 * wants no more. */
bool kn_page_goes_on(kn_page *p, const char *stage, ptrdiff_t k, ptrdiff_t n);

/* A name as it is shown: long ones are cut, and whole in the title of the element. */
enum { KN_PAGE_NAME = 60, KN_PAGE_ID = 32 };
void kn_page_name(kn_page *p, const char *name);
void kn_page_id(kn_page *p, const char *id); /* of a person, who shares a row with many numbers */
/* Sentences: as kn_html_text, with true minus signs before numbers, ^2 raised, and numbers on one
 * line with their sign. */
void kn_page_words(kn_page *p, const char *text);
/* A response by its name, with the region in words where it was recognised; a voxel by its place in
 * mm, with its name. Short: without what is beside it. */
void kn_page_response(kn_page *p, ptrdiff_t response);
void kn_page_response_short(kn_page *p, ptrdiff_t response);
/* Rows of a table of responses, the first of those that were found. */
enum { KN_PAGE_BEST = 10 };
/* <div class="scroll"><table><caption>; closed by _table_close. */
void kn_page_table_open(kn_page *p, const char *caption);
void kn_page_table_close(kn_page *p);
void kn_page_th(kn_page *p, const char *const *titles,
                ptrdiff_t n);                      /* a head row; titles of ours */
void kn_page_td(kn_page *p, double x, int digits); /* <td class="n"> */
void kn_page_td_p(kn_page *p, double x, bool bound);
/* <dt>name</dt><dd>, and later _fact_end. */
void kn_page_fact(kn_page *p, const char *name);
void kn_page_fact_end(kn_page *p);
/* "1 person", "2 people". */
void kn_page_count(kn_page *p, ptrdiff_t n, const char *one, const char *many);

/* ---- page_maps.c: pictures ---- */

/* What maps share, once: ground and bars. */
void kn_page_maps_shared(kn_page *p);
/* A map over the ground, with what a reader who cannot see it is told; words of ours. */
void kn_page_map_z(kn_page *p, const int8_t *z, const char *words);
void kn_page_map_values(kn_page *p, const double *value, double low, double high,
                        const char *words);
/* The bar of colours, from low to high; z: the bar of z. */
void kn_page_bar_z(kn_page *p);
void kn_page_bar_values(kn_page *p, double low, double high, int digits, const char *words);
/* The largest of T values that is not NaN, at least `least`. */
double kn_page_largest(const double *value, ptrdiff_t T, double least);

#endif
