#include <stdio.h>

#include "cli/commands.h"
#include "cli/inputs.h"

int cmd_predict(int argc, char **argv)
{
    kn_apply_job job = {.size = sizeof job};
    const char *write = NULL;
    bool split = false;
    int format = 0;
    cli_common common;
    cli_words words;
    const cli_option options[] = {
        {CLI_TEXT, "model", 0, "MODEL", "the model file, if not the first word", &job.model, NULL},
        CLI_INPUT_ROWS(job.in),
        CLI_APPLY_ROWS(job, write, split, format),
        {CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
    };
    const cli_command command = {
        "predict",
        "model + covariates -> mean and variance maps",
        "MODEL -c FILE -o DIR [options]",
        "What is normal for these covariates: the mean of every response and the variance of the\n"
        "mean (ys2_model); ys2_noise, the variance of people around it, is the same for all.",
        "kronorm predict model.safetensors -c new_participants.tsv -o predicted",
        options};
    int done = cli_begin(&command, argc, argv, &common, &words);
    if (done >= 0)
        return done;
    done = apply_arguments("predict", &words, write, &job);
    if (done)
        return done;
    job.split = split;
    job.format = (kn_format)format;
    job.force = common.force;
    kn_ctx *ctx = session_begin(&common, "predict");
    kn_apply_result result;
    if (!ctx)
        return 1;
    kn_status status = kn_apply_files(ctx, &job, &result);
    int code = session_end(ctx, status);
    if (status == KN_OK && !common.quiet)
        printf("%s: %td samples, %td files\n", job.output, result.n_samples, result.n_files);
    return code;
}
