#include "base/parallel/parallel_for.h"
#include "common.h"
#include "gp/methods/stgpr/internal.h"

/* ---- who gets the threads ----------------------------------------------------------------- */

enum { MAX_COUNT = 64 };

typedef struct cells_job { /* worker w of n takes cells w, w + n, ... */
    bench *b;
    kn_cell_samples samples;
    kn_mat Y;
    int cells, workers;
    kn_ctx *ctx[MAX_COUNT];
    kn_cell_work work[MAX_COUNT];
} cells_job;

/* What the grid does with a cell: R0, its eigenvectors, U'Y and a profile of each response. */
static void take_cells(void *self, ptrdiff_t first, ptrdiff_t last)
{
    cells_job *j = self;
    for (ptrdiff_t w = first; w < last; w++)
        for (int c = (int)w; c < j->cells; c += j->workers) {
            double rho = (c + 0.5) / j->cells;
            kn_cov_point at = kn_cov_at_rho(j->samples.cov, rho, 6);
            BENCH_TRY(j->b, kn_cell_decompose(j->ctx[w], &j->work[w], &at, 0));
            for (ptrdiff_t k = 0; k < j->Y.cols; k += KN_BLOCK) {
                ptrdiff_t n = j->Y.cols - k < KN_BLOCK ? j->Y.cols - k : KN_BLOCK;
                BENCH_TRY(j->b, kn_cell_fit(j->ctx[w], &j->work[w], kn_cols(j->Y, k, n), 1e-3));
            }
        }
}

/* Seconds of `cells` cells: `workers` at a time, each with `threads` for its products and
 * responses. */
static double cells(bench *b, const kn_cov *cov, const kn_pairs *pairs, kn_mat Y, int workers,
                    int threads)
{
    cells_job j = {.b = b,
                   .samples = {.cov = cov, .pairs = pairs},
                   .Y = Y,
                   .cells = b->quick ? 2 : 8};
    j.workers = workers < MAX_COUNT ? workers : MAX_COUNT;
    double s;
    for (int w = 0; w < j.workers; w++) {
        j.ctx[w] = kn_ctx_new();
        kn_set_threads(j.ctx[w], threads);
        BENCH_TRY(b, kn_cell_work_new(b->ctx, Y.rows, &j.samples,
                                      Y.cols < KN_BLOCK ? Y.cols : KN_BLOCK, &j.work[w]));
    }
    BENCH_TIME(s, 2, kn_parallel(b->ctx, j.workers, 1, take_cells, &j));
    for (int w = 0; w < j.workers; w++) {
        kn_cell_work_clear(&j.work[w]);
        kn_ctx_free(j.ctx[w]);
    }
    bench_threads(b, 0);
    return s / j.cells;
}

static void who_gets_threads(bench *b, const bench_data *d)
{
    kn_cov cov;
    kn_pairs pairs;
    kn_mat X = {d->memory[0], d->X.rows, d->X.cols, d->X.col_stride};
    kn_mat Y = {d->memory[1], d->Y.rows, d->Y.cols, d->Y.col_stride};
    double s[3];
    BENCH_TRY(b, kn_cov_parse(b->ctx, "linear+se", X.cols, &cov));
    BENCH_TRY(b, kn_pairs_within(b->ctx, X, &cov.stats, &pairs));
    s[0] = cells(b, &cov, &pairs, Y, 1, 1);
    s[1] = cells(b, &cov, &pairs, Y, 1, b->all);
    s[2] = cells(b, &cov, &pairs, Y, b->all, 1);
    bench_table(b, "one cell of the grid                      |    ms|speed-up");
    bench_row(b, "one thread|%.1f|1", 1e3 * s[0]);
    bench_row(b, "all threads in one cell, but in its eigenproblem|%.1f|%.2f", 1e3 * s[1],
              s[0] / s[1]);
    bench_row(b, "a cell for each thread (as it is done)|%.1f|%.2f", 1e3 * s[2], s[0] / s[2]);
    kn_pairs_clear(&pairs);
}

int main(int argc, char **argv)
{
    bench b;
    bench_data d;
    bench_job j;
    kn_settings o;
    bench_begin(
        &b, argc, argv, "stgpr",
        "What does the baseline of one Gaussian process a response cost at the paper's size, "
        "N = 600, T = 5438, F = 100, 1440 new samples? The authors' code: 4257 s, "
        "extrapolated. eig: decompositions, in units of which the fit is given too.");
    bench_paper(&b, bench_size(&b, 600, 30), bench_size(&b, 5438, 40), bench_size(&b, 100, 5),
                bench_size(&b, 1440, 20), &d);
    kn_settings_init(&o);
    o.method = "stgpr";
    o.folds = 0;
    bench_table(&b, "threads| fit s|units| eig|maps s|   z s|total s|peak MB");
    for (int k = 0; k < 2; k++) {
        bench_threads(&b, k == 0 ? 1 : b.all);
        double unit = bench_unit(&b, d.X.rows);
        bench_run(&b, &d, &o, &j);
        bench_row(&b, "%d|%.2f|%.0f|%d|%.2f|%.2f|%.2f|%.0f", kn_threads(b.ctx), j.fit, j.fit / unit,
                  j.info.evaluations, j.latent + j.maps, j.z, j.total, j.peak);
    }
    who_gets_threads(&b, &d);
    bench_free(&d);
    return bench_end(&b);
}
