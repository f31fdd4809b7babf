/* kronorm score: calls kn_score through cli_score and prints metrics, AUC and numbers of abnormal
 * maps. The output files are written by the library; see commands/score. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/internal.h"
#include "stats/flag.h"

/* Print the AUC of the two statistics that flag participants, with --verbose of all, for the cases
 * against others. */
static void report_auc(const kn_scores *s, const char *cases)
{
    static const struct {
        const char *name, *area, *low, *high;
        bool detail;
    } by[] = {{KN_FLAG_STATISTIC, "AUC." KN_FLAG_STATISTIC, "AUC." KN_FLAG_STATISTIC ".low",
               "AUC." KN_FLAG_STATISTIC ".high", false},
              {"extreme values", "AUC.extreme_z", "AUC.extreme_z.low", "AUC.extreme_z.high", false},
              {"deviance_noise", "AUC.deviance_noise", "AUC.deviance_noise.low",
               "AUC.deviance_noise.high", true},
              {"n_low", "AUC.n_low", "AUC.n_low.low", "AUC.n_low.high", true},
              {"n_high", "AUC.n_high", "AUC.n_high.low", "AUC.n_high.high", true},
              {"mean_z", "AUC.mean_z", "AUC.mean_z.low", "AUC.mean_z.high", true}};
    const char *between = "";
    for (size_t k = 0; k < sizeof by / sizeof *by; k++) {
        double auc = kn_scores_number(s, by[k].area), low = kn_scores_number(s, by[k].low);
        if (!isfinite(auc) || (by[k].detail && !cli_verbose()))
            continue;
        if (!*between)
            printf("  AUC, %s against others: ", cases);
        printf("%s%s %.2f", between, by[k].name, auc);
        const bool lower = auc < 0.5; /* a direction, no failure */
        if (isfinite(low))
            printf(" (%.2f-%.2f%s", low, kn_scores_number(s, by[k].high), lower ? "; " : ")");
        else if (lower)
            printf(" (");
        if (lower)
            printf("lower in %s)", cases);
        between = ", ";
    }
    if (*between)
        putchar('\n');
}

/* Numbers of participants, of the cases [1] and of the others [0]. */
typedef struct counts {
    double found[2], of[2], expected; /* expected among the others; NaN: unknown */
} counts;

/* Print one row "flagged / participants" of the table, cases first in a column of `width`; nothing
 * if a count is unknown. */
static void print_row(const char *what, const counts *c, const char *cases, int width)
{
    char cell[48];
    if (isnan(c->found[0]) || (!(c->of[0] > 0) && !(c->of[1] > 0)))
        return;
    printf("    %-31s", what);
    for (int k = cases ? 1 : 0; k >= 0; k--) {
        snprintf(cell, sizeof cell, "%.0f / %.0f", c->found[k], c->of[k]);
        printf(" %*s", k == 1 ? width : 12, cell);
    }
    if (isfinite(c->expected))
        printf(" %10.1f\n", c->expected);
    else
        printf(" %10s\n", "-");
}

/* Print the table of unusual participants: rows are statistics; columns are the cases, the others,
 * and the number expected among as many healthy participants as the others. */
