/* kronorm simulate: calls kn_simulate and prints which files it made. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/session.h"
#include "cohort/simulate.h"

static bool asked(const cli_run *run, const char *key)
{
    const char *text = kn_options_get(run->options, key);
    return text && strcmp(text, "0") != 0;
}

static void tell(const cli_run *run)
{
    const char *output = kn_options_get(run->options, "output");
    if (strcmp(kn_options_get(run->options, "kind"), "miyawaki") == 0) {
        printf("%s: data for kronorm reproduce\n", output);
        return;
    }
    printf("%s: participants.tsv, images.txt, mask.nii.gz; train_* and test_* for fit and score\n",
           output);
    if (asked(run, "sites"))
        printf("  adapt_* and new_*: controls to adapt on, and further people, of a site that "
               "training lacks\n");
    if (asked(run, "visits"))
        printf("  visits_*: the people of test_* at each visit, column session\n");
    if (asked(run, "regions"))
        printf("  *regions.csv: regional means of the same people; regions.nii.gz says where\n");
}

static int simulate(cli_run *run)
{
    kn_status status = kn_simulate(run->ctx, run->options);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        tell(run);
    return code;
}

const cli_command cmd_simulate = {
    .name = "simulate",
    .summary = "a cohort with known truth, as real files on disk",
    .usage = "-o DIR [options]",
    .description =
        "Writes participants.tsv, images, a mask, and lists for training and testing. Some people "
        "are\n"
        "patients with a focal lesion; truth/ says where and how strong. --sites adds people of a "
        "site "
        "that\n"
        "training lacks, --visits further visits, --regions tables beside the images.",
    .example = "kronorm simulate --kind cohort --samples 120 --patients 20 -o study",
    .needs = "output",
    .check = kn_simulate_check,
    .run = simulate,
};
