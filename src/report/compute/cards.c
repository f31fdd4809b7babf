/* Cards of the most abnormal participants: a description in words, and the extreme responses or
 * clusters [METHOD 11c]. The page draws a card from what is stored here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/compute/compute.h"
#include "report/compute/internal.h"
#include "report/text/sentence.h"
#include "stats/normal.h"

/* Percentile of extrapolation above which a small z is not informative. */
static const double FAR = 99;

/* ---- words ---- */

/* Appends covariates, the interval between a pair of visits, the label, and membership of the
 * training sample. */
static void describe_participant(kn_sentence *s, const kn_report *r,
                                 const kn_report_participant *row)
{
    ptrdiff_t written = 0;
    for (ptrdiff_t k = 0; row->covariate && k < r->cohort.n; k++)
        if (row->covariate[k] && strcmp(row->covariate[k], "n/a") != 0)
            kn_sentence_words(s, "%s%s %s", written++ ? ", " : "", r->cohort.column[k].name,
                              row->covariate[k]);
    if (isfinite(row->interval)) {
        kn_sentence_words(s, "Visits ");
        kn_sentence_figures(s, row->interval, 3);
        kn_sentence_words(s, " apart%s%s", r->change.interval_units ? " in " : "",
                          r->change.interval_units ? r->change.interval_units : "");
        written++;
    }
    if (row->label == 1 && r->group.label)
        kn_sentence_words(s, "%s%s", written++ ? "; " : "", r->group.label);
    if (row->training)
        kn_sentence_words(s, "%sin the training sample%s", written++ ? "; " : "",
                          r->participants.training_in_sample
                              ? " (scored by the model that was fitted to this participant)"
                          : r->kind == KN_REPORT_MODEL ? " (cross-validated)"
                                                       : "");
    if (written)
        kn_sentence_words(s, ". ");
}

/* Appends a sentence on the extreme-value statistic, "Extreme values: p = 0.013, from an
 * extreme-value distribution fitted to the reference sample." */
static void describe_tail_p(kn_sentence *s, const kn_report *r, const kn_report_participant *row)
{
    const char *reference =
        r->participants.reference ? r->participants.reference : "the reference sample";
    const bool change = r->kind == KN_REPORT_CHANGE;
    kn_sentence_words(s, change ? "Largest changes: " : "Extreme values: ");
    if (isfinite(row->extreme_z_p)) {
        if (row->p_is_attained)
            kn_sentence_rank_p(s, row->extreme_z_p, row->smallest_rank_p);
        else
            kn_sentence_p(s, row->extreme_z_p, row->p_is_bound);
        kn_sentence_words(s, "%s, %s %s.",
                          row->note && strcmp(row->note, "rough") == 0 ? " (approximate)" : "",
                          r->participants.p_is_fitted
                              ? "from an extreme-value distribution fitted to"
                              : "by comparison with",
                          reference);
    } else if (isfinite(row->extreme_z)) {
        kn_sentence_words(s, "the trimmed mean of the largest |z| is ");
        kn_sentence_fixed(s, row->extreme_z, 2);
        kn_sentence_words(s, "; there is no reference sample.");
    } else {
        kn_sentence_words(s, "no response has a z-score.");
    }
}

/* Appends " (p = 0.31)", or nothing for NaN. */
static void describe_rank_p(kn_sentence *s, double p, const kn_report_participant *row)
{
    if (isnan(p))
        return;
    kn_sentence_words(s, " (");
    kn_sentence_rank_p(s, p, row->smallest_rank_p);
    kn_sentence_words(s, ")");
}

/* Appends the proportion of responses beyond the threshold, the proportion expected, and the
 * numbers of low and high ones. */
static void describe_burden(kn_sentence *s, const kn_report *r, const kn_report_participant *row)
{
    const double t = r->participants.threshold;
    if (!isfinite(row->proportion))
        return;
    kn_sentence_words(s, " Burden: |z| > ");
    kn_sentence_figures(s, t, 3);
    kn_sentence_words(s, " in ");
    kn_sentence_percent(s, row->proportion);
    kn_sentence_words(s, " of %s (", kn_report_nouns(r, r->responses.T));
    kn_sentence_percent(s, 2 * kn_normal_cdf(-t));
    kn_sentence_words(s, " on average)");
    if (row->n_low + row->n_high > 0) {
        kn_sentence_words(s, ": %.0f low", row->n_low);
        describe_rank_p(s, row->n_low_p, row);
        kn_sentence_words(s, ", %.0f high", row->n_high);
        describe_rank_p(s, row->n_high_p, row);
    }
    kn_sentence_words(s, ".");
}

/* Appends the p-value of a statistic of the whole map, which `name` names; nothing for NaN. */
static void describe_whole_map(kn_sentence *s, const kn_report_participant *row, const char *name,
                               double p)
{
    if (isnan(p))
        return;
    kn_sentence_words(s, " %s: ", name);
    kn_sentence_rank_p(s, p, row->smallest_rank_p);
    kn_sentence_words(s, ".");
}

/* Appends the number of responses that are significant after FDR correction; nothing if it is not
 * known. */
static void describe_fdr(kn_sentence *s, const kn_report *r, const kn_report_participant *row)
{
    const double found = row->n_low_fdr + row->n_high_fdr;
    if (found > 0)
        kn_sentence_words(s, " After FDR correction (q ≤ 0.05): %.0f low and %.0f high %s.",
                          row->n_low_fdr, row->n_high_fdr,
                          kn_report_nouns(r, (ptrdiff_t)row->n_high_fdr));
    else if (found == 0)
        kn_sentence_words(s, " After FDR correction (q ≤ 0.05): none.");
}

