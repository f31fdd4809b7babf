/* Definition of a command, its options from the library's table, and the parsed command line. */
#ifndef KN_CLI_ARGUMENTS_H
#define KN_CLI_ARGUMENTS_H

#include <stdbool.h>

#include "kronorm.h"

enum { CLI_MAX_WORDS = 16, CLI_MAX_OPTIONS = 128, CLI_NAME = 48 };

typedef struct cli_run { /* one parsed command line */
    kn_ctx *ctx;
    kn_options *options;
    bool help, version, quiet, verbose; /* flags of every command */
    bool json, build;                   /* flags of info */
    bool another;                       /* another process of the same command: prints nothing */
    int n_words;
    const char *word[CLI_MAX_WORDS]; /* positional arguments, borrowed from argv */
} cli_run;

/* Behaviour of a command that mpirun or srun started more than once (mpi_launch.h). */
typedef enum cli_processes {
    CLI_EACH,     /* every process runs it, unless the MPI plugin is present */
    CLI_TOGETHER, /* the processes form one MPI job */
    CLI_ONE,      /* error */
    CLI_PARTS     /* error; the message names the options part and join */
} cli_processes;

/* One command: its help texts, required arguments and function. */
typedef struct cli_command {
    const char *name;
    const char *summary;     /* one short line */
    const char *usage;       /* follows "kronorm NAME" */
    const char *description; /* one or two paragraphs */
    const char *example;     /* one or more lines without prompt */
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
    const char *arg;       /* name of the value in the help */
    const char *words;     /* "structured|iso", or NULL */
    const char *preferred; /* default value, or NULL */
    const char *help, *heading;
    char without[64]; /* methods that do not have it */
} cli_option;

/* Fills `out` with all options of a command in the order of the help; returns their number. */
int cli_options(const char *command, cli_option out[CLI_MAX_OPTIONS]);

/* Parses the arguments after the command name into *run, whose ctx and options exist. Returns 0, or
 * 2 with one line on stderr. */
int cli_parse(const cli_command *command, int argc, char **argv, cli_run *run);

int cli_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* prints the error, returns 2 */

/* Stores usage errors instead of printing them, since another process of the same command
 * prints. */
void cli_set_quiet(void);
const char *cli_deferred_message(void); /* the stored message; "": none */

/* Copies a message of the library and replaces {key=value} by --key value. Owned by the caller
 * (free); NULL: out of memory. */
char *cli_spelled(const char *sentence);

#endif
