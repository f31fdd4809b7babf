#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_fit.h"

enum { SIZES = 8, SERIES = 7, ROWS = SIZES * SERIES, RUNS = 5, SKIPPED = 4096 };

/* Seconds that all rows may take together: fifteen minutes with the build and the roofline. */
static const double BUDGET = 840, QUICK_BUDGET = 120;

/* A row: one size grows from row to row of a series, the other stays. */
typedef struct row {
    int series;
    bool by_responses; /* T grows */
    ptrdiff_t N, T;
    double weight; /* seconds expected, up to a factor */
} row;

typedef struct plan {
    row row[ROWS];
    int n;
    double until;    /* kn_clock() when all must be done */
    double per_cell; /* seconds that writing the responses of a row took, per value; 0: not known
                        yet */
    char skipped[SKIPPED]; /* sentences about rows without numbers */
} plan;

/* Seconds that a row may be expected to take on two processors: start, participants, reading, and
 * the products of matrices as large as the smaller size. A rough guess; it only divides the time
 * between the rows. */
static double guess_seconds(double N, double T)
{
    double m = fmin(fmin(N, T), 1500);
    return 0.5 + N / 4000 + N * T / 2.2e7 + N * m * m / 5e9;
}

static void add_row(plan *p, int series, bool by_responses, ptrdiff_t N, ptrdiff_t T)
{
    p->row[p->n++] = (row){series, by_responses, N, T, guess_seconds((double)N, (double)T)};
}

/* The series of growing N, then those of growing T, each from the smallest size to the largest.
 * Lists end with 0. */
static void plan_rows(bench *b, plan *p)
{
    static const ptrdiff_t N[] = {500, 1000, 2000, 4000, 8000, 15000, 30000, 60000, 0};
    static const ptrdiff_t T_OF[] = {1, 15, 150, 1500, 0};
    static const ptrdiff_t T[] = {1000, 3000, 10000, 30000, 100000, 200000, 0};
    static const ptrdiff_t N_OF[] = {100, 1000, 10000, 0};
    static const ptrdiff_t QUICK_N[] = {60, 120, 0}, QUICK_T_OF[] = {1, 15, 0};
    static const ptrdiff_t QUICK_T[] = {60, 120, 0}, QUICK_N_OF[] = {60, 0};
    const ptrdiff_t *n = b->quick ? QUICK_N : N, *t_of = b->quick ? QUICK_T_OF : T_OF;
    const ptrdiff_t *t = b->quick ? QUICK_T : T, *n_of = b->quick ? QUICK_N_OF : N_OF;
    int series = 0;
    for (int k = 0; t_of[k]; k++, series++)
        for (int i = 0; n[i]; i++)
            add_row(p, series, false, n[i], t_of[k]);
    for (int k = 0; n_of[k]; k++, series++)
        for (int i = 0; t[i]; i++)
            add_row(p, series, true, n_of[k], t[i]);
}

/* Seconds that row k may take: what is left, divided by the weights of the rows left; on a slow
 * machine small rows take more than that, as long as much is left. */
static double seconds_for(const plan *p, int k)
{
    static const double SMALL = 20, PART = 0.1;
    double weights = 0, left = fmax(p->until - kn_clock(), 0);
    for (int i = k; i < p->n; i++)
        weights += p->row[i].weight;
    return fmax(left * p->row[k].weight / weights, fmin(SMALL, PART * left));
}

/* Prints the row without numbers and keeps the reason, "stopped after 12 s". */
static void skip_row(bench *b, plan *p, const row *r, const char *why, double number,
                     const char *unit)
{
    size_t n = strlen(p->skipped);
    snprintf(p->skipped + n, sizeof p->skipped - n, "- N = %td, T = %td: %s %.0f %s.\n", r->N, r->T,
             why, number, unit);
    bench_row(b, "%td|%td|-|-|-|-|-|-|-|-|-", r->by_responses ? r->N : r->T,
              r->by_responses ? r->T : r->N);
}

static int by_seconds(const void *a, const void *b)
{
    double x = ((const bench_fit *)a)->seconds, y = ((const bench_fit *)b)->seconds;
    return (x > y) - (x < y);
}

/* How often a row is measured that took so long once. */
static int runs_of(double seconds)
{
    return seconds < 1 ? RUNS : seconds < 4 ? 3 : 1;
}

/* Writes the files of the row, and learns how long that takes. Small files say little. */
static void write_files(bench *b, plan *p, const bench_folder *f, const row *r)
{
    static const double ENOUGH = 1e6;
    double began = kn_clock(), cells = (double)r->N * (double)r->T;
    bench_folder_cohort(b, f, r->N, r->T);
    if (cells >= ENOUGH)
        p->per_cell = (kn_clock() - began) / cells;
}

/* The median of several runs until a time, fewer where they take long; what is not done is the
 * first run. */
static bench_fit measure(bench *b, const bench_folder *f, double until, int *runs)
{
    bench_fit all[RUNS];
    int n = 0;
    do
        all[n] = bench_run_fit(b, f, until - kn_clock());
    while (all[n].outcome == BENCH_DONE && ++n < runs_of(all[0].seconds) &&
           kn_clock() + all[0].seconds < until);
    *runs = n == 0 ? 1 : n - (n % 2 == 0); /* odd: the median is one of the runs */
    qsort(all, (size_t)*runs, sizeof *all, by_seconds);
    return all[*runs / 2];
}

