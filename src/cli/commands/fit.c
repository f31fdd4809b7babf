/* kronorm fit: calls kn_fit on all MPI ranks, or on root alone if the fit cannot be distributed
 * (commands/common/mpi_rules.h), and prints a description of the model. A typical command. */
#include <math.h>
#include <stdio.h>

#include "base/mpi/comm.h"
#include "cli/internal.h"
#include "commands/common/mpi_rules.h"
#include "stats/flag.h"

/* Print details of the search and of the reference sample, for --verbose. */
static void report_details(kn_ctx *ctx, const kn_model *m)
{
#define NUMBER(name) kn_model_number(m, name)
    printf("  Search            log-likelihood %.2f, %.0f evaluations\n", NUMBER("lml"),
           NUMBER("evaluations"));
    if (NUMBER("rank_residual") > 0)
        printf("  Low rank          sample covariance of rank %.0f without %.1e of its trace\n",
               NUMBER("rank"), NUMBER("rank_residual"));
    cli_print_line(ctx, m, "calibration: ", "Calibration       ");
    cli_print_line(ctx, m, "reference sample: ", "Reference sample  ");
    printf("  Seconds           basis %.2f, fit %.2f, reference sample %.2f\n",
           NUMBER("seconds.basis"), NUMBER("seconds.fit"), NUMBER("seconds.reference"));
}

/* Print the summary of kronorm fit, and the command for scoring. */
static void print_result(kn_ctx *ctx, const kn_model *m, const kn_options *options)
{
    const char *output = kn_options_get(options, "output");
    double p = NUMBER("reference.smallest_p"), deviance_p = NUMBER("reference.smallest_deviance_p");
    ptrdiff_t responses = (ptrdiff_t)NUMBER("n_responses"),
              components = (ptrdiff_t)NUMBER("n_components"),
              excluded = (ptrdiff_t)NUMBER("n_left_out");
    printf("Fitted %.0f participants, %td %s", NUMBER("n_samples"), responses,
           cli_nouns(m, responses));
    if (components > 0)
        printf(", %td component%s", components, kn_plural(components));
    printf(" (%s): %s\n", NUMBER("converged") > 0 ? "converged" : "not converged", output);
    if (excluded > 0)
        printf("  Excluded          %td %s, %s\n", excluded, cli_nouns(m, excluded),
               NUMBER("missing.responses_out") > 0 ? "constant or with fewer than 10 values"
                                                   : "constant or not finite");
    cli_print_missing(m);
    if (!cli_print_line(ctx, m, "covariates: ", "Covariates        "))
        printf("  Covariates        %.0f\n", NUMBER("n_covariates"));
    if (NUMBER("cv.folds") > 0)
        printf("  Cross-validation  mean z² %.3f (expected 1)   95%% coverage %.1f%%   R² %.3f   "
               "MSLL %.3f   gain %.3f\n",
               NUMBER("cv.z2"), 100 * NUMBER("cv.coverage95"), NUMBER("cv.R2"), NUMBER("cv.msll"),
               cli_rounded(NUMBER("cv.gain"), 3));
    if (isfinite(p))
        printf("  Smallest p-value  %#.2g (extreme values)", p);
    if (isfinite(p) && isfinite(deviance_p))
        printf(", %#.2g (" KN_FLAG_STATISTIC ")", deviance_p);
    if (isfinite(p))
        putchar('\n');
    if (cli_verbose())
        report_details(ctx, m);
    cli_print_score(output, options);
#undef NUMBER
}

typedef struct fit_job {
    cli_run *run;
    kn_data *data;
    kn_model *model;
} fit_job;

/* Read the data and fit the model of a fit_job (self), for kn_comm_on_root(). */
static kn_status read_and_fit(void *self)
{
    fit_job *b = self;
    kn_status status = kn_data_read(b->run->ctx, b->run->options, &b->data);
    return status == KN_OK ? kn_fit(b->run->ctx, b->data, b->run->options, &b->model) : status;
}

/* Fit on all MPI ranks, or on root alone, as kn_fit_is_distributed() decides; only root prints.
 * Returns the exit code. Collective. */
static int run_fit(cli_run *run)
{
    fit_job b = {.run = run};
    kn_status status = kn_fit_is_distributed(run->ctx, run->options)
                           ? kn_comm_agree_status(run->ctx, read_and_fit(&b))
                           : kn_comm_on_root(run->ctx, "fit", read_and_fit, &b);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet && !run->another && b.model)
        print_result(run->ctx, b.model, run->options);
    kn_model_free(b.model);
    kn_data_free(b.data);
    return code;
}

const cli_command cmd_fit = {
    .name = "fit",
    .summary = "Fit a normative model to a healthy reference cohort",
    .usage = "-c FILE -y FILE -o MODEL [options]",
    .description =
        "Fits a normative model to healthy participants. Rows of covariates and responses are "
        "matched by ID. The model file contains the covariates, IDs and z-maps of the training "
        "sample and is personal data. mpirun or srun distribute one fit over several processes "
        "(docs/howto/clusters.md).",
    .example =
        "kronorm fit -c participants.tsv --use age,sex,site -y images.txt -m mask.nii.gz -o "
        "model.safetensors\n"
        "kronorm fit -c thickness.csv -y thickness.csv --use age,sex --targets '*_thickness' -o "
        "model.safetensors",
    .front = "covariates responses mask output use where targets batch categorical missing session "
             "components threads memory",
    .guide = "docs/start/tutorial.md",
    .processes = CLI_TOGETHER,
    .needs = "covariates responses output",
    .check = kn_options_check,
    .run = run_fit,
};
