/* kronorm predict: calls kn_predict through cli_score. Predictions need no responses; the output
 * files are written by the library. */
#include <stdio.h>

#include "cli/internal.h"

/* Print the summary of kronorm predict. */
static void print_result(const kn_model *m, const kn_scores *s, const kn_options *options)
{
    printf("Predicted %td participant%s, %td %s: %s\n", kn_scores_n_participants(s),
           kn_plural(kn_scores_n_participants(s)), kn_scores_n_responses(s),
           cli_nouns(m, kn_scores_n_responses(s)), kn_options_get(options, "output"));
    if (cli_verbose())
        printf("  Files  %.0f\n", kn_scores_number(s, "files"));
}

static int run_predict(cli_run *run)
{
    return cli_score(run, kn_predict, print_result);
}

const cli_command cmd_predict = {
    .name = "predict",
    .summary = "Predict mean and variance maps from covariates",
    .usage = "MODEL -c FILE -o DIR [options]",
    .description =
        "Computes the expected maps for given covariates: the mean of each response (yhat) and "
        "the variance of this mean (ys2_model). The noise variance (ys2_noise) is one map for all "
        "participants. If the noise varies with covariates ('kronorm info' says so), ys2_noise "
        "is the variance at average covariates.\n"
        "Job arrays: run the same command with --part 1/N to N/N, then once with --join N "
        "(docs/howto/clusters.md).",
    .example = "kronorm predict model.safetensors -c new_participants.tsv -o predicted",
    .front = "covariates output where session missing unseen write split format threads force",
    .guide = "docs/explanation/model.md",
    .model = true,
    .processes = CLI_PARTS,
    .needs = "covariates output",
    .check = kn_options_check,
    .run = run_predict,
};
