/* kronorm change: calls kn_change and prints the reference and the number of changed pairs. */
#include <math.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/print.h"
#include "cli/session.h"

static void report(const kn_change_info *i, const kn_options *options)
{
    printf("%s: %td pair%s of visits of %td %s", kn_options_get(options, "output"), i->pairs,
           i->pairs == 1 ? "" : "s", i->people, i->people == 1 ? "person" : "people");
    if (i->one_visit > 0)
        printf(" (%td more have one visit)", i->one_visit);
    printf("\n  compared with %td people in %td pairs", i->reference_people, i->reference_pairs);
    if (i->gamma < 0)
        printf(", regression to the mean %.3f", i->gamma);
    printf("; the typical variance of change is %.1f %% of the noise\n", 100 * i->s0);
    if (i->with_p > 0 && i->smallest_p > 0.05)
        printf(
            "  beside so few no p can be below %.2g: 19 pairs of the reference can tell of 0.05\n",
            i->smallest_p);
    else if (i->with_p > 0)
        printf(
            "  p of the statistic at most 0.05: %td of %td other pair%s, %.1f expected of stable "
            "people\n",
            i->below, i->with_p, i->with_p == 1 ? "" : "s", 0.05 * (double)i->with_p);
    if (kn_options_get(options, "save"))
        printf("  %s keeps the reference\n", kn_options_get(options, "save"));
    printf("  change.tsv, reference.json, summary.json and maps: %td files\n", i->files);
    cli_print_page(kn_options_get(options, "model"), kn_options_get(options, "output"));
}

static int change(cli_run *run)
{
    kn_model *model = NULL;
    kn_data *data = NULL;
    kn_change_info info = {.size = sizeof info};
    kn_status status = cli_open(run, &model, &data);
    if (status == KN_OK)
        status = kn_change(run->ctx, model, data, run->options, &info);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        report(&info, run->options);
    kn_data_free(data);
    kn_model_free(model);
    return code;
}

const cli_command cmd_change = {
    .name = "change",
    .summary = "model + visits of people -> z of their change, against stable people",
    .usage = "MODEL -c FILE -y FILE --visit COLUMN --reference COLUMN=VALUE -o DIR [options]",
    .description =
        "Has somebody changed from one visit to the next, more than stable people do? One row a\n"
        "visit. Each visit is read against the next, and the first against the last; the people "
        "of\n"
        "--reference say how much change is normal.",
    .example =
        "kronorm change model.safetensors -c visits.tsv -y visits.csv --person participant_id "
        "--visit session --reference group=control -o change",
    .model = true,
    .needs = "covariates output responses visit",
    .check = kn_options_check,
    .run = change,
};
