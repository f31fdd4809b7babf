/* kronorm export: calls kn_export and prints the errors of the de-identified model. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/session.h"

static void report(const kn_export_info *i, const kn_options *options, const kn_model *model)
{
    printf("%s: a model of %.0f people %s, %td synthetic points\n",
           kn_options_get(options, "output"), kn_model_number(model, "n_samples"),
           i->findable ? "whose covariates can be found from it" : "without any of them",
           i->points);
    printf("  largest error over the training people: mean %.2g sd, standard deviation %.2g sd\n",
           i->mean, i->sd);
    printf("  ... between and around them: mean %.2g sd, standard deviation %.2g sd\n",
           i->mean_between, i->sd_between);
    printf("  ... outside their range, whose ends are rounded (for information): mean %.2g sd, "
           "standard deviation %.2g sd\n",
           i->mean_beyond, i->sd_beyond);
}

static int export(cli_run *run)
{
    kn_model *model = NULL;
    kn_export_info info = {.size = sizeof info};
    kn_status status = kn_model_open(run->ctx, kn_options_get(run->options, "model"), &model);
    if (status == KN_OK)
        status = kn_export(run->ctx, model, run->options, &info);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        report(&info, run->options, model);
    kn_model_free(model);
    return code;
}

const cli_command cmd_export = {
    .name = "export",
    .summary = "model -> a model to give away, without anybody in it",
    .usage = "MODEL -o SHARED [options]",
    .description =
        "A model that predicts and scores as this one does and holds nobody of its training: no\n"
        "ids, no covariates, no z; synthetic points instead of people, and quantiles as "
        "reference.\n"
        "Prints by how much its predictions differ, and refuses where that is too much.",
    .example = "kronorm export model.safetensors -o shared.safetensors",
    .model = true,
    .needs = "output",
    .check = kn_options_check,
    .run = export,
};
