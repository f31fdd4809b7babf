/* The first lines of every command. */
#ifndef KN_CLI_BEGIN_H
#define KN_CLI_BEGIN_H

#include "cli/options.h"

/* What the command line asks of a command besides running it. `kronorm help --man CMD` and the
 * completion go through the command too, because only it has its table. */
typedef enum cli_ask { CLI_RUN, CLI_MAN, CLI_COMPLETION } cli_ask;

/* Parses; answers --help, --version and the manual. Returns -1 to go on, else the exit code. */
int cli_begin(const cli_command *command, int argc, char **argv, cli_common *common,
              cli_words *words);

/* Input options shared by fit, predict and score, as rows of a table. */
#define CLI_INPUT_ROWS(in)                                                                         \
    {CLI_HEADING, "Inputs", 0, NULL, NULL, NULL, NULL},                                            \
        {CLI_TEXT,                                                                                 \
         "covariates",                                                                             \
         'c',                                                                                      \
         "FILE",                                                                                   \
         ".csv or .tsv with a header; a BIDS participants.tsv works as it is",                     \
         &(in).covariates,                                                                         \
         NULL},                                                                                    \
        {CLI_TEXT,                                                                                 \
         "id",                                                                                     \
         0,                                                                                        \
         "COLUMN",                                                                                 \
         "column with the ids; default participant_id, sub_id, subject_id or SubjID",              \
         &(in).id,                                                                                 \
         NULL},                                                                                    \
    {                                                                                              \
        CLI_CHOICE, "missing", 0, "error|drop|mean",                                               \
            "what to do about a missing covariate; default error, naming it", &(in).missing, NULL  \
    }

#define CLI_RESPONSE_ROWS(in)                                                                      \
    {CLI_TEXT,                                                                                     \
     "responses",                                                                                  \
     'y',                                                                                          \
     "FILE",                                                                                       \
     "4D .nii, .nii.gz, .hdr, .mgh, .mgz or .gii; .txt list of 3D images (path, or id TAB path); " \
     ".csv "                                                                                       \
     "or .tsv; .npy",                                                                              \
     &(in).responses,                                                                              \
     NULL},                                                                                        \
    {                                                                                              \
        CLI_CHOICE, "match", 0, "all|common",                                                      \
            "all: every id must be on both sides; common: use those that are. Default all",        \
            &(in).match_common, NULL                                                               \
    }

/* Where responses may stay, for commands that read them. */
#define CLI_MEMORY_ROWS(memory, in)                                                                \
    {CLI_SIZE,                                                                                     \
     "memory",                                                                                     \
     0,                                                                                            \
     "SIZE",                                                                                       \
     "memory to stay within, such as 8G; default half of what there is",                           \
     &(memory),                                                                                    \
     NULL},                                                                                        \
    {                                                                                              \
        CLI_TEXT, "scratch", 0, "DIR",                                                             \
            "folder for a temporary file with the responses, made when memory has no room for "    \
            "them; default $TMPDIR or /var/tmp",                                                   \
            &(in).scratch, NULL                                                                    \
    }

#endif
