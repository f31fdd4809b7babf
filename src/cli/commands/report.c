/* kronorm report: computes the HTML page, figures or JSON of a model or an output folder. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/session.h"

static void tell(const kn_report_info *i, const kn_options *options)
{
    const char *page = kn_options_get(options, "output"),
               *figures = kn_options_get(options, "figures");
    if (page) {
        printf("%s: %.1f MB, %td %s, %td response%s", page, (double)i->bytes / 1e6, i->people,
               i->change        ? i->people == 1 ? "pair of visits" : "pairs of visits"
               : i->people == 1 ? "person"
                                : "people",
               i->responses, i->responses == 1 ? "" : "s");
        printf(i->warnings > 0 ? ", %td warning%s in its summary\n" : "\n", i->warnings,
               i->warnings == 1 ? "" : "s");
        if (i->cards < i->cards_asked)
            printf("  %td of %td cards: --max-size has no room for more\n", i->cards,
                   i->cards_asked);
        if (i->people > 0)
            printf("  personal data: share it as you would share the participants' table\n");
    }
    if (figures)
        printf("%s: %td files\n", figures, i->figures);
}

/* Opens the first argument: a model file, or a folder of cv, which has no single model. */
static kn_status open_first(cli_run *run, kn_model **model)
{
    struct stat what;
    const char *first = kn_options_get(run->options, "model");
    if (stat(first, &what) == 0 && S_ISDIR(what.st_mode))
        return kn_options_set(run->ctx, run->options, "scored", first);
    return kn_model_open(run->ctx, first, model);
}

static int report(cli_run *run)
{
    const bool print = strcmp(kn_options_get(run->options, "json"), "yes") == 0;
    kn_model *model = NULL;
    kn_report *made = NULL;
    const char *json = NULL;
    kn_report_info info = {.size = sizeof info};
    if (!print && !kn_options_get(run->options, "output") &&
        !kn_options_get(run->options, "figures"))
        return cli_usage_error("report", "-o, --output is needed, or --figures or --json");
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
        tell(&info, run->options);
    kn_report_free(made);
    kn_model_free(model);
    return code;
}

const cli_command cmd_report = {
    .name = "report",
    .summary = "model (+ scored folder) -> one page to look at",
    .usage = "MODEL|CV-FOLDER [--scored DIR] -o report.html [options]",
    .description = "One page that opens in any browser, without a network: whether the model may "
                   "be believed,\n"
                   "centile curves with people among them, who is abnormal and where, groups, "
                   "changes, the text\n"
                   "for the methods section and how all of it was made. The first word may also be "
                   "a folder that\n"
                   "cv wrote. Pages are personal data.",
    .example = "kronorm report model.safetensors --scored scored -o report.html\n"
               "kronorm report model.safetensors --scored scored --figures figures --people "
               "sub-007,sub-042 -o report.html",
    .model = true,
    .needs = "",
    .check = kn_options_check,
    .run = report,
};
