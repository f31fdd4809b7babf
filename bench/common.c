#include "common.h"

#include <cblas.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "la/la.h"

void bench_check(bench *b, kn_status status, const char *call)
{
    if (status == KN_OK)
        return;
    fprintf(stderr, "%s: %s\n", call, kn_message(b->ctx));
    exit(1);
}

void bench_threads(bench *b, int threads)
{
    kn_set_threads(b->ctx, threads);
    openblas_set_num_threads(kn_threads(b->ctx)); /* for calls of the BLAS that are not kronorm's */
}

/* ---- memory ------------------------------------------------------------------------------- */

double bench_peak_mb(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

void bench_peak_reset(bench *b)
{
    b->peak = fmax(b->peak, bench_peak_mb());
    malloc_trim(0);
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f)
        return;
    fputs("5", f); /* Linux: the peak is what is resident now */
    fclose(f);
}

/* ---- roofline ----------------------------------------------------------------------------- */

static void products(bench *b, double *dgemm, double *sgemm)
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
    BENCH_TIME(t, 4,
               cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, d, n, d + n2, n,
                           0, d + 2 * n2, n));
    *dgemm = flops / t;
    BENCH_TIME(t, 4,
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
static double triad(bench *b)
{
    ptrdiff_t n = b->quick ? 1 << 12 : 1 << 23;
    triad_job job;
    double *all, t;
    BENCH_TRY(b, kn_alloc_d(b->ctx, 3 * n, &all));
    job = (triad_job){all, all + n, all + 2 * n};
    BENCH_TIME(t, 6, kn_parallel(b->ctx, n, n / kn_threads(b->ctx) + 1, triad_items, &job));
    kn_free(all);
    return 24e-9 * (double)n / t;
}

/* ---- begin and end ------------------------------------------------------------------------ */

static void use_the_right_core(char **argv)
{
    const char *better = kn_build_better_core();
    if (!better || getenv("OPENBLAS_CORETYPE"))
        return;
    setenv("OPENBLAS_CORETYPE", better, 1);
    execv("/proc/self/exe", argv);
}

void bench_begin(bench *b, int argc, char **argv, const char *name, const char *question)
{
    use_the_right_core(argv);
    *b = (bench){.ctx = kn_ctx_new(), .began = kn_clock()};
    for (int i = 1; i < argc; i++) {
        b->quick = strcmp(argv[i], "--quick") == 0;
        if (!b->quick) {
            fprintf(stderr, "%s: '%s' is not known, only --quick is\n", name, argv[i]);
            exit(2);
        }
    }
    b->all = kn_threads(b->ctx);
    for (int k = 0; k < 2; k++) {
        bench_threads(b, k == 0 ? 1 : b->all);
        products(b, &b->dgemm[k], &b->sgemm[k]);
        b->memory[k] = triad(b);
    }
    printf("## %s\n\n%s\n\n", name, question);
    if (b->quick)
        printf("Tiny sizes instead of these: the times mean nothing.\n\n");
    printf("Roofline of this run, 1 thread / all %d: DGEMM %.1f / %.1f GFLOP/s, SGEMM %.1f / %.1f "
           "GFLOP/s, memory %.1f / %.1f GB/s.\n",
           b->all, b->dgemm[0], b->dgemm[1], b->sgemm[0], b->sgemm[1], b->memory[0], b->memory[1]);
    fflush(stdout);
    bench_peak_reset(b);
    b->peak = 0; /* not the roofline's */
}

int bench_end(bench *b)
{
    printf("\nPeak memory %.0f MB; %.0f s in all.\n\n", fmax(b->peak, bench_peak_mb()),
           kn_clock() - b->began);
    kn_ctx_free(b->ctx);
    return 0;
}

double bench_of_dgemm(const bench *b, double flops, double seconds)
{
    return 100e-9 * flops / seconds / b->dgemm[kn_threads(b->ctx) > 1];
}

double bench_of_memory(const bench *b, double bytes, double seconds)
{
    return 100e-9 * bytes / seconds / b->memory[kn_threads(b->ctx) > 1];
}

double bench_eig_flops(double N)
{
    return 10.0 / 3 * N * N * N;
}

double bench_unit(bench *b, ptrdiff_t N)
{
    kn_mat X, R, A;
    double *w, best = INFINITY;
    kn_rng rng;
    kn_rng_init(&rng, 1, 9);
    BENCH_TRY(b, kn_mat_new(b->ctx, N, 2 * N, &X));
    BENCH_TRY(b, kn_mat_new(b->ctx, N, N, &R));
    BENCH_TRY(b, kn_mat_new(b->ctx, N, N, &A));
    BENCH_TRY(b, kn_alloc_d(b->ctx, N, &w));
    for (ptrdiff_t i = 0; i < 2 * N * N; i++)
        X.data[i] = kn_rng_normal(&rng);
    kn_syrk(b->ctx, 1.0 / (double)N, KN_N, X, 0, R);
    for (int k = 0; k < 7; k++) {
        double t;
        kn_mat_set(A, R);
        BENCH_TIME(t, 1, BENCH_TRY(b, kn_eig(b->ctx, A, w)));
        best = fmin(best, t);
    }
    kn_mat_clear(&X);
    kn_mat_clear(&R);
    kn_mat_clear(&A);
    kn_free(w);
    return best;
}

/* ---- tables ------------------------------------------------------------------------------- */

static void print_cells(const bench *b, const char *text)
{
    const char *cell = text;
    for (int k = 0; k < b->columns; k++) {
        int n = (int)strcspn(cell, "|");
        while (n > 0 && *cell == ' ') {
            cell++;
            n--;
        }
        while (n > 0 && cell[n - 1] == ' ')
            n--;
        int pad = b->width[k] > n ? b->width[k] - n : 0;
        printf("| %*s%.*s%*s ", k == 0 ? 0 : pad, "", n, cell, k == 0 ? pad : 0, "");
        cell += strcspn(cell, "|");
        cell += *cell == '|';
    }
    printf("|\n");
    fflush(stdout);
}

void bench_table(bench *b, const char *columns)
{
    b->columns = 0;
    for (const char *c = columns; *c; c += *c == '|') {
        b->width[b->columns++] = (int)strcspn(c, "|");
        c += strcspn(c, "|");
    }
    printf("\n");
    print_cells(b, columns);
    for (int k = 0; k < b->columns; k++)
        printf(k == 0 ? "|---" : "|--:");
    printf("|\n");
}

void bench_row(bench *b, const char *cells, ...)
{
    char text[512];
    va_list args;
    va_start(args, cells);
    vsnprintf(text, sizeof text, cells, args);
    va_end(args);
    print_cells(b, text);
}
