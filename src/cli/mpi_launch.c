/* MPI start-up and its errors. Processes are counted by environment variables of the launcher
 * before MPI is loaded, so that a build without MPI can refuse to run the same command many times.
 */
#include "cli/internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mpi/load_plugin.h"
#include "base/options/command_line.h"

/* Variables of Open MPI, MPICH and relatives, and Slurm steps (SLURM_NTASKS is that of the
 * allocation). */
static const struct {
    const char *size, *rank;
} LAUNCHERS[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                 {"PMI_SIZE", "PMI_RANK"},
                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};

enum { UNREADY = 2 }; /* exit code before any file is read */
enum { PATH = 4096 };

static struct {
    kn_comm comm;
    bool begun;
} together;

/* Value of an environment variable as a number; 0 if it is unset or no number. */
static long env_number(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;
    return text && end != text && !*end ? n : 0;
}

/* Number of processes that mpirun or srun started, and the rank of this one; 1 and 0 without
 * launcher. */
static long times_started(long *rank)
{
    *rank = 0;
    for (size_t i = 0; i < sizeof LAUNCHERS / sizeof *LAUNCHERS; i++) {
        long times = env_number(LAUNCHERS[i].size);
        if (times > 1) {
            *rank = env_number(LAUNCHERS[i].rank);
            return times;
        }
    }
    return 1;
}

/* Value of KRONORM_COMM: NULL, "none", or the path of a plugin. */
static const char *requested_plugin(void)
{
    return getenv("KRONORM_COMM");
}

/* True under KRONORM_COMM=none. */
static bool is_mpi_disabled(void)
{
    return requested_plugin() && strcmp(requested_plugin(), "none") == 0;
}

bool cli_mpi_is_worker(void)
{
    long rank;
    return !is_mpi_disabled() && times_started(&rank) > 1 && rank > 0;
}

/* Print an error on stderr, with options spelled as on the command line. */
static void print_message(const char *text)
{
    char *spelled = cli_spelled(text);
    fprintf(stderr, "kronorm: %s\n", spelled ? spelled : text);
    free(spelled);
}

