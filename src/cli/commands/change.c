/* kronorm change: calls kn_change and prints the reference and the number of changed pairs. The
 * work is in commands/change. */
#include <math.h>
#include <stdio.h>

#include "cli/internal.h"
#include "stats/flag.h"

/* What n pairs are called: "participants" if each participant has one pair of visits, else "pairs
 * of visits". */
static const char *name_pairs(const kn_change_info *i, ptrdiff_t n)
{
    if (i->pairs == i->participants)
        return n == 1 ? "participant" : "participants";
    return n == 1 ? "pair of visits" : "pairs of visits";
}

/* Print the summary of kronorm change: pairs, reference sample, flagged pairs, and the command for
 * a report. */
static void print_result(const kn_change_info *i, const kn_options *options)
{
    printf("Compared %td pair%s of visits of %td participant%s", i->pairs, kn_plural(i->pairs),
           i->participants, kn_plural(i->participants));
    if (i->one_visit > 0)
        printf(" (%td more with one visit)", i->one_visit);
    printf(": %s\n", kn_options_get(options, "output"));
    printf("  Reference  %td participants with %td pairs of visits", i->reference_participants,
           i->reference_pairs);
    if (i->gamma < 0)
        printf(", regression to the mean %.3f", i->gamma);
    printf("; typical variance of change %.1f%% of the noise\n", 100 * i->s0);
    if (i->with_p > 0 && !(i->expected > 0))
        printf(
            "  Flagged    no p-value can be below %.2g with this reference sample; " KN_FLAG_P_TEXT
            " needs 19 pairs\n",
            i->smallest_p);
    else if (i->with_p > 0)
        printf("  Flagged    %td of the %td other %s changed more than stable controls "
               "do (" KN_FLAG_CHANGE_COLUMN " <= " KN_FLAG_P_TEXT "; %.1f expected)\n",
               i->flagged, i->with_p, name_pairs(i, i->with_p), i->expected);
    if (kn_options_get(options, "save"))
        printf("  Model      %s contains this reference\n", kn_options_get(options, "save"));
    if (cli_verbose())
        printf("  Files      %td\n", i->files);
    cli_print_page(kn_options_get(options, "model"), kn_options_get(options, "output"));
}

/* Read model and visits, score the change, and print the summary. Returns the exit code. */
static int run_change(cli_run *run)
{
    kn_model *model = NULL;
    kn_data *data = NULL;
    kn_change_info info = {.size = sizeof info};
    kn_status status = cli_open(run, &model, &data);
    if (status == KN_OK)
        status = kn_change(run->ctx, model, data, run->options, &info);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        print_result(&info, run->options);
    kn_data_free(data);
    kn_model_free(model);
    return code;
}

const cli_command cmd_change = {
    .name = "change",
    .summary = "Test for change between visits",
    .usage = "MODEL -c FILE -y FILE --visit COLUMN --reference COLUMN=VALUE -o DIR [options]",
    .description =
        "Tests whether participants changed more between visits than stable controls do. The "
        "table has one row per visit. Each visit is compared with the next one, and the first "
        "with the last. The controls of --reference define the expected change.",
    .example = "kronorm change model.safetensors -c visits.tsv -y visits.csv --participant "
               "participant_id --visit session --reference group=control -o change",
    .front = "covariates responses output visit participant reference interval where missing save "
             "threshold threads memory",
    .guide = "docs/explanation/interpreting.md",
    .model = true,
    .needs = "covariates output responses visit",
    .check = kn_options_check,
    .run = run_change,
};
