#include <math.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/inputs.h"

static void report(const kn_apply_job *job, const kn_apply_result *r)
{
    static const char *const names[] = {"top statistic", "deviance", "deviance_noise"};
    const double auc[] = {r->auc_top, r->auc_deviance, r->auc_deviance_noise};
    printf("%s: %td samples", job->output, r->n_samples);
    if (r->n_in_training)
        printf(" (%td of them from training)", r->n_in_training);
    printf("\n");
    if (isfinite(r->r2))
        printf("  mean R2 %.3f, MSLL %.3f\n", r->r2, r->msll);
    if (isfinite(r->z2))
        printf("  mean z^2 %.3f%s\n", r->z2, job->label ? " of those not labelled" : "");
    for (int k = 0; job->label && k < 3; k++)
        if (isfinite(auc[k]))
            printf(isfinite(r->auc_low[k]) ? "  AUC for %s by %s %.3f (%.3f to %.3f)\n"
                                           : "  AUC for %s by %s %.3f\n",
                   job->label, names[k], auc[k], r->auc_low[k], r->auc_high[k]);
    printf("  abnormality.tsv, metrics.tsv, summary.json and maps: %td files\n", r->n_files);
}

int cmd_score(int argc, char **argv)
{
    kn_apply_job job = {.size = sizeof job};
    const char *write = NULL;
    bool split = false;
    int format = 0, training = 0;
    double memory = 0;
    cli_common common;
    cli_words words;
    const cli_option options[] = {
        {CLI_TEXT, "model", 0, "MODEL", "the model file, if not the first word", &job.model, NULL},
        CLI_INPUT_ROWS(job.in),
        CLI_RESPONSE_ROWS(job.in),
        CLI_MEMORY_ROWS(memory, job.in),
        {CLI_HEADING, "Scoring", 0, NULL, NULL, NULL, NULL},
        {CLI_TEXT, "label", 0, "COLUMN=VALUE",
         "rows that count as abnormal: adds AUC; metrics are then "
         "over the others",
         &job.label, NULL},
        {CLI_TEXT, "reference", 0, "cv|loo|COLUMN=VALUE",
         "whom the probabilities refer to: the training sample by cross-validation (default) or, "
         "optimistic, by leave-one-out; or these rows",
         &job.reference, NULL},
        {CLI_CHOICE, "training-rows", 0, "cv|plain",
         "what a scored training id gets: its "
         "cross-validated z (default), or as if it were new",
         &training, NULL},
        CLI_APPLY_ROWS(job, write, split, format),
        {CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
    };
    const cli_command command = {
        "score",
        "model + covariates + responses -> z maps, abnormality, metrics",
        "MODEL -c FILE -y FILE -o DIR [options]",
        "Reads each sample against the model: z maps in the space of the training responses, how\n"
        "abnormal each map is as a whole, and how well the model predicts.",
        "kronorm score model.safetensors -c test_participants.tsv -y test_images.txt --label "
        "group=patient -o scored",
        options};
    int done = cli_begin(&command, argc, argv, &common, &words);
    if (done >= 0)
        return done;
    done = apply_arguments("score", &words, write, &job);
    if (done)
        return done;
    if (!job.in.responses)
        return cli_usage_error("score", "-y, --responses is needed");
    job.split = split;
    job.format = (kn_format)format;
    job.force = common.force;
    job.plain_training = training;
    kn_ctx *ctx = session_begin(&common, "score");
    kn_apply_result result;
    if (!ctx)
        return 1;
    kn_set_memory(ctx, (size_t)memory);
    kn_status status = kn_apply_files(ctx, &job, &result);
    int code = session_end(ctx, status);
    if (status == KN_OK && !common.quiet)
        report(&job, &result);
    return code;
}
