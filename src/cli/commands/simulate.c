/* kronorm simulate: calls kn_simulate and prints which files it made. The work is in src/cohort
 * and src/paper/visual. */
#include <stdio.h>
#include <string.h>

#include "cli/internal.h"
#include "cohort/simulate.h"

/* True if the option has a value other than 0. */
static bool is_given(const cli_run *run, const char *key)
{
    const char *text = kn_options_get(run->options, key);
    return text && strcmp(text, "0") != 0;
}

/* Print which files the simulated study consists of, and what they are for. */
static void print_result(const cli_run *run)
{
    const char *output = kn_options_get(run->options, "output");
    if (strcmp(kn_options_get(run->options, "kind"), "miyawaki") == 0) {
        printf("%s: data for kronorm reproduce\n", output);
        return;
    }
    printf("%s: participants.tsv, images.txt, mask.nii.gz; train_* and test_* for fit and score\n",
           output);
    if (is_given(run, "sites"))
        printf("  adapt_* and new_*: controls for adapting, and further participants, of a new "
               "site\n");
    if (is_given(run, "visits"))
        printf("  visits_*: the participants of test_* at each visit, column session\n");
    if (is_given(run, "regions"))
        printf("  *regions.csv: regional means of the same participants; regions.nii.gz has the "
               "regions\n");
}

/* Simulate the data, and print the file names. Returns the exit code. */
static int run_simulate(cli_run *run)
{
    kn_status status = kn_simulate(run->ctx, run->options);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        print_result(run);
    return code;
}

const cli_command cmd_simulate = {
    .name = "simulate",
    .summary = "Simulate a study with patients",
    .usage = "-o DIR [options]",
    .description =
        "Writes participants.tsv, images, a mask, and lists for training and testing. Patients "
        "have a focal lesion; truth/ has its position and effect. --sites adds participants of "
        "a new site, --visits adds further visits, and --regions adds tables of regions.",
    .example = "kronorm simulate --kind cohort --participants 120 --patients 20 -o study",
    .front = "output participants patients strength sites visits decline regions size kind seed",
    .guide = "docs/start/tutorial.md",
    .needs = "output",
    .check = kn_simulate_check,
    .run = run_simulate,
};
