#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/begin.h"
#include "cli/commands.h"
#include "cli/session.h"

static void print_build(void)
{
    kn_ctx *ctx = kn_ctx_new();
    const char *better = kn_build_better_core();
    printf("kronorm %s\nBLAS %s\ncore %s%s%s%s\nthreads %d\n", kn_version(), kn_build_blas(),
           kn_build_core(), better ? " (slow here: set OPENBLAS_CORETYPE=" : "",
           better ? better : "", better ? ")" : "", ctx ? kn_threads(ctx) : 1);
    kn_ctx_free(ctx);
}

static void print_model(const char *path, const kn_fit_info *i)
{
    static const char *const methods[] = {"smtgpr", "stgpr", "kronprod"};
    static const char *const noises[] = {"structured", "iso"};
    printf("%s\n  method %s", path, methods[i->method]);
    if (i->method != KN_STGPR)
        printf(", noise %s, likelihood %s", noises[i->noise],
               i->likelihood == KN_PAPER ? "paper" : "exact");
    printf("\n");
    printf("  samples %td, covariates %td, responses %td (%td left out)\n", i->n_samples,
           i->n_covariates, i->n_responses, i->n_left_out);
    if (i->method != KN_STGPR)
        printf("  components %td, rank of R %td\n", i->n_components, i->rank);
    printf("  log-likelihood %.4f, %s, %d evaluations\n", i->lml,
           i->converged ? "converged" : "not converged", i->evaluations);
    if (isfinite(i->rho))
        printf("  rho %.4g, length %.4g\n", i->rho, i->length);
    for (int k = 0; k < i->n_theta; k++)
        printf("  %-10s %9.4f   gradient %.2e\n", i->theta_name[k], i->theta[k], i->gradient[k]);
    if (i->cv.folds)
        printf("  cross-validated in %d folds: mean z^2 %.3f, MSLL %.4f, within 95 %% %.3f\n",
               i->cv.folds, i->cv.z2, i->cv.msll, i->cv.coverage95);
    if (i->n_curve)
        printf("  components   MSLL      s.e.\n");
    for (int k = 0; k < i->n_curve; k++)
        printf("  %10d %9.5f %8.5f%s\n", i->curve[k].components, i->curve[k].msll, i->curve[k].se,
               i->curve[k].components == i->n_components ? "  <- used" : "");
}

int cmd_info(int argc, char **argv)
{
    bool json = false, build = false;
    cli_common common;
    cli_words words;
    const cli_option options[] = {
        {CLI_FLAG, "json", 0, NULL, "everything, for machines", &json, NULL},
        {CLI_FLAG, "build", 0, NULL, "versions, BLAS and the core it uses, threads", &build, NULL},
        {CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
    };
    const cli_command command = {"info",
                                 "what is in a model, or how this program was built",
                                 "MODEL [--json] | --build",
                                 "Prints what a model file holds without using it.",
                                 "kronorm info model.safetensors --json",
                                 options};
    int done = cli_begin(&command, argc, argv, &common, &words);
    if (done >= 0)
        return done;
    if (build) {
        print_build();
        return 0;
    }
    if (words.n != 1)
        return cli_usage_error("info", "one model file is needed, or --build");
    kn_ctx *ctx = session_begin(&common, "info");
    if (!ctx)
        return 1;
    kn_status status;
    if (json) {
        char *text;
        status = kn_model_describe(ctx, words.word[0], &text);
        if (status == KN_OK)
            puts(text);
        kn_text_free(text);
    } else {
        kn_model *model;
        kn_fit_info info;
        status = kn_model_open(ctx, words.word[0], &model);
        if (status == KN_OK) {
            kn_model_info(model, &info);
            print_model(words.word[0], &info);
        }
        kn_model_free(model);
    }
    return session_end(ctx, status);
}
