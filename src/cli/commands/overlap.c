/* kronorm overlap: calls kn_overlap and prints the smallest p-values. */
#include <math.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/session.h"

static void report(const kn_overlap_info *i, const kn_options *options)
{
    static const char *const sign[] = {"negative", "positive"};
    printf("%s: %td people in %td group%s, %td responses", kn_options_get(options, "output"),
           i->people, i->groups, i->groups == 1 ? "" : "s", i->responses);
    if (i->left_out > 0)
        printf("; %td people without a group", i->left_out);
    printf("\n");
    for (int k = 0; i->groups == 2 && k < 2; k++)
        if (isfinite(i->least_p[k]))
            printf("  %s: smallest p %.3g, %td responses below .05 family-wise, %td by false "
                   "discovery rate\n",
                   sign[k], i->least_p[k], i->below[k], i->below_fdr[k]);
    printf("  %td files\n", i->files);
}

static int overlap(cli_run *run)
{
    kn_overlap_info info = {.size = sizeof info};
    kn_status status = kn_overlap(run->ctx, run->options, &info);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        report(&info, run->options);
    return code;
}

const cli_command cmd_overlap = {
    .name = "overlap",
    .summary = "scored folder -> share of people beyond a threshold, by group",
    .usage = "SCORED --by COLUMN -o DIR [options]",
    .description =
        "Where the deviations of a group overlap: at each response the share of its people beyond\n"
        "the threshold, negative and positive apart; between two groups the difference, with p by\n"
        "permuting who is of which.",
    .example = "kronorm overlap scored --by group -c test_participants.tsv -o overlap",
    .folder = "scored",
    .needs = "by output",
    .check = kn_options_check,
    .run = overlap,
};
