/* kronorm export: calls kn_export and prints the errors of the de-identified model. The work is in
 * commands/export/export.c. */
#include <math.h>
#include <stdio.h>

#include "cli/internal.h"

/* Print how far predictions of the exported model are from those of the original, in SD of each
 * response. */
static void print_result(const kn_export_info *i, const kn_options *options, const kn_model *model)
{
    double most = fmax(fmax(i->mean, i->sd), fmax(i->mean_between, i->sd_between));
    printf("Exported a model of %.0f participants %s: %s\n", kn_model_number(model, "n_samples"),
           i->findable ? "whose covariates can be reconstructed" : "without individual data",
           kn_options_get(options, "output"));
    printf("  OK: predictions differ by at most %.2g SD (%td synthetic points)\n", most, i->points);
    if (i->blurred > 0)
        printf(
            "  Noise for %td unusual participants: the share of a map that the file determines is "
            "%.2f, not %.2f;\n  near them means differ by up to %.2g SD, standard deviations by up "
            "to %.2g SD\n",
            i->blurred, i->leverage_left, i->leverage, i->mean_blurred, i->sd_blurred);
    else
        printf("  The file determines at most %.2f of the variance of a participant's map\n",
               i->leverage_left);
    if (!cli_verbose())
        return;
    printf("  Training sample        mean %.2g SD, standard deviation %.2g SD\n", i->mean, i->sd);
    printf("  Between and around it  mean %.2g SD, standard deviation %.2g SD\n", i->mean_between,
           i->sd_between);
    printf("  Outside its range      mean %.2g SD, standard deviation %.2g SD (its limits are "
           "rounded)\n",
           i->mean_beyond, i->sd_beyond);
}

/* Read the model, export it, and print the comparison. Returns the exit code. */
static int run_export(cli_run *run)
{
    kn_model *model = NULL;
    kn_export_info info = {.size = sizeof info};
    kn_status status = kn_model_open(run->ctx, kn_options_get(run->options, "model"), &model);
    if (status == KN_OK)
        status = kn_export(run->ctx, model, run->options, &info);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        print_result(&info, run->options, model);
    kn_model_free(model);
    return code;
}

const cli_command cmd_export = {
    .name = "export",
    .summary = "Write a shareable model without individual data",
    .usage = "MODEL -o SHARED [options]",
    .description =
        "Writes a model that predicts, scores and adapts like the original but contains no "
        "individual data. It has no IDs, covariates or z-scores, but synthetic points instead of "
        "participants, and quantiles as reference sample. The command prints the largest "
        "difference of the predictions, and fails if that is too large.",
    .example = "kronorm export model.safetensors -o shared.safetensors",
    .front = "output max-leverage points threads force",
    .guide = "docs/explanation/model.md",
    .model = true,
    .needs = "output",
    .check = kn_options_check,
    .run = run_export,
};
