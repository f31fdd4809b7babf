/* Compares the cases with the other participants   [METHOD 11d]
 *
 * ROC of each statistic over all participants that have it, as score computes its AUC; test of
 * the shares over participants; Welch's t of each response from the sums of compute/maps.c. O(n
 * log n + T log T). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/compute/compute.h"
#include "report/input/records.h"
#include "stats/normal.h"
#include "stats/order_statistics.h"
#include "stats/p_values.h"
#include "stats/two_sample_tests.h"

static const double SIGNIFICANT = 0.05;
enum { BEST = 10 };

/* ---- ROC ---- */

typedef struct score {
    double value;
    bool labelled;
} score;

/* Comparison for qsort of scores: larger values first. */
static int larger_first(const void *x, const void *y)
{
    double a = ((const score *)x)->value, b = ((const score *)y)->value;
    return (a < b) - (a > b);
}

/* Sets the points of the ROC curve from n scores sorted by descending value, one point per distinct
 * value, so that ties are one oblique step. total: numbers of other and of labelled participants.
 */
static void trace_roc(const score *sorted, ptrdiff_t n, const double total[2], kn_report_roc *roc)
{
    double seen[2] = {0, 0};
    roc->fpr[0] = roc->tpr[0] = 0;
    roc->n = 1;
    for (ptrdiff_t i = 0; i < n; i++) {
        seen[sorted[i].labelled]++;
        if (i + 1 < n && sorted[i + 1].value == sorted[i].value)
            continue;
        roc->fpr[roc->n] = seen[0] / total[0];
        roc->tpr[roc->n] = seen[1] / total[1];
        roc->n++;
    }
}

/* Sets *roc to the ROC curve of the statistic at byte `offset` of kn_report_participant, cases
 * against other participants that have it; roc->n = 0 if a group is empty. O(n log n). */
static kn_status make_roc(kn_ctx *ctx, kn_report *r, size_t offset, kn_report_roc *roc)
{
    kn_status status;
    void *memory = NULL;
    double total[2] = {0, 0};
    ptrdiff_t n = 0;
    KN_TRY(kn_alloc(ctx, r->participants.n, sizeof(score), &memory));
    score *sorted = memory;
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        const kn_report_participant *row = &r->participants.participant[i];
        double value;
        memcpy(&value, (const char *)row + offset, sizeof value);
        if (isnan(value) || row->label < 0)
            continue;
        sorted[n++] = (score){value, row->label == 1};
        total[row->label == 1]++;
    }
    if (total[0] == 0 || total[1] == 0)
        goto out;
    qsort(sorted, (size_t)n, sizeof *sorted, larger_first);
    KN_TRY(kn_arena_d(ctx, &r->arena, n + 1, &roc->fpr));
    KN_TRY(kn_arena_d(ctx, &r->arena, n + 1, &roc->tpr));
    trace_roc(sorted, n, total, roc);
out:
    kn_free(memory);
    return status;
}

/* Returns the area under the ROC curve by the trapezoidal rule, for folders that do not record it.
 */
static double compute_area(const kn_report_roc *roc)
{
    double sum = 0;
    for (ptrdiff_t i = 1; i < roc->n; i++)
        sum += (roc->fpr[i] - roc->fpr[i - 1]) * (roc->tpr[i] + roc->tpr[i - 1]) / 2;
    return sum;
}

typedef struct roc_row {
    const char *name, *auc; /* names in the page and in summary.json */
    size_t offset;
} roc_row;

static const roc_row ROCS[] = {
    {"extreme values", "AUC.extreme_z", offsetof(kn_report_participant, extreme_z)},
    {"whole-map deviance", "AUC.deviance", offsetof(kn_report_participant, deviance)},
};
enum { N_ROCS = sizeof ROCS / sizeof *ROCS };

/* Fills r->group.roc for each statistic that cases and other participants have. The AUC and its
 * interval are those of summary.json, if recorded. */
static kn_status make_rocs(kn_ctx *ctx, const kn_report_job *job, const json_t *summary)
{
    kn_status status;
    kn_report *r = job->r;
    void *memory;
    KN_TRY(kn_arena_alloc(ctx, &r->arena, N_ROCS, sizeof *r->group.roc, &memory));
    r->group.roc = memory;
    for (int k = 0; k < N_ROCS; k++) {
        kn_report_roc *roc = &r->group.roc[r->group.rocs];
        const json_t *auc = kn_json_at(summary, ROCS[k].auc);
        KN_TRY(make_roc(ctx, r, ROCS[k].offset, roc));
        if (roc->n == 0)
            continue;
        roc->name = ROCS[k].name;
        roc->auc = kn_json_number_at(auc, "auc");
        if (isnan(roc->auc))
            roc->auc = compute_area(roc);
        bool degenerate = kn_json_true_at(auc, "degenerate"); /* the interval is then a point */
        roc->low = degenerate ? NAN : kn_json_number_at(auc, "low");
        roc->high = degenerate ? NAN : kn_json_number_at(auc, "high");
        r->group.rocs++;
    }
out:
    return status;
}

/* ---- shares ---- */

/* Sets the number of responses and the proportion beyond the threshold of participants that lack
 * them: for the training sample they are known only after the maps were read. */
