/* Private interfaces of the command line: the definition of a command and its options, the parsed
 * command line, help, MPI start-up, and the running command. Each section names the file that
 * implements it. */
#ifndef KN_CLI_INTERNAL_H
#define KN_CLI_INTERNAL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/context.h"
#include "kronorm.h"

/* ---- arguments.c ---- */

/* Definition of a command, its options from the library's table, and the parsed command line. */

enum { CLI_MAX_WORDS = 16, CLI_MAX_OPTIONS = 128, CLI_NAME = 48 };

typedef struct cli_run { /* one parsed command line */
    kn_ctx *ctx;
    kn_options *options;
    bool help, version, quiet, verbose; /* flags of every command */
    bool short_help;                    /* -h: help is true too */
    bool json, build;                   /* flags of info */
    bool another;                       /* another process of the same command: prints nothing */
    int n_words;
    const char *word[CLI_MAX_WORDS]; /* positional arguments, borrowed from argv */
} cli_run;

/* Behaviour of a command that mpirun or srun started more than once (section mpi_launch.c). */
typedef enum cli_processes {
    CLI_EACH,     /* every process runs it, unless the MPI plugin is present */
    CLI_TOGETHER, /* the processes form one MPI job */
    CLI_ONE,      /* error */
    CLI_PARTS     /* error; the message names the options part and join */
} cli_processes;

/* One command: its help texts, required arguments and function. */
typedef struct cli_command {
    const char *name;
    const char *summary;     /* one short line without a full stop */
    const char *usage;       /* follows "kronorm NAME" */
    const char *description; /* sentences; '\n' ends a paragraph */
    const char *example;     /* one or more lines without prompt */
    const char *front;       /* keys that -h shows: "use where targets" */
    const char *guide;       /* page of the documentation; NULL: none */
    cli_processes processes;
    bool model;         /* the first positional argument is the model file */
    const char *folder; /* or the folder of this option key; NULL: it is not */
    const char *needs;  /* required keys, checked in this order: "covariates output" */
    /* Checks combinations of options; may be NULL. */
    kn_status (*check)(kn_ctx *ctx, const kn_options *options);
    int (*run)(cli_run *run); /* returns the exit code */
} cli_command;

/* An option as spelled on the command line of one command. */
typedef struct cli_option {
    char name[CLI_NAME];   /* without leading dashes */
    const char *key;       /* key of the library; NULL: option of the command line only */
    size_t at;             /* if key is NULL: offset of its flag in cli_run */
    bool flag, off;        /* off: --no-NAME, turns off a default */
    int letter;            /* short option; 0: none */
    char alias[CLI_NAME];  /* second name, without leading dashes; empty: none */
    const char *arg;       /* name of the value in the help */
    const char *words;     /* "structured|iso", or NULL */
    const char *preferred; /* default value, or NULL */
    const char *help, *heading;
    char without[64]; /* methods that do not have it */
} cli_option;

/* Fill `out` with all options of a command in the order of the help; returns their number. */
int cli_options(const char *command, cli_option out[CLI_MAX_OPTIONS]);

/* Parses the arguments after the command name into *run, whose ctx and options exist. Returns 0, or
 * 2 with one line on stderr. */
int cli_parse(const cli_command *command, int argc, char **argv, cli_run *run);

/* Print a wrong usage of the command (NULL: of the program) on stderr, with a hint to the help;
 * returns 2. */
int cli_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Stores usage errors instead of printing them, since another process of the same command
 * prints. */
void cli_set_quiet(void);

/* The stored usage error; "": none. */
const char *cli_deferred_message(void);

/* Copies a message of the library and replaces {key=value} by --key value. Owned by the caller
 * (free); NULL: out of memory. */
char *cli_spelled(const char *sentence);

/* ---- commands/: one file per command ---- */

/* The list of commands; each is in its own file in commands/. */

/* In the order of the help: cmd_NAME in commands/NAME.c. */
/* clang-format off */
#define CLI_COMMANDS(ROW)                                                                          \
    ROW(fit) ROW(score) ROW(report) ROW(adapt) ROW(cv) ROW(centiles) ROW(overlap) ROW(change)      \
    ROW(predict) ROW(info) ROW(export) ROW(simulate) ROW(reproduce)
/* clang-format on */

#define CLI_COMMAND_DECLARED(name) extern const cli_command cmd_##name;
CLI_COMMANDS(CLI_COMMAND_DECLARED)

/* ---- help.c ---- */

/* kronorm COMMAND --help: all options. */
void cli_help(const cli_command *command);
/* kronorm COMMAND -h: example, required and most used options. */
void cli_help_short(const cli_command *command);
/* kronorm --help: the n commands by purpose. */
void cli_help_commands(FILE *to, const cli_command *const *commands, int n);

