/* Implements calibration_check.h: central moments of sets of z are joined pairwise (Pebay 2008),
 * so that neither blocks nor ranks need the whole map. The metrics describe whether z-scores are
 * standard normal. */
#include "norm/calibration/calibration_check.h"

#include <assert.h>
#include <math.h>

#include "base/parallel/parallel_for.h"
#include "stats/normal.h"

const char *const kn_calibration_name[KN_N_CALIBRATION] = {"z2",         "kurtosis",   "coverage50",
                                                           "coverage90", "coverage95", "coverage99",
                                                           "ks"};

enum { BINS = KN_CALIBRATION_BINS, EDGE = 8, PER_UNIT = BINS / (2 * EDGE) };

kn_status kn_calibrator_init(kn_ctx *ctx, kn_calibrator *c)
{
    void *bins;
    *c = (kn_calibrator){0};
    kn_status status = kn_alloc(ctx, BINS, sizeof *c->bins, &bins);
    c->bins = bins;
    return status;
}

void kn_calibrator_clear(kn_calibrator *c)
{
    kn_free(c->bins);
    *c = (kn_calibrator){0};
}

/* Central moments and coverage counts of n finite z-scores, in two passes. */
static kn_tally compute_tally(const double *z, ptrdiff_t n)
{
    kn_tally t = {.n = (double)n};
    for (ptrdiff_t i = 0; i < n; i++)
        t.mean += z[i] / t.n;
    for (ptrdiff_t i = 0; i < n; i++) {
        double d = z[i] - t.mean, d2 = d * d;
        t.m2 += d2;
        t.m3 += d2 * d;
        t.m4 += d2 * d2;
        t.squares += z[i] * z[i];
        for (int c = 0; c < KN_COVERAGES; c++)
            t.inside[c] += kn_covered(z[i] * z[i], c);
    }
    return t;
}

/* Moments and counts of the union of two sets of z-scores (Pebay 2008, SAND2008-6212). */
static kn_tally join_tallies(const kn_tally *a, const kn_tally *b)
{
    if (a->n == 0 || b->n == 0)
        return a->n == 0 ? *b : *a;
    double n = a->n + b->n, d = b->mean - a->mean, dn = d / n, ab = a->n * b->n;
    kn_tally t = {.n = n, .mean = a->mean + b->n * dn, .squares = a->squares + b->squares};
    t.m2 = a->m2 + b->m2 + ab * d * dn;
    t.m3 =
        a->m3 + b->m3 + ab * (a->n - b->n) * d * dn * dn + 3 * dn * (a->n * b->m2 - b->n * a->m2);
    t.m4 = a->m4 + b->m4 + ab * (a->n * a->n - ab + b->n * b->n) * d * dn * dn * dn +
           6 * dn * dn * (a->n * a->n * b->m2 + b->n * b->n * a->m2) +
           4 * dn * (a->n * b->m3 - b->n * a->m3);
    for (int c = 0; c < KN_COVERAGES; c++)
        t.inside[c] = a->inside[c] + b->inside[c];
    return t;
}

/* The quantities of a set of z-scores: z2, kurtosis, coverages, and its Kolmogorov-Smirnov distance
 * ks; NaN without values. */
static void write_moments(const kn_tally *t, double ks, double out[KN_N_CALIBRATION])
{
    bool any = t->n > 0;
    out[KN_CALIBRATION_Z2] = any ? t->squares / t->n : NAN;
    out[KN_CALIBRATION_KURTOSIS] = t->m2 > 0 ? t->n * t->m4 / (t->m2 * t->m2) : NAN;
    for (int c = 0; c < KN_COVERAGES; c++)
        out[KN_CALIBRATION_COVERAGE50 + c] = any ? t->inside[c] / t->n : NAN;
    out[KN_CALIBRATION_KS] = any ? ks : NAN;
}

typedef struct job {
    kn_mat z, per;
    const bool *use;
    kn_mat work; /* as z: the finite values of each response, packed */
    kn_tally *tally;
} job;

/* Worker: moments of responses first .. last - 1 of the job in self, and the quantities of each if
 * `per` is given. */
static void tally_response_range(void *self, ptrdiff_t first, ptrdiff_t last)
{
    job *b = self;
    for (ptrdiff_t j = first; j < last; j++) {
        const double *z = kn_col(b->z, j);
        double *v = kn_col(b->work, j), value[KN_N_CALIBRATION];
        ptrdiff_t n = 0;
        for (ptrdiff_t i = 0; i < b->z.rows; i++)
            if ((!b->use || b->use[i]) && isfinite(z[i]))
                v[n++] = z[i];
        b->tally[j] = compute_tally(v, n);
        if (!b->per.data)
            continue;
        write_moments(&b->tally[j], kn_ks_normal(v, n), value);
        for (int k = 0; k < KN_N_CALIBRATION; k++)
            kn_col(b->per, k)[j] = value[k];
    }
}

