/* Cards of the most abnormal participants: a description in words, and the extreme responses or
 * clusters   [METHOD 11c] */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/compute/cluster.h"
#include "report/compute/compute.h"
#include "report/text/sentence.h"
#include "stats/normal.h"

/* Percentile of extrapolation above which a small z is not informative. */
static const double FAR = 99;

/* ---- words ---- */

/* Writes covariates, the interval of a pair of visits, label, and membership of training. */
static void say_who(kn_sentence *s, const kn_report *r, const kn_report_person *one)
{
    ptrdiff_t said = 0;
    for (ptrdiff_t k = 0; one->covariate && k < r->cohort.n; k++)
        if (one->covariate[k] && strcmp(one->covariate[k], "n/a") != 0)
            kn_sentence_words(s, "%s%s %s", said++ ? ", " : "", r->cohort.column[k].name,
                              one->covariate[k]);
    if (isfinite(one->interval)) {
        kn_sentence_words(s, "Visits ");
        kn_sentence_figures(s, one->interval, 3);
        kn_sentence_words(s, " apart%s%s", r->change.interval_units ? " in " : "",
                          r->change.interval_units ? r->change.interval_units : "");
        said++;
    }
    if (one->label == 1 && r->group.label)
        kn_sentence_words(s, "%slabelled %s", said++ ? "; " : "", r->group.label);
    if (one->training)
        kn_sentence_words(s, "%sof training%s", said++ ? "; " : "",
                          r->people.training_anew      ? ", by the model that has seen this person"
                          : r->kind == KN_REPORT_MODEL ? ", by models without this person"
                                                       : "");
    if (said)
        kn_sentence_words(s, ". ");
}

/* Writes "More extreme than 98.7 % of people like those of training by the largest |z| (p =
 * 0.013); .." */
static void say_tail_p(kn_sentence *s, const kn_report *r, const kn_report_person *one)
{
    const char *whom = r->people.compared ? r->people.compared : "the reference";
    const char *what = r->kind == KN_REPORT_CHANGE
                           ? "The largest changes are more extreme than those of "
                           : "More extreme than ";
    if (isfinite(one->p)) {
        kn_sentence_words(s, "%s", what);
        kn_sentence_words(s, "%s%s %%", one->p_is_bound ? "at least " : "",
                          one->p_is_bound ? kn_format_percent_least(1 - one->p).text
                                          : kn_format_percent(1 - one->p).text);
        kn_sentence_words(s,
                          r->kind == KN_REPORT_CHANGE ? " of %s (" : " of %s by the largest |z| (",
                          whom);
        kn_sentence_p(s, one->p, one->p_is_bound);
        kn_sentence_words(s, one->note && strcmp(one->note, "rough") == 0 ? ", roughly)" : ")");
    } else if (isfinite(one->statistic)) {
        kn_sentence_words(s, "The largest |z| are ");
        kn_sentence_fixed(s, one->statistic, 2);
        kn_sentence_words(s, " in the mean; there is nobody to compare that with");
    } else {
        kn_sentence_words(s, "Not one response has a z");
    }
}

static void say_burden(kn_sentence *s, const kn_report *r, const kn_report_person *one)
{
    double t = r->people.threshold;
    if (!isfinite(one->share))
        return;
    kn_sentence_words(s, "; |z| is beyond ");
    kn_sentence_figures(s, t, 3);
    kn_sentence_words(s, " in ");
    kn_sentence_percent(s, one->share);
    kn_sentence_words(s, " of responses (");
    kn_sentence_percent(s, 2 * kn_normal_cdf(-t));
    kn_sentence_words(s, " expected)");
    if (one->negative + one->positive > 0)
        kn_sentence_words(s, ", %.0f low and %.0f high", one->negative, one->positive);
}

static void say_joint(kn_sentence *s, const kn_report *r, const kn_report_person *one)
{
    double found = one->fdr_negative + one->fdr_positive;
    if (isfinite(one->deviance_p)) {
        kn_sentence_words(s, r->kind == KN_REPORT_CHANGE ? " All changes together: "
                                                         : " The whole map at once: ");
        kn_sentence_p(s, one->deviance_p, false);
        kn_sentence_words(s, ".");
    }
    if (found > 0)
        kn_sentence_words(
            s, " %.0f response%s out after control of false discoveries (%.0f low, %.0f high).",
            found, found == 1 ? " stands" : "s stand", one->fdr_negative, one->fdr_positive);
    else if (found == 0)
        kn_sentence_words(s, " No single response stands out after control of false discoveries.");
}

