/* People, cards, groups and change as JSON. */
#include <stddef.h>
#include <string.h>

#include "report/json/internal.h"

/* ---- people -----------------------------------------------------------------------------------
 */

typedef struct field {
    const char *name;
    size_t at;
} field;

#define AT(name)                                                                                   \
    {                                                                                              \
#name, offsetof(kn_report_person, name)                                                    \
    }
static const field NUMBERS[] = {
    AT(statistic),        AT(p),
    AT(deviance),         AT(deviance_p),
    AT(deviance_noise_p), AT(extrapolation_pct),
    AT(mean_z),           AT(mean_z_p),
    AT(negative),         AT(negative_p),
    AT(positive),         AT(positive_p),
    AT(responses),        AT(share),
    AT(interval),         AT(fdr_negative),
    AT(fdr_positive),
};
static const field FLAGS[] = {AT(training),    AT(p_is_bound), AT(unseen),
                              AT(implausible), AT(adapted),    AT(reference)};
static const field TEXTS[] = {AT(id), AT(note), AT(visit1), AT(visit2)};

static json_t *person(kn_jotter *w, const kn_report_person *one)
{
    json_t *j = json_object();
    const char *at = (const char *)one;
    for (size_t k = 0; k < sizeof TEXTS / sizeof *TEXTS; k++) {
        const char *text;
        memcpy(&text, at + TEXTS[k].at, sizeof text);
        kn_json_writer(w, j, TEXTS[k].name, kn_json_set_text(text));
    }
    kn_json_writer(w, j, "label", one->label < 0 ? json_null() : json_integer(one->label));
    kn_json_writer(w, j, "covariates",
                   one->covariate ? kn_json_set_texts(one->covariate, w->r->cohort.n)
                                  : json_null());
    for (size_t k = 0; k < sizeof NUMBERS / sizeof *NUMBERS; k++) {
        double x;
        memcpy(&x, at + NUMBERS[k].at, sizeof x);
        kn_json_writer(w, j, NUMBERS[k].name, kn_json_set_number(x));
    }
    for (size_t k = 0; k < sizeof FLAGS / sizeof *FLAGS; k++) {
        bool flag;
        memcpy(&flag, at + FLAGS[k].at, sizeof flag);
        kn_json_writer(w, j, FLAGS[k].name, json_boolean(flag));
    }
    return j;
}

json_t *kn_json_set_people(kn_jotter *w)
{
    json_t *a = json_array();
    for (ptrdiff_t i = 0; i < w->r->people.n; i++)
        kn_json_set_next(w, a, person(w, &w->r->people.person[i]));
    return a;
}

json_t *kn_json_set_abnormality(kn_jotter *w)
{
    const kn_report_people *p = &w->r->people;
    json_t *j = json_object();
    kn_json_writer(w, j, "order", kn_json_set_counts(p->order, p->n));
    kn_json_writer(w, j, "training", kn_json_set_numbers(p->training, p->N));
    kn_json_writer(w, j, "training_deviance", kn_json_set_numbers(p->training_deviance, p->N));
    kn_json_writer(w, j, "line05", kn_json_set_number(p->line[0]));
    kn_json_writer(w, j, "line001", kn_json_set_number(p->line[1]));
    kn_json_writer(w, j, "threshold", kn_json_set_number(p->threshold));
    kn_json_writer(w, j, "compared_with", kn_json_set_text(p->compared));
    kn_json_writer(w, j, "compared_n", kn_json_set_count(p->compared_n));
    kn_json_writer(w, j, "deviance_of", kn_json_set_count(p->deviance_of));
    kn_json_writer(w, j, "deviance_found", kn_json_set_count(p->deviance_found));
    kn_json_writer(w, j, "deviance_expected_low", kn_json_set_number(p->deviance_expected_low));
    kn_json_writer(w, j, "deviance_expected_high", kn_json_set_number(p->deviance_expected_high));
    kn_json_writer(w, j, "thumbs", kn_json_set_counts(p->thumb, p->n_thumbs));
    return j;
}

/* ---- cards ------------------------------------------------------------------------------------
 */

static json_t *name_of(const kn_report *r, ptrdiff_t response)
{
    return kn_json_set_text(r->responses.name ? r->responses.name[response] : NULL);
}

static json_t *tops(kn_jotter *w, const kn_report_card *card)
{
    json_t *a = json_array();
    for (ptrdiff_t k = 0; k < card->tops; k++) {
        const kn_report_top *top = &card->top[k];
        json_t *j = json_object();
        kn_json_writer(w, j, "response", kn_json_set_count(top->response));
        kn_json_writer(w, j, "name", name_of(w->r, top->response));
        kn_json_writer(w, j, "z", kn_json_set_number(top->z));
        kn_json_writer(w, j, "centile", kn_json_set_number(top->centile));
        kn_json_set_next(w, a, j);
    }
    return a;
}

static json_t *clusters(kn_jotter *w, const kn_report_card *card)
{
    json_t *a = json_array();
    for (ptrdiff_t k = 0; k < card->clusters; k++) {
        const kn_report_cluster *c = &card->cluster[k];
        json_t *j = json_object();
        kn_json_writer(w, j, "peak", kn_json_set_count(c->peak));
        kn_json_writer(w, j, "name", name_of(w->r, c->peak));
        kn_json_writer(w, j, "mm", kn_json_set_numbers(c->mm, 3));
        kn_json_writer(w, j, "z", kn_json_set_number(c->z));
        kn_json_writer(w, j, "n", kn_json_set_count(c->size));
        kn_json_writer(w, j, "ml", kn_json_set_number(c->ml));
        kn_json_writer(w, j, "region", kn_json_set_text(c->region));
        kn_json_set_next(w, a, j);
    }
    return a;
}