enum { CLI_HELP_TEXT = 1024 };
/* Writes "-c, --name ARGUMENT", indented if the option has no letter. */
void cli_format_label(const cli_option *o, char *out, size_t size);
/* Writes the complete help of an option: text, alias and default. */
void cli_format_help(const cli_option *o, char out[CLI_HELP_TEXT]);
/* Returns the default of an option, or "" if it has none or its help states it: defaults that are
 * only a mark for "not given" are 0 and -1. */
const char *cli_option_default(const cli_option *o);
/* True if option i begins a new heading. */
bool cli_begins_heading(const cli_option *options, int i);

/* ---- man_page.c ---- */

/* Prints the manual page of a command in troff. */
void cli_man(const cli_command *command);

/* ---- shell_completion.c ---- */

/* Prints one line of options for bash, then one per option with a choice of words: "--noise:
 * structured iso". */
void cli_completion(const cli_command *command);

/* ---- reference_pages.c ---- */

/* Prints docs/reference/commands.md for n commands. */
void cli_markdown(const cli_command *const *commands, int n);
/* Prints docs/reference/columns.md: the columns of all tables (src/columns.def). */
void cli_columns_markdown(void);

/* ---- mpi_launch.c ---- */

/* MPI start-up. Processes that mpirun or srun started form one MPI job instead of competing for one
 * output. With KRONORM_COMM=none each process runs independently. */

/* True if the launcher's environment says that this process is not rank 0. False under
 * KRONORM_COMM=none. */
bool cli_mpi_is_worker(void);

/* Initialises MPI if the command was started more than once: loads the plugin, joins the ranks,
 * compares versions, BLAS, threads and options of all ranks, and sets run->another. Returns -1 to
 * continue, else the exit code after one message from one rank. Call before any file is read and
 * before there are threads. Collective. */
int cli_mpi_init(cli_run *run, const char *command);

/* For commands other than CLI_TOGETHER: returns -1 if started once or under KRONORM_COMM=none; else
 * the exit code after one message. CLI_EACH is an error only if the MPI plugin is present: other
 * processes may be ranks of a CLI_TOGETHER command that wait for this one. */
int cli_check_single_process(kn_ctx *ctx, const cli_command *command);

/* Ends a process that found an error in its command line before the ranks joined; returns the exit
 * code. unsaid: message that rank 0 should print; "": already printed. If only this rank has the
 * error it prints the message after a delay. */
int cli_mpi_abort(kn_ctx *ctx, int code, const char *unsaid);

/* Finalises MPI, if it was initialised. */
void cli_mpi_finalize(cli_run *run);

/* ---- session.c: the running command ---- */

/* A running command: a context that writes to the terminal, progress, and Ctrl-C. */

/* Connects log, progress and signals to run->ctx; one session at a time. Messages go to stderr: a
 * bar with rate and remaining time on a terminal, a line every ten seconds elsewhere, only errors
 * with --quiet. Ranks other than root print nothing. */
void session_begin(cli_run *run, const char *command);

/* Clears the progress line, prints the error if any, and returns the exit code. With several ranks
 * root prints it; or a rank that could not inform the others, which then aborts the job. */
int session_end(cli_run *run, kn_status status);

/* ---- session.c: inputs of commands that apply a model ---- */

/* Inputs of commands that apply a model to data: adapt, predict, score and change. */

/* Opens the model and reads the data. The caller frees both, also after an error. */
kn_status cli_open(cli_run *run, kn_model **model, kn_data **data);

/* kn_score() or kn_predict(). */
typedef kn_status cli_scoring(kn_ctx *ctx, const kn_model *model, kn_data *data,
                              const kn_options *options, kn_scores **scores);

/* Open model and data, run `work` (kn_score() or kn_predict()), and print the result with `report`;
 * for a job part print the files and the next step instead. Returns the exit code. */
int cli_score(cli_run *run, cli_scoring *work,
              void (*report)(const kn_model *model, const kn_scores *scores,
                             const kn_options *options));

/* What n responses of a model are called: "voxels", "vertex", "responses". */
const char *cli_nouns(const kn_model *model, ptrdiff_t n);

/* ---- session.c: messages ---- */

/* Messages that several commands print about a model. */

/* Prints what was missing among the responses, if anything. */
void cli_print_missing(const kn_model *m);

/* Prints the lines of the model description (kn_model_words) that begin with the topic, such as
 * "covariates: ", after two spaces and the title instead of the topic. Returns false without one.
 */
bool cli_print_line(kn_ctx *ctx, const kn_model *m, const char *topic, const char *title);

/* True with --verbose. */
bool cli_verbose(void);

/* Prints "Next: kronorm report ..." for the model, the scored folder, or both. One of them may be
 * NULL. */
void cli_print_page(const char *model, const char *folder);

/* x for printing with so many decimals: a zero has no sign. */
double cli_rounded(double x, int decimals);

/* Prints "Next: kronorm score MODEL ..." with the file types of the options. */
void cli_print_score(const char *model, const kn_options *options);

#endif