/* Writes cautions: implausible data, unseen levels, unknown site, extrapolation. */
static void say_caution(kn_sentence *s, const kn_report_person *one)
{
    if (one->implausible)
        kn_sentence_words(s, " The data of this person cannot be right: look at them first.");
    if (one->unseen)
        kn_sentence_words(s, " A category has a level that training did not have.");
    if (one->adapted)
        kn_sentence_words(s, " The model was adapted to this person's site.");
    if (one->site_unknown)
        kn_sentence_words(s, " The model does not know this person's site, which is in every z.");
    if (!(one->extrapolation_pct > FAR))
        return;
    kn_sentence_words(s, " The covariates are further from training than ");
    kn_sentence_percent(s, one->extrapolation_pct / 100);
    kn_sentence_words(s, " of training itself: here a small z is ignorance, not health");
    if (isfinite(one->deviance_noise_p)) {
        kn_sentence_words(s, "; by the noise alone the whole map has ");
        kn_sentence_p(s, one->deviance_noise_p, false);
    }
    kn_sentence_words(s, ".");
}

static kn_status say_card(kn_ctx *ctx, kn_report *r, kn_report_card *card)
{
    const kn_report_person *one = &r->people.person[card->person];
    kn_sentence s = {.ctx = ctx, .arena = &r->arena};
    say_who(&s, r, one);
    say_tail_p(&s, r, one);
    say_burden(&s, r, one);
    kn_sentence_words(&s, ".");
    say_joint(&s, r, one);
    say_caution(&s, one);
    return kn_sentence_end(&s, &card->words);
}

/* ---- extreme responses and clusters ---- */

/* Finds the largest |z|, ties by the order of responses, by insertion in one pass. */
static void find_tops(const float *z, ptrdiff_t T, kn_report_card *card)
{
    card->tops = 0;
    for (ptrdiff_t j = 0; j < T; j++) {
        ptrdiff_t k = card->tops;
        if (isnan(z[j]) || (k == KN_REPORT_TOPS && fabsf(z[j]) <= fabs(card->top[k - 1].z)))
            continue;
        k -= k == KN_REPORT_TOPS;
        for (; k > 0 && fabsf(z[j]) > fabs(card->top[k - 1].z); k--)
            card->top[k] = card->top[k - 1];
        card->top[k] = (kn_report_top){j, z[j], 100 * kn_normal_cdf(z[j])};
        card->tops += card->tops < KN_REPORT_TOPS;
    }
}

static kn_status read_map(kn_ctx *ctx, const kn_report_job *job, ptrdiff_t person, float *z)
{
    return job->m->dir ? kn_report_input_z(ctx, job->m, person, z)
                       : kn_report_input_training_z(ctx, job->m, person, z);
}

static kn_status fill_card(kn_ctx *ctx, const kn_report_job *job, kn_clusters *clusters, float *z,
                           kn_report_card *card)
{
    kn_status status;
    kn_cluster_list list = {.cluster = card->cluster, .most = KN_REPORT_CLUSTERS};
    KN_TRY(read_map(ctx, job, card->person, z));
    if (clusters) {
        KN_TRY(kn_clusters_find(ctx, clusters, z, KN_REPORT_CLUSTER, &list));
        card->clusters = list.n;
        card->clusters_found = list.found;
        card->clusters_single = list.singles;
    } else {
        find_tops(z, job->m->T, card);
    }
    KN_TRY(say_card(ctx, job->r, card));
out:
    return status;
}

/* Returns the next card in file order, so that each file is read once. */
static kn_report_card *next_card(kn_report_people *people, ptrdiff_t after)
{
    kn_report_card *next = NULL;
    for (ptrdiff_t k = 0; k < people->n_cards; k++)
        if (people->card[k].person > after && (!next || people->card[k].person < next->person))
            next = &people->card[k];
    return next;
}

kn_status kn_compute_cards(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    kn_clusters *clusters = NULL;
    float *z = NULL;
    ptrdiff_t done = 0;
    if (r->people.n_cards == 0)
        return KN_OK;
    KN_TRY(kn_clusters_new(ctx, &r->space, job->m->T, &clusters));
    KN_TRY(kn_alloc_f(ctx, job->m->T, &z));
    for (kn_report_card *c = next_card(&r->people, -1); c; c = next_card(&r->people, c->person)) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(fill_card(ctx, job, clusters, z, c));
        kn_report_progress(ctx, "cards", ++done, r->people.n_cards, NAN);
    }
out:
    kn_clusters_free(clusters);
    kn_free(z);
    return status;
}
