#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "work/spread.h"

/* The lines of the model in words that tell of sites. */
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

typedef struct adapt_job {
    cli_run *run;
    kn_model *model, *adapted;
    kn_data *data;
} adapt_job;

static kn_status read_and_adapt(void *self)
{
    adapt_job *b = self;
    kn_status status = kn_data_read(b->run->ctx, b->run->options, &b->data);
    return status == KN_OK ? kn_adapt(b->run->ctx, b->model, b->data, b->run->options, &b->adapted)
                           : status;
}

static int adapt(cli_run *run)
{
    adapt_job b = {.run = run};
    kn_status status = kn_model_open(run->ctx, kn_options_get(run->options, "model"), &b.model);
    if (status == KN_OK)
        status = kn_same_model(run->ctx, b.model);
    status = kn_agree(run->ctx, status);
    if (status == KN_OK)
        status = kn_adapt_spreads(b.model) ? kn_agree(run->ctx, read_and_adapt(&b))
                                           : kn_alone(run->ctx, "adapt", read_and_adapt, &b);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet && !run->another)
        report(run->ctx, b.adapted, kn_options_get(run->options, "output"));
    kn_model_free(b.adapted);
    kn_model_free(b.model);
    kn_data_free(b.data);
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
        "in the adapted model, beside which ADAPTED.adapt.tsv says what was found. Processes of "
        "mpirun or\n"
        "srun share the work (docs/scale.md).",
    .example = "kronorm adapt model.safetensors -c controls.tsv -y controls.txt -o "
               "adapted.safetensors\n"
               "kronorm score adapted.safetensors -c patients.tsv -y patients.txt -o scored\n"
               "mpirun -n 8 --bind-to none kronorm adapt model.safetensors -c "
               "controls.tsv -y controls.txt -o adapted.safetensors",
    .model = true,
    .together = true,
    .needs = "covariates responses output",
    .check = kn_options_check,
    .run = adapt,
};
