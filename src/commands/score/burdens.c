/* Implements burdens.h: one participant per parallel task. */
#include "commands/score/burdens.h"

#include <math.h>

#include "base/parallel/parallel_for.h"
#include "norm/metrics/burden.h"
#include "stats/fdr.h"

typedef struct burden_job {
    kn_scores *s;
    const kn_row_maps *maps;
    ptrdiff_t row;
    kn_mat work; /* T x workers */
} burden_job;

/* Copies z with |z| >= bar, 0 elsewhere, NaN where missing. */
static void keep_findings(const float *z, ptrdiff_t T, double bar, float *out)
{
    for (ptrdiff_t j = 0; j < T; j++)
        out[j] = !isfinite(z[j]) ? NAN : fabs((double)z[j]) >= bar ? z[j] : 0;
}

/* Training participants get the values of the reference bit for bit, since p-values are ranks among
 * them. */
static void burden_rows(void *self, int worker, ptrdiff_t from, ptrdiff_t to)
{
    const burden_job *job = self;
    kn_scores *s = job->s;
    const kn_reference *r = &s->model->reference;
    double *work = kn_col(job->work, worker);
    for (ptrdiff_t k = from; k < to; k++) {
        ptrdiff_t i = job->row + k, t = s->cv_row[i];
        const float *z = job->maps->z + k * s->T;
        kn_burden b = kn_burden_row(z, s->T, s->s->threshold, r->top, work);
        kn_fdr f = kn_fdr_row(z, s->T, KN_FDR_Q, work);
        if (t >= 0 && b.n == s->model->gp.T) {
            s->statistic[i] = r->statistic[t];
            b.mean_z = r->mean_z ? r->mean_z[t] : b.mean_z;
        }
        s->mean_z[i] = b.mean_z;
        s->negative[i] = b.negative;
        s->positive[i] = b.positive;
        s->top_negative[i] = b.top_negative;
        s->top_positive[i] = b.top_positive;
        s->n_responses[i] = (double)b.n;
        s->fdr_negative[i] = f.n > 0 ? (double)f.negative : NAN;
        s->fdr_positive[i] = f.n > 0 ? (double)f.positive : NAN;
        if (job->maps->fdr)
            keep_findings(z, s->T, f.bar, job->maps->fdr + k * s->T);
    }
}

kn_status kn_burdens_take(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                          const kn_row_maps *maps)
{
    burden_job job = {s, maps, row, {0}};
    kn_status status = kn_mat_new(ctx, s->T, kn_workers(ctx, rows, 1), &job.work);
    if (status == KN_OK)
        kn_parallel_workers(ctx, rows, 1, burden_rows, &job);
    kn_mat_clear(&job.work);
    return status;
}

kn_status kn_burdens_of_reference(kn_ctx *ctx, kn_scores *s)
{
    kn_status status = KN_OK;
    const kn_reference *r = &s->model->reference;
    ptrdiff_t T = s->model->gp.T;
    double t = s->s->threshold, *work = NULL;
    if (r->n == 0 || (t == KN_BURDEN_THRESHOLD && r->mean_z))
        return KN_OK;
    KN_TRY(kn_alloc_d(ctx, 3 * r->n, &s->counted));
    KN_TRY(kn_alloc_d(ctx, T, &work));
    for (ptrdiff_t i = 0; i < r->n; i++) {
        kn_burden b = {0, NAN, NAN, NAN, NAN, NAN};
        if (r->z)
            b = kn_burden_row(r->z + i * T, T, t, r->top, work);
        s->counted[i] = b.negative;
        s->counted[r->n + i] = b.positive;
        s->counted[2 * r->n + i] = b.mean_z;
    }
    if (!r->z && r->mean_z)
        kn_log(ctx, KN_LOG_WARNING,
               "the model has no z of its training samples, only their counts beyond %g: no "
               "negative_p and positive_p for {threshold=%g}",
               KN_BURDEN_THRESHOLD, t);
out:
    kn_free(work);
    return status;
}
