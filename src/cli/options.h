/* Options as a table: parsing, help, manual page and completion all read the same rows. */
#ifndef KN_CLI_OPTIONS_H
#define KN_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "kronorm.h"

typedef enum cli_kind {
    CLI_HEADING, /* a line of its own in the help */
    CLI_FLAG,    /* bool */
    CLI_TEXT,    /* const char * */
    CLI_INT,     /* int */
    CLI_UINT64,  /* uint64_t */
    CLI_NUMBER,  /* double */
    CLI_SIZE,    /* double: bytes, from 8G, 1.5GB, 512MiB */
    CLI_CHOICE,  /* int: index into the words of `arg`, "structured|iso" */
} cli_kind;

typedef struct cli_option {
    cli_kind kind;
    const char *name; /* without the dashes; for CLI_HEADING the heading */
    char letter;      /* 0: none */
    const char *arg;  /* what the help calls the value */
    const char *help;
    void *to;    /* where the value goes */
    bool *given; /* NULL, or set when the option was there */
} cli_option;

typedef struct cli_command {
    const char *name;
    const char *summary;       /* half a line */
    const char *usage;         /* after "kronorm NAME" */
    const char *description;   /* a paragraph or two */
    const char *example;       /* one or more lines, without the prompt */
    const cli_option *options; /* ends with name NULL; the common ones are added */
} cli_command;

typedef struct cli_common {
    bool help, version, quiet, verbose, force;
    int threads;
    uint64_t seed;
} cli_common;

enum { CLI_MAX_WORDS = 16 };

typedef struct cli_words { /* what is not an option */
    int n;
    const char *word[CLI_MAX_WORDS];
} cli_words;

/* 0 when all is well; else 2, with one line on stderr. */
int cli_parse(const cli_command *command, int argc, char **argv, cli_common *common,
              cli_words *words);

void cli_help(const cli_command *command);
void cli_man(const cli_command *command);        /* troff */
void cli_completion(const cli_command *command); /* its words for bash, on one line */

int cli_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* prints, returns 2 */

#endif