/* log(cost / cost before) / log(size / size before), as text; "-" for the first of a series. */
static const char *exponent_of(const row *r, const bench_fit *c, const row *r0, const bench_fit *c0,
                               char out[16])
{
    double size = r->by_responses ? (double)r->T : (double)r->N;
    if (!r0)
        return "-";
    double size0 = r0->by_responses ? (double)r0->T : (double)r0->N;
    snprintf(out, 16, "%.2f", log(c->processor / c0->processor) / log(size / size0));
    return out;
}

static void print_row(bench *b, const row *r, const bench_fit *c, int runs, const char *exponent)
{
    double share = bench_of_gemm(b, c->f64, c->f32, c->seconds);
    bench_row(b, "%td|%td|%d|%.2f|%.2f|%s|%d|%.1f|%.0f %%|%.0f|%.0f", r->by_responses ? r->N : r->T,
              r->by_responses ? r->T : r->N, runs, c->seconds, c->processor, exponent,
              c->components, 1e-9 * (c->f64 + c->f32), share,
              bench_at_most(b, "peak memory in MB", c->peak, c->need), c->need);
}

/* Row k, after the last row of its series that has numbers: before and its costs, NULL: none. True
 * if it has too. */
static bool run_row(bench *b, plan *p, int k, const bench_folder *f, const row *before,
                    bench_fit *costs)
{
    const row *r = &p->row[k];
    char exponent[16];
    int runs;
    double cells = (double)r->N * (double)r->T, megabytes = 4e-6 * cells;
    double allowed = seconds_for(p, k), until = kn_clock() + allowed;
    if (1e-6 * bench_folder_free(f) < 1.1 * megabytes) {
        skip_row(b, p, r, "$TMPDIR has no space for", megabytes, "MB of responses");
        return false;
    }
    if (p->per_cell * cells >= allowed) {
        skip_row(b, p, r, "too little time was left:", allowed, "s");
        return false;
    }
    write_files(b, p, f, r);
    bench_fit c = measure(b, f, until, &runs);
    if (c.outcome == BENCH_STOPPED)
        skip_row(b, p, r, "stopped after", c.seconds, "s");
    else if (c.outcome == BENCH_REFUSED)
        skip_row(b, p, r, "refused, because it needs", c.need, "MB");
    if (c.outcome != BENCH_DONE)
        return false;
    print_row(b, r, &c, runs, exponent_of(r, &c, before, costs, exponent));
    *costs = c;
    return true;
}

static void print_skipped(const plan *p)
{
    printf("\n%s\n%s", p->skipped[0] ? "Rows without numbers:\n" : "No row was left out.",
           p->skipped);
}

static double budget_of(const bench *b)
{
    const char *given = getenv("BENCH_SECONDS");
    return given ? strtod(given, NULL) : b->quick ? QUICK_BUDGET : BUDGET;
}

/* The head of the table of growing N, or of growing T. */
static void print_head(bench *b, bool by_responses)
{
    static const char COLUMNS[] =
        "runs|      s|processor s|exponent|  P|  GFLOP|of GEMM|peak MB|need MB";
    char columns[256];
    snprintf(columns, sizeof columns, "%s%s", by_responses ? "N    |     T|" : "T   |    N|",
             COLUMNS);
    bench_table(b, columns);
}

static void run_rows(bench *b, plan *p, const bench_folder *f)
{
    bench_fit costs = {0};
    const row *before = NULL;
    for (int k = 0; k < p->n; k++) {
        const row *r = &p->row[k];
        if (k == 0 || r->series != r[-1].series)
            before = NULL;
        if (k == 0 || r->by_responses != r[-1].by_responses)
            print_head(b, r->by_responses);
        if (run_row(b, p, k, f, before, &costs))
            before = r;
    }
}

int main(int argc, char **argv)
{
    static plan p;
    bench b;
    bench_begin(
        &b, argc, argv, "growth",
        "How does a whole fit grow with participants N and responses T? `kronorm fit` with "
        "default options (components, calibration, reference) on a table with age, sex and 12 "
        "sites and on responses in float32 (.npy), reading and writing included, one process "
        "per run. The median of five runs where one takes less than 1 s, of three below 4 s, "
        "else one run. Exponent: of processor seconds, to the row before. GFLOP: in calls of "
        "BLAS and LAPACK; of GEMM: these over what DGEMM and SGEMM do in the same time by the "
        "clock. Need: memory that the fit declares beforehand. MB are 10^6 bytes. Each row has "
        "a share of the time for all: one that takes longer is stopped.");
    plan_rows(&b, &p);
    p.until = kn_clock() + budget_of(&b);
    bench_folder f = bench_folder_new(&b);
    run_rows(&b, &p, &f);
    bench_folder_remove(&f);
    print_skipped(&p);
    printf("\nAll rows had %.0f s together.\n", budget_of(&b));
    return bench_end(&b);
}
