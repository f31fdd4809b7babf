/* kronorm predict: calls kn_predict through cli_score. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/session.h"

static void report(const kn_scores *s, const kn_options *options)
{
    printf("%s: %td samples, %.0f files\n", kn_options_get(options, "output"),
           kn_scores_n_people(s), kn_scores_number(s, "files"));
}

static int predict(cli_run *run)
{
    return cli_score(run, kn_predict, report);
}

const cli_command cmd_predict = {
    .name = "predict",
    .summary = "model + covariates -> mean and variance maps",
    .usage = "MODEL -c FILE -o DIR [options]",
    .description =
        "What is normal for these covariates: the mean of every response and the variance of the\n"
        "mean (ys2_model); ys2_noise, the variance of people around it, is one map\n"
        "for all, of average covariates where noise varies with them (info says so). For a job\n"
        "array: the same line with --part 1/N to N/N, then once with --join N (docs/scale.md).",
    .example = "kronorm predict model.safetensors -c new_participants.tsv -o predicted",
    .model = true,
    .processes = CLI_PARTS,
    .needs = "covariates output",
    .check = kn_options_check,
    .run = predict,
};
