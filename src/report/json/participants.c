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
        kn_jot(w, j, TEXTS[k].name, kn_jot_text(text));
    }
    kn_jot(w, j, "label", one->label < 0 ? json_null() : json_integer(one->label));
    kn_jot(w, j, "covariates",
           one->covariate ? kn_jot_texts(one->covariate, w->r->cohort.n) : json_null());
    for (size_t k = 0; k < sizeof NUMBERS / sizeof *NUMBERS; k++) {
        double x;
        memcpy(&x, at + NUMBERS[k].at, sizeof x);
        kn_jot(w, j, NUMBERS[k].name, kn_jot_number(x));
    }
    for (size_t k = 0; k < sizeof FLAGS / sizeof *FLAGS; k++) {
        bool flag;
        memcpy(&flag, at + FLAGS[k].at, sizeof flag);
        kn_jot(w, j, FLAGS[k].name, json_boolean(flag));
    }
    return j;
}

json_t *kn_jot_people(kn_jotter *w)
{
    json_t *a = json_array();
    for (ptrdiff_t i = 0; i < w->r->people.n; i++)
        kn_jot_next(w, a, person(w, &w->r->people.person[i]));
    return a;
}

json_t *kn_jot_abnormality(kn_jotter *w)
{
    const kn_report_people *p = &w->r->people;
    json_t *j = json_object();
    kn_jot(w, j, "order", kn_jot_counts(p->order, p->n));
    kn_jot(w, j, "training", kn_jot_numbers(p->training, p->N));
    kn_jot(w, j, "training_deviance", kn_jot_numbers(p->training_deviance, p->N));
    kn_jot(w, j, "line05", kn_jot_number(p->line[0]));
    kn_jot(w, j, "line001", kn_jot_number(p->line[1]));
    kn_jot(w, j, "threshold", kn_jot_number(p->threshold));
    kn_jot(w, j, "compared_with", kn_jot_text(p->compared));
    kn_jot(w, j, "compared_n", kn_jot_count(p->compared_n));
    kn_jot(w, j, "deviance_of", kn_jot_count(p->deviance_of));
    kn_jot(w, j, "deviance_found", kn_jot_count(p->deviance_found));
    kn_jot(w, j, "deviance_expected_low", kn_jot_number(p->deviance_expected_low));
    kn_jot(w, j, "deviance_expected_high", kn_jot_number(p->deviance_expected_high));
    kn_jot(w, j, "thumbs", kn_jot_counts(p->thumb, p->n_thumbs));
    return j;
}

/* ---- cards ------------------------------------------------------------------------------------
 */

static json_t *name_of(const kn_report *r, ptrdiff_t response)
{
    return kn_jot_text(r->responses.name ? r->responses.name[response] : NULL);
}

static json_t *tops(kn_jotter *w, const kn_report_card *card)
{
    json_t *a = json_array();
    for (ptrdiff_t k = 0; k < card->tops; k++) {
        const kn_report_top *top = &card->top[k];
        json_t *j = json_object();
        kn_jot(w, j, "response", kn_jot_count(top->response));
        kn_jot(w, j, "name", name_of(w->r, top->response));
        kn_jot(w, j, "z", kn_jot_number(top->z));
        kn_jot(w, j, "centile", kn_jot_number(top->centile));
        kn_jot_next(w, a, j);
    }
    return a;
}

static json_t *clusters(kn_jotter *w, const kn_report_card *card)
{
    json_t *a = json_array();
    for (ptrdiff_t k = 0; k < card->clusters; k++) {
        const kn_report_cluster *c = &card->cluster[k];
        json_t *j = json_object();
        kn_jot(w, j, "peak", kn_jot_count(c->peak));
        kn_jot(w, j, "name", name_of(w->r, c->peak));
        kn_jot(w, j, "mm", kn_jot_numbers(c->mm, 3));
        kn_jot(w, j, "z", kn_jot_number(c->z));
        kn_jot(w, j, "n", kn_jot_count(c->size));
        kn_jot(w, j, "ml", kn_jot_number(c->ml));
        kn_jot(w, j, "region", kn_jot_text(c->region));
        kn_jot_next(w, a, j);
    }
    return a;
}

