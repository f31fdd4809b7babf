/* kronorm overlap: calls kn_overlap and prints the smallest p-values. The work is in
 * commands/overlap. */
#include <math.h>
#include <stdio.h>

#include "cli/internal.h"

/* Print the summary of kronorm overlap; with two groups the number of responses that differ. */
static void print_result(const kn_overlap_info *i, const kn_options *options)
{
    static const char *const sign[] = {"low: ", "high:"};
    printf("Mapped %td participant%s in %td group%s, %td response%s: %s\n", i->participants,
           kn_plural(i->participants), i->groups, kn_plural(i->groups), i->responses,
           kn_plural(i->responses), kn_options_get(options, "output"));
    if (i->excluded > 0)
        printf("  Excluded  %td participant%s without a group\n", i->excluded,
               kn_plural(i->excluded));
    for (int k = 0; i->groups == 2 && k < 2; k++)
        if (isfinite(i->least_p[k]))
            printf("  Difference, %s %td response%s at p < 0.05 (FWE-corrected, smallest p %.3g), "
                   "%td at p < 0.05 (FDR-corrected)\n",
                   sign[k], i->below[k], kn_plural(i->below[k]), i->least_p[k], i->below_fdr[k]);
    if (cli_verbose())
        printf("  Files     %td\n", i->files);
}

/* Compute the overlap maps, and print the summary. Returns the exit code. */
static int run_overlap(cli_run *run)
{
    kn_overlap_info info = {.size = sizeof info};
    kn_status status = kn_overlap(run->ctx, run->options, &info);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        print_result(&info, run->options);
    return code;
}

const cli_command cmd_overlap = {
    .name = "overlap",
    .summary = "Map where the participants of a group deviate",
    .usage = "SCORED --by COLUMN -o DIR [options]",
    .description =
        "Computes, for each group and response, the proportion of participants with a z-score "
        "beyond the threshold, separately for low and high values. For two groups, it also "
        "computes the difference, with p-values from permutations of the group labels.",
    .example = "kronorm overlap scored --by group -c test_participants.tsv -o overlap",
    .front = "by output covariates threshold permutations threads force",
    .guide = "docs/explanation/interpreting.md",
    .folder = "scored",
    .needs = "by output",
    .check = kn_options_check,
    .run = run_overlap,
};
