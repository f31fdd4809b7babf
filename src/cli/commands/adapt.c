/* kronorm adapt: calls kn_adapt and prints the adapted sites. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/session.h"

/* Prints the lines of the model description that begin with "adapted to". */
static void report(kn_ctx *ctx, const kn_model *adapted, const char *output)
{
    static const char ABOUT[] = "adapted to ";
    char *text = NULL;
    printf("%s\n", output);
    if (kn_model_words(ctx, adapted, &text) == KN_OK)
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            if (strncmp(line, ABOUT, strlen(ABOUT)) == 0)
                printf("  %s\n", line);
    kn_text_free(text);
}

static int adapt(cli_run *run)
{
    kn_model *model = NULL, *adapted = NULL;
    kn_data *data = NULL;
    kn_status status = cli_open(run, &model, &data);
    if (status == KN_OK)
        status = kn_adapt(run->ctx, model, data, run->options, &adapted);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        report(run->ctx, adapted, kn_options_get(run->options, "output"));
    kn_model_free(adapted);
    kn_model_free(model);
    kn_data_free(data);
    return code;
}

const cli_command cmd_adapt = {
    .name = "adapt",
    .summary = "model + healthy people of new sites -> a model for these sites",
    .usage = "MODEL -c FILE -y FILE -o ADAPTED [options]",
    .description =
        "Teaches a model sites that its training did not have, from healthy people scanned there:\n"
        "how far off their maps are, and how much they scatter. The fewer they are, the more it "
        "is\n"
        "taken to be as sites of training are; 5 suffice, 10 or more are better. Nothing of them "
        "is\n"
        "in the adapted model, beside which ADAPTED.adapt.tsv says what was found.",
    .example = "kronorm adapt model.safetensors -c controls.tsv -y controls.txt -o "
               "adapted.safetensors\n"
               "kronorm score adapted.safetensors -c patients.tsv -y patients.txt -o scored",
    .model = true,
    .processes = CLI_ONE,
    .needs = "covariates responses output",
    .check = kn_options_check,
    .run = adapt,
};
