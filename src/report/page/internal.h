/* Sections of the page, one file each, and helpers shared by them. A section is drawn from the
 * report alone to the kn_html of the page; the plan limits how much of it is drawn. */
#ifndef KN_REPORT_PAGE_INTERNAL_H
#define KN_REPORT_PAGE_INTERNAL_H

#include "report/markup/html.h"
#include "report/page/page.h"

typedef struct kn_page_plan { /* how much of the page fits into max_size */
    ptrdiff_t cards, thumbs, rows;
    bool viewer; /* include the data of the viewer */
    bool less;   /* less than requested; the page states this */
} kn_page_plan;

typedef struct kn_page_sizes { /* bytes of each element that a plan can omit, as last drawn */
    ptrdiff_t *card;           /* n_cards, without the viewer data */
    ptrdiff_t *viewer;         /* n_cards */
    ptrdiff_t *thumb;          /* n_thumbs */
    ptrdiff_t *row;            /* one per row of the participants' table */
    ptrdiff_t viewer_space;
} kn_page_sizes;

typedef struct kn_page {
    kn_ctx *ctx;
    const kn_report *r;
    const kn_page_options *options;
    kn_html *h;
    kn_pictures *pictures; /* NULL: responses have no location to draw */
    kn_picture background; /* background under all maps; n = 0: none */
    kn_page_plan plan;
    kn_page_sizes sizes;
} kn_page;

/* Returns whether the page has a summary: always true. */
bool kn_page_summary_has(const kn_report *r);
/* Writes section 1 of the page: the first sentence, key numbers, warnings, passed checks and notes.
 */
void kn_page_summary(kn_page *p);
/* Returns whether covariates or excluded participants are known. */
bool kn_page_cohort_has(const kn_report *r);
/* Writes section 2 of the page: covariates of training and scored participants, missing values, and
 * excluded participants. */
void kn_page_cohort(kn_page *p);
/* Returns whether the model, its calibration or any response is known. */
bool kn_page_model_has(const kn_report *r);
/* Writes section 3 of the page: summary of the model, calibration, best predicted responses and the
 * map of R2. */
void kn_page_model(kn_page *p);
/* Returns whether there are centile curves. */
bool kn_page_curves_has(const kn_report *r);
/* Writes section 4 of the page: the centile curves of the shown responses, with a menu. */
void kn_page_curves(kn_page *p);
/* Returns whether there is any participant. */
bool kn_page_participants_has(const kn_report *r);
/* Writes section 5 of the page: counts, search, table, small maps and cards of the participants. */
void kn_page_participants(kn_page *p);
/* Returns whether the report compares groups. */
bool kn_page_group_has(const kn_report *r);
/* Writes section 6 of the page: the comparison of labelled cases with the other participants. */
void kn_page_group(kn_page *p);
/* Returns whether this is a report on change between visits. */
bool kn_page_change_has(const kn_report *r);
/* Writes section 7 of the page: how much each participant changed between two visits, compared with
 * stable participants. */
void kn_page_change(kn_page *p);
/* Returns whether there is a methods text. */
bool kn_page_methods_has(const kn_report *r);
/* Writes section 8 of the page: the methods text, results and references, to be copied. */
void kn_page_methods(kn_page *p);
/* Returns whether there are facts on how to reproduce the page. */
bool kn_page_reproduce_has(const kn_report *r);
/* Writes section 9 of the page: the commands and facts that reproduce it. */
void kn_page_reproduce(kn_page *p);

/* Statement at the top and at the end of the page. */
#define KN_PAGE_INTENDED_USE                                                                       \
    "Research use only. Not a diagnosis; p-values are not corrected for the number of "            \
    "participants."

/* Writes the cards that the plan includes and records the size of each in p->sizes. Stops early
 * once the cards exceed max_size, because the page is then drawn again. */
void kn_page_cards(kn_page *p);
/* Returns the index of the card of a participant; -1: none. */
ptrdiff_t kn_page_card_of(const kn_page *p, ptrdiff_t participant);

/* Reports progress before picture k of n. Returns false if writing failed or the caller
 * cancelled. */
bool kn_page_report_progress(kn_page *p, const char *stage, ptrdiff_t k, ptrdiff_t n);