json_t *kn_json_set_cards(kn_jotter *w)
{
    json_t *a = json_array();
    for (ptrdiff_t k = 0; k < w->r->people.n_cards; k++) {
        const kn_report_card *card = &w->r->people.card[k];
        json_t *j = json_object();
        kn_json_writer(w, j, "person", kn_json_set_count(card->person));
        kn_json_writer(w, j, "words", kn_json_set_text(card->words));
        kn_json_writer(w, j, "top", tops(w, card));
        kn_json_writer(w, j, "clusters", clusters(w, card));
        kn_json_writer(w, j, "clusters_found", kn_json_set_count(card->clusters_found));
        kn_json_writer(w, j, "clusters_single", kn_json_set_count(card->clusters_single));
        kn_json_writer(w, j, "z",
                       kn_json_set_bytes(w, card->z, w->r->responses.T)); /* steps of ZSTEP */
        kn_json_set_next(w, a, j);
    }
    return a;
}

/* ---- groups and change ------------------------------------------------------------------------
 */

static json_t *rocs(kn_jotter *w)
{
    json_t *a = json_array();
    for (ptrdiff_t k = 0; k < w->r->group.rocs; k++) {
        const kn_report_roc *roc = &w->r->group.roc[k];
        json_t *j = json_object();
        kn_json_writer(w, j, "name", kn_json_set_text(roc->name));
        kn_json_writer(w, j, "fpr", kn_json_set_numbers(roc->fpr, roc->n));
        kn_json_writer(w, j, "tpr", kn_json_set_numbers(roc->tpr, roc->n));
        kn_json_writer(w, j, "auc", kn_json_set_number(roc->auc));
        kn_json_writer(w, j, "low", kn_json_set_number(roc->low));
        kn_json_writer(w, j, "high", kn_json_set_number(roc->high));
        kn_json_set_next(w, a, j);
    }
    return a;
}

json_t *kn_json_set_group(kn_jotter *w)
{
    const kn_report_group *g = &w->r->group;
    ptrdiff_t T = w->r->responses.T;
    if (!g->known)
        return json_null();
    json_t *j = json_object();
    kn_json_writer(w, j, "label", kn_json_set_text(g->label));
    kn_json_writer(w, j, "labelled", kn_json_set_count(g->labelled));
    kn_json_writer(w, j, "others", kn_json_set_count(g->others));
    kn_json_writer(w, j, "roc", rocs(w));
    kn_json_writer(w, j, "share_expected", kn_json_set_number(g->share_expected));
    kn_json_writer(w, j, "share_p", kn_json_set_number(g->share_p));
    kn_json_writer(w, j, "share_exact", json_boolean(g->share_exact));
    kn_json_writer(w, j, "share_median", kn_json_set_numbers(g->share_median, 2));
    kn_json_writer(w, j, "overlap", kn_json_set_numbers(g->overlap, T));
    kn_json_writer(w, j, "overlap_others", kn_json_set_numbers(g->overlap_others, T));
    kn_json_writer(w, j, "t", kn_json_set_numbers(g->t, T));
    kn_json_writer(w, j, "q", kn_json_set_numbers(g->q, T));
    kn_json_writer(w, j, "n_significant", kn_json_set_count(g->significant));
    kn_json_writer(w, j, "best", kn_json_set_counts(g->best, g->n_best));
    return j;
}

json_t *kn_json_set_change(kn_jotter *w)
{
    const kn_report_change *c = &w->r->change;
    if (!c->known)
        return json_null();
    json_t *j = json_object();
    kn_json_writer(w, j, "reference", kn_json_set_text(c->reference));
    kn_json_writer(w, j, "pairs", kn_json_set_count(c->pairs));
    kn_json_writer(w, j, "people", kn_json_set_count(c->people));
    kn_json_writer(w, j, "reference_people", kn_json_set_count(c->reference_people));
    kn_json_writer(w, j, "gamma", kn_json_set_number(c->gamma));
    kn_json_writer(w, j, "formula", kn_json_set_text(c->formula));
    kn_json_writer(w, j, "interval_units", kn_json_set_text(c->interval_units));
    kn_json_writer(w, j, "interval_low", kn_json_set_number(c->interval_low));
    kn_json_writer(w, j, "interval_high", kn_json_set_number(c->interval_high));
    kn_json_writer(w, j, "smallest_p", kn_json_set_number(c->smallest_p));
    kn_json_writer(w, j, "one_visit", kn_json_set_count(c->one_visit));
    kn_json_writer(w, j, "different_sites", kn_json_set_count(c->different_sites));
    kn_json_writer(w, j, "far_intervals", kn_json_set_count(c->far_intervals));
    kn_json_writer(w, j, "with_p", kn_json_set_count(c->with_p));
    kn_json_writer(w, j, "found", kn_json_set_count(c->found));
    kn_json_writer(w, j, "expected", kn_json_set_number(c->expected));
    return j;
}
