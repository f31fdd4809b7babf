#define _GNU_SOURCE /* pipe2 */
#include "run_fit.h"

#include <cblas.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/parallel/parallel_for.h"
#include "base/random.h"
#include "io/npy/npy.h"
#include "io/table/table.h"

/* ---- the folder ----------------------------------------------------------------------------- */

typedef struct path {
    char text[BENCH_PATH];
} path;

static path path_of(const bench_folder *f, const char *file)
{
    path p;
    snprintf(p.text, sizeof p.text, "%s/%s", f->path, file);
    return p;
}

bench_folder bench_folder_new(bench *b)
{
    bench_folder f;
    const char *where = getenv("TMPDIR");
    snprintf(f.path, sizeof f.path, "%s/kronorm-bench-XXXXXX", where ? where : "/tmp");
    if (!mkdtemp(f.path)) {
        fprintf(stderr, "%s: no folder can be made for the files of the runs: set TMPDIR\n",
                b->name);
        exit(1);
    }
    return f;
}

void bench_folder_remove(const bench_folder *f)
{
    DIR *d = opendir(f->path);
    for (struct dirent *e; d && (e = readdir(d));) /* a stopped command leaves files of its own */
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(f->path);
}

/* Ends the program; the folder is removed. */
static void fail(const bench *b, const bench_folder *f, const char *what)
{
    bench_folder_remove(f);
    fprintf(stderr, "%s: %s\n", b->name, what);
    exit(1);
}

double bench_folder_free(const bench_folder *f)
{
    struct statvfs s;
    return statvfs(f->path, &s) == 0 ? (double)s.f_bavail * (double)s.f_frsize : 0;
}

/* ---- the cohort ----------------------------------------------------------------------------- */

enum { SITES = 12, AGE = 0, CURVE, SEX, SITE, LATENT = SITE + 1 + 8, ROWS_CELLS = 1 << 24 };

typedef struct cohort {
    ptrdiff_t N, T, first; /* participant of the first row of Y */
    float *S, *L, *Y;      /* N x LATENT, T x LATENT, a block of rows x T; by rows */
} cohort;

/* Covariates and latent factors of participant i; the line of people.tsv. */
static void draw_participant(bench *b, const cohort *c, ptrdiff_t i, kn_rng *rng,
                             const float shift[SITES], kn_table_writer *participants)
{
    char site[20];
    double age = kn_rng_uniform(rng);
    int sex = kn_rng_uniform(rng) < 0.5, at = (int)kn_rng_below(rng, SITES);
    float *s = c->S + i * LATENT;
    s[AGE] = (float)age;
    s[CURVE] = (float)(4 * (age - 0.5) * (age - 0.5));
    s[SEX] = (float)sex;
    s[SITE] = shift[at];
    for (int k = SITE + 1; k < LATENT; k++)
        s[k] = (float)(0.5 * kn_rng_normal(rng));
    snprintf(site, sizeof site, "site-%02d", at + 1);
    BENCH_TRY(b, kn_table_writer_short(b->ctx, participants, round(10 * (20 + 60 * age)) / 10));
    BENCH_TRY(b, kn_table_writer_text(b->ctx, participants, sex ? "F" : "M"));
    BENCH_TRY(b, kn_table_writer_text(b->ctx, participants, site));
    BENCH_TRY(b, kn_table_writer_end_row(b->ctx, participants));
}

static void write_people(bench *b, const bench_folder *f, const cohort *c)
{
    static const char *const COLUMNS[] = {"age", "sex", "site"};
    const path p = path_of(f, "people.tsv");
    const kn_write_options options = {.force = true};
    kn_table_writer *participants;
    kn_rng rng;
    float shift[SITES];
    kn_rng_init(&rng, 1, 10);
    for (int k = 0; k < SITES; k++)
        shift[k] = (float)(0.5 * kn_rng_normal(&rng));
    BENCH_TRY(b, kn_table_writer_new(b->ctx, p.text, &options, &participants));
    for (size_t k = 0; k < sizeof COLUMNS / sizeof *COLUMNS; k++)
        BENCH_TRY(b, kn_table_writer_text(b->ctx, participants, COLUMNS[k]));
    BENCH_TRY(b, kn_table_writer_end_row(b->ctx, participants));
    for (ptrdiff_t i = 0; i < c->N; i++)
        draw_participant(b, c, i, &rng, shift, participants);
    BENCH_TRY(b, kn_table_writer_commit(b->ctx, participants));
    kn_table_writer_free(participants);
}

