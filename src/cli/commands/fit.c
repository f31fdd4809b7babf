/* kronorm fit: calls kn_fit on all MPI ranks, or on root alone if the fit cannot be distributed
 * (commands/common/mpi_rules.h), and prints a description of the model. A typical command. */
#include <stdio.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/session.h"
#include "commands/common/mpi_rules.h"

/* Prints the lines of the model description about calibration and reference. */
static void report_norms(kn_ctx *ctx, const kn_model *m)
{
    static const char *const ABOUT[] = {"calibration: ", "reference: "};
    char *text = NULL;
    if (kn_model_words(ctx, m, &text) == KN_OK)
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            for (int k = 0; k < 2; k++)
                if (strncmp(line, ABOUT[k], strlen(ABOUT[k])) == 0)
                    printf("  %s\n", line);
    kn_text_free(text);
}

static void report(kn_ctx *ctx, const kn_model *m, const char *output)
{
#define NUMBER(name) kn_model_number(m, name)
    printf("%s\n  samples %.0f, covariates %.0f, responses %.0f", output, NUMBER("n_samples"),
           NUMBER("n_covariates"), NUMBER("n_responses"));
    if (NUMBER("n_left_out") > 0)
        printf(" (%.0f %s, left out)", NUMBER("n_left_out"),
               NUMBER("missing.responses_out") > 0 ? "constant or with fewer than 10 values"
                                                   : "constant or not finite");
    printf("\n");
    cli_print_missing(m);
    if (NUMBER("n_components") > 0)
        printf("  components %.0f, log-likelihood %.2f, %s after %.0f evaluations\n",
               NUMBER("n_components"), NUMBER("lml"),
               NUMBER("converged") > 0 ? "converged" : "not converged", NUMBER("evaluations"));
    else
        printf("  log-likelihood %.2f, %.0f evaluations\n", NUMBER("lml"), NUMBER("evaluations"));
    if (NUMBER("rank_residual") > 0)
        printf("  sample covariance of rank %.0f, %.1e of its trace left out\n", NUMBER("rank"),
               NUMBER("rank_residual"));
    if (NUMBER("cv.folds") > 0)
        printf("  cross-validated: mean z^2 %.3f, MSLL %.4f, within 95 %% %.3f\n", NUMBER("cv.z2"),
               NUMBER("cv.msll"), NUMBER("cv.coverage95"));
    report_norms(ctx, m);
    printf("  seconds: basis %.2f, fit %.2f, reference %.2f\n", NUMBER("seconds.basis"),
           NUMBER("seconds.fit"), NUMBER("seconds.reference"));
    cli_print_page(output, NULL);
#undef NUMBER
}

typedef struct fit_job {
    cli_run *run;
    kn_data *data;
    kn_model *model;
} fit_job;

/* fit_job as void *, for kn_comm_on_root. */
static kn_status read_and_fit(void *self)
{
    fit_job *b = self;
    kn_status status = kn_data_read(b->run->ctx, b->run->options, &b->data);
    return status == KN_OK ? kn_fit(b->run->ctx, b->data, b->run->options, &b->model) : status;
}

/* On several MPI ranks only root prints (run->another). */
static int fit(cli_run *run)
{
    fit_job b = {.run = run};
    kn_status status = kn_fit_spreads(run->ctx, run->options)
                           ? kn_comm_agree_status(run->ctx, read_and_fit(&b))
                           : kn_comm_on_root(run->ctx, "fit", read_and_fit, &b);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet && !run->another)
        report(run->ctx, b.model, kn_options_get(run->options, "output"));
    kn_model_free(b.model);
    kn_data_free(b.data);
    return code;
}

const cli_command cmd_fit = {
    .name = "fit",
    .summary = "covariates + responses -> one model file",
    .usage = "-c FILE -y FILE -o MODEL [options]",
    .description =
        "Fits a normative model to a healthy cohort. Rows of both files are matched by id. The "
        "model\n"
        "file holds covariates and ids of the training sample: it is personal data.\n"
        "Started by mpirun or srun, the processes make one fit, the same model (make mpi; "
        "docs/scale.md).",
    .example =
        "kronorm fit -c participants.tsv --use age,sex,site -y images.txt -m mask.nii.gz -o "
        "model.safetensors\n"
        "kronorm fit -c thickness.csv -y thickness.csv --use age,sex --targets '*_thickness' -o "
        "model.safetensors\n"
        "mpirun -n 8 --bind-to none kronorm fit -c participants.tsv -y "
        "images.txt -m mask.nii.gz -o model.safetensors",
    .processes = CLI_TOGETHER,
    .needs = "covariates responses output",
    .check = kn_options_check,
    .run = fit,
};
