/* kronorm info: describes a model file, as text or JSON, or the build. It needs no data, and
 * writes nothing but its output. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "cli/internal.h"

/* Print version, BLAS, processor type and threads, with a hint if a better type is known. */
static void print_build(const kn_ctx *ctx)
{
    const char *better = kn_build_better_core();
    printf("kronorm %s\nBLAS %s\ncore %s%s%s%s\nthreads %d\n", kn_version(), kn_build_blas(),
           kn_build_core(), better ? " (slow on this machine: set OPENBLAS_CORETYPE=" : "",
           better ? better : "", better ? ")" : "", kn_threads(ctx));
}

/* Entry i of a numeric array of the model, which must exist. */
static double array_entry(const kn_model *m, const char *name, int i)
{
    kn_view v = kn_model_array(m, name);
    return ((const double *)v.data)[i * v.row_stride];
}

/* True if the option of fit applies to the method of the model. */
static bool has_option(kn_ctx *ctx, const kn_model *m, const char *key)
{
    kn_option_info i = {.size = sizeof i};
    const char *method = kn_model_text(m, "method");
    for (int k = 0; kn_option_at(ctx, "fit", k, &i) == KN_OK; k++)
        if (strcmp(i.key, key) == 0)
            for (const char *w = i.without; *w; w += strcspn(w, " "), w += *w == ' ')
                if (strcspn(w, " ") == strlen(method) && strncmp(w, method, strlen(method)) == 0)
                    return false;
    return true;
}

/* Print hyperparameters with their gradients, cross-validation, and the loss curve over the number
 * of components. */
static void print_search(const kn_model *m, bool components)
{
    int n_theta = (int)kn_model_number(m, "n_theta"), n_curve = (int)kn_model_number(m, "n_curve");
    char name[32];
    for (int k = 0; k < n_theta; k++) {
        snprintf(name, sizeof name, "theta.%d", k);
        printf("  %-10s %9.4f   gradient %.2e\n", kn_model_text(m, name),
               array_entry(m, "theta", k), array_entry(m, "gradient", k));
    }
    if (kn_model_number(m, "cv.folds") > 0)
        printf(
            "  cross-validation in %.0f folds: mean z^2 %.3f, R^2 %.3f, MSLL %.4f, gain %.4f, 95%% "
            "coverage %.1f%%\n",
            kn_model_number(m, "cv.folds"), kn_model_number(m, "cv.z2"),
            kn_model_number(m, "cv.R2"), kn_model_number(m, "cv.msll"),
            cli_rounded(kn_model_number(m, "cv.gain"), 4),
            100 * kn_model_number(m, "cv.coverage95"));
    if (n_curve)
        printf("  components   MSLL      s.e.\n");
    for (int k = 0; k < n_curve; k++) {
        double P = array_entry(m, "curve.components", k);
        printf("  %10.0f %9.5f %8.5f%s\n", P, array_entry(m, "curve.msll", k),
               array_entry(m, "curve.se", k),
               components && P == kn_model_number(m, "n_components") ? "  <- used" : "");
    }
}

/* Print method, sizes, likelihood and search of a model; lines that its method does not have are
 * left out. */
static void print_model(kn_ctx *ctx, const char *path, const kn_model *m)
{
    bool components =
        kn_model_number(m, "n_components") > 0 || kn_model_number(m, "nothing_predicted") > 0;
    printf("%s\n  method %s", path, kn_model_text(m, "method"));
    if (has_option(ctx, m, "noise") && kn_model_text(m, "noise"))
        printf(", noise %s", kn_model_text(m, "noise"));
    if (has_option(ctx, m, "likelihood") && kn_model_text(m, "likelihood"))
        printf(", likelihood %s", kn_model_text(m, "likelihood"));
    printf("\n  participants %.0f, covariates %.0f, responses %.0f (%.0f excluded)\n",
           kn_model_number(m, "n_samples"), kn_model_number(m, "n_covariates"),
           kn_model_number(m, "n_responses"), kn_model_number(m, "n_left_out"));
    cli_print_missing(m);
    if (components)
        printf("  components %.0f", kn_model_number(m, "n_components"));
    if (components && kn_model_number(m, "rank") > 0)
        printf(", rank of the sample covariance %.0f", kn_model_number(m, "rank"));
    if (components)
        printf("\n");
    printf("  log-likelihood %.4f, %s, %.0f evaluations\n", kn_model_number(m, "lml"),
           kn_model_number(m, "converged") > 0 ? "converged" : "not converged",
           kn_model_number(m, "evaluations"));
    if (isfinite(kn_model_number(m, "rho")))
        printf("  rho %.4g, length %.4g\n", kn_model_number(m, "rho"),
               kn_model_number(m, "length"));
    print_search(m, has_option(ctx, m, "components"));
}

/* Print the description of the model, indented; text is overwritten. */
static void print_words(char *text)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        kn_sanitize_text(line); /* names of columns and levels come from the data */
        char *spelled = cli_spelled(line);
        printf("  %s\n", spelled ? spelled : line);
        free(spelled);
    }
}

/* Print a model as text or, with --json, as JSON; with --build the build. Returns the exit code. */
static int run_info(cli_run *run)
{
    kn_model *model = NULL;
    char *text = NULL;
    if (run->build) {
        print_build(run->ctx);
        return 0;
    }
    if (run->n_words != 1)
        return cli_usage_error("info", "give one model file, or --build");
    kn_status status = kn_model_open(run->ctx, run->word[0], &model);
    if (status == KN_OK)
        status = (run->json ? kn_model_json : kn_model_words)(run->ctx, model, &text);
    if (status == KN_OK && run->json) {
        puts(text);
    } else if (status == KN_OK) {
        print_model(run->ctx, run->word[0], model);
        print_words(text);
    }
    kn_text_free(text);
    kn_model_free(model);
    return session_end(run, status);
}

const cli_command cmd_info = {
    .name = "info",
    .summary = "Describe a model file",
    .usage = "MODEL [--json] | --build",
    .description =
        "Describes the model in a file: covariates, signal and noise, sites, calibration and "
        "reference sample. With --build it describes the program.",
    .example = "kronorm info model.safetensors\n"
               "kronorm info model.safetensors --json",
    .front = "json build",
    .guide = "docs/explanation/model.md",
    .run = run_info,
};
