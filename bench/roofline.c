/* What the machine can do, and whether a row can be true. */
#include <cblas.h>
#include <stdio.h>

#include "base/parallel/parallel_for.h"
#include "common.h"

enum {
    REPEATS = 8, /* the fastest counts */
    AGAIN = 3,   /* times that the roofline is measured again for one share */
    WHOLE = 100, /* percent */
    NOISE = 200  /* percent: above it no roofline was too low, and flops or seconds are wrong */
};

static void measure_products(bench *b, double *dgemm, double *sgemm)
{
    int n = b->quick ? 96 : 1400;
    ptrdiff_t n2 = (ptrdiff_t)n * n;
    double *d, t, flops = 2e-9 * n * n * n;
    float *s;
    BENCH_TRY(b, kn_alloc_d(b->ctx, 3 * n2, &d));
    BENCH_TRY(b, kn_alloc_f(b->ctx, 3 * n2, &s));
    for (ptrdiff_t i = 0; i < 2 * n2; i++) {
        d[i] = 1 + 1e-3 * (double)(i % 17);
        s[i] = (float)d[i];
    }
    BENCH_TIME(t, REPEATS,
               cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, d, n, d + n2, n,
                           0, d + 2 * n2, n));
    *dgemm = flops / t;
    BENCH_TIME(t, REPEATS,
               cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, s, n, s + n2, n,
                           0, s + 2 * n2, n));
    *sgemm = flops / t;
    kn_free(d);
    kn_free(s);
}

typedef struct triad_job {
    double *a, *b, *c;
} triad_job;

static void triad_items(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const triad_job *t = self;
    for (ptrdiff_t i = first; i < last; i++)
        t->a[i] = t->b[i] + 3 * t->c[i];
}

/* McCalpin's triad: 24 bytes an element, the write's own read not counted. */
static double measure_memory(bench *b)
{
    ptrdiff_t n = b->quick ? 1 << 12 : 1 << 23;
    triad_job job;
    double *all, t;
    BENCH_TRY(b, kn_alloc_d(b->ctx, 3 * n, &all));
    job = (triad_job){all, all + n, all + 2 * n};
    BENCH_TIME(t, REPEATS, kn_parallel(b->ctx, n, n / kn_threads(b->ctx) + 1, triad_items, &job));
    kn_free(all);
    return 24e-9 * (double)n / t;
}

void bench_roofline(bench *b)
{
    int threads = kn_threads(b->ctx);
    double peak = fmax(b->peak, bench_peak_mb());
    for (int k = 0; k < 2; k++) {
        double dgemm, sgemm;
        bench_threads(b, k == 0 ? 1 : b->all);
        measure_products(b, &dgemm, &sgemm);
        b->dgemm[k] = fmax(b->dgemm[k], dgemm);
        b->sgemm[k] = fmax(b->sgemm[k], sgemm);
        b->memory[k] = fmax(b->memory[k], measure_memory(b));
    }
    bench_threads(b, threads);
    bench_peak_reset(b);
    b->peak = peak; /* without the roofline's */
}

/* ---- shares ------------------------------------------------------------------------------- */

static void note_fault(bench *b, const char *fault)
{
    if (!b->fault[0]) /* the first of a row is enough */
        snprintf(b->fault, sizeof b->fault, "%s", fault);
}

bool bench_share_is_possible(double percent)
{
    return percent >= 0 && percent <= BENCH_MAX_SHARE;
}

typedef struct demand { /* flops in double and in float32, bytes to and from memory */
    double f64, f32, bytes;
} demand;

/* Percent of the time taken that the machine needs at least. */
static double share_of(const bench *b, const demand *d, double seconds)
{
    int all = kn_threads(b->ctx) > 1;
    double lowest = d->f64 / b->dgemm[all] + d->f32 / b->sgemm[all] + d->bytes / b->memory[all];
    return WHOLE * 1e-9 * lowest / seconds;
}

static double judge_share(bench *b, const char *limit, const demand *d, double seconds)
{
    char fault[BENCH_FAULT];
    double percent = share_of(b, d, seconds);
    if (b->quick) /* tiny sizes: the times mean nothing */
        return percent;
    for (int k = 0; k < AGAIN && percent > WHOLE && percent <= NOISE; k++) {
        bench_roofline(b);
        b->again++;
        percent = share_of(b, d, seconds);
    }
    if (!bench_share_is_possible(percent)) {
        snprintf(fault, sizeof fault, "%.0f %% of %s, expected 0 to %d", percent, limit,
                 BENCH_MAX_SHARE);
        note_fault(b, fault);
    }
    return percent;
}

double bench_of_gemm(bench *b, double f64, double f32, double seconds)
{
    const char *limit = f32 == 0 ? "DGEMM" : f64 == 0 ? "SGEMM" : "DGEMM and SGEMM";
    return judge_share(b, limit, &(demand){.f64 = f64, .f32 = f32}, seconds);
}

double bench_of_dgemm(bench *b, double flops, double seconds)
{
    return bench_of_gemm(b, flops, 0, seconds);
}

double bench_of_memory(bench *b, double bytes, double seconds)
{
    return judge_share(b, "memory", &(demand){.bytes = bytes}, seconds);
}

double bench_cost(bench *b, const char *what, double seconds)
{
    char fault[BENCH_FAULT];
    if (!(seconds >= 0) || isinf(seconds)) {
        snprintf(fault, sizeof fault, "%s takes %g s, expected none or more", what, seconds);
        note_fault(b, fault);
    }
    return seconds;
}

double bench_at_most(bench *b, const char *what, double value, double limit)
{
    char fault[BENCH_FAULT];
    if (!(value <= limit)) {
        snprintf(fault, sizeof fault, "%s: %g, expected at most %g", what, value, limit);
        note_fault(b, fault);
    }
    return value;
}
