/* Implements mpi_launch.h. Processes are counted by environment variables of the launcher before
 * MPI is loaded, so that a build without MPI can refuse to run the same command many times. */
#include "cli/mpi_launch.h"

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

static long number(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;
    return text && end != text && !*end ? n : 0;
}

/* Number of processes of this launch, and the rank of this one; 1 and 0 without launcher. */
static long times_started(long *rank)
{
    *rank = 0;
    for (size_t i = 0; i < sizeof LAUNCHERS / sizeof *LAUNCHERS; i++) {
        long times = number(LAUNCHERS[i].size);
        if (times > 1) {
            *rank = number(LAUNCHERS[i].rank);
            return times;
        }
    }
    return 1;
}

/* KRONORM_COMM: NULL, "none", or a plugin. */
static const char *asked(void)
{
    return getenv("KRONORM_COMM");
}

static bool as_so_many(void)
{
    return asked() && strcmp(asked(), "none") == 0;
}

bool cli_mpi_is_worker(void)
{
    long rank;
    return !as_so_many() && times_started(&rank) > 1 && rank > 0;
}

static void say(const char *text)
{
    char *spelled = cli_spelled(text);
    fprintf(stderr, "kronorm: %s\n", spelled ? spelled : text);
    free(spelled);
}

static void nap(long milliseconds)
{
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

/* Asks MPICH's launcher to abort the job, through the descriptor PMI_FD. Open MPI aborts by itself
 * if a process exits with an error, and so does Slurm with srun -K or KillOnBadExit; with MPICH the
 * other processes would wait for this one in MPI_Init. */
static void tell_launcher(int code)
{
    enum { HEARD = 300 }; /* milliseconds for the launcher to forward our message */
    long fd = number("PMI_FD");
    if (fd > 2 && times_started(&(long){0}) > 1) {
        char order[40]; /* dprintf may allocate; on_overdue is a signal handler */
        int n = snprintf(order, sizeof order, "cmd=abort exitcode=%d\n", code);
        nap(HEARD);
        if (write((int)fd, order, (size_t)n) < n)
            return; /* the launcher is gone, and the job with it */
    }
}

/* Prints an error before MPI is initialised, and ends. Rank 0 prints at once and exits, and the
 * launcher kills the others before they print. A rank that is still alive after WHILE ms has an
 * error of its own and prints it. Slurm may leave all alive: then one process per node prints,
 * since files are the same on a node. */
static int not_ready(const char *sentence)
{
    enum { WHILE = 2000 };
    long rank, times = times_started(&rank);
    if (times > 1 && rank > 0 && number("SLURM_LOCALID") > 0) {
        nap(WHILE);
    } else if (times > 1 && rank > 0) {
        char node[256] = "unknown", whose[4096 + 1024];
        gethostname(node, sizeof node - 1);
        snprintf(whose, sizeof whose, "rank %ld (node %s): %s", rank, node, sentence);
        nap(WHILE);
        say(whose);
    } else {
        say(sentence);
    }
    tell_launcher(UNREADY);
    return UNREADY;
}

/* True if other processes may wait for this one in MPI_Init. */
static bool is_awaited(kn_ctx *ctx)
{
    char path[PATH];
    return !as_so_many() && times_started(&(long){0}) > 1 &&
           kn_comm_find(ctx, asked(), path, sizeof path) == KN_OK;
}

int cli_work_by_itself(kn_ctx *ctx, const cli_command *command)
{
    char sentence[512], instead[256];
    long n = times_started(&(long){0});
    bool many = n > 1 && !as_so_many();
    if (command->processes == CLI_EACH ? !is_awaited(ctx) : !many)
        return -1;
    if (command->processes == CLI_PARTS)
        snprintf(
            instead, sizeof instead,
            "; several processes, under KRONORM_COMM=none, take a part of the participants each "
            "({part=1/%ld} to {part=%ld/%ld}), which {join=%ld} then puts together",
            n, n, n, n);
    else
        snprintf(instead, sizeof instead,
                 ", or set KRONORM_COMM=none where each has a work of its own");
    snprintf(sentence, sizeof sentence,
             "started %ld times by mpirun or srun, but %s is the work of one process: start it "
             "once%s",
             n, command->name, instead);
    return not_ready(sentence);
}

int cli_mpi_abort(kn_ctx *ctx, int code, const char *unsaid)
{
    if (!is_awaited(ctx))
        return code;
    if (*unsaid)
        return not_ready(unsaid);
    tell_launcher(code);
    return code;
}

/* Message of the watchdog. A process may never call MPI_Init, because it is another program or was
 * asked for help; MPI does not notice, and the others would wait for ever. */
static struct {
    char sentence[256];
    size_t length;
} overdue;

/* Signal handler during MPI_Init: must not allocate. */
static void on_overdue(int signal)
{
    (void)signal;
    if (write(STDERR_FILENO, overdue.sentence, overdue.length) < 0)
        _exit(UNREADY);
    tell_launcher(UNREADY);
    _exit(UNREADY);
}

/* Initialises MPI under a watchdog of PATIENCE seconds, as long as Slurm's PMIx waits. */
static kn_status begin(kn_ctx *ctx, const char *path, long times)
{
    enum {
        PATIENCE = 300,
        LATER = 2
    }; /* seconds; rank 0 prints first, and the launcher ends all */
    long rank;
    times_started(&rank);
    overdue.length = (size_t)snprintf(
        overdue.sentence, sizeof overdue.sentence,
        "kronorm: of %ld processes that mpirun or srun started some have not begun after %d s: "
        "start the same command everywhere, or set KRONORM_COMM=none\n",
        times, PATIENCE);
    struct sigaction act = {.sa_handler = on_overdue}, before;
    sigaction(SIGALRM, &act, &before);
    alarm(times > 1 ? PATIENCE + (rank > 0 ? LATER : 0) : 0);
    kn_status status = kn_comm_load(ctx, path, &together.comm);
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    return status;
}

/* Loads and initialises the plugin. Returns -1, or the exit code after a message. */
static int load(kn_ctx *ctx, long times)
{
    char path[PATH], sentence[PATH + 256];
    kn_status status = kn_comm_find(ctx, asked(), path, sizeof path);
    if (status != KN_OK && !asked()) {
        snprintf(sentence, sizeof sentence,
                 "started %ld times by mpirun or srun, but this build has no MPI: start it once, "
                 "with {threads}, or set KRONORM_COMM=none where each has an output of its own",
                 times);
        return not_ready(sentence);
    }
    if (status == KN_OK)
        status = begin(ctx, path, times);
    if (status != KN_OK)
        return not_ready(kn_message(ctx));
    together.begun = true;
    if (times > 1 && together.comm.size != times) {
        together.comm.end(&together.comm);
        together.begun = false;
        snprintf(
            sentence, sizeof sentence,
            "started %ld times by mpirun or srun, but %s sees %d: it was made with another MPI "
            "than theirs (make mpi MPICC=...)",
            times, path, together.comm.size);
        return not_ready(sentence);
    }
    return -1;
}

/* Checks that versions, commands, BLAS, threads and options are the same on all ranks, else results
 * would differ between them. The core is compared before the BLAS, whose name includes it, since
 * the user can change it. Collective. */
static kn_status compare(kn_ctx *ctx, const kn_options *options, const char *command)
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
    if (as_so_many() || (times <= 1 && !asked()))
        return -1;
    int code = load(run->ctx, times);
    if (code >= 0)
        return code;
    run->another = together.comm.rank > 0;
    kn_status status = kn_comm_join(run->ctx, &together.comm);
    if (status == KN_OK)
        status = compare(run->ctx, run->options, command);
    if (status == KN_OK)
        return -1;
    if (!run->another || !kn_comm_error_is_shared(run->ctx))
        say(kn_message(run->ctx));
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