static void report_flagged(const kn_model *m, const kn_scores *s, const char *cases)
{
#define OF(name) kn_scores_number(s, "abnormality." name)
    counts flagged = {{OF("others.flagged"), OF("cases.flagged")},
                      {OF("others.with_p"), OF("cases.with_p")},
                      OF("others.expected")};
    char any[32];
    counts fdr = {{OF("others.with_fdr"), OF("cases.with_fdr")},
                  {OF("others.with_z"), OF("cases.with_z")},
                  OF("reference_fdr_share") * OF("others.with_z")};
    counts extreme = {{OF("others.extreme"), OF("cases.extreme")},
                      {OF("others.with_extreme_p"), OF("cases.with_extreme_p")},
                      NAN};
    if (OF("smallest_p") <= KN_FLAG_P)
        extreme.expected = KN_FLAG_P * extreme.of[0];
#undef OF
    cases = flagged.of[1] > 0 || fdr.of[1] > 0 ? cases : NULL;
    int width = cases && strlen(cases) > 12 ? (int)strlen(cases) : 12;
    if (!(flagged.of[0] > 0 || flagged.of[1] > 0 || fdr.of[0] > 0 || fdr.of[1] > 0))
        return;
    printf("\n  %-33s", "Unusual participants");
    if (cases)
        printf(" %*s", width, cases);
    printf(" %12s %10s\n", cases ? "others" : "participants", "expected");
    if (!(flagged.expected > 0))
        flagged.expected = NAN; /* the reference sample is too small for such a p-value */
    print_row(KN_FLAG_TITLE ", p <= " KN_FLAG_P_TEXT, &flagged, cases, width);
    print_row("extreme values, p <= " KN_FLAG_P_TEXT, &extreme, cases, width);
    snprintf(any, sizeof any, "any %s after FDR", cli_nouns(m, 1));
    print_row(any, &fdr, cases, width);
    if (flagged.of[0] > 0 && isnan(flagged.expected))
        printf("    The reference sample is too small for a p-value of " KN_FLAG_P_TEXT ".\n");
    putchar('\n');
}

/* Print the summary of kronorm score: calibration, accuracy, flagged participants, AUC, and the
 * command for a report. */
static void print_result(const kn_model *m, const kn_scores *s, const kn_options *options)
{
    const char *cases = kn_options_get(options, "cases");
    double in_training = kn_scores_number(s, "counts.in_training");
    double R2 = kn_scores_number(s, "metrics.R2"), z2 = kn_scores_number(s, "calibration.z2");
    double joint = kn_scores_number(s, "metrics.joint_density");
    double gain = kn_scores_number(s, "metrics.gain");
    printf("Scored %td participant%s, %td %s: %s\n", kn_scores_n_participants(s),
           kn_plural(kn_scores_n_participants(s)), kn_scores_n_responses(s),
           cli_nouns(m, kn_scores_n_responses(s)), kn_options_get(options, "output"));
    if (in_training > 0)
        printf("  In training sample  %.0f\n", in_training);
    if (isfinite(z2) || isfinite(R2))
        printf("  Calibration%s%s%s", cases ? " (without " : "", cases ? cases : "",
               cases ? ")" : "");
    if (isfinite(z2))
        printf("   mean z² %.3f (expected 1)", z2);
    if (isfinite(R2))
        printf("   R² %.3f   MSLL %.3f", R2, kn_scores_number(s, "metrics.MSLL"));
    if (isfinite(R2) && isfinite(gain))
        printf("   gain %.3f", cli_rounded(gain, 3));
    if (isfinite(z2) || isfinite(R2))
        putchar('\n');
    report_flagged(m, s, cases);
    if (cases)
        report_auc(s, cases);
    if (cli_verbose() && isfinite(joint))
        printf("  Joint log density of a map minus that of independent responses: %.1f nats\n",
               joint);
    if (cli_verbose())
        printf("  Files  %.0f\n", kn_scores_number(s, "files"));
    cli_print_page(kn_options_get(options, "model"), kn_options_get(options, "output"));
}

static int run_score(cli_run *run)
{
    return cli_score(run, kn_score, print_result);
}

const cli_command cmd_score = {
    .name = "score",
    .summary = "Compute z-score maps and abnormality statistics for new participants",
    .usage = "MODEL -c FILE -y FILE -o DIR [options]",
    .description =
        "Compares each participant with the model. Writes z-score maps in the space of the "
        "training responses, statistics of whole maps with p-values, and the accuracy and "
        "calibration of the model in these participants.\n"
        "Job arrays: run the same command with --part 1/N to N/N, in any order and on any "
        "machine, then once with --join N (docs/howto/clusters.md).",
    .example =
        "kronorm score model.safetensors -c test_participants.tsv -y test_images.txt --cases "
        "group=patient -o scored",
    .front = "covariates responses output cases where session missing match unseen write threshold "
             "split threads memory",
    .guide = "docs/explanation/interpreting.md",
    .model = true,
    .processes = CLI_PARTS,
    .needs = "covariates output responses",
    .check = kn_options_check,
    .run = run_score,
};
