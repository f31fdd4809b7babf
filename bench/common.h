/* Shared by the benchmarks. A program answers one question: it says which, measures what the
 * processor and the memory can do in this very run, and prints tables of markdown that are also
 * aligned for the terminal. Times do not travel between machines; shares of the roofline and units
 * of one dsyevd(N) nearly do. */
#ifndef KN_BENCH_COMMON_H
#define KN_BENCH_COMMON_H

#include <math.h>

#include "base/machine.h"
#include "base/matrix.h"
#include "commands/fit/fit.h"
#include "data/covariates/design.h"

enum { BENCH_COLUMNS = 16, BENCH_FAULT = 160 };

/* Percent of what the machine can do that a row may claim. The roofline is a measurement itself:
 * what is above 100 by less than its noise is not a mistake. */
enum { BENCH_MAX_SHARE = 110 };

typedef struct bench {
    kn_ctx *ctx;
    const char *name;
    bool quick;         /* --quick: tiny sizes, to see that everything works; times mean nothing */
    int all;            /* threads when all processors are used */
    double began, peak; /* seconds; MB before the last reset */
    double dgemm[2], sgemm[2], memory[2]; /* GFLOP/s and GB/s of one thread, and of all */
    int again;                            /* how often the roofline was measured once more */
    int columns, width[BENCH_COLUMNS];    /* of the table at hand */
    char fault[BENCH_FAULT]; /* why the next row cannot be true; "": nothing is wrong with it */
    int faults;              /* rows so far that cannot be true */
} bench;

/* Parses --quick, prints the name as a heading and the question, measures and prints the roofline.
 * OpenBLAS is made to use the processor's own core, as the command does. */
void bench_begin(bench *b, int argc, char **argv, const char *name, const char *question);
/* Prints peak memory and seconds. Returns main's status: 1 where a row cannot be true, else 0. */
int bench_end(bench *b);

#define BENCH_TRY(b, call) bench_check((b), (call), #call)
void bench_check(bench *b, kn_status status, const char *call); /* a failure ends the program */

static inline ptrdiff_t bench_size(const bench *b, ptrdiff_t n, ptrdiff_t quick)
{
    return b->quick ? quick : n;
}

/* ---- measuring ---------------------------------------------------------------------------- */

void bench_threads(bench *b, int threads); /* for the context and the BLAS; 0: all */

/* seconds = those of the fastest of `times` calls */
#define BENCH_TIME(seconds, times, call)                                                           \
    do {                                                                                           \
        (seconds) = INFINITY;                                                                      \
        for (int k_ = 0; k_ < (times); k_++) {                                                     \
            double t_ = kn_clock();                                                                \
            call;                                                                                  \
            (seconds) = fmin((seconds), kn_clock() - t_);                                          \
        }                                                                                          \
    } while (0)

/* Seconds of the fastest of several dsyevd of size N with vectors, on a Wishart matrix. */
double bench_unit(bench *b, ptrdiff_t N);

/* Reduction to tridiagonal form and back: 4/3 N^3 + 2 N^3 flops. What the tridiagonal problem takes
 * depends on the matrix, and is left out. */
double bench_eig_flops(double N);

void bench_peak_reset(bench *b); /* where the system can; else the peak is the program's */
double bench_peak_mb(void);      /* most memory held since */

/* ---- the roofline, and what cannot be true ------------------------------------------------ */

/* Measures DGEMM, SGEMM and memory, with one thread and with all. Keeps the larger of what was
 * measured now and before, the number of threads, and the program's peak; the peak since the last
 * reset is lost. */
void bench_roofline(bench *b);

/* Percent of the roofline, with as many threads as the context has now; f64 and f32 are flops in
 * each precision. Above 100 the processor was slower when the roofline was measured than it is now:
 * the roofline is measured again, a few times at most, unless the share is more than noise
 * explains. A share that is still outside 0 to BENCH_MAX_SHARE is a fault of the next row, except
 * with
 * --quick. Read a row's peak before its shares. */
double bench_of_dgemm(bench *b, double flops, double seconds);
double bench_of_gemm(bench *b, double f64, double f32, double seconds);
double bench_of_memory(bench *b, double bytes, double seconds);

bool bench_share_is_possible(double percent);

/* The seconds; a fault of the next row where they are negative or not finite. */
double bench_cost(bench *b, const char *what, double seconds);

/* The value; a fault of the next row where it is above the limit or NaN. */
double bench_at_most(bench *b, const char *what, double value, double limit);

/* ---- tables ------------------------------------------------------------------------------- */

/* "noise     |   P|      ms": the cells as wide as they are written; the first is flush left. */
void bench_table(bench *b, const char *columns);
/* The cells between |. A row with a fault is printed as well, and the fault goes to stderr. */
void bench_row(bench *b, const char *cells, ...) KN_PRINTF(2, 3);

/* ---- data --------------------------------------------------------------------------------- */

typedef struct bench_data {
    kn_view X, Y, Xs, Ys; /* N x F, N x T; N* x F, N* x T: new samples of the same kind */
    void *memory[2];
    int levels[3]; /* of a cohort: of age, sex, site */
    kn_design_options design;
    bool coded; /* these are for settings */
} bench_data;

/* The paper's kind: binary patterns as covariates, local receptive fields, shared and private
 * noise, mean R2 about 0.1; doubles. */
void bench_paper(bench *b, ptrdiff_t N, ptrdiff_t T, ptrdiff_t F, ptrdiff_t Ns, bench_data *out);

/* A cohort: age, sex and one of so many sites (0: none), as codes; effects of age and sex, shared
 * and private noise. float32, row by row, as images come. */
void bench_cohort(bench *b, ptrdiff_t N, ptrdiff_t T, int sites, ptrdiff_t Ns, bench_data *out);
/* The settings' defaults, with what the covariates of the data are. */
void bench_settings(const bench_data *d, kn_settings *o);
void bench_free(bench_data *d);

/* ---- the whole job ------------------------------------------------------------------------ */

typedef struct bench_job {
    kn_fit_info info;
    double fit;    /* seconds */
    double latent; /* kn_predict: the latent means and variances of the new samples */
    double maps;   /* mean and variance of every response, by blocks */
    double z;      /* z and the top 5 % statistic */
    double total;
    double peak; /* MB, data included */
    double held; /* MB, most that the fit itself had at a time */
} bench_job;

/* Fit, predict, score: what a user waits for, but for the files. */
void bench_run(bench *b, const bench_data *d, const kn_settings *o, bench_job *out);
/* The same where the fit may refuse: its status. */
kn_status bench_attempt(bench *b, const bench_data *d, const kn_settings *o, bench_job *out);

#endif
