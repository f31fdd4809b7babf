/* A whole `kronorm fit` in a process of its own, as a user runs it, and what it cost. */
#ifndef KN_BENCH_RUN_FIT_H
#define KN_BENCH_RUN_FIT_H

#include "common.h"

enum { BENCH_PATH = 512 };

/* A folder for the files of the runs: people.tsv, Y.npy, the model and what the command prints. */
typedef struct bench_folder {
    char path[BENCH_PATH - 32];
} bench_folder;

bench_folder bench_folder_new(bench *b); /* in $TMPDIR, else in /tmp */
void bench_folder_remove(const bench_folder *f);
double bench_folder_free(const bench_folder *f); /* bytes that are free there */

/* Writes a cohort of N participants: people.tsv with age, sex and one of 12 sites, and Y.npy, N x T
 * in float32, with effects of all three, eight shared factors and noise of each response. Memory:
 * that of some rows. */
void bench_folder_cohort(bench *b, const bench_folder *f, ptrdiff_t N, ptrdiff_t T);

typedef enum bench_outcome { BENCH_DONE, BENCH_STOPPED, BENCH_REFUSED } bench_outcome;

typedef struct bench_fit {
    bench_outcome
        outcome; /* stopped: it took longer than allowed, and only seconds is set; refused: need
                    exceeds the memory that it may have, and only need is set beside */
    double seconds, processor; /* by the clock; of all threads, user and system */
    double peak, need;         /* MB: most memory that it held, and what it declared beforehand */
    double f64, f32;           /* flops of its calls of BLAS and LAPACK (count_flops.c) */
    int components;
} bench_fit;

/* Runs $KRONORM_COMMAND fit on the files of the folder with default options and waits at most
 * `allowed` seconds. Ends the program if the command fails. */
bench_fit bench_run_fit(bench *b, const bench_folder *f, double allowed);

#endif
