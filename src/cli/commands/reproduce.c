/* kronorm reproduce: runs the experiment of the paper (kn_reproduce). */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/session.h"
#include "paper/reproduce.h"

static int reproduce(cli_run *run)
{
    kn_reproduced result;
    kn_status status = kn_reproduce(run->ctx, run->options, &result);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet) {
        printf("%s: results.tsv, results.json and figure.svg of %td runs",
               kn_options_get(run->options, "output"), result.n_runs);
        if (result.n_refused > 0)
            printf(", %td of them n/a: column refused of results.tsv says why", result.n_refused);
        printf("\n");
    }
    return code;
}

const cli_command cmd_reproduce = {
    .name = "reproduce",
    .summary = "the paper's experiment on such files: table and figure",
    .usage = "--data DIR -o DIR [options]",
    .description =
        "Models visual cortex from the pattern on the screen, trained on random patterns, and asks "
        "how\n"
        "well unseen ones are predicted and figures are told from them. Each run of scans is\n"
        "detrended, shifted by two scans, and freed of rest; 600 of 1320 scans train.\n"
        "\n"
        "results.tsv grows by a row per run. Stopped at any moment, the same command takes up "
        "from\n"
        "there; --force starts again.",
    .example = "kronorm simulate --kind miyawaki --size full -o visual\n"
               "kronorm reproduce --data visual --methods smtgpr --repeats 2 -o results",
    .needs = "data output",
    .check = kn_options_check,
    .run = reproduce,
};
