/* What predict and score share. */
#ifndef KN_CLI_INPUTS_H
#define KN_CLI_INPUTS_H

#include "cli/begin.h"
#include "cli/session.h"

#define CLI_APPLY_ROWS(job, write_text, split, format)                                             \
    {CLI_HEADING, "Output", 0, NULL, NULL, NULL, NULL},                                            \
        {CLI_TEXT,      "output", 'o', "DIR", "folder for the results; made if need be",           \
         &(job).output, NULL},                                                                     \
        {CLI_TEXT,                                                                                 \
         "write",                                                                                  \
         0,                                                                                        \
         "z,yhat,ys2_model",                                                                       \
         "which maps; ys2_model comes with ys2_noise. Default: score z, predict yhat,ys2_model",   \
         &(write_text),                                                                            \
         NULL},                                                                                    \
        {CLI_FLAG, "split", 0, NULL, "one file per sample, ID_z.nii.gz", &(split), NULL},          \
    {                                                                                              \
        CLI_CHOICE, "format", 0, "trained|nii|csv|npy", "default: as the training responses were", \
            &(format), NULL                                                                        \
    }

/* The model from the words; the maps from `write_text`. 0, or 2 with a message. */
int apply_arguments(const char *command, const cli_words *words, const char *write_text,
                    kn_apply_job *job);

#endif
