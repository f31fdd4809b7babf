/* The model as JSON. It has the method, its parameters and the loss curve. */
#include "report/json/internal.h"

/* Returns JSON of the held-out loss (MSLL with standard error) against the number of components. */
static json_t *make_components_curve(kn_page_json *w, const kn_report_model *m)
{
    json_t *j = json_object();
    kn_page_json_set(w, j, "components", kn_page_json_numbers(m->curve_components, m->curve_n));
    kn_page_json_set(w, j, "msll", kn_page_json_numbers(m->curve_msll, m->curve_n));
    kn_page_json_set(w, j, "se", kn_page_json_numbers(m->curve_se, m->curve_n));
    return j;
}

json_t *kn_page_json_model(kn_page_json *w)
{
    const kn_report_model *m = &w->r->model;
    if (!m->known)
        return json_null();
    json_t *j = json_object();
    kn_page_json_set(w, j, "method", kn_page_json_text(m->method));
    kn_page_json_set(w, j, "noise", kn_page_json_text(m->noise));
    kn_page_json_set(w, j, "likelihood", kn_page_json_text(m->likelihood));
    kn_page_json_set(w, j, "components", kn_page_json_count(m->components));
    kn_page_json_set(w, j, "components_curve", make_components_curve(w, m));
    kn_page_json_set(w, j, "share", kn_page_json_numbers(m->proportion, m->P));
    kn_page_json_set(w, j, "terms", kn_page_json_texts(m->term, m->terms));
    kn_page_json_set(w, j, "weights", kn_page_json_numbers(m->weight, m->terms));
    kn_page_json_set(w, j, "length", kn_page_json_number(m->length));
    kn_page_json_set(w, j, "length_units", kn_page_json_text(m->length_units));
    kn_page_json_set(w, j, "words", kn_page_json_texts(m->word, m->words));
    kn_page_json_set(w, j, "folds", json_integer(m->folds));
    kn_page_json_set(w, j, "cv_z2", kn_page_json_number(m->cv_z2));
    kn_page_json_set(w, j, "cv_msll", kn_page_json_number(m->cv_msll));
    kn_page_json_set(w, j, "cv_gain", kn_page_json_number(m->cv_gain));
    kn_page_json_set(w, j, "cv_R2", kn_page_json_number(m->cv_R2));
    kn_page_json_set(w, j, "cv_coverage95", kn_page_json_number(m->cv_coverage95));
    kn_page_json_set(w, j, "gev", kn_page_json_numbers(m->gev, 3));
    kn_page_json_set(w, j, "smallest_p", kn_page_json_number(m->smallest_p));
    return j;
}
