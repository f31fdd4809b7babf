/* Implements accumulator.h with binned sums, which do not depend on the order of their terms. */
#include "norm/metrics/accumulator.h"

#include "base/parallel/parallel_for.h"
#include "gp/zscore.h"

typedef struct job {
    const kn_measured *m;
    kn_mat z, loss;
    kn_metric_tally *tally;
} job;

/* Extend the range [*low, *high] by x; n = 0: start it. */
static void see(double x, double n, double *low, double *high)
{
    *low = n == 0 ? x : fmin(*low, x);
    *high = n == 0 ? x : fmax(*high, x);
}

/* y and m are relative to the training mean. */
static void add_sample(kn_metric_tally *t, double y, double m, double e)
{
    see(y, t->n, &t->y_low, &t->y_high);
    see(m, t->n, &t->m_low, &t->m_high);
    t->n++;
    kn_binned_sum_add(&t->y, y);
    kn_binned_sum_add(&t->m, m);
    kn_binned_sum_add(&t->yy, y * y);
    kn_binned_sum_add(&t->mm, m * m);
    kn_binned_sum_add(&t->ym, y * m);
    kn_binned_sum_add(&t->e2, e * e);
}

/* Add one response; the loss is relative to that of the trivial model (mean0, var0). */
static void add_response(const job *of, ptrdiff_t j)
{
    const kn_measured *b = of->m;
    kn_metric_tally *t = &of->tally[j];
    const double *y = kn_col(b->y, j), *m = kn_col(b->mean, j);
    const double *z = kn_col(of->z, j), *loss = kn_col(of->loss, j);
    double mean0 = b->mean0[j], var0 = b->var0[j], log_var = var0 > 0 ? log(var0) : NAN;
    for (ptrdiff_t i = 0; i < b->y.rows; i++) {
        if ((b->use && !b->use[i]) || !isfinite(y[i]) || !isfinite(m[i]) || !isfinite(loss[i]))
            continue;
        add_sample(t, y[i] - mean0, m[i] - mean0, y[i] - m[i]);
        kn_binned_sum_add(&t->z2, z[i] * z[i]);
        kn_binned_sum_add(&t->loss, loss[i] - 0.5 * (log_var + kn_z2(y[i] - mean0, var0)));
    }
}

static void some_responses(void *self, ptrdiff_t first, ptrdiff_t last)
{
    for (ptrdiff_t j = first; j < last; j++)
        add_response(self, j);
}

void kn_tallies_add(kn_ctx *ctx, const kn_measured *m, kn_mat z, kn_mat loss,
                    kn_metric_tally *tally)
{
    enum { RESPONSES = 64, FLOPS = 150 }; /* a cell */
    kn_parallel(ctx, m->y.cols, kn_chunk_size(RESPONSES, FLOPS * m->y.rows), some_responses,
                &(job){m, z, loss, tally});
}

void kn_tallies_join(kn_metric_tally *to, const kn_metric_tally *from, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        kn_metric_tally *t = &to[j];
        const kn_metric_tally *f = &from[j];
        if (f->n == 0)
            continue;
        see(f->y_low, t->n, &t->y_low, &t->y_high);
        see(f->y_high, 1, &t->y_low, &t->y_high);
        see(f->m_low, t->n, &t->m_low, &t->m_high);
        see(f->m_high, 1, &t->m_low, &t->m_high);
        t->n += f->n;
        kn_binned_sum_merge(&t->y, &f->y);
        kn_binned_sum_merge(&t->m, &f->m);
        kn_binned_sum_merge(&t->yy, &f->yy);
        kn_binned_sum_merge(&t->mm, &f->mm);
        kn_binned_sum_merge(&t->ym, &f->ym);
        kn_binned_sum_merge(&t->e2, &f->e2);
        kn_binned_sum_merge(&t->z2, &f->z2);
        kn_binned_sum_merge(&t->loss, &f->loss);
    }
}

/* sum (a - abar)(b - bbar) from sum ab, sum a and sum b. */
static double about_means(double ab, double a, double b, double n)
{
    return ab - a / n * b;
}

kn_metric_sums kn_tally_sums(const kn_metric_tally *t, double mean0)
{
    double y = kn_binned_sum_value(&t->y), m = kn_binned_sum_value(&t->m),
           e2 = kn_binned_sum_value(&t->e2);
    bool varies = t->y_high > t->y_low, moves = t->m_high > t->m_low;
    if (t->n == 0)
        return (kn_metric_sums){0};
    kn_metric_sums s = {.n = t->n, .y0 = mean0, .m0 = mean0, .e2 = e2};
    s.y = y / t->n;
    s.m = m / t->n;
    s.e = s.y - s.m;
    if (varies)
        s.yy = fmax(0, about_means(kn_binned_sum_value(&t->yy), y, y, t->n));
    if (moves)
        s.mm = fmax(0, about_means(kn_binned_sum_value(&t->mm), m, m, t->n));
    if (varies && moves)
        s.ym = about_means(kn_binned_sum_value(&t->ym), y, m, t->n);
    s.ee = fmax(0, about_means(e2, y - m, y - m, t->n));
    s.z2 = kn_binned_sum_value(&t->z2);
    s.loss = kn_binned_sum_value(&t->loss);
    return s;
}