json_t *kn_jot_cards(kn_jotter *w)
{
    json_t *a = json_array();
    for (ptrdiff_t k = 0; k < w->r->people.n_cards; k++) {
        const kn_report_card *card = &w->r->people.card[k];
        json_t *j = json_object();
        kn_jot(w, j, "person", kn_jot_count(card->person));
        kn_jot(w, j, "words", kn_jot_text(card->words));
        kn_jot(w, j, "top", tops(w, card));
        kn_jot(w, j, "clusters", clusters(w, card));
        kn_jot(w, j, "clusters_found", kn_jot_count(card->clusters_found));
        kn_jot(w, j, "clusters_single", kn_jot_count(card->clusters_single));
        kn_jot(w, j, "z", kn_jot_bytes(w, card->z, w->r->responses.T)); /* steps of ZSTEP */
        kn_jot_next(w, a, j);
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
        kn_jot(w, j, "name", kn_jot_text(roc->name));
        kn_jot(w, j, "fpr", kn_jot_numbers(roc->fpr, roc->n));
        kn_jot(w, j, "tpr", kn_jot_numbers(roc->tpr, roc->n));
        kn_jot(w, j, "auc", kn_jot_number(roc->auc));
        kn_jot(w, j, "low", kn_jot_number(roc->low));
        kn_jot(w, j, "high", kn_jot_number(roc->high));
        kn_jot_next(w, a, j);
    }
    return a;
}

json_t *kn_jot_group(kn_jotter *w)
{
    const kn_report_group *g = &w->r->group;
    ptrdiff_t T = w->r->responses.T;
    if (!g->known)
        return json_null();
    json_t *j = json_object();
    kn_jot(w, j, "label", kn_jot_text(g->label));
    kn_jot(w, j, "labelled", kn_jot_count(g->labelled));
    kn_jot(w, j, "others", kn_jot_count(g->others));
    kn_jot(w, j, "roc", rocs(w));
    kn_jot(w, j, "share_expected", kn_jot_number(g->share_expected));
    kn_jot(w, j, "share_p", kn_jot_number(g->share_p));
    kn_jot(w, j, "share_exact", json_boolean(g->share_exact));
    kn_jot(w, j, "share_median", kn_jot_numbers(g->share_median, 2));
    kn_jot(w, j, "overlap", kn_jot_numbers(g->overlap, T));
    kn_jot(w, j, "overlap_others", kn_jot_numbers(g->overlap_others, T));
    kn_jot(w, j, "t", kn_jot_numbers(g->t, T));
    kn_jot(w, j, "q", kn_jot_numbers(g->q, T));
    kn_jot(w, j, "n_significant", kn_jot_count(g->significant));
    kn_jot(w, j, "best", kn_jot_counts(g->best, g->n_best));
    return j;
}

json_t *kn_jot_change(kn_jotter *w)
{
    const kn_report_change *c = &w->r->change;
    if (!c->known)
        return json_null();
    json_t *j = json_object();
    kn_jot(w, j, "reference", kn_jot_text(c->reference));
    kn_jot(w, j, "pairs", kn_jot_count(c->pairs));
    kn_jot(w, j, "people", kn_jot_count(c->people));
    kn_jot(w, j, "reference_people", kn_jot_count(c->reference_people));
    kn_jot(w, j, "gamma", kn_jot_number(c->gamma));
    kn_jot(w, j, "formula", kn_jot_text(c->formula));
    kn_jot(w, j, "interval_units", kn_jot_text(c->interval_units));
    kn_jot(w, j, "interval_low", kn_jot_number(c->interval_low));
    kn_jot(w, j, "interval_high", kn_jot_number(c->interval_high));
    kn_jot(w, j, "smallest_p", kn_jot_number(c->smallest_p));
    kn_jot(w, j, "one_visit", kn_jot_count(c->one_visit));
    kn_jot(w, j, "different_sites", kn_jot_count(c->different_sites));
    kn_jot(w, j, "far_intervals", kn_jot_count(c->far_intervals));
    kn_jot(w, j, "with_p", kn_jot_count(c->with_p));
    kn_jot(w, j, "found", kn_jot_count(c->found));
    kn_jot(w, j, "expected", kn_jot_number(c->expected));
    return j;
}
