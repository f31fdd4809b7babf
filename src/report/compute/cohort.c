/* Section on the cohort: histogram or level counts of each covariate, for training and scored
 * participants   [METHOD 11a]
 *
 * A numeric covariate has KN_REPORT_BARS bars of equal width from the minimum to the maximum
 * over both samples; the last bar includes its upper edge.
 *
 * Figures and page print what is counted here. */
#include <math.h>

#include "report/compute/compute.h"
#include "report/input/records.h"

typedef struct span {
    double low, high;
} span;

/* Returns `so_far` extended by the finite values of x (n; NULL: none). */
static span span_of(const double *x, ptrdiff_t n, span so_far)
{
    for (ptrdiff_t i = 0; x && i < n; i++)
        if (isfinite(x[i])) {
            so_far.low = fmin(so_far.low, x[i]);
            so_far.high = fmax(so_far.high, x[i]);
        }
    return so_far;
}

/* Sets edge to KN_REPORT_BARS + 1 equally spaced values over the training and the scored values of
 * a covariate. */
static void set_edges(const kn_report_input *m, const kn_report_input_column *from, double *edge)
{
    span s = {INFINITY, -INFINITY};
    s = span_of(from->training, m->N, s);
    s = span_of(from->scored, m->n, s);
    if (!(s.low <= s.high))
        s = (span){0, 1};
    if (s.low == s.high) /* a single value: in the middle */
        s = (span){s.low - 0.5, s.high + 0.5};
    for (int k = 0; k <= KN_REPORT_BARS; k++)
        edge[k] = s.low + (s.high - s.low) * k / KN_REPORT_BARS;
    edge[KN_REPORT_BARS] = s.high;
}

/* Returns the index of the histogram bar of x, which lies within the edges. */
static ptrdiff_t bar_of(const double *edge, double x)
{
    double width = (edge[KN_REPORT_BARS] - edge[0]) / KN_REPORT_BARS;
    ptrdiff_t k = (ptrdiff_t)((x - edge[0]) / width);
    if (k > KN_REPORT_BARS - 1)
        k = KN_REPORT_BARS - 1;
    while (k > 0 && x < edge[k]) /* correct for rounding */
        k--;
    while (k < KN_REPORT_BARS - 1 && x >= edge[k + 1])
        k++;
    return k;
}

/* Sets *out (in the arena) to the number of participants per bar or level of covariate c, from its
 * n values x; NULL if x is NULL. */
static kn_status count_participants(kn_ctx *ctx, kn_report *r, const kn_report_column *c,
                                    const double *x, ptrdiff_t n, double **out)
{
    if (!x)
        return KN_OK;
    const ptrdiff_t bars = c->numeric ? KN_REPORT_BARS : c->levels;
    kn_status status = kn_arena_d(ctx, &r->arena, bars, out);
    for (ptrdiff_t i = 0; status == KN_OK && i < n; i++)
        if (isfinite(x[i])) {
            ptrdiff_t k = c->numeric ? bar_of(c->edge, x[i]) : (ptrdiff_t)x[i];
            if (k >= 0 && k < bars)
                (*out)[k]++;
        }
    return status;
}

/* Returns how many of n values are not finite; 0 if x is NULL. */
static ptrdiff_t count_missing(const double *x, ptrdiff_t n)
{
    ptrdiff_t none = 0;
    for (ptrdiff_t i = 0; x && i < n; i++)
        none += !isfinite(x[i]);
    return none;
}

/* Copies n texts to the arena of the report as *out; NULL becomes "". Fails only without memory. */
static kn_status copy_texts(kn_ctx *ctx, kn_report *r, const char *const *from, ptrdiff_t n,
                            const char *const **out)
{
    kn_status status;
    void *memory;
    *out = NULL;
    KN_TRY(kn_arena_alloc(ctx, &r->arena, n, sizeof(char *), &memory));
    const char **to = memory;
    for (ptrdiff_t i = 0; i < n; i++)
        KN_TRY(kn_arena_text(ctx, &r->arena, from[i] ? from[i] : "", &to[i]));
    *out = to;
out:
    return status;
}

/* Fills one covariate of the cohort section: name, edges or levels, counts and numbers of missing
 * values. */
static kn_status fill_column(kn_ctx *ctx, const kn_report_job *job,
                             const kn_report_input_column *from, kn_report_column *to)
{
    kn_status status;
    const kn_report_input *m = job->m;
    kn_report *r = job->r;
    to->numeric = from->numeric;
    to->batch = from->batch;
    KN_TRY(kn_arena_text(ctx, &r->arena, from->name, &to->name));
    if (from->numeric)
        set_edges(m, from, to->edge);
    else {
        to->levels = from->levels;
        KN_TRY(copy_texts(ctx, r, from->level, from->levels, &to->level));
    }
    KN_TRY(count_participants(ctx, r, to, from->training, m->N, &to->training));
    KN_TRY(count_participants(ctx, r, to, from->scored, m->n, &to->scored));
    to->training_missing = count_missing(from->training, m->N);
    to->scored_missing = count_missing(from->scored, m->n);
out:
    return status;
}

/* Copies ids and reasons of the excluded participants to the report. */
static kn_status copy_exclusions(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    const kn_report_input *m = job->m;
    kn_report_cohort *c = &job->r->cohort;
    KN_TRY(copy_texts(ctx, job->r, m->excluded_id, m->n_excluded, &c->excluded_id));
    KN_TRY(copy_texts(ctx, job->r, m->excluded_reason, m->n_excluded, &c->excluded_reason));
    c->n_excluded = m->n_excluded;
out:
    return status;
}

kn_status kn_compute_cohort(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    const kn_report_input *m = job->m;
    kn_report_cohort *c = &job->r->cohort;
    json_t *summary = NULL;
    void *memory;
    KN_TRY(kn_arena_alloc(ctx, &job->r->arena, m->C, sizeof *c->column, &memory));
    c->column = memory;
    c->n = m->C;
    for (ptrdiff_t k = 0; k < m->C; k++)
        KN_TRY(fill_column(ctx, job, &m->column[k], &c->column[k]));
    KN_TRY(copy_exclusions(ctx, job));
    KN_TRY(kn_json_parse(ctx, "summary.json", m->summary_json, &summary));
    KN_TRY(kn_arena_text(ctx, &job->r->arena,
                         json_string_value(json_object_get(summary, "matched_by")),
                         &c->matched_by));
out:
    json_decref(summary);
    return status;
}