/* Appends cautions: implausible data, unseen levels, unknown site, extrapolation above the
 * percentile FAR. */
static void describe_cautions(kn_sentence *s, const kn_report_participant *row)
{
    if (row->implausible)
        kn_sentence_words(s, " The data of this participant are implausible: check them first.");
    if (row->unseen)
        kn_sentence_words(s, " A categorical covariate has a level that is not in the training "
                             "sample.");
    if (row->adapted)
        kn_sentence_words(s, " The model was adapted to this participant's site.");
    if (row->site_unknown)
        kn_sentence_words(s, " The site is not in the training sample, and its effect is part of "
                             "every z-score.");
    if (!(row->extrapolation_pct > FAR))
        return;
    kn_sentence_words(s, " Extrapolation: the covariates are further from the training sample than "
                         "those of ");
    kn_sentence_percent(s, row->extrapolation_pct / 100);
    kn_sentence_words(s, " of its participants. A small z-score here reflects uncertainty, not "
                         "normality");
    if (isfinite(row->deviance_noise_p)) {
        kn_sentence_words(s, "; whole-map deviance without prediction uncertainty: ");
        kn_sentence_rank_p(s, row->deviance_noise_p, row->smallest_rank_p);
    }
    kn_sentence_words(s, ".");
}

/* Sets card->words to all sentences of a card, in the arena of the report. */
static kn_status describe_card(kn_ctx *ctx, kn_report *r, kn_report_card *card)
{
    const kn_report_participant *row = &r->participants.participant[card->participant];
    kn_sentence s = {.ctx = ctx, .arena = &r->arena};
    describe_participant(&s, r, row);
    describe_tail_p(&s, r, row);
    describe_whole_map(&s, row, "Whole-map deviance", row->deviance_p);
    describe_whole_map(&s, row, "Mean z² of the change", row->mean_z2_p);
    describe_burden(&s, r, row);
    describe_fdr(&s, r, row);
    describe_cautions(&s, row);
    return kn_sentence_end(&s, &card->words);
}

/* ---- extreme responses and clusters ---- */

/* Sets card->extreme to the KN_REPORT_EXTREMES responses with the largest |z| of a map (T values,
 * NaN skipped), largest first, ties in the order of the responses. O(T) in one pass. */
static void find_tops(const float *z, ptrdiff_t T, kn_report_card *card)
{
    card->extremes = 0;
    for (ptrdiff_t j = 0; j < T; j++) {
        ptrdiff_t k = card->extremes;
        if (isnan(z[j]) || (k == KN_REPORT_EXTREMES && fabsf(z[j]) <= fabs(card->extreme[k - 1].z)))
            continue;
        k -= k == KN_REPORT_EXTREMES;
        for (; k > 0 && fabsf(z[j]) > fabs(card->extreme[k - 1].z); k--)
            card->extreme[k] = card->extreme[k - 1];
        card->extreme[k] = (kn_report_extreme){j, z[j], 100 * kn_normal_cdf(z[j])};
        card->extremes += card->extremes < KN_REPORT_EXTREMES;
    }
}

/* Reads the z-map (T values) of a participant of the folder, or of the training sample if there is
 * no folder. */
static kn_status read_map(kn_ctx *ctx, const kn_report_job *job, ptrdiff_t participant, float *z)
{
    return job->m->dir ? kn_report_input_z(ctx, job->m, participant, z)
                       : kn_report_input_training_z(ctx, job->m, participant, z);
}

/* Fills a card from the z-map of its participant: clusters if `clusters` defines neighbours (NULL:
 * a table), else the extreme responses; and the words. z: work space of T. */
static kn_status fill_card(kn_ctx *ctx, const kn_report_job *job, kn_clusters *clusters, float *z,
                           kn_report_card *card)
{
    kn_status status;
    kn_cluster_list list = {.cluster = card->cluster, .limit = KN_REPORT_CLUSTERS};
    KN_TRY(read_map(ctx, job, card->participant, z));
    if (clusters) {
        KN_TRY(kn_clusters_find(ctx, clusters, z, KN_REPORT_CLUSTER, &list));
        card->clusters = list.n;
        card->clusters_found = list.found;
        card->clusters_single = list.singles;
    } else {
        find_tops(z, job->m->T, card);
    }
    KN_TRY(describe_card(ctx, job->r, card));
out:
    return status;
}

/* Returns the card of the next participant behind index `after`, NULL at the end, so that each file
 * is read once. */
static kn_report_card *next_card(kn_report_participants *participants, ptrdiff_t after)
{
    kn_report_card *next = NULL;
    for (ptrdiff_t k = 0; k < participants->n_cards; k++)
        if (participants->card[k].participant > after &&
            (!next || participants->card[k].participant < next->participant))
            next = &participants->card[k];
    return next;
}

kn_status kn_compute_cards(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status = KN_OK;
    kn_report *r = job->r;
    kn_clusters *clusters = NULL;
    float *z = NULL;
    ptrdiff_t done = 0;
    if (r->participants.n_cards == 0)
        return KN_OK;
    KN_TRY(kn_clusters_new(ctx, &r->space, job->m->T, &clusters));
    KN_TRY(kn_alloc_f(ctx, job->m->T, &z));
    for (kn_report_card *c = next_card(&r->participants, -1); c;
         c = next_card(&r->participants, c->participant)) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(fill_card(ctx, job, clusters, z, c));
        kn_report_progress(ctx, "cards", ++done, r->participants.n_cards, NAN);
    }
out:
    kn_clusters_free(clusters);
    kn_free(z);
    return status;
}