/* Noise of sd 1; each participant has a stream of random numbers of its own. */
static void draw_noise(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const cohort *c = self;
    for (ptrdiff_t i = from; i < to; i++) {
        kn_rng rng;
        kn_rng_init(&rng, 2, (uint64_t)(c->first + i));
        for (ptrdiff_t j = 0; j < c->T; j++)
            c->Y[i * c->T + j] = (float)(3.46 * (kn_rng_uniform(&rng) - 0.5));
    }
}

/* Y = S L' + noise, some rows at a time. */
static void write_responses(bench *b, const bench_folder *f, cohort *c)
{
    const path p = path_of(f, "Y.npy");
    const kn_write_options options = {.force = true};
    kn_npy_writer *file;
    ptrdiff_t rows = kn_min_size(c->N, ROWS_CELLS / c->T + 1);
    BENCH_TRY(b, kn_alloc_f(b->ctx, rows * c->T, &c->Y));
    BENCH_TRY(b, kn_npy_writer_new(b->ctx, p.text, c->N, c->T, KN_F32, &options, &file));
    for (c->first = 0; c->first < c->N; c->first += rows) {
        ptrdiff_t n = kn_min_size(rows, c->N - c->first);
        kn_parallel(b->ctx, n, 16, draw_noise, c);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)c->T, LATENT, 1,
                    c->S + c->first * LATENT, LATENT, c->L, LATENT, 1, c->Y, (int)c->T);
        BENCH_TRY(b, kn_npy_writer_rows(b->ctx, file, kn_view_rows_f32(c->Y, n, c->T)));
    }
    BENCH_TRY(b, kn_npy_writer_commit(b->ctx, file));
    kn_npy_writer_free(file);
    kn_free(c->Y);
}

void bench_folder_cohort(bench *b, const bench_folder *f, ptrdiff_t N, ptrdiff_t T)
{
    cohort c = {.N = N, .T = T};
    kn_rng rng;
    kn_rng_init(&rng, 1, 11);
    BENCH_TRY(b, kn_alloc_f(b->ctx, N * LATENT, &c.S));
    BENCH_TRY(b, kn_alloc_f(b->ctx, T * LATENT, &c.L));
    for (ptrdiff_t j = 0; j < T * LATENT; j++)
        c.L[j] = (float)kn_rng_normal(&rng);
    write_people(b, f, &c);
    write_responses(b, f, &c);
    kn_free(c.S);
    kn_free(c.L);
}

/* ---- the command ---------------------------------------------------------------------------- */

extern char **environ;
enum { SAID = 1 << 14 }; /* bytes of what it prints that are read */

enum { ALIVE = 3 }; /* descriptor of the command that is open as long as it runs */

/* Starts the command with what it prints in said.txt. `alive` reads nothing, but ends when the
 * command does. */
static pid_t start(const bench *b, const bench_folder *f, char *const *argv, int *alive)
{
    posix_spawn_file_actions_t files;
    pid_t pid;
    int ends[2];
    const path said = path_of(f, "said.txt");
    if (pipe2(ends, O_CLOEXEC) != 0)
        fail(b, f, "no pipe");
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, said.text, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawn_file_actions_adddup2(&files, ends[1], ALIVE);
    if (posix_spawn(&pid, argv[0], &files, NULL, argv, environ) != 0)
        fail(b, f, "$KRONORM_COMMAND cannot be started");
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    *alive = ends[0];
    return pid;
}

