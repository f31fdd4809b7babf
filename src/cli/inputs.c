/* Implements inputs.h. */
#include "cli/inputs.h"

#include <stdio.h>

#include "cli/session.h"

kn_status cli_open(cli_run *run, kn_model **model, kn_data **data)
{
    kn_status status = kn_model_open(run->ctx, kn_options_get(run->options, "model"), model);
    *data = NULL;
    return status == KN_OK ? kn_data_read(run->ctx, run->options, data) : status;
}

static void report_part(const kn_scores *s, const kn_options *options)
{
    printf("%s: part %s, %td of %.0f samples, %.0f files\n", kn_options_get(options, "output"),
           kn_options_get(options, "part"), kn_scores_n_people(s),
           kn_scores_number(s, "counts.people"), kn_scores_number(s, "files"));
    printf("  when all parts are there, the same line with --join %.0f makes the results of them\n",
           kn_scores_number(s, "part.of"));
}

int cli_score(cli_run *run, cli_scoring *work,
              void (*report)(const kn_scores *scores, const kn_options *options))
{
    kn_model *model = NULL;
    kn_data *data = NULL;
    kn_scores *scores = NULL;
    kn_status status = cli_open(run, &model, &data);
    if (status == KN_OK)
        status = work(run->ctx, model, data, run->options, &scores);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        (kn_options_get(run->options, "part") ? report_part : report)(scores, run->options);
    kn_scores_free(scores);
    kn_data_free(data);
    kn_model_free(model);
    return code;
}
