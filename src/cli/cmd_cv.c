#include <math.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/started.h"
#include "cli/told.h"

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

static int cv(cli_run *run)
{
    kn_data *data = NULL;
    kn_cv_info info = {.size = sizeof info};
    int many = cli_started_once();
    if (many >= 0)
        return many;
    kn_status status = kn_data_read(run->ctx, run->options, &data);
    if (status == KN_OK)
        status = kn_cv(run->ctx, data, run->options, &info);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        report(&info, run->options);
    kn_data_free(data);
    return code;
}

const cli_command cmd_cv = {
    .name = "cv",
    .summary = "covariates + responses -> out-of-sample z for everybody",
    .usage = "-c FILE -y FILE -o DIR [options]",
    .description =
        "Scores everybody by a model that has not seen them: parts of the people in turn, or with\n"
        "--leave the people of one level, such as a site, each by a fit of all others. Options of\n"
        "fit hold for each of those fits.",
    .example =
        "kronorm cv -c participants.tsv -y images.txt -m mask.nii.gz -o held_out\n"
        "kronorm cv -c thickness.csv -y thickness.csv --use age,sex,site --leave site -o by_site\n"
        "kronorm cv -c participants.tsv --split test=.2,stratify=site -o lists",
    .needs = "covariates output",
    .check = kn_options_check,
    .run = cv,
};