/* Wait for a number of milliseconds. */
static void sleep_ms(long milliseconds)
{
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

/* Ask MPICH's launcher to abort the job, through the descriptor PMI_FD. Open MPI and Slurm abort by
 * themselves if a process exits with an error; with MPICH the others would wait in MPI_Init. Must
 * not allocate. */
static void abort_launcher(int code)
{
    enum { HEARD = 300 }; /* milliseconds for the launcher to forward our message */
    long fd = env_number("PMI_FD");
    if (fd > 2 && times_started(&(long){0}) > 1) {
        char order[40]; /* dprintf may allocate; on_overdue is a signal handler */
        int n = snprintf(order, sizeof order, "cmd=abort exitcode=%d\n", code);
        sleep_ms(HEARD);
        if (write((int)fd, order, (size_t)n) < n)
            return; /* the launcher is gone, and the job with it */
    }
}

/* Print an error before MPI is initialised, and return the exit code. Rank 0 prints at once and
 * ends the job. A rank that is still alive 2 s later has an error of its own and prints it; under
 * Slurm one process per node does. */
static int fail_before_mpi(const char *sentence)
{
    enum { WHILE = 2000 };
    long rank, times = times_started(&rank);
    if (times > 1 && rank > 0 && env_number("SLURM_LOCALID") > 0) {
        sleep_ms(WHILE);
    } else if (times > 1 && rank > 0) {
        char node[256] = "unknown", whose[4096 + 1024];
        gethostname(node, sizeof node - 1);
        snprintf(whose, sizeof whose, "rank %ld (node %s): %s", rank, node, sentence);
        sleep_ms(WHILE);
        print_message(whose);
    } else {
        print_message(sentence);
    }
    abort_launcher(UNREADY);
    return UNREADY;
}

/* True if other processes of this launch may wait for this one in MPI_Init. */
static bool is_awaited(kn_ctx *ctx)
{
    char path[PATH];
    return !is_mpi_disabled() && times_started(&(long){0}) > 1 &&
           kn_comm_find(ctx, requested_plugin(), path, sizeof path) == KN_OK;
}

int cli_check_single_process(kn_ctx *ctx, const cli_command *command)
{
    char sentence[512], instead[256];
    long n = times_started(&(long){0});
    bool many = n > 1 && !is_mpi_disabled();
    if (command->processes == CLI_EACH ? !is_awaited(ctx) : !many)
        return -1;
    if (command->processes == CLI_PARTS)
        snprintf(instead, sizeof instead,
                 ", or set KRONORM_COMM=none, give each process a part of the participants "
                 "({part=1/%ld} to {part=%ld/%ld}), and combine them with {join=%ld}",
                 n, n, n, n);
    else
        snprintf(instead, sizeof instead,
                 ", or set KRONORM_COMM=none if each process has its own input and output");
    snprintf(sentence, sizeof sentence,
             "mpirun or srun started %ld processes, but %s uses only one; start it once%s", n,
             command->name, instead);
    return fail_before_mpi(sentence);
}

int cli_mpi_abort(kn_ctx *ctx, int code, const char *unsaid)
{
    if (!is_awaited(ctx))
        return code;
    if (*unsaid)
        return fail_before_mpi(unsaid);
    abort_launcher(code);
    return code;
}

/* Message of the watchdog. A process may never call MPI_Init, because it is another program or was
 * asked for help; MPI does not notice, and the others would wait for ever. */
static struct {
    char sentence[256];
    size_t length;
} overdue;

/* Signal handler of the watchdog during MPI_Init: prints its message and ends the process. Must not
 * allocate. */
static void on_overdue(int signal)
{
    (void)signal;
    if (write(STDERR_FILENO, overdue.sentence, overdue.length) < 0)
        _exit(UNREADY);
    abort_launcher(UNREADY);
    _exit(UNREADY);
}

/* Load the plugin at path and initialise MPI, under a watchdog of PATIENCE seconds, as long as
 * Slurm's PMIx waits. times: processes that were started. */
static kn_status begin_mpi(kn_ctx *ctx, const char *path, long times)
{
    enum {
        PATIENCE = 300,
        LATER = 2
    }; /* seconds; rank 0 prints first, and the launcher ends all */
    long rank;
    times_started(&rank);
    overdue.length = (size_t)snprintf(
        overdue.sentence, sizeof overdue.sentence,
        "kronorm: mpirun or srun started %ld processes, but some of them have not started after %d "
        "s; start the same command everywhere, or set KRONORM_COMM=none\n",
        times, PATIENCE);
    struct sigaction act = {.sa_handler = on_overdue}, before;
    sigaction(SIGALRM, &act, &before);
    alarm(times > 1 ? PATIENCE + (rank > 0 ? LATER : 0) : 0);
    kn_status status = kn_comm_load(ctx, path, &together.comm);
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    return status;
}

/* Find and initialise the MPI plugin for `times` processes. Returns -1 on success, or the exit code
 * after a message. */
static int load_plugin(kn_ctx *ctx, long times)
{
    char path[PATH], sentence[PATH + 256];
    kn_status status = kn_comm_find(ctx, requested_plugin(), path, sizeof path);
    if (status != KN_OK && !requested_plugin()) {
        snprintf(sentence, sizeof sentence,
                 "mpirun or srun started %ld processes, but this build has no MPI; start it once, "
                 "with {threads}, or set KRONORM_COMM=none if each process has its own output",
                 times);
        return fail_before_mpi(sentence);
    }
    if (status == KN_OK)
        status = begin_mpi(ctx, path, times);
    if (status != KN_OK)
        return fail_before_mpi(kn_message(ctx));
    together.begun = true;
    if (times > 1 && together.comm.size != times) {
        together.comm.end(&together.comm);
        together.begun = false;
        snprintf(sentence, sizeof sentence,
                 "mpirun or srun started %ld processes, but %s sees %d, because it was built with "
                 "another MPI; build it with theirs (make mpi MPICC=...)",
                 times, path, together.comm.size);
        return fail_before_mpi(sentence);
    }
    return -1;
}

/* Fail unless versions, commands, BLAS, threads and options are the same on all ranks, since
 * results would differ. The core is compared before the BLAS, whose name includes it, since the
 * user can change it. Collective. */
static kn_status compare_ranks(kn_ctx *ctx, const kn_options *options, const char *command)
{
    char threads[16];
    kn_status status =
        kn_comm_check_equal(ctx, "kronorm", kn_version(), "start the same one everywhere");
    if (status == KN_OK)
        status = kn_comm_check_equal(ctx, "command", command, "start the same one everywhere");
    if (status == KN_OK)
        status = kn_comm_check_equal(ctx, "core", kn_build_core(),
                                     "set OPENBLAS_CORETYPE to one of them");
    if (status == KN_OK)
        status = kn_comm_check_equal(ctx, "BLAS", kn_build_blas(), "give all of them the same");
    snprintf(threads, sizeof threads, "%d", kn_threads(ctx));
    if (status == KN_OK)
        status =
            kn_comm_check_equal(ctx, "threads", threads, "give all of them the same {threads}");
    return status == KN_OK ? kn_same_command_line(ctx, options) : status;
}

int cli_mpi_init(cli_run *run, const char *command)
{
    long rank, times = times_started(&rank);
    if (is_mpi_disabled() || (times <= 1 && !requested_plugin()))
        return -1;
    int code = load_plugin(run->ctx, times);
    if (code >= 0)
        return code;
    run->another = together.comm.rank > 0;
    kn_status status = kn_comm_join(run->ctx, &together.comm);
    if (status == KN_OK)
        status = compare_ranks(run->ctx, run->options, command);
    if (status == KN_OK)
        return -1;
    if (!run->another || !kn_comm_error_is_shared(run->ctx))
        print_message(kn_message(run->ctx));
    if (!kn_comm_error_is_shared(run->ctx))
        kn_comm_stop(run->ctx, UNREADY);
    return UNREADY;
}

void cli_mpi_finalize(cli_run *run)
{
    (void)run;
    if (together.begun)
        together.comm.end(&together.comm);
    together.begun = false;
}
