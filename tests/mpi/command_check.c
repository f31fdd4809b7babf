/* A command by several processes, through the library, for tests/mpi. COMMAND is fit or cv;
 * KEY=VALUE its options, threads 1 and output `left` beside them, which a fit does not make.
 *
 *     mpirun command_check memory RANK SHARE cv KEY=VALUE ...         the k-th allocation fails on
 * a rank, for k in steps of k/SHARE to the end: all ranks fail alike, none hangs, and the last run
 * alone makes the folder
 *     mpirun command_check need COMMAND KEY=VALUE ...      no rank holds more than its need says
 *
 * Exit code 0, or 1 with a line on stderr for each promise that was broken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/alloc.h"
#include "base/mpi/comm.h"
#include "base/mpi/load_plugin.h"

enum { PAIR = 4096 };

typedef struct job {
    const char *command;
    kn_options *options;
} job;

static kn_status set(kn_ctx *ctx, kn_options *options, const char *pair)
{
    char text[PAIR];
    snprintf(text, sizeof text, "%s", pair);
    char *value = strchr(text, '=');
    if (!value)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: expected KEY=VALUE", pair);
    *value++ = '\0';
    return kn_options_set(ctx, options, text, value);
}

static kn_status job_new(kn_ctx *ctx, char **words, int n, job *out)
{
    out->command = words[0];
    kn_status status = kn_options_new(ctx, words[0], &out->options);
    for (int i = 1; status == KN_OK && i < n; i++)
        status = set(ctx, out->options, words[i]);
    if (status == KN_OK)
        status = set(ctx, out->options, "threads=1");
    if (status == KN_OK && strcmp(words[0], "fit") != 0) /* which leaves its model in memory */
        status = set(ctx, out->options, "output=left");
    return status;
}

static kn_status run(kn_ctx *ctx, const job *j)
{
    kn_data *data = NULL;
    kn_model *model = NULL;
    kn_cv_info info = {.size = sizeof info};
    kn_status status = kn_data_read(ctx, j->options, &data);
    if (status == KN_OK)
        status = strcmp(j->command, "fit") == 0 ? kn_fit(ctx, data, j->options, &model)
                                                : kn_cv(ctx, data, j->options, &info);
    kn_data_free(data);
    kn_model_free(model);
    return kn_comm_agree_status(ctx, status);
}

/* Whether all ranks have the same status; called after a failure on all of them. */
static bool in_one_voice(kn_ctx *ctx)
{
    char mine[1024] = "", first[1024];
    strncpy(mine, kn_message(ctx), sizeof mine - 1);
    memcpy(first, mine, sizeof first);
    return kn_comm_broadcast(ctx, first, sizeof first, 0) == KN_OK && strcmp(first, mine) == 0;
}

static int memory(kn_ctx *ctx, int which, int share, const job *j)
{
    int wrong = 0, runs = 0, rank = kn_ctx_comm(ctx)->rank;
    for (long k = 1;; k += 1 + k / share, runs++) {
        if (rank == which)
            kn_fail_allocation(ctx, k);
        kn_status status = run(ctx, j);
        kn_fail_allocation(ctx, 0);
        double same[2] = {status, -(double)status};
        bool left = access("left", F_OK) == 0; /* of rank 0, which is done before it answers */
        kn_comm_clear_error(ctx);
        bool alike = kn_comm_max(ctx, same, 2) == KN_OK && same[0] == -same[1];
        if (alike && status != KN_OK)
            alike = in_one_voice(ctx);
        if (!alike || (status != KN_OK && status != KN_ERR_MEMORY) ||
            (rank == 0 && left != (status == KN_OK))) {
            fprintf(stderr, "rank %d: allocation %ld: status %d (%s)\n", rank, k, status,
                    kn_message(ctx));
            wrong++;
        }
        if (status == KN_OK)
            break;
    }
    if (runs < 30) {
        fprintf(stderr, "rank %d: only %d allocations failed\n", rank, runs);
        wrong++;
    }
    return wrong;
}

/* "memory: this fit needs 62.9 MB (responses 1.8 MB, ..., program and BLAS 40.0 MB), ..." */
static double bytes_after(const char *line, const char *words)
{
    const char *at = strstr(line, words);
    double x = 0;
    char unit[3] = "";
    if (!at || sscanf(at + strlen(words), " %lf %2s", &x, unit) != 2)
        return 0;
    return x * (strcmp(unit, "GB") == 0 ? 1e9 : strcmp(unit, "MB") == 0 ? 1e6 : 1e3);
}

static void on_log(void *user, kn_log_level level, const char *line)
{
    static const char *const works[] = {"this fit needs", "this scoring needs"};
    (void)level;
    for (int i = 0; i < 2; i++)
        if (strstr(line, works[i]))
            *(double *)user = bytes_after(line, works[i]) - bytes_after(line, "program and BLAS");
}

static int need(kn_ctx *ctx, const job *j)
{
    static const double ROUNDED = 0.11e6; /* two numbers of one decimal */
    double said = 0;
    kn_set_log(ctx, on_log, &said);
    kn_status status = run(ctx, j);
    kn_set_log(ctx, NULL, NULL);
    double peak = (double)kn_memory_peak(ctx);
    if (status == KN_OK && said > 0 && peak <= said + ROUNDED)
        return 0;
    fprintf(stderr, "rank %d: status %d (%s), need %.0f kB, peak %.0f kB\n", kn_ctx_comm(ctx)->rank,
            status, kn_message(ctx), said / 1e3, peak / 1e3);
    return 1;
}

int main(int argc, char **argv)
{
    static kn_comm comm;
    kn_ctx *ctx = kn_ctx_new();
    job j = {0};
    const char *path = getenv("KRONORM_COMM");
    bool fails = argc > 4 && strcmp(argv[1], "memory") == 0;
    int first = fails ? 4 : 2;
    if (argc <= first || !ctx || !path || kn_comm_load(ctx, path, &comm) != KN_OK ||
        kn_comm_join(ctx, &comm) != KN_OK) {
        fprintf(stderr, "%s\n", ctx && path ? kn_message(ctx) : "KRONORM_COMM is needed");
        return 1;
    }
    kn_set_threads(ctx, 1);
    kn_status status = job_new(ctx, argv + first, argc - first, &j);
    if (status != KN_OK)
        fprintf(stderr, "%s\n", kn_message(ctx));
    double wrong = status != KN_OK ? 1
                   : fails         ? memory(ctx, atoi(argv[2]), atoi(argv[3]), &j)
                                   : need(ctx, &j);
    if (kn_comm_max(ctx, &wrong, 1) != KN_OK)
        wrong = 1;
    comm.end(&comm);
    kn_options_free(j.options);
    kn_ctx_free(ctx);
    return wrong > 0;
}
