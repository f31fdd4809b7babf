/* A command, its options from the library's table, and what a command line made of them. */
#ifndef KN_CLI_ARGUMENTS_H
#define KN_CLI_ARGUMENTS_H

#include <stdbool.h>

#include "kronorm.h"

enum { CLI_MAX_WORDS = 16, CLI_MAX_OPTIONS = 128, CLI_NAME = 48 };

typedef struct cli_run { /* one command line */
    kn_ctx *ctx;
    kn_options *options;
    bool help, version, quiet, verbose; /* every command has these flags */
    bool json, build;                   /* info */
    bool another;                       /* process of the same command, which does not speak */
    int n_words;
    const char *word[CLI_MAX_WORDS]; /* what is not an option */
} cli_run;

/* What becomes of a command that mpirun or srun has started more than once (started.h). */
typedef enum cli_processes {
    CLI_EACH,     /* every process runs it, unless the plugin is there */
    CLI_TOGETHER, /* the processes share the work */
    CLI_ONE,      /* it is refused */
    CLI_PARTS     /* it is refused; the sentence names the options part and join */
} cli_processes;

typedef struct cli_command {
    const char *name;
    const char *summary;     /* half a line */
    const char *usage;       /* after "kronorm NAME" */
    const char *description; /* a paragraph or two */
    const char *example;     /* one or more lines, without the prompt */
    cli_processes processes;
    bool model;         /* the first word is the model file */
    const char *folder; /* or the folder of this key; NULL: it is not */
    const char *needs;  /* keys that must be given, in this order: "covariates output" */
    /* What does not go together: a sentence about it. */
    kn_status (*check)(kn_ctx *ctx, const kn_options *options);
    int (*run)(cli_run *run); /* the exit code */
} cli_command;

/* An option as this command spells it. */
typedef struct cli_option {
    char name[CLI_NAME];   /* without the dashes */
    const char *key;       /* of the library; NULL: of the command line alone */
    size_t at;             /* then: its flag in cli_run */
    bool flag, off;        /* off: it takes back what is on by default */
    int letter;            /* 0: none */
    const char *arg;       /* what the help calls the value */
    const char *words;     /* "structured|iso", or NULL */
    const char *preferred; /* the default, or NULL */
    const char *help, *heading;
    char without[64]; /* methods that do not take it */
} cli_option;

/* All options of a command, in the order of the help; returns how many. */
int cli_options(const char *command, cli_option out[CLI_MAX_OPTIONS]);

/* 0 when all is well; else 2, with one line on stderr. */
int cli_parse(const cli_command *command, int argc, char **argv, cli_run *run);

int cli_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* prints, returns 2 */

/* Errors of usage are said by another process of the same command. */
void cli_set_quiet(void);
const char *cli_deferred_message(void); /* the sentence that this one would have said; "": none */

/* A sentence of the library with {key=value} as --key value; free with free, NULL without memory.
 */
char *cli_spelled(const char *sentence);

#endif
