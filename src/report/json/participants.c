/* Participants, cards, groups and change as JSON. Tables of fields map the structs of report.h to
 * names. */
#include <stddef.h>
#include <string.h>

#include "report/json/internal.h"

/* ---- participants ---- */

typedef struct field {
    const char *name;
    size_t at;
} field;

#define AT(name)                                                                                   \
    {                                                                                              \
#name, offsetof(kn_report_participant, name)                                               \
    }
static const field NUMBERS[] = {
    AT(extreme_z),
    AT(extreme_z_p),
    AT(deviance),
    AT(deviance_p),
    AT(deviance_noise_p),
    AT(mean_z2),
    AT(mean_z2_p),
    AT(extrapolation_pct),
    AT(mean_z),
    AT(mean_z_p),
    AT(n_low),
    AT(n_low_p),
    AT(n_high),
    AT(n_high_p),
    AT(responses),
    {"share", offsetof(kn_report_participant, proportion)},
    {"least_rank_p", offsetof(kn_report_participant, smallest_rank_p)},
    AT(interval),
    AT(n_low_fdr),
    AT(n_high_fdr),
};
static const field FLAGS[] = {AT(training),    AT(p_is_bound), AT(unseen),
                              AT(implausible), AT(adapted),    AT(reference)};
static const field TEXTS[] = {AT(id), AT(note), AT(visit1), AT(visit2)};

/* Returns JSON of one participant; the tables TEXTS, NUMBERS and FLAGS name the fields and their
 * offsets in the struct. */
static json_t *make_participant(kn_page_json *w, const kn_report_participant *row)
{
    json_t *j = json_object();
    const char *at = (const char *)row;
    for (size_t k = 0; k < sizeof TEXTS / sizeof *TEXTS; k++) {
        const char *text;
        memcpy(&text, at + TEXTS[k].at, sizeof text);
        kn_page_json_set(w, j, TEXTS[k].name, kn_page_json_text(text));
    }
    kn_page_json_set(w, j, "label", row->label < 0 ? json_null() : json_integer(row->label));
    kn_page_json_set(w, j, "covariates",
                     row->covariate ? kn_page_json_texts(row->covariate, w->r->cohort.n)
                                    : json_null());
    for (size_t k = 0; k < sizeof NUMBERS / sizeof *NUMBERS; k++) {
        double x;
        memcpy(&x, at + NUMBERS[k].at, sizeof x);
        kn_page_json_set(w, j, NUMBERS[k].name, kn_page_json_number(x));
    }
    for (size_t k = 0; k < sizeof FLAGS / sizeof *FLAGS; k++) {
        bool flag;
        memcpy(&flag, at + FLAGS[k].at, sizeof flag);
        kn_page_json_set(w, j, FLAGS[k].name, json_boolean(flag));
    }
    return j;
}

json_t *kn_page_json_participants(kn_page_json *w)
{
    json_t *a = json_array();
    for (ptrdiff_t i = 0; i < w->r->participants.n; i++)
        kn_page_json_append(w, a, make_participant(w, &w->r->participants.participant[i]));
    return a;
}

/* Returns {"found": flagged participants, "of": all} of one group. */
static json_t *make_count(kn_page_json *w, kn_flag_counts count)
{
    json_t *j = json_object();
    kn_page_json_set(w, j, "found", kn_page_json_count(count.flagged));
    kn_page_json_set(w, j, "of", kn_page_json_count(count.n));
    return j;
}