/* Writes a name, cut to KN_PAGE_NAME characters; the whole name is in the title attribute.
 * kn_page_id cuts a participant's id to KN_PAGE_ID, for tables. */
enum { KN_PAGE_NAME = 60, KN_PAGE_ID = 32 };
/* Writes a name, escaped and cut to KN_PAGE_NAME characters; the whole name is in the title
 * attribute. */
void kn_page_name(kn_page *p, const char *name);
/* Writes an id as kn_page_name does, cut to KN_PAGE_ID characters, for tables. */
void kn_page_id(kn_page *p, const char *id);
/* Writes a sentence like kn_html_text, but with true minus signs, ^2 as superscript, and no line
 * break between sign and number. */
void kn_page_text(kn_page *p, const char *text);
/* Writes a response: its name, with the region in words if it is recognised; a voxel by its
 * position in mm, with its name. */
void kn_page_response(kn_page *p, ptrdiff_t response);
/* Writes the name of a response without the region or the voxel's name, for menus. */
void kn_page_response_short(kn_page *p, ptrdiff_t response);
/* Largest number of rows in a table of best responses. */
enum { KN_PAGE_BEST = 10 };
/* Opens a scrollable table: <div class="scroll"><table><caption>. caption is not escaped. */
void kn_page_table_open(kn_page *p, const char *caption);
/* Closes what kn_page_table_open opened. */
void kn_page_table_close(kn_page *p);
/* Writes a head row of n titles, which must be literals: they are not escaped. NULL: skipped. */
void kn_page_th(kn_page *p, const char *const *titles, ptrdiff_t n);
/* Writes a numeric table cell with `digits` decimals; "n/a" for NaN. */
void kn_page_td(kn_page *p, double x, int digits);
/* As kn_page_td for a p-value that is a rank, "≤ p" if it is the smallest possible one. */
void kn_page_td_rank_p(kn_page *p, double x, double smallest);
/* As kn_page_td for a p-value; bound: p is an upper bound and is written "< p". */
void kn_page_td_p(kn_page *p, double x, bool bound);
/* Opens a fact of a description list: <dt>name</dt><dd>. name is not escaped. */
void kn_page_fact(kn_page *p, const char *name);
/* Closes the fact that kn_page_fact opened. */
void kn_page_fact_end(kn_page *p);
/* Writes a count with its noun: "1 participant", "2 participants". */
void kn_page_count(kn_page *p, ptrdiff_t n, const char *one, const char *many);

/* ---- maps.c: pictures ---- */

/* Writes once what all maps share: the background and the colour bars. */
void kn_page_maps_shared(kn_page *p);
/* Writes a map over the background. `words` is the alternative text for screen readers; it must
 * not come from a file. z: T values in steps of KN_REPORT_ZSTEP. NULL z: nothing is written. */
void kn_page_map_z(kn_page *p, const int8_t *z, const char *words);
/* As kn_page_map_z for T values, coloured from low to high; NaN is not drawn. */
void kn_page_map_values(kn_page *p, const double *value, double low, double high,
                        const char *words);
/* Writes the legend of z-maps: the colour bar from -KN_PICTURE_ZMAX to KN_PICTURE_ZMAX. */
void kn_page_bar_z(kn_page *p);
/* Writes the legend of a map of values: the colour bar from low to high with `digits` decimals, and
 * its title `words`, which is not escaped. */
void kn_page_bar_values(kn_page *p, double low, double high, int digits, const char *words);
/* Returns the largest of T values, NaN ignored, or `lowest` if that is larger. */
double kn_page_largest(const double *value, ptrdiff_t T, double lowest);

/* ---- size_budget.c ---- */

/* Fits the page into max_size: page.c draws it, and draws it again by a smaller plan if it was
 * too large. */

/* Plans the page with all cards, maps and rows, and allocates p->sizes (kn_page_plan_clear). */
kn_status kn_page_plan_all(kn_page *p);
/* Reduces the plan from the element sizes of the page just drawn, of `bytes` bytes: first fewer
 * cards; if not one fits with viewer data, cards without the viewer; then fewer thumbnails; then
 * fewer table rows. Fails if the page would be too large without all of these. */
kn_status kn_page_plan_reduce(kn_page *p, const char *path, ptrdiff_t bytes);
/* Frees the arrays of p->sizes. */
void kn_page_plan_clear(kn_page *p);

#endif