/* Count n z-scores into the bins of the histogram; values beyond its edges fall into the outermost
 * bins. */
static void count_values(kn_calibrator *c, const double *v, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double at =
            (v[i] + EDGE) * PER_UNIT; /* values beyond the edges are in the outermost bins */
        c->bins[at < 0 ? 0 : at >= BINS ? BINS - 1 : (ptrdiff_t)at]++;
    }
}

typedef struct participants_job {
    kn_mat z;
    const bool *use;
    double *work; /* z.cols per participant: finite values, packed */
    kn_tally *found, *participant;
} participants_job;

/* Worker: joins the z-scores of participants first .. last - 1 to their moments. A few participants
 * at a time, since their values are adjacent in a column. */
static void tally_participants(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const participants_job *b = self;
    ptrdiff_t cols = b->z.cols;
    for (ptrdiff_t i = first; i < last; i++)
        b->found[i] = (kn_tally){0};
    for (ptrdiff_t j = 0; j < cols; j++)
        for (ptrdiff_t i = first; i < last; i++) {
            double z = kn_at(b->z, i, j);
            if ((!b->use || b->use[i]) && isfinite(z))
                b->work[i * cols + (ptrdiff_t)b->found[i].n++] = z;
        }
    for (ptrdiff_t i = first; i < last; i++) {
        b->found[i] = compute_tally(b->work + i * cols, (ptrdiff_t)b->found[i].n);
        b->participant[i] = join_tallies(&b->participant[i], &b->found[i]);
    }
}

/* Join the z-scores of a minibatch to the moments of each participant, in parallel, and count them
 * into the histogram. */
static void add_participants(kn_ctx *ctx, kn_calibrator *c, participants_job *b)
{
    enum { PARTICIPANTS = 8 };
    kn_parallel(ctx, b->z.rows, PARTICIPANTS, tally_participants, b);
    for (ptrdiff_t i = 0; i < b->z.rows; i++)
        count_values(c, b->work + i * b->z.cols, (ptrdiff_t)b->found[i].n);
}

kn_status kn_calibrator_add(kn_ctx *ctx, kn_calibrator *c, kn_mat z, const bool *use, kn_mat per)
{
    enum { RESPONSES = 64, FLOPS = 50 }; /* a cell */
    job b = {.z = z, .per = per, .use = use};
    void *tally = NULL;
    kn_status status;

    assert(!per.data || !c->participant);
    assert(!per.data || (per.rows == z.cols && per.cols == KN_N_CALIBRATION));
    KN_TRY(kn_mat_new(ctx, z.rows, z.cols, &b.work));
    KN_TRY(kn_alloc(ctx, c->participant ? z.rows : z.cols, sizeof(kn_tally), &tally));
    if (c->participant) {
        add_participants(ctx, c,
                         &(participants_job){z, use, b.work.data, tally, c->participant + c->row});
        goto out;
    }
    b.tally = tally;
    kn_parallel(ctx, z.cols, kn_chunk_size(RESPONSES, FLOPS * z.rows), tally_response_range, &b);
    for (ptrdiff_t j = 0; j < z.cols; j++) {
        c->total = join_tallies(&c->total, &b.tally[j]);
        count_values(c, kn_col(b.work, j), (ptrdiff_t)b.tally[j].n);
    }
out:
    kn_mat_clear(&b.work);
    kn_free(tally);
    return status;
}

void kn_calibrator_finalise(kn_calibrator *c, ptrdiff_t n)
{
    c->total = (kn_tally){0};
    for (ptrdiff_t i = 0; i < n; i++)
        c->total = join_tallies(&c->total, &c->participant[i]);
}

void kn_calibrator_join(kn_calibrator *c, const kn_calibrator *b)
{
    c->total = join_tallies(&c->total, &b->total);
    for (ptrdiff_t k = 0; k < BINS; k++)
        c->bins[k] += b->bins[k];
}

void kn_calibrator_result(const kn_calibrator *c, double out[KN_N_CALIBRATION])
{
    double seen = 0, ks = 0;
    for (ptrdiff_t k = 0; k < BINS - 1; k++) { /* the outermost edges stand for -inf and inf */
        seen += (double)c->bins[k];
        if (c->bins[k] == 0 && c->bins[k + 1] == 0 && k + 2 < BINS)
            continue; /* between two values Phi is monotone: check the ends only */
        double edge = (double)(k + 1) / PER_UNIT - EDGE;
        ks = fmax(ks, fabs(seen / c->total.n - kn_normal_cdf(edge)));
    }
    write_moments(&c->total, ks, out);
}

void kn_calibrator_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_calibrator c;
    kn_plan_alloc(r, KN_NEED_WORK, BINS, sizeof *c.bins);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, rows, cols);
    kn_plan_alloc(r, KN_NEED_WORK, cols > rows ? cols : rows, sizeof(kn_tally));
    kn_plan_free_to(r, mark);
}
