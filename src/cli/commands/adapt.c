/* kronorm adapt: calls kn_adapt and prints the adapted sites. The work is in
 * commands/adapt/adapt.c. */

#include "cli/internal.h"

/* Print the path of the adapted model, its new sites, and the command for scoring. */
static void print_result(kn_ctx *ctx, const kn_model *adapted, const kn_options *options)
{
    const char *output = kn_options_get(options, "output");
    printf("Adapted model: %s\n", output);
    cli_print_line(ctx, adapted, "adapted to ", "");
    cli_print_score(output, options);
}

/* Read model and data, adapt, and print the summary. Returns the exit code. */
static int run_adapt(cli_run *run)
{
    kn_model *model = NULL, *adapted = NULL;
    kn_data *data = NULL;
    kn_status status = cli_open(run, &model, &data);
    if (status == KN_OK)
        status = kn_adapt(run->ctx, model, data, run->options, &adapted);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        print_result(run->ctx, adapted, run->options);
    kn_model_free(adapted);
    kn_model_free(model);
    kn_data_free(data);
    return code;
}

const cli_command cmd_adapt = {
    .name = "adapt",
    .summary = "Adapt a model to new sites or scanners, using local controls",
    .usage = "MODEL -c FILE -y FILE -o ADAPTED [options]",
    .description =
        "Adapts a model to sites that are not in the training data (transfer). The offset and "
        "the noise variance of each new site are estimated from healthy controls scanned there. "
        "With few controls, both are shrunk towards the training sites: use at least 5 controls, "
        "preferably 10 or more. The adapted model contains no data of the controls.",
    .example =
        "kronorm adapt model.safetensors -c controls.tsv -y controls.txt -o adapted.safetensors\n"
        "kronorm score adapted.safetensors -c patients.tsv -y patients.txt -o scored",
    .front = "covariates responses output where session missing match threads memory force",
    .guide = "docs/explanation/site_effects.md",
    .model = true,
    .processes = CLI_ONE,
    .needs = "covariates responses output",
    .check = kn_options_check,
    .run = run_adapt,
};
