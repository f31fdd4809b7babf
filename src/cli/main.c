/* kronorm: finds the command, parses its options and runs it. Commands are in commands/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/mpi_launch.h"
#include "cli/session.h"

#define ROW(name) &cmd_##name,
static const cli_command *const COMMANDS[] = {CLI_COMMANDS(ROW)};
#undef ROW
enum { N_COMMANDS = sizeof COMMANDS / sizeof *COMMANDS };

static void help(FILE *to)
{
    fprintf(to,
            "kronorm %s - normative models of brain maps, all voxels at once\n\n"
            "Usage: kronorm COMMAND [options]\n\n",
            kn_version());
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
    fprintf(to, "\n'kronorm COMMAND --help' has the options and an example.\n");
}

/* If OpenBLAS does not recognise the processor it is four times slower, and only OPENBLAS_CORETYPE
 * before loading helps: sets it and restarts the program, once, unless the user has set it. */
static void use_the_right_core(char **argv)
{
    const char *better = kn_build_better_core();
    bool again = getenv("KRONORM_RESTARTED");
    unsetenv("KRONORM_RESTARTED"); /* child processes decide anew */
    if (!better || getenv("OPENBLAS_CORETYPE") || again)
        return;
    setenv("OPENBLAS_CORETYPE", better, 1);
    setenv("KRONORM_RESTARTED", "1", 1);
    execv("/proc/self/exe", argv);
    unsetenv("OPENBLAS_CORETYPE"); /* restart failed: slower, but correct */
    unsetenv("KRONORM_RESTARTED");
}

static const cli_command *find(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, COMMANDS[i]->name) == 0)
            return COMMANDS[i];
    return NULL;
}

/* Starts MPI if needed, runs the command in a session, and finalises MPI. */
static int work(const cli_command *command, cli_run *run)
{
    kn_set_threads(run->ctx, atoi(kn_options_get(run->options, "threads")));
    int code = command->processes == CLI_TOGETHER ? cli_mpi_init(run, command->name)
                                                  : cli_work_by_itself(run->ctx, command);
    if (code < 0) {
        session_begin(run, command->name);
        code = command->run(run);
    }
    cli_mpi_finalize(run);
    return code;
}

/* Parses and runs a command, or prints its help, manual page, completion or version. */
static int run_command(const cli_command *command, int argc, char **argv)
{
    cli_run run = {.ctx = kn_ctx_new(),
                   .another = command->processes != CLI_EACH && cli_mpi_is_worker()};
    int code;
    if (run.another)
        cli_set_quiet();
    if (argc == 1 && (strcmp(argv[0], "--man") == 0 || strcmp(argv[0], "--completion") == 0)) {
        strcmp(argv[0], "--man") == 0 ? cli_man(command) : cli_completion(command);
        code = 0;
    } else if (!run.ctx || kn_options_new(run.ctx, command->name, &run.options) != KN_OK) {
        fputs("kronorm: out of memory\n", stderr);
        code = 1;
    } else {
        code = cli_parse(command, argc, argv, &run);
        if (code != 0)
            code = cli_mpi_abort(run.ctx, code, cli_deferred_message());
        else if (run.another && (run.help || run.version))
            ;
        else if (run.help)
            cli_help(command);
        else if (run.version)
            printf("kronorm %s\n", kn_version());
        else
            code = work(command, &run);
    }
    kn_options_free(run.options);
    kn_ctx_free(run.ctx);
    return code;
}

/* Flushes stdout: errors such as a full disk show only now. */
static int written(int code)
{
    bool lost = ferror(stdout) != 0;
    errno = 0;
    if (lost &&
        code == 0) { /* failed earlier and errno is lost: another byte fails with the same reason */
        clearerr(stdout);
        putchar('\n');
    }
    lost = fflush(stdout) != 0 || lost;
    if (code != 0 || !lost)
        return code;
    const char *why = errno == ENOSPC ? ": no space left on device" : "";
    fprintf(stderr, "kronorm: standard output cannot be written%s\n", why);
    return 1;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return 2;
    }
    const char *word = argv[1];
    if (find(word))
        return run_command(find(word), argc - 2, argv + 2);
    if (strcmp(word, "--version") == 0) {
        printf("kronorm %s\n", kn_version());
    } else if (strcmp(word, "help") == 0 && argc == 3 && strcmp(argv[2], "--options-md") == 0) {
        cli_markdown(COMMANDS, N_COMMANDS);
    } else if (strcmp(word, "help") == 0 && argc > 2) {
        if (!find(argv[2]))
            return cli_usage_error(NULL, "there is no command '%s'", argv[2]);
        cli_help(find(argv[2]));
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
               strcmp(word, "help") == 0) {
        help(stdout);
    } else {
        return cli_usage_error(NULL, "there is no command '%s'", word);
    }
    return 0;
}

int main(int argc, char **argv)
{
    use_the_right_core(argv);
    return written(run(argc, argv));
}