/* True if the command ended within so many seconds. */
static bool wait_for_end(int alive, double seconds)
{
    struct pollfd p = {.fd = alive};
    double until = kn_clock() + seconds;
    int n;
    do
        n = poll(&p, 1, (int)fmax(1e3 * (until - kn_clock()), 0));
    while (n < 0 && errno == EINTR);
    close(alive);
    return n > 0;
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Everything that a file of the folder has, at most size - 1 bytes of it. */
static void read_text(const bench_folder *f, const char *file, char *out, size_t size)
{
    FILE *in = fopen(path_of(f, file).text, "r");
    size_t n = in ? fread(out, 1, size - 1, in) : 0;
    out[n] = '\0';
    if (in)
        fclose(in);
}

/* MB from "12.3 GB". */
static double megabytes(const char *text)
{
    static const char *const UNITS[] = {" bytes", " kB", " MB", " GB", " TB"};
    static const double MB[] = {1e-6, 1e-3, 1, 1e3, 1e6};
    char *unit;
    double x = strtod(text, &unit);
    for (size_t k = 0; k < sizeof UNITS / sizeof *UNITS; k++)
        if (strncmp(unit, UNITS[k], strlen(UNITS[k])) == 0)
            return MB[k] * x;
    return NAN;
}

/* From "N participants, T responses, P components (..": 0 if it does not name components. */
static int components_of(const char *fitted)
{
    const char *at = strstr(fitted, "response");
    at += at ? strcspn(at, ",(") : 0;
    return at && *at == ',' ? (int)strtol(at + 1, NULL, 10) : 0;
}

static const char NEEDS[] = "this fit needs ";

/* What the command said of itself, and what was counted. */
static void read_results(const bench *b, const bench_folder *f, bench_fit *out)
{
    char said[SAID], counts[128];
    double kB;
    read_text(f, "said.txt", said, sizeof said);
    read_text(f, "counts.txt", counts, sizeof counts);
    const char *needs = strstr(said, NEEDS), *fitted = strstr(said, "\nFitted ");
    if (!needs || !fitted)
        fail(b, f, "the fit did not print its memory and its size");
    if (sscanf(counts, "%lf %lf %lf", &out->f64, &out->f32, &kB) != 3)
        fail(b, f, "the fit left no counts: $BENCH_COUNTER is not the library of count_flops.c");
    out->need = megabytes(needs + sizeof NEEDS - 1);
    out->components = components_of(fitted);
    out->peak = 1.024e-3 * kB;
}

/* Of a command that failed: the memory it would need. Ends the program if it failed for another
 * reason. */
static void read_refusal(const bench *b, const bench_folder *f, bench_fit *out)
{
    char said[SAID];
    read_text(f, "said.txt", said, sizeof said);
    const char *refused = strstr(said, "kronorm: this fit needs ");
    if (!refused) {
        fprintf(stderr, "%s", said);
        fail(b, f, "kronorm fit failed");
    }
    out->outcome = BENCH_REFUSED;
    out->need = megabytes(strstr(refused, NEEDS) + sizeof NEEDS - 1);
}

static const char *variable(const bench *b, const bench_folder *f, const char *name)
{
    const char *value = getenv(name);
    if (!value)
        fail(b, f, "$KRONORM_COMMAND or $BENCH_COUNTER is not set (bench/report sets them)");
    return value;
}

bench_fit bench_run_fit(bench *b, const bench_folder *f, double allowed)
{
    path participants = path_of(f, "people.tsv"), Y = path_of(f, "Y.npy");
    path model = path_of(f, "model.safetensors"), counts = path_of(f, "counts.txt"), command;
    snprintf(command.text, sizeof command.text, "%s", variable(b, f, "KRONORM_COMMAND"));
    char *argv[] = {command.text, "fit", "-c", participants.text, "-y", Y.text, "-o", model.text,
                    "--force",    "-v",  NULL};
    bench_fit r = {0};
    struct rusage use;
    int status, alive;
    const char *counter = variable(b, f, "BENCH_COUNTER");
    setenv("BENCH_COUNTS", counts.text, 1);
    setenv("LD_PRELOAD", counter, 1);
    unlink(counts.text);
    double t0 = kn_clock();
    pid_t pid = start(b, f, argv, &alive);
    unsetenv("LD_PRELOAD");
    if (!wait_for_end(alive, allowed)) {
        r.outcome = BENCH_STOPPED;
        kill(pid, SIGKILL);
    }
    wait4(pid, &status, 0, &use);
    r.seconds = kn_clock() - t0;
    r.processor = seconds_of(use.ru_utime) + seconds_of(use.ru_stime);
    if (r.outcome == BENCH_STOPPED)
        return r;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        read_results(b, f, &r);
    else
        read_refusal(b, f, &r);
    return r;
}
