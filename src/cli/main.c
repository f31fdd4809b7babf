/* kronorm: finds the command, parses its options and runs it. Commands are in commands/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/internal.h"

#define ROW(name) &cmd_##name,
static const cli_command *const COMMANDS[] = {CLI_COMMANDS(ROW)};
#undef ROW
enum { N_COMMANDS = sizeof COMMANDS / sizeof *COMMANDS };

/* Restart the program, once, with OPENBLAS_CORETYPE set if OpenBLAS does not recognise the
 * processor: it is four times slower then. Nothing if the user has set the variable. */
static void restart_with_better_core(char **argv)
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

/* The command of this name; NULL if there is none. */
static const cli_command *find_command(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, COMMANDS[i]->name) == 0)
            return COMMANDS[i];
    return NULL;
}

/* Start MPI if needed, run the command in a session, and finalise MPI. Returns the exit code. */
static int run_in_session(const cli_command *command, cli_run *run)
{
    kn_set_threads(run->ctx, atoi(kn_options_get(run->options, "threads")));
    int code = command->processes == CLI_TOGETHER ? cli_mpi_init(run, command->name)
                                                  : cli_check_single_process(run->ctx, command);
    if (code < 0) {
        session_begin(run, command->name);
        code = command->run(run);
    }
    cli_mpi_finalize(run);
    return code;
}

/* Parse and run a command, or print its help, manual page, completion or version. argv: arguments
 * after its name. Returns the exit code. */
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
            run.short_help ? cli_help_short(command) : cli_help(command);
        else if (run.version)
            printf("kronorm %s\n", kn_version());
        else
            code = run_in_session(command, &run);
    }
    kn_options_free(run.options);
    kn_ctx_free(run.ctx);
    return code;
}

/* Flush stdout: errors such as a full disk show only now. Returns `code`, or 1 after a message if
 * the output was lost. */
static int flush_stdout(int code)
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

/* Print the error for a word that is no command, with a suggestion; returns the exit code 2. */
static int unknown_command(const char *word)
{
    kn_suggestions near = {.given = word};
    char suggestion[KN_SUGGESTION_TEXT];
    for (int i = 0; i < N_COMMANDS; i++)
        kn_suggest(&near, COMMANDS[i]->name, strlen(COMMANDS[i]->name));
    return cli_usage_error(NULL, "unknown command '%s'%s", word,
                           kn_did_you_mean(&near, "", suggestion));
}

/* Run the command, or print the help, version or reference page that the first word asks for.
 * Returns the exit code. */
static int run_arguments(int argc, char **argv)
{
    if (argc < 2) {
        cli_help_commands(stderr, COMMANDS, N_COMMANDS);
        return 2;
    }
    const char *word = argv[1];
    if (find_command(word))
        return run_command(find_command(word), argc - 2, argv + 2);
    if (strcmp(word, "--version") == 0) {
        printf("kronorm %s\n", kn_version());
    } else if (strcmp(word, "help") == 0 && argc == 3 && strcmp(argv[2], "--options-md") == 0) {
        cli_markdown(COMMANDS, N_COMMANDS);
    } else if (strcmp(word, "help") == 0 && argc == 3 && strcmp(argv[2], "--columns-md") == 0) {
        cli_columns_markdown();
    } else if (strcmp(word, "help") == 0 && argc > 2) {
        if (!find_command(argv[2]))
            return unknown_command(argv[2]);
        cli_help(find_command(argv[2]));
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
               strcmp(word, "help") == 0) {
        cli_help_commands(stdout, COMMANDS, N_COMMANDS);
    } else {
        return unknown_command(word);
    }
    return 0;
}

int main(int argc, char **argv)
{
    restart_with_better_core(argv);
    return flush_stdout(run_arguments(argc, argv));
}
