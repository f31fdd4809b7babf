/* kronorm score: calls kn_score through cli_score and prints metrics, AUC and numbers of abnormal
 * maps. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/print.h"
#include "cli/session.h"

static void report_auc(const kn_scores *s, const char *label)
{
    static const struct {
        const char *name, *area, *low, *high;
    } by[] = {{"top statistic", "AUC.top", "AUC.top.low", "AUC.top.high"},
              {"deviance", "AUC.deviance", "AUC.deviance.low", "AUC.deviance.high"},
              {"deviance_noise", "AUC.deviance_noise", "AUC.deviance_noise.low",
               "AUC.deviance_noise.high"},
              {"low responses", "AUC.negative", "AUC.negative.low", "AUC.negative.high"},
              {"high responses", "AUC.positive", "AUC.positive.low", "AUC.positive.high"},
              {"mean z", "AUC.mean_z", "AUC.mean_z.low", "AUC.mean_z.high"}};
    for (size_t k = 0; k < sizeof by / sizeof *by; k++) {
        double auc = kn_scores_number(s, by[k].area), low = kn_scores_number(s, by[k].low);
        if (isfinite(auc))
            printf(isfinite(low) ? "  AUC for %s by %s %.3f (%.3f to %.3f)\n"
                                 : "  AUC for %s by %s %.3f\n",
                   label, by[k].name, auc, low, kn_scores_number(s, by[k].high));
    }
}

/* Prints how many participants have small p-values or FDR findings, and how many are expected. */
static void report_abnormality(const kn_scores *s)
{
#define OF(name) kn_scores_number(s, "abnormality." name)
    static const double REPORTED = 0.05;
    double least = OF("smallest_p"), share = OF("reference_fdr_share");
    bool labelled = OF("labelled.with_z") > 0;
    bool judged = OF("others.with_p") > 0 || OF("labelled.with_p") > 0;
    if (least < REPORTED && judged) {
        printf("  p_upper below 0.05: %.0f of %.0f people, %.1f expected of healthy ones",
               OF("others.p_below_05"), OF("others.with_p"), OF("others.expected"));
        if (labelled)
            printf("; of those labelled %.0f of %.0f", OF("labelled.p_below_05"),
                   OF("labelled.with_p"));
        printf("\n");
    } else if (isfinite(least) && judged) {
        printf("  p_upper: the reference is too small for less than %.2g\n", least);
    }
    if (!(OF("others.with_z") > 0 || labelled))
        return;
    printf("  with a response that stands out after FDR: %.0f of %.0f people",
           OF("others.with_fdr"), OF("others.with_z"));
    if (isfinite(share))
        printf(", %.1f %% of the reference", 100 * share);
    if (labelled)
        printf("; of those labelled %.0f of %.0f", OF("labelled.with_fdr"), OF("labelled.with_z"));
    printf("\n");
#undef OF
}

static void report(const kn_scores *s, const kn_options *options)
{
    const char *label = kn_options_get(options, "label");
    double in_training = kn_scores_number(s, "counts.in_training");
    double R2 = kn_scores_number(s, "metrics.R2"), z2 = kn_scores_number(s, "calibration.z2");
    double joint = kn_scores_number(s, "metrics.joint_density");
    printf("%s: %td samples", kn_options_get(options, "output"), kn_scores_n_people(s));
    if (in_training > 0)
        printf(" (%.0f of them from training)", in_training);
    printf("\n");
    if (isfinite(R2))
        printf("  mean R2 %.3f, MSLL %.3f\n", R2, kn_scores_number(s, "metrics.MSLL"));
    if (isfinite(joint))
        printf("  log density of a whole map, less that of independent responses: %.1f nats\n",
               joint);
    if (isfinite(z2))
        printf("  mean z^2 %.3f%s\n", z2, label ? " of those not labelled" : "");
    report_abnormality(s);
    if (label)
        report_auc(s, label);
    printf("  abnormality.tsv, people.tsv, summary.json, metrics and maps: %.0f files\n",
           kn_scores_number(s, "files"));
    cli_print_page(kn_options_get(options, "model"), kn_options_get(options, "output"));
}

static int score(cli_run *run)
{
    return cli_score(run, kn_score, report);
}

const cli_command cmd_score = {
    .name = "score",
    .summary = "model + covariates + responses -> z maps, abnormality, metrics",
    .usage = "MODEL -c FILE -y FILE -o DIR [options]",
    .description =
        "Reads each sample against the model: z maps in the space of the training responses, how\n"
        "abnormal each map is as a whole, and how well the model predicts. For a job array: the "
        "same\n"
        "line with --part 1/N to N/N, in any order and on any machine, then once with --join N\n"
        "(docs/scale.md).",
    .example =
        "kronorm score model.safetensors -c test_participants.tsv -y test_images.txt --label "
        "group=patient -o scored",
    .model = true,
    .processes = CLI_PARTS,
    .needs = "covariates output responses",
    .check = kn_options_check,
    .run = score,
};
