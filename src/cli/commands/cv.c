/* kronorm cv: calls kn_cv on all MPI ranks, or on root alone if its fits cannot be distributed
 * (commands/common/mpi_rules.h), and prints the metrics. The work is in commands/cv. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "cli/internal.h"
#include "commands/common/mpi_rules.h"

/* What n levels of the column of --leave-out are called: "sites", "levels of centre". A static
 * text. */
static const char *name_levels(const char *column, ptrdiff_t n)
{
    static char name[128];
    if (strcmp(column, "site") == 0 || strcmp(column, "scanner") == 0)
        snprintf(name, sizeof name, "%s%s", column, kn_plural(n));
    else
        snprintf(name, sizeof name, "level%s of %.64s", kn_plural(n), column);
    return name;
}

/* Print the summary of kronorm cv; with --split only the sizes of both halves, since nothing is
 * scored. */
static void print_result(const kn_cv_info *i, const kn_options *options)
{
    const char *output = kn_options_get(options, "output");
    const char *cases = kn_options_get(options, "cases");
    const char *by_level = kn_options_get(options, "leave_out");
    if (kn_options_get(options, "split")) {
        printf("Split %td participants, %td of them for testing: %s\n", i->participants, i->test,
               output);
        return;
    }
    printf("Cross-validated %td participants in %td %s, %td response%s: %s\n", i->participants,
           i->folds, by_level ? name_levels(by_level, i->folds) : "folds", i->responses,
           kn_plural(i->responses), output);
    if (isfinite(i->z2))
        printf("  Calibration  %s%s%smean z² %.3f (expected 1)\n", cases ? "without " : "",
               cases ? cases : "", cases ? ": " : "", i->z2);
    if (isfinite(i->R2))
        printf("  Accuracy     R² %.3f   MSLL %.3f   gain %.3f%s\n", i->R2, i->MSLL,
               cli_rounded(i->gain, 3), by_level ? " (not adapted)" : "");
    if (i->adapted > 0)
        printf("  Adapted      %td participant%s: mean z² %.3f   MSLL %.3f   gain %.3f\n",
               i->adapted, kn_plural(i->adapted), i->adapted_z2, i->adapted_MSLL,
               cli_rounded(i->adapted_gain, 3));
    if (isfinite(i->AUC))
        printf("  AUC, %s against others: deviance %.2f, extreme values %.2f\n", cases,
               i->AUC_deviance, i->AUC);
    if (cli_verbose() && isfinite(i->joint_density))
        printf("  Joint log density of a map minus that of independent responses: %.1f nats\n",
               i->joint_density);
    if (cli_verbose())
        printf("  Files        %td\n", i->files);
    cli_print_page(NULL, output);
}

typedef struct cv_job {
    cli_run *run;
    kn_data *data;
    kn_cv_info info;
} cv_job;

/* Read the data and cross-validate a cv_job (self), for kn_comm_on_root(). */
static kn_status read_and_validate(void *self)
{
    cv_job *b = self;
    kn_status status = kn_data_read(b->run->ctx, b->run->options, &b->data);
    return status == KN_OK ? kn_cv(b->run->ctx, b->data, b->run->options, &b->info) : status;
}

/* Run cv on all ranks or on root, as kn_fit_is_distributed() decides; root prints the summary.
 * Returns the exit code. Collective. */
static int run_cv(cli_run *run)
{
    cv_job b = {.run = run, .info = {.size = sizeof b.info}};
    bool spreads =
        kn_fit_is_distributed(run->ctx, run->options) && !kn_options_get(run->options, "split");
    kn_status status = spreads ? kn_comm_agree_status(run->ctx, read_and_validate(&b))
                               : kn_comm_on_root(run->ctx, "cv", read_and_validate, &b);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet && !run->another)
        print_result(&b.info, run->options);
    kn_data_free(b.data);
    return code;
}

const cli_command cmd_cv = {
    .name = "cv",
    .summary = "Cross-validate a model (random folds or leave-one-site-out)",
    .usage = "-c FILE -y FILE -o DIR [options]",
    .description =
        "Scores each participant with a model that was fitted to others: in random folds, or "
        "with --leave-out one site (or another level) at a time. Random folds are optimistic "
        "for new sites, because each site is in the training and in the test set. mpirun or "
        "srun distribute the work over several processes (docs/howto/clusters.md).",
    .example =
        "kronorm cv -c participants.tsv --use age,sex,site -y images.txt -m mask.nii.gz -o "
        "held_out\n"
        "kronorm cv -c thickness.csv -y thickness.csv --use age,sex,site --leave-out site -o "
        "by_site\n"
        "kronorm cv -c participants.tsv --split test=.2,stratify=site -o lists",
    .front = "covariates responses mask output folds leave_out cases use where targets batch "
             "categorical threads memory",
    .guide = "docs/explanation/site_effects.md",
    .processes = CLI_TOGETHER,
    .needs = "covariates output",
    .check = kn_options_check,
    .run = run_cv,
};
