/* Calibration of the z-scores and accuracy of the responses as JSON. Histograms are written as
 * counts. */
#include "report/json/internal.h"

json_t *kn_page_json_zhist(kn_page_json *w, const kn_report_zhist *z)
{
    if (z->n == 0)
        return json_null();
    json_t *j = json_object(), *count = json_array();
    for (ptrdiff_t i = 0; z->count && i < z->n; i++) {
        json_t *row = json_array();
        for (int b = 0; b < KN_REPORT_ZBINS; b++)
            kn_page_json_append(w, row,
                                json_integer((json_int_t)z->count[i * KN_REPORT_ZBINS + b]));
        kn_page_json_append(w, count, row);
    }
    kn_page_json_set(w, j, "low", kn_page_json_number(-KN_REPORT_ZMAX));
    kn_page_json_set(w, j, "high", kn_page_json_number(KN_REPORT_ZMAX));
    kn_page_json_set(w, j, "count", count);
    kn_page_json_set(w, j, "sum", kn_page_json_numbers(z->sum, z->n));
    kn_page_json_set(w, j, "sum2", kn_page_json_numbers(z->sum2, z->n));
    kn_page_json_set(w, j, "responses", kn_page_json_counts(z->responses, z->n));
    return j;
}

json_t *kn_page_json_calibration(kn_page_json *w, const kn_report_calibration *c)
{
    if (c->n == 0)
        return json_null();
    json_t *j = json_object();
    kn_page_json_set(w, j, "n", kn_page_json_count(c->n));
    kn_page_json_set(w, j, "mean", kn_page_json_number(c->mean));
    kn_page_json_set(w, j, "mean_low", kn_page_json_number(c->mean_low));
    kn_page_json_set(w, j, "mean_high", kn_page_json_number(c->mean_high));
    kn_page_json_set(w, j, "z2", kn_page_json_number(c->z2));
    kn_page_json_set(w, j, "z2_low", kn_page_json_number(c->z2_low));
    kn_page_json_set(w, j, "z2_high", kn_page_json_number(c->z2_high));
    kn_page_json_set(w, j, "coverage", kn_page_json_numbers(c->coverage, KN_REPORT_COVERAGES));
    kn_page_json_set(w, j, "q", kn_page_json_numbers(c->q, KN_REPORT_QQ));
    kn_page_json_set(w, j, "worm", kn_page_json_numbers(c->worm, KN_REPORT_QQ));
    kn_page_json_set(w, j, "worm_low", kn_page_json_numbers(c->worm_low, KN_REPORT_QQ));
    kn_page_json_set(w, j, "worm_high", kn_page_json_numbers(c->worm_high, KN_REPORT_QQ));
    kn_page_json_set(w, j, "pit", kn_page_json_numbers(c->pit, KN_REPORT_PIT));
    kn_page_json_set(w, j, "pit_low", kn_page_json_number(c->pit_low));
    kn_page_json_set(w, j, "pit_high", kn_page_json_number(c->pit_high));
    kn_page_json_set(w, j, "pit_se", kn_page_json_numbers(c->pit_se, KN_REPORT_PIT));
    return j;
}

json_t *kn_page_json_responses(kn_page_json *w)
{
    const kn_report_responses *p = &w->r->responses;
    json_t *j = json_object();
    kn_page_json_set(w, j, "T", kn_page_json_count(p->T));
    kn_page_json_set(w, j, "name", kn_page_json_texts(p->name, p->T));
    kn_page_json_set(w, j, "R2", kn_page_json_numbers(p->R2, p->T));
    kn_page_json_set(w, j, "R2_of_training", json_boolean(p->R2_of_training));
    kn_page_json_set(w, j, "MSLL", kn_page_json_numbers(p->MSLL, p->T));
    kn_page_json_set(w, j, "gain", kn_page_json_numbers(p->gain, p->T));
    kn_page_json_set(w, j, "z2", kn_page_json_numbers(p->z2, p->T));
    kn_page_json_set(w, j, "z2_of", kn_page_json_text(p->z2_of));
    kn_page_json_set(w, j, "z2_low", kn_page_json_number(p->z2_low));
    kn_page_json_set(w, j, "z2_high", kn_page_json_number(p->z2_high));
    kn_page_json_set(w, j, "z2_inside", kn_page_json_number(p->z2_inside));
    kn_page_json_set(w, j, "best", kn_page_json_counts(p->best, p->n_best));
    kn_page_json_set(w, j, "mean_R2", kn_page_json_number(p->mean_R2));
    kn_page_json_set(w, j, "mean_MSLL", kn_page_json_number(p->mean_MSLL));
    kn_page_json_set(w, j, "mean_gain", kn_page_json_number(p->mean_gain));
    return j;
}
