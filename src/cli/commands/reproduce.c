/* kronorm reproduce: runs the experiment of the paper (kn_reproduce). The work is in src/paper. */
#include <stdio.h>

#include "cli/internal.h"
#include "paper/reproduce.h"

/* Run the paper's experiment, and print where its results are. Returns the exit code. */
static int run_reproduce(cli_run *run)
{
    kn_reproduced result;
    kn_status status = kn_reproduce(run->ctx, run->options, &result);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet) {
        printf("%s: results.tsv, summary.json and figure.svg of %td runs",
               kn_options_get(run->options, "output"), result.n_runs);
        if (result.n_refused > 0)
            printf(", %td of them n/a (reasons in column refused of results.tsv)",
                   result.n_refused);
        printf("\n");
    }
    return code;
}

const cli_command cmd_reproduce = {
    .name = "reproduce",
    .summary = "Repeat the experiment of Kia & Marquand (2018)",
    .usage = "--data DIR -o DIR [options]",
    .description =
        "Models visual cortex from the stimulus pattern. The models are trained on random "
        "patterns; the result is how well they predict unseen figures, and how well these "
        "figures are identified from the predictions. Each run of scans is detrended and shifted "
        "by two scans, and scans of rest are removed; 600 of 1320 scans are for training.\n"
        "results.tsv has one row per run. If the command was interrupted, the same command "
        "continues; --force starts again.",
    .example = "kronorm simulate --kind miyawaki --size small -o visual\n"
               "kronorm reproduce --data visual --methods smtgpr --repeats 2 -o results",
    .front = "data output methods repeats components variants split_by threads",
    .guide = "docs/appendix/experiment.md",
    .needs = "data output",
    .check = kn_options_check,
    .run = run_reproduce,
};
