#include "common.h"

#include <cblas.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/random.h"
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

/* ---- begin and end ------------------------------------------------------------------------ */

static void use_the_right_core(char **argv)
{
    const char *better = kn_build_better_core();
    if (!better || getenv("OPENBLAS_CORETYPE"))
        return;
    setenv("OPENBLAS_CORETYPE", better, 1);
    execv("/proc/self/exe", argv);
}

static void print_roofline(const bench *b, const char *what)
{
    printf("%s, 1 thread / all %d: DGEMM %.1f / %.1f GFLOP/s, SGEMM %.1f / %.1f GFLOP/s, memory "
           "%.1f / %.1f GB/s.\n",
           what, b->all, b->dgemm[0], b->dgemm[1], b->sgemm[0], b->sgemm[1], b->memory[0],
           b->memory[1]);
    fflush(stdout);
}

void bench_begin(bench *b, int argc, char **argv, const char *name, const char *question)
{
    use_the_right_core(argv);
    *b = (bench){.ctx = kn_ctx_new(), .name = name, .began = kn_clock()};
    for (int i = 1; i < argc; i++) {
        b->quick = strcmp(argv[i], "--quick") == 0;
        if (!b->quick) {
            fprintf(stderr, "%s: '%s' is not known, only --quick is\n", name, argv[i]);
            exit(2);
        }
    }
    b->all = kn_threads(b->ctx);
    bench_roofline(b);
    b->peak = 0;
    printf("## %s\n\n%s\n\n", name, question);
    if (b->quick)
        printf("Tiny sizes instead of these: the times mean nothing.\n\n");
    print_roofline(b, "Roofline of this run");
}

int bench_end(bench *b)
{
    if (b->again > 0) {
        printf("\n");
        print_roofline(b, "Roofline, measured again where a row was above the first");
    }
    printf("\nPeak memory %.0f MB; %.0f s in all.\n\n", fmax(b->peak, bench_peak_mb()),
           kn_clock() - b->began);
    kn_ctx_free(b->ctx);
    return b->faults > 0;
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
    if (b->fault[0]) {
        fprintf(stderr, "%s: row '%s': %s\n", b->name, text, b->fault);
        b->fault[0] = '\0';
        b->faults++;
    }
}