json_t *kn_page_json_abnormality(kn_page_json *w)
{
    const kn_report_participants *p = &w->r->participants;
    json_t *j = json_object();
    kn_page_json_set(w, j, "order", kn_page_json_counts(p->order, p->n));
    kn_page_json_set(w, j, "training", kn_page_json_numbers(p->training, p->N));
    kn_page_json_set(w, j, "training_deviance", kn_page_json_numbers(p->training_deviance, p->N));
    kn_page_json_set(w, j, "line05", kn_page_json_number(p->line[0]));
    kn_page_json_set(w, j, "line001", kn_page_json_number(p->line[1]));
    kn_page_json_set(w, j, "threshold", kn_page_json_number(p->threshold));
    kn_page_json_set(w, j, "compared_with", kn_page_json_text(p->reference));
    kn_page_json_set(w, j, "compared_n", kn_page_json_count(p->reference_n));
    kn_page_json_set(w, j, "flagged_of", kn_page_json_count(p->flag.n));
    kn_page_json_set(w, j, "flagged", kn_page_json_count(p->flag.flagged));
    kn_page_json_set(w, j, "flagged_expected_low", kn_page_json_number(p->flagged_expected_low));
    kn_page_json_set(w, j, "flagged_expected_high", kn_page_json_number(p->flagged_expected_high));
    kn_page_json_set(w, j, "cases_expected_low", kn_page_json_number(p->cases_expected_low));
    kn_page_json_set(w, j, "cases_expected_high", kn_page_json_number(p->cases_expected_high));
    kn_page_json_set(w, j, "cases_flagged", make_count(w, p->cases_flagged));
    kn_page_json_set(w, j, "extreme_controls", make_count(w, p->extreme[0]));
    kn_page_json_set(w, j, "extreme_cases", make_count(w, p->extreme[1]));
    kn_page_json_set(w, j, "thumbs", kn_page_json_counts(p->thumb, p->n_thumbs));
    return j;
}

/* ---- cards ---- */

/* Returns the name of a response as JSON; null if responses have no names. */
static json_t *make_name(const kn_report *r, ptrdiff_t response)
{
    return kn_page_json_text(r->responses.name ? r->responses.name[response] : NULL);
}

/* Returns a JSON array of the most extreme responses of a card, with z-score and centile. */
static json_t *make_tops(kn_page_json *w, const kn_report_card *card)
{
    json_t *a = json_array();
    for (ptrdiff_t k = 0; k < card->extremes; k++) {
        const kn_report_extreme *top = &card->extreme[k];
        json_t *j = json_object();
        kn_page_json_set(w, j, "response", kn_page_json_count(top->response));
        kn_page_json_set(w, j, "name", make_name(w->r, top->response));
        kn_page_json_set(w, j, "z", kn_page_json_number(top->z));
        kn_page_json_set(w, j, "centile", kn_page_json_number(top->centile));
        kn_page_json_append(w, a, j);
    }
    return a;
}

/* Returns a JSON array of the clusters of a card; mm is the position of the peak in mm, ml the
 * volume. */
static json_t *make_clusters(kn_page_json *w, const kn_report_card *card)
{
    json_t *a = json_array();
    for (ptrdiff_t k = 0; k < card->clusters; k++) {
        const kn_report_cluster *c = &card->cluster[k];
        json_t *j = json_object();
        kn_page_json_set(w, j, "peak", kn_page_json_count(c->peak));
        kn_page_json_set(w, j, "name", make_name(w->r, c->peak));
        kn_page_json_set(w, j, "mm", kn_page_json_numbers(c->mm, 3));
        kn_page_json_set(w, j, "z", kn_page_json_number(c->z));
        kn_page_json_set(w, j, "n", kn_page_json_count(c->size));
        kn_page_json_set(w, j, "ml", kn_page_json_number(c->ml));
        kn_page_json_set(w, j, "region", kn_page_json_text(c->region));
        kn_page_json_append(w, a, j);
    }
    return a;
}

json_t *kn_page_json_cards(kn_page_json *w)
{
    json_t *a = json_array();
    for (ptrdiff_t k = 0; k < w->r->participants.n_cards; k++) {
        const kn_report_card *card = &w->r->participants.card[k];
        json_t *j = json_object();
        kn_page_json_set(w, j, "person", kn_page_json_count(card->participant));
        kn_page_json_set(w, j, "words", kn_page_json_text(card->words));
        kn_page_json_set(w, j, "top", make_tops(w, card));
        kn_page_json_set(w, j, "clusters", make_clusters(w, card));
        kn_page_json_set(w, j, "clusters_found", kn_page_json_count(card->clusters_found));
        kn_page_json_set(w, j, "clusters_single", kn_page_json_count(card->clusters_single));
        kn_page_json_set(w, j, "z",
                         kn_page_json_bytes(w, card->z, w->r->responses.T)); /* steps of ZSTEP */
        kn_page_json_append(w, a, j);
    }
    return a;
}

