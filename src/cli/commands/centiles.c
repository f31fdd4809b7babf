/* kronorm centiles: calls kn_centiles and prints what was written. The work is in
 * commands/centiles. */
#include <stdio.h>

#include "cli/internal.h"

enum { BY_MODEL = 1 }; /* kn_centiles_info.bands */

/* Print the summary of kronorm centiles; --verbose adds the number of files. */
static void print_result(const kn_model *m, const kn_centiles_info *i, const kn_options *options)
{
    printf("Computed %td centile%s of %td %s at %td values of %s, %td curve%s each: %s\n",
           i->centiles, kn_plural(i->centiles), i->responses, cli_nouns(m, i->responses), i->values,
           kn_options_get(options, "over"), i->curves, kn_plural(i->curves),
           kn_options_get(options, "output"));
    if (i->bands != BY_MODEL) /* a note says what these are */
        printf("  Confidence bands  %s\n", i->bands == 0 ? "none" : "by jackknife");
    if (i->participants > 0)
        printf("  Participants      %td, in points.tsv\n", i->participants);
    if (i->n_extrapolated > 0)
        printf("  Extrapolation     %td of %td points are far from the training data\n",
               i->n_extrapolated, i->curves * i->values);
    if (cli_verbose())
        printf("  Files             %td\n", i->files);
}

/* Read the model, compute the centiles, and print the summary. Returns the exit code. */
static int run_centiles(cli_run *run)
{
    kn_model *model = NULL;
    kn_centiles_info info = {.size = sizeof info};
    kn_status status = kn_model_open(run->ctx, kn_options_get(run->options, "model"), &model);
    if (status == KN_OK)
        status = kn_centiles(run->ctx, model, NULL, NULL, run->options, &info);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        print_result(model, &info, run->options);
    kn_model_free(model);
    return code;
}

const cli_command cmd_centiles = {
    .name = "centiles",
    .summary = "Compute centile curves",
    .usage = "MODEL --over COLUMN -o DIR [options]",
    .description =
        "Computes centile curves of each response along a covariate such as age, in the units "
        "of the responses, with confidence bands. params.tsv has the parameters that convert "
        "any value to its z-score without kronorm. --participants places participants among the "
        "curves.",
    .example = "kronorm centiles model.safetensors --over age --at site=mean -o curves",
    .front = "over output at centiles targets grid bands participants covariates responses unseen "
             "threads memory",
    .guide = "docs/explanation/interpreting.md",
    .model = true,
    .needs = "over output",
    .check = kn_options_check,
    .run = run_centiles,
};
