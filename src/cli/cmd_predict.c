#include <stdio.h>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/session.h"

static int predict(cli_run *run)
{
    kn_model *model = NULL;
    kn_data *data = NULL;
    kn_scores *scores = NULL;
    kn_status status = cli_open(run, &model, &data);
    if (status == KN_OK)
        status = kn_predict(run->ctx, model, data, run->options, &scores);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        printf("%s: %td samples, %.0f files\n", kn_options_get(run->options, "output"),
               kn_scores_n_people(scores), kn_scores_number(scores, "files"));
    kn_scores_free(scores);
    kn_data_free(data);
    kn_model_free(model);
    return code;
}

const cli_command cmd_predict = {
    .name = "predict",
    .summary = "model + covariates -> mean and variance maps",
    .usage = "MODEL -c FILE -o DIR [options]",
    .description =
        "What is normal for these covariates: the mean of every response and the variance of the\n"
        "mean (ys2_model); ys2_noise, the variance of people around it, is one map\n"
        "for all, of average covariates where noise varies with them (info says so).",
    .example = "kronorm predict model.safetensors -c new_participants.tsv -o predicted",
    .model = true,
    .needs = "covariates output",
    .check = kn_options_check,
    .run = predict,
};
