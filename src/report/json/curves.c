/* Centile curves as JSON. Every shown response has curves and points. */
#include "report/json/internal.h"

/* Returns an array with an array of KN_REPORT_GRID numbers per centile; null if value[0] is NULL,
 * as without bands. */
static json_t *make_lines(kn_page_json *w, double *const value[KN_REPORT_CENTILES])
{
    if (!value[0])
        return json_null();
    json_t *a = json_array();
    for (int c = 0; c < KN_REPORT_CENTILES; c++)
        kn_page_json_append(w, a, kn_page_json_numbers(value[c], KN_REPORT_GRID));
    return a;
}

/* Returns JSON of one curve: label, x, centiles and their 95 % bands. */
static json_t *make_curve(kn_page_json *w, const kn_report_curve *c)
{
    json_t *j = json_object();
    kn_page_json_set(w, j, "label", kn_page_json_text(c->label));
    kn_page_json_set(w, j, "level", kn_page_json_text(c->level));
    kn_page_json_set(w, j, "x", kn_page_json_numbers(c->x, KN_REPORT_GRID));
    kn_page_json_set(w, j, "value", make_lines(w, c->value));
    kn_page_json_set(w, j, "low", make_lines(w, c->low));
    kn_page_json_set(w, j, "high", make_lines(w, c->high));
    return j;
}

/* Returns JSON of the points of participants: x, value, z and index of the curve; null if there are
 * none. */
static json_t *make_points(kn_page_json *w, const kn_report_points *p)
{
    if (p->n == 0)
        return json_null();
    json_t *j = json_object(), *curve_index = json_array();
    kn_page_json_set(w, j, "x", kn_page_json_numbers(p->x, p->n));
    kn_page_json_set(w, j, "value", kn_page_json_numbers(p->value, p->n));
    kn_page_json_set(w, j, "z", kn_page_json_numbers(p->z, p->n));
    for (ptrdiff_t i = 0; p->curve && i < p->n; i++)
        kn_page_json_append(w, curve_index, json_integer(p->curve[i]));
    kn_page_json_set(w, j, "curve", curve_index);
    return j;
}

/* Returns JSON of one shown response: its name, curves, and the points of training and scored
 * participants. */
static json_t *make_shown(kn_page_json *w, const kn_report_shown *s)
{
    const kn_report_responses *p = &w->r->responses;
    json_t *j = json_object(), *curves = json_array();
    for (ptrdiff_t k = 0; k < s->curves; k++)
        kn_page_json_append(w, curves, make_curve(w, &s->curve[k]));
    kn_page_json_set(w, j, "response", kn_page_json_count(s->response));
    kn_page_json_set(w, j, "name", kn_page_json_text(p->name ? p->name[s->response] : NULL));
    kn_page_json_set(w, j, "over", kn_page_json_text(w->r->curves.over));
    kn_page_json_set(w, j, "centiles", kn_page_json_numbers(kn_report_centile, KN_REPORT_CENTILES));
    kn_page_json_set(w, j, "curves", curves);
    kn_page_json_set(w, j, "points", make_points(w, &s->scored));
    kn_page_json_set(w, j, "train", make_points(w, &s->training));
    return j;
}

json_t *kn_page_json_curves(kn_page_json *w)
{
    const kn_report_curves *c = &w->r->curves;
    json_t *all = json_array();
    for (ptrdiff_t k = 0; k < c->n; k++)
        kn_page_json_append(w, all, make_shown(w, &c->shown[k]));
    return all;
}