/* ---- groups and change ---- */

/* Returns a JSON array of the ROC curves of the group comparison with AUC and its interval. */
static json_t *make_rocs(kn_page_json *w)
{
    json_t *a = json_array();
    for (ptrdiff_t k = 0; k < w->r->group.rocs; k++) {
        const kn_report_roc *roc = &w->r->group.roc[k];
        json_t *j = json_object();
        kn_page_json_set(w, j, "name", kn_page_json_text(roc->name));
        kn_page_json_set(w, j, "fpr", kn_page_json_numbers(roc->fpr, roc->n));
        kn_page_json_set(w, j, "tpr", kn_page_json_numbers(roc->tpr, roc->n));
        kn_page_json_set(w, j, "auc", kn_page_json_number(roc->auc));
        kn_page_json_set(w, j, "low", kn_page_json_number(roc->low));
        kn_page_json_set(w, j, "high", kn_page_json_number(roc->high));
        kn_page_json_append(w, a, j);
    }
    return a;
}

json_t *kn_page_json_group(kn_page_json *w)
{
    const kn_report_group *g = &w->r->group;
    ptrdiff_t T = w->r->responses.T;
    if (!g->known)
        return json_null();
    json_t *j = json_object();
    kn_page_json_set(w, j, "label", kn_page_json_text(g->label));
    kn_page_json_set(w, j, "labelled", kn_page_json_count(g->labelled));
    kn_page_json_set(w, j, "others", kn_page_json_count(g->others));
    kn_page_json_set(w, j, "roc", make_rocs(w));
    kn_page_json_set(w, j, "share_expected", kn_page_json_number(g->proportion_expected));
    kn_page_json_set(w, j, "share_p", kn_page_json_number(g->proportion_p));
    kn_page_json_set(w, j, "share_exact", json_boolean(g->proportion_exact));
    kn_page_json_set(w, j, "share_median", kn_page_json_numbers(g->proportion_median, 2));
    kn_page_json_set(w, j, "overlap", kn_page_json_numbers(g->overlap, T));
    kn_page_json_set(w, j, "overlap_others", kn_page_json_numbers(g->overlap_others, T));
    kn_page_json_set(w, j, "t", kn_page_json_numbers(g->t, T));
    kn_page_json_set(w, j, "q", kn_page_json_numbers(g->q, T));
    kn_page_json_set(w, j, "n_significant", kn_page_json_count(g->significant));
    kn_page_json_set(w, j, "best", kn_page_json_counts(g->best, g->n_best));
    return j;
}

json_t *kn_page_json_change(kn_page_json *w)
{
    const kn_report_change *c = &w->r->change;
    if (!c->known)
        return json_null();
    json_t *j = json_object();
    kn_page_json_set(w, j, "reference", kn_page_json_text(c->reference));
    kn_page_json_set(w, j, "pairs", kn_page_json_count(c->pairs));
    kn_page_json_set(w, j, "participants", kn_page_json_count(c->participants));
    kn_page_json_set(w, j, "reference_participants", kn_page_json_count(c->reference_participants));
    kn_page_json_set(w, j, "gamma", kn_page_json_number(c->gamma));
    kn_page_json_set(w, j, "formula", kn_page_json_text(c->formula));
    kn_page_json_set(w, j, "interval_units", kn_page_json_text(c->interval_units));
    kn_page_json_set(w, j, "interval_low", kn_page_json_number(c->interval_low));
    kn_page_json_set(w, j, "interval_high", kn_page_json_number(c->interval_high));
    kn_page_json_set(w, j, "smallest_p", kn_page_json_number(c->smallest_p));
    kn_page_json_set(w, j, "one_visit", kn_page_json_count(c->one_visit));
    kn_page_json_set(w, j, "different_sites", kn_page_json_count(c->different_sites));
    kn_page_json_set(w, j, "far_intervals", kn_page_json_count(c->far_intervals));
    kn_page_json_set(w, j, "with_p", kn_page_json_count(c->with_p));
    kn_page_json_set(w, j, "found", kn_page_json_count(c->found));
    kn_page_json_set(w, j, "expected", kn_page_json_number(c->expected));
    return j;
}
