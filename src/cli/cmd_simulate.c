#include <math.h>
#include <stdio.h>

#include "cli/begin.h"
#include "cli/commands.h"
#include "cli/session.h"

int cmd_simulate(int argc, char **argv)
{
    kn_simulate_job job = {.size = sizeof job, .patients = -1, .strength = NAN};
    int kind = 0, size = 0, samples = 0, patients = -1;
    cli_common common;
    cli_words words;
    const cli_option options[] = {
        {CLI_CHOICE, "kind", 0, "cohort|miyawaki",
         "a study with patients (default), or the paper's experiment", &kind, NULL},
        {CLI_CHOICE, "size", 0, "small|2mm|full",
         "small (default); 2mm for a cohort, full for miyawaki", &size, NULL},
        {CLI_INT, "samples", 0, "N", "healthy people; default 120", &samples, NULL},
        {CLI_INT, "patients", 0, "K", "people with a lesion; default 20", &patients, NULL},
        {CLI_NUMBER, "strength", 0, "SD",
         "of the abnormality, in residual standard deviations; default 2 for a cohort, 0.3 for "
         "miyawaki; 0: patients are normal",
         &job.strength, NULL},
        {CLI_TEXT, "output", 'o', "DIR", "folder to make", &job.output, NULL},
        {CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
    };
    const cli_command command = {
        "simulate",
        "a cohort with known truth, as real files on disk",
        "-o DIR [options]",
        "Writes participants.tsv, images, a mask, and lists for training and testing. Some people "
        "are\n"
        "patients with a focal lesion; truth/ says where and how strong.",
        "kronorm simulate --kind cohort --samples 120 --patients 20 -o study",
        options};
    int done = cli_begin(&command, argc, argv, &common, &words);
    if (done >= 0)
        return done;
    if (words.n)
        return cli_usage_error("simulate", "'%s' belongs to no option", words.word[0]);
    if (!job.output)
        return cli_usage_error("simulate", "-o, --output is needed");
    if (size == (kind == KN_SIMULATE_COHORT ? 2 : 1))
        return cli_usage_error("simulate", "--size %s is not for --kind %s",
                               size == 2 ? "full" : "2mm", kind ? "miyawaki" : "cohort");
    if (kind == KN_SIMULATE_MIYAWAKI && (samples || patients >= 0))
        return cli_usage_error("simulate", "--samples and --patients are for --kind cohort");
    job.kind = (kn_simulation)kind;
    job.large = size > 0;
    job.samples = samples;
    job.patients = patients;
    job.seed = common.seed;
    job.force = common.force;
    kn_ctx *ctx = session_begin(&common, "simulate");
    if (!ctx)
        return 1;
    kn_status status = kn_simulate_files(ctx, &job);
    int code = session_end(ctx, status);
    if (status == KN_OK && !common.quiet)
        printf(kind ? "%s: data for kronorm reproduce\n"
                    : "%s: participants.tsv, images.txt, mask.nii.gz; train_* and test_* for fit "
                      "and score\n",
               job.output);
    return code;
}
