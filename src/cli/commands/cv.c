/* kronorm cv: calls kn_cv on all MPI ranks, or on root alone if its fits cannot be distributed
 * (commands/common/mpi_rules.h), and prints the metrics. */
#include <math.h>
#include <stdio.h>

#include "base/mpi/comm.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/session.h"
#include "commands/common/mpi_rules.h"

static void report(const kn_cv_info *i, const kn_options *options)
{
    const char *output = kn_options_get(options, "output");
    if (kn_options_get(options, "split")) {
        printf("%s: %td samples, %td of them for test\n  %td files\n", output, i->people, i->test,
               i->files);
        return;
    }
    printf("%s: %td samples in %td %s, %td responses\n", output, i->people, i->folds,
           kn_options_get(options, "leave") ? "levels" : "folds", i->responses);
    if (isfinite(i->R2))
        printf("  mean R2 %.3f, MSLL %.3f%s\n", i->R2, i->MSLL,
               kn_options_get(options, "leave") ? ", without controls" : "");
    if (isfinite(i->joint_density))
        printf("  log density of a whole map, less that of independent responses: %.1f nats\n",
               i->joint_density);
    if (isfinite(i->z2))
        printf("  mean z^2 %.3f%s\n", i->z2,
               kn_options_get(options, "label") ? " of those not labelled" : "");
    if (isfinite(i->AUC))
        printf("  AUC for %s by top statistic %.3f, by deviance %.3f\n",
               kn_options_get(options, "label"), i->AUC, i->AUC_deviance);
    if (i->adapted > 0)
        printf("  adapted: %td samples, MSLL %.3f, mean z^2 %.3f\n", i->adapted, i->adapted_MSLL,
               i->adapted_z2);
    printf("  abnormality.tsv, folds.tsv, people.tsv, summary.json, metrics and maps: %td files\n",
           i->files);
    cli_print_page(NULL, output);
}

typedef struct cv_job {
    cli_run *run;
    kn_data *data;
    kn_cv_info info;
} cv_job;

/* cv_job as void *, for kn_comm_on_root. */
static kn_status read_and_validate(void *self)
{
    cv_job *b = self;
    kn_status status = kn_data_read(b->run->ctx, b->run->options, &b->data);
    return status == KN_OK ? kn_cv(b->run->ctx, b->data, b->run->options, &b->info) : status;
}

static int cv(cli_run *run)
{
    cv_job b = {.run = run, .info = {.size = sizeof b.info}};
    bool spreads = kn_fit_spreads(run->ctx, run->options) && !kn_options_get(run->options, "split");
    kn_status status = spreads ? kn_comm_agree_status(run->ctx, read_and_validate(&b))
                               : kn_comm_on_root(run->ctx, "cv", read_and_validate, &b);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet && !run->another)
        report(&b.info, run->options);
    kn_data_free(b.data);
    return code;
}

const cli_command cmd_cv = {
    .name = "cv",
    .summary = "covariates + responses -> out-of-sample z for everybody",
    .usage = "-c FILE -y FILE -o DIR [options]",
    .description =
        "Scores everybody by a model that has not seen them: parts of the people in turn, or with\n"
        "--leave the people of one level, such as a site, each by a fit of all others. Options of\n"
        "fit hold for each of those fits. Processes of mpirun or srun share the work "
        "(docs/scale.md).",
    .example =
        "kronorm cv -c participants.tsv -y images.txt -m mask.nii.gz -o held_out\n"
        "kronorm cv -c thickness.csv -y thickness.csv --use age,sex,site --leave site -o by_site\n"
        "mpirun -n 8 --bind-to none kronorm cv -c participants.tsv -y "
        "images.txt -m mask.nii.gz -o held_out\n"
        "kronorm cv -c participants.tsv --split test=.2,stratify=site -o lists",
    .processes = CLI_TOGETHER,
    .needs = "covariates output",
    .check = kn_options_check,
    .run = cv,
};
