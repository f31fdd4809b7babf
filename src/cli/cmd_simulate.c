#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/session.h"
#include "study/simulate.h"

static int simulate(cli_run *run)
{
    const char *output = kn_options_get(run->options, "output");
    kn_status status = kn_simulate(run->ctx, run->options);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        printf(strcmp(kn_options_get(run->options, "kind"), "miyawaki") == 0
                   ? "%s: data for kronorm reproduce\n"
                   : "%s: participants.tsv, images.txt, mask.nii.gz; train_* and test_* for fit "
                     "and score\n",
               output);
    return code;
}

const cli_command cmd_simulate = {
    .name = "simulate",
    .summary = "a cohort with known truth, as real files on disk",
    .usage = "-o DIR [options]",
    .description =
        "Writes participants.tsv, images, a mask, and lists for training and testing. Some people "
        "are\n"
        "patients with a focal lesion; truth/ says where and how strong.",
    .example = "kronorm simulate --kind cohort --samples 120 --patients 20 -o study",
    .needs = "output",
    .check = kn_simulate_check,
    .run = simulate,
};