static void finish_proportions(kn_report *r)
{
    const kn_report_zhist *z = r->kind == KN_REPORT_MODEL ? &r->zhist_training : &r->zhist;
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        kn_report_participant *row = &r->participants.participant[i];
        if (isnan(row->responses) && z->n == r->participants.n && z->responses &&
            z->responses[i] > 0)
            row->responses = (double)z->responses[i];
        if (isnan(row->proportion) && row->responses > 0)
            row->proportion = (row->n_low + row->n_high) / row->responses;
    }
}

/* Tests whether the proportions of responses beyond the threshold differ between the groups
 * (Mann-Whitney); sets p and the medians. */
static kn_status test_proportions(kn_ctx *ctx, kn_report *r)
{
    kn_status status;
    kn_report_group *g = &r->group;
    double *proportion[2] = {NULL, NULL};
    ptrdiff_t n[2] = {0, 0};
    kn_rank_test test;
    for (int k = 0; k < 2; k++)
        KN_TRY(kn_alloc_d(ctx, r->participants.n, &proportion[k]));
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        const kn_report_participant *row = &r->participants.participant[i];
        int k = row->label == 1 ? 0 : 1;
        if (row->label >= 0 && isfinite(row->proportion))
            proportion[k][n[k]++] = row->proportion;
    }
    KN_TRY(kn_rank_test_of(ctx, proportion[0], n[0], proportion[1], n[1], &test));
    g->proportion_p = test.p;
    g->proportion_exact = test.exact;
    for (int k = 0; k < 2; k++)
        KN_TRY(kn_median_of(ctx, proportion[k], n[k], &g->proportion_median[k]));
out:
    kn_free(proportion[0]);
    kn_free(proportion[1]);
    return status;
}

/* ---- responses ---- */

typedef struct effect {
    double size;
    ptrdiff_t j;
} effect;

/* Comparison for qsort of effects: larger size first, then lower response. */
static int strongest_first(const void *x, const void *y)
{
    const effect *a = x, *b = y;
    return a->size != b->size ? (a->size < b->size) - (a->size > b->size)
                              : (a->j > b->j) - (a->j < b->j);
}

/* Sets g->best to the BEST responses with the largest |t|, ties by index. */
static kn_status rank_effects(kn_ctx *ctx, kn_report *r)
{
    kn_status status;
    kn_report_group *g = &r->group;
    void *memory = NULL;
    ptrdiff_t n = 0;
    KN_TRY(kn_alloc(ctx, r->responses.T, sizeof(effect), &memory));
    effect *all = memory;
    for (ptrdiff_t j = 0; j < r->responses.T; j++)
        if (!isnan(g->t[j]))
            all[n++] = (effect){fabs(g->t[j]), j};
    if (n > 0)
        qsort(all, (size_t)n, sizeof *all, strongest_first);
    g->n_best = n < BEST ? n : BEST;
    KN_TRY(kn_arena_i(ctx, &r->arena, g->n_best, &g->best));
    for (ptrdiff_t k = 0; k < g->n_best; k++)
        g->best[k] = all[k].j;
out:
    kn_free(memory);
    return status;
}

/* Sets Welch's t of each response between the groups, its Benjamini-Hochberg q, and the number with
 * q <= SIGNIFICANT. Does nothing without the sums of the maps. */
static kn_status test_responses(kn_ctx *ctx, kn_report *r)
{
    kn_status status = KN_OK;
    kn_report_group *g = &r->group;
    ptrdiff_t T = r->responses.T;
    double *p = NULL;
    for (int k = 0; k < 2; k++)
        if (!g->count[k] || !g->sum[k] || !g->sum2[k])
            return KN_OK;
    KN_TRY(kn_alloc_d(ctx, T, &p));
    KN_TRY(kn_arena_d(ctx, &r->arena, T, &g->t));
    KN_TRY(kn_arena_d(ctx, &r->arena, T, &g->q));
    for (ptrdiff_t j = 0; j < T; j++) {
        kn_sums groups[2];
        for (int k = 0; k < 2; k++)
            groups[k] = (kn_sums){g->count[k][j], g->sum[k][j], g->sum2[k][j]};
        kn_welch w = kn_welch_of(groups[0], groups[1]);
        g->t[j] = w.t;
        p[j] = w.p;
    }
    KN_TRY(kn_fdr_adjust(ctx, T, p, g->q));
    g->significant = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        g->significant += g->q[j] <= SIGNIFICANT;
    KN_TRY(rank_effects(ctx, r));
out:
    kn_free(p);
    return status;
}

/* ---- all ---- */

kn_status kn_compute_group(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report *r = job->r;
    kn_report_group *g = &r->group;
    json_t *summary = NULL;
    finish_proportions(r);
    g->labelled = g->others = 0;
    for (ptrdiff_t i = 0; i < r->participants.n; i++) {
        g->labelled += r->participants.participant[i].label == 1;
        g->others += r->participants.participant[i].label == 0;
    }
    g->known = g->labelled > 0 && g->others > 0;
    KN_TRY(kn_json_parse(ctx, "summary.json", job->m->summary_json, &summary));
    KN_TRY(kn_arena_text(ctx, &r->arena, kn_json_text_at(summary, "cases"), &g->label));
    if (!g->known)
        goto out;
    KN_TRY(make_rocs(ctx, job, summary));
    g->proportion_expected = 2 * kn_normal_cdf(-r->participants.threshold);
    KN_TRY(test_proportions(ctx, r));
    KN_TRY(test_responses(ctx, r));
out:
    json_decref(summary);
    return status;
}
