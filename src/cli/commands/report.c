/* kronorm report: computes the HTML page, figures or JSON of a model or an output folder. The work
 * is in src/report. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/internal.h"

/* Print what was written: the page with its size and number of warnings, and the folder of
 * figures. */
static void print_result(const kn_report_info *i, const kn_options *options)
{
    const char *page = kn_options_get(options, "output"),
               *figures = kn_options_get(options, "figures");
    if (page) {
        printf("Report of %td %s%s%s, %td response%s: %s (%.1f MB)", i->participants,
               i->change ? "pair" : "participant", kn_plural(i->participants),
               i->change ? " of visits" : "", i->responses, kn_plural(i->responses), page,
               (double)i->bytes / 1e6);
        printf(i->warnings > 0 ? ", %td warning%s in the summary\n" : "\n", i->warnings,
               kn_plural(i->warnings));
        if (i->cards < i->cards_asked)
            printf("  %td of %td cards, because of --max-size\n", i->cards, i->cards_asked);
        if (i->participants > 0)
            printf("  The report contains personal data. Research use only, not a diagnosis.\n");
    }
    if (figures)
        printf("Figures: %s (%td file%s)\n", figures, i->figures, kn_plural(i->figures));
}

/* Open the first argument: a model file, or a folder of cv, which has no single model and is stored
 * as the option `scored`. */
static kn_status open_first(cli_run *run, kn_model **model)
{
    struct stat what;
    const char *first = kn_options_get(run->options, "model");
    if (stat(first, &what) == 0 && S_ISDIR(what.st_mode))
        return kn_options_set(run->ctx, run->options, "scored", first);
    return kn_model_open(run->ctx, first, model);
}

/* Compute the report, and write page, figures or, with --json, the numbers. Returns the exit
 * code. */
static int run_report(cli_run *run)
{
    const bool print = strcmp(kn_options_get(run->options, "json"), "yes") == 0;
    kn_model *model = NULL;
    kn_report *made = NULL;
    const char *json = NULL;
    kn_report_info info = {.size = sizeof info};
    if (!print && !kn_options_get(run->options, "output") &&
        !kn_options_get(run->options, "figures"))
        return cli_usage_error("report", "option -o (--output), --figures or --json is required");
    kn_status status = open_first(run, &model);
    if (status == KN_OK)
        status = kn_report_compute(run->ctx, model, run->options, &made);
    if (status == KN_OK)
        status = kn_report_write(run->ctx, made, run->options, &info);
    if (status == KN_OK && print)
        status = kn_report_json(run->ctx, made, &json);
    int code = session_end(run, status);
    if (status == KN_OK && json)
        puts(json);
    else if (status == KN_OK && !run->quiet)
        print_result(&info, run->options);
    kn_report_free(made);
    kn_model_free(model);
    return code;
}

const cli_command cmd_report = {
    .name = "report",
    .summary = "Write an HTML report",
    .usage = "MODEL|CV-FOLDER [--scored DIR] -o report.html [options]",
    .description =
        "Writes one HTML file that any browser opens without a network connection. It shows "
        "calibration checks, centile curves, the most abnormal participants and their maps, group "
        "comparisons, change, text for a methods section, and how everything was computed. The "
        "first argument may also be a folder that cv wrote. Reports are personal data.",
    .example = "kronorm report model.safetensors --scored scored -o report.html\n"
               "kronorm report model.safetensors --scored scored --figures figures --participants "
               "sub-007,sub-042 -o report.html",
    .front =
        "output scored participants show over surface labels sulc background figures strip_ids "
        "title max_size",
    .guide = "docs/reference/report.md",
    .model = true,
    .needs = "",
    .check = kn_options_check,
    .run = run_report,
};
