/* The cohort as JSON. Each covariate has a histogram or counts of levels. */
#include "report/json/internal.h"

/* Returns JSON of a covariate: name, kind, and its histogram or counts of levels in the training
 * sample and the scored one. */
static json_t *make_column(kn_page_json *w, const kn_report_column *c)
{
    json_t *j = json_object();
    ptrdiff_t bars = c->numeric ? KN_REPORT_BARS : c->levels;
    kn_page_json_set(w, j, "name", kn_page_json_text(c->name));
    kn_page_json_set(w, j, "kind", json_string(c->numeric ? "numeric" : "category"));
    kn_page_json_set(w, j, "batch", json_boolean(c->batch));
    if (c->numeric)
        kn_page_json_set(w, j, "edges", kn_page_json_numbers(c->edge, KN_REPORT_BARS + 1));
    else
        kn_page_json_set(w, j, "levels", kn_page_json_texts(c->level, c->levels));
    kn_page_json_set(w, j, "train", kn_page_json_numbers(c->training, bars));
    kn_page_json_set(w, j, "scored", kn_page_json_numbers(c->scored, bars));
    kn_page_json_set(w, j, "train_missing", kn_page_json_count(c->training_missing));
    kn_page_json_set(w, j, "scored_missing", kn_page_json_count(c->scored_missing));
    return j;
}

json_t *kn_page_json_cohort(kn_page_json *w)
{
    const kn_report_cohort *c = &w->r->cohort;
    json_t *j = json_object(), *columns = json_array(), *dropped = json_array();
    for (ptrdiff_t k = 0; k < c->n; k++)
        kn_page_json_append(w, columns, make_column(w, &c->column[k]));
    for (ptrdiff_t i = 0; i < c->n_excluded; i++) {
        json_t *one = json_object();
        kn_page_json_set(w, one, "id", kn_page_json_text(c->excluded_id[i]));
        kn_page_json_set(w, one, "why", kn_page_json_text(c->excluded_reason[i]));
        kn_page_json_append(w, dropped, one);
    }
    kn_page_json_set(w, j, "columns", columns);
    kn_page_json_set(w, j, "matched_by", kn_page_json_text(c->matched_by));
    kn_page_json_set(w, j, "dropped", dropped);
    return j;
}
