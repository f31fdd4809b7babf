/* kronorm centiles: calls kn_centiles and prints what was written. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/session.h"

static const char *plural(ptrdiff_t n)
{
    return n == 1 ? "" : "s";
}

static void report(const kn_centiles_info *i, const kn_options *options)
{
    static const char *const bands[] = {"no bands", "bands by the model's own variance",
                                        "bands by jackknife"};
    printf("%s: %td centile%s of %td response%s at %td values of %s, %td curve%s each\n",
           kn_options_get(options, "output"), i->centiles, plural(i->centiles), i->responses,
           plural(i->responses), i->values, kn_options_get(options, "over"), i->curves,
           plural(i->curves));
    printf("  %s", bands[i->bands]);
    if (i->people > 0)
        printf("; %td people among them", i->people);
    if (i->n_extrapolated > 0)
        printf("; %td of %td points far from training", i->n_extrapolated, i->curves * i->values);
    printf("\n  %td files\n", i->files);
}

static int centiles(cli_run *run)
{
    kn_model *model = NULL;
    kn_centiles_info info = {.size = sizeof info};
    kn_status status = kn_model_open(run->ctx, kn_options_get(run->options, "model"), &model);
    if (status == KN_OK)
        status = kn_centiles(run->ctx, model, NULL, NULL, run->options, &info);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        report(&info, run->options);
    kn_model_free(model);
    return code;
}

const cli_command cmd_centiles = {
    .name = "centiles",
    .summary = "model -> centile curves over a covariate, with bands",
    .usage = "MODEL --over COLUMN -o DIR [options]",
    .description =
        "Which values of a response 5, 25, 50 ... percent of healthy people have at most, along a\n"
        "covariate such as age: curves in the units of the responses, how well they are known, "
        "and\n"
        "the few numbers that turn any value into its z without kronorm. With people, their "
        "places\n"
        "among the curves.",
    .example = "kronorm centiles model.safetensors --over age --at site=mean -o curves",
    .model = true,
    .needs = "over output",
    .check = kn_options_check,
    .run = centiles,
};
