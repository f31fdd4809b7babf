#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/begin.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/started.h"

/* "linear+se" -> KN_LINEAR | KN_SE; 0 and a message when it is nothing of the kind */
static unsigned kernels(const char *option, const char *text)
{
    static const char *const names[] = {"linear", "se", "iso"};
    unsigned sum = 0;
    for (const char *w = text; *w;) {
        size_t n = strcspn(w, "+");
        unsigned bit = 0;
        for (unsigned k = 0; k < 3; k++)
            if (strlen(names[k]) == n && memcmp(w, names[k], n) == 0)
                bit = 1u << k;
        if (!bit)
            break;
        sum |= bit;
        w += n + (w[n] == '+');
        if (!*w)
            return sum;
    }
    cli_usage_error("fit", "--%s is '%s', expected a sum of linear, se and iso, such as linear+se",
                    option, text);
    return 0;
}

static int numbers(const char *text, double *out, int most)
{
    int n = 0;
    for (const char *p = text; n < most;) {
        char *end;
        out[n++] = strtod(p, &end);
        if (end == p || (*end && *end != ','))
            return -1;
        if (!*end)
            return n;
        p = end + 1;
    }
    return -1;
}

static void report(const kn_model *model, const char *output)
{
    kn_fit_info info;
    kn_model_info(model, &info);
    printf("%s\n", output);
    printf("  samples %td, covariates %td, responses %td", info.n_samples, info.n_covariates,
           info.n_responses);
    if (info.n_left_out)
        printf(" (%td constant or not finite, left out)", info.n_left_out);
    printf("\n");
    if (info.n_components)
        printf("  components %td, log-likelihood %.2f, %s after %d evaluations\n",
               info.n_components, info.lml, info.converged ? "converged" : "not converged",
               info.evaluations);
    else
        printf("  log-likelihood %.2f, %d evaluations\n", info.lml, info.evaluations);
    if (info.rank_residual > 0)
        printf("  sample covariance of rank %td, %.1e of its trace left out\n", info.rank,
               info.rank_residual);
    if (info.cv.folds)
        printf("  cross-validated: mean z^2 %.3f, MSLL %.4f, within 95 %% %.3f\n", info.cv.z2,
               info.cv.msll, info.cv.coverage95);
    printf("  seconds: basis %.2f, fit %.2f, reference %.2f\n", info.seconds_basis,
           info.seconds_fit, info.seconds_reference);
}

int cmd_fit(int argc, char **argv)
{
    kn_fit_job job = {.size = sizeof job};
    const char *components = NULL, *basis = NULL, *preset = NULL, *sample = NULL, *task = NULL;
    const char *theta_text = NULL, *rank = NULL;
    bool no_standardise = false, strip = false, resume = false, plain = false, given_noise = false;
    bool given_components = false, given_likelihood = false, given_scale = false;
    bool given_optimiser = false;
    double theta[KN_MAX_THETA];
    int method = 0, noise = 0, likelihood = 0, optimiser = 0, scale = 0;
    double memory = 0;
    cli_common common;
    cli_words words;
    kn_fit_options_init(&job.fit);
    const cli_option options[] = {
        CLI_INPUT_ROWS(job.in),
        {CLI_TEXT, "use", 0, "a,b,c", "covariate columns; default all but the id", &job.in.use,
         NULL},
        {CLI_TEXT, "categorical", 0, "a,b",
         "numeric columns that are categories (sites, sex codes)", &job.in.categorical, NULL},
        CLI_RESPONSE_ROWS(job.in),
        {CLI_TEXT, "targets", 0, "'lh_*,rh_*'",
         "which columns of a table are responses; default all "
         "numeric but the id",
         &job.in.targets, NULL},
        {CLI_TEXT, "mask", 'm', "FILE",
         "NIfTI mask; default voxels finite in all images and not "
         "constant",
         &job.in.mask, NULL},
        CLI_MEMORY_ROWS(memory, job.in),
        {CLI_HEADING, "Model", 0, NULL, NULL, NULL, NULL},
        {CLI_CHOICE, "method", 0, "smtgpr|stgpr|kronprod",
         "all voxels jointly (default), each alone, "
         "or the full Kronecker product",
         &method, NULL},
        {CLI_TEXT, "components", 'P', "N|auto",
         "basis functions; default auto, by cross-validation", &components, &given_components},
        {CLI_CHOICE, "noise", 0, "structured|iso",
         "structured (default): each component has its own "
         "signal and noise; iso: the paper's",
         &noise, &given_noise},
        {CLI_CHOICE, "likelihood", 0, "exact|paper", "with iso noise; default exact", &likelihood,
         &given_likelihood},
        {CLI_TEXT, "preset", 0, "paper",
         "iso noise, paper likelihood, linear+se+iso kernels, joint "
         "truncated Newton",
         &preset, NULL},
        {CLI_TEXT, "sample-kernel", 0, "K",
         "sum of linear, se, iso over covariates; default linear+se "
         "(iso noise: linear+se+iso)",
         &sample, NULL},
        {CLI_TEXT, "task-kernel", 0, "K",
         "the same over components, iso noise only; default linear+iso", &task, NULL},
        {CLI_CHOICE, "task-scale", 0, "none|sqrtN", "divide task features by sqrt(N); default none",
         &scale, &given_scale},
        {CLI_TEXT, "basis", 0, "pca|FILE.npy",
         "principal components (default), or a T x P basis of "
         "your own",
         &basis, NULL},
        {CLI_FLAG, "plain", 0, NULL,
         "stgpr: every response by itself with all parameters free; slow", &plain, NULL},
        {CLI_FLAG, "no-standardise", 0, NULL, "take covariates and responses as they are",
         &no_standardise, NULL},
        {CLI_HEADING, "Fitting", 0, NULL, NULL, NULL, NULL},
        {CLI_CHOICE, "optimiser", 0, "nested|tnewton|lbfgs",
         "default nested; the others need iso noise", &optimiser, &given_optimiser},
        {CLI_INT, "restarts", 0, "K", "further starts; default 0", &job.fit.restarts, NULL},
        {CLI_INT, "max-evals", 0, "K",
         "at most so many evaluations at full size in each search; 0: evaluate at the start only",
         &job.fit.max_evals, NULL},
        {CLI_TEXT, "rank", 0, "auto|full|M",
         "sample covariance by pivots: where few suffice (auto, default, from 1000 samples), "
         "never, "
         "or at most M",
         &rank, NULL},
        {CLI_TEXT, "theta", 0, "v1,...",
         "start of iso noise: log sd of task terms, sample terms, "
         "noise; 'info' prints the names",
         &theta_text, NULL},
        {CLI_INT, "folds", 0, "K", "folds of the reference; default 10, 0: none", &job.fit.folds,
         NULL},
        {CLI_NUMBER, "top", 0, "SHARE",
         "share of responses in the abnormality statistic; default "
         "0.05",
         &job.fit.top, NULL},
        {CLI_HEADING, "Output", 0, NULL, NULL, NULL, NULL},
        {CLI_TEXT, "output", 'o', "MODEL", "model file, .safetensors; a log goes to MODEL.log.json",
         &job.output, NULL},
        {CLI_FLAG, "resume", 0, NULL,
         "keep every step in MODEL.resume, and go on from there if the fit was killed; give it "
         "from "
         "the start",
         &resume, NULL},
        {CLI_FLAG, "strip-ids", 0, NULL, "leave the training ids out of the model", &strip, NULL},
        {CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
    };
    const cli_command command = {
        "fit",
        "covariates + responses -> one model file",
        "-c FILE -y FILE -o MODEL [options]",
        "Fits a normative model to a healthy cohort. Rows of both files are matched by id. The "
        "model\n"
        "file holds covariates and ids of the training sample: it is personal data.",
        "kronorm fit -c participants.tsv --use age,sex,site -y images.txt -m mask.nii.gz -o "
        "model.safetensors\n"
        "kronorm fit -c thickness.csv -y thickness.csv --use age,sex --targets '*_thickness' -o "
        "model.safetensors",
        options};
    int done = cli_begin(&command, argc, argv, &common, &words);
    if (done < 0)
        done = cli_started_once();
    if (done >= 0)
        return done;
    if (words.n)
        return cli_usage_error("fit", "'%s' belongs to no option", words.word[0]);
    if (!job.in.covariates || !job.in.responses || !job.output)
        return cli_usage_error("fit", "%s is needed",
                               !job.in.covariates  ? "-c, --covariates"
                               : !job.in.responses ? "-y, --responses"
                                                   : "-o, --output");
    if (preset && strcmp(preset, "paper") != 0)
        return cli_usage_error("fit", "--preset is '%s', expected paper", preset);
    if (method == KN_STGPR && (given_components || basis || given_noise || task ||
                               given_likelihood || given_scale || preset))
        return cli_usage_error("fit",
                               "--method stgpr fits every response alone: --%s has no meaning",
                               given_components   ? "components"
                               : basis            ? "basis"
                               : given_noise      ? "noise"
                               : task             ? "task-kernel"
                               : given_likelihood ? "likelihood"
                               : given_scale      ? "task-scale"
                                                  : "preset");
    if (method == KN_KRONPROD && (given_components || basis || (given_noise && noise == 0)))
        return cli_usage_error("fit",
                               "--method kronprod has iso noise and no basis: --%s has no "
                               "meaning",
                               given_components ? "components"
                               : basis          ? "basis"
                                                : "noise structured");
    if (preset) {
        noise = given_noise ? noise : KN_NOISE_ISO;
        likelihood = given_likelihood ? likelihood : KN_PAPER;
        optimiser = given_optimiser ? optimiser : KN_TNEWTON;
        sample = sample ? sample : "linear+se+iso";
        task = task ? task : "linear+se+iso";
    }
    job.fit.method = (kn_method_id)method;
    job.fit.noise = method == KN_KRONPROD ? KN_NOISE_ISO : (kn_noise)noise;
    job.fit.likelihood = (kn_likelihood)likelihood;
    job.fit.optimiser = (kn_optimiser)optimiser;
    job.fit.task_scale = (kn_task_scale)scale;
    job.fit.standardise = !no_standardise;
    job.fit.seed = common.seed;
    job.fit.plain = plain;
    job.strip_ids = strip;
    job.resume = resume;
    job.force = common.force;
    if (sample && !(job.fit.sample_kernel = kernels("sample-kernel", sample)))
        return 2;
    if (task && !(job.fit.task_kernel = kernels("task-kernel", task)))
        return 2;
    if (components && strcmp(components, "auto") != 0) {
        char *end;
        long P = strtol(components, &end, 10);
        if (*end || end == components || P < 1 || P > 1000000)
            return cli_usage_error("fit", "--components is '%s', expected a number from 1 or auto",
                                   components);
        job.fit.components = (int)P;
    }
    if (rank && strcmp(rank, "auto") != 0) {
        char *end;
        long M = strcmp(rank, "full") == 0 ? KN_RANK_FULL : strtol(rank, &end, 10);
        if (M != KN_RANK_FULL && (*end || end == rank || M < 1))
            return cli_usage_error("fit", "--rank is '%s', expected auto, full or a number from 1",
                                   rank);
        job.fit.rank = M;
    }
    if (basis && strcmp(basis, "pca") != 0)
        job.basis = basis;
    if (theta_text) {
        job.fit.n_theta = numbers(theta_text, theta, KN_MAX_THETA);
        if (job.fit.n_theta < 0)
            return cli_usage_error("fit", "--theta is '%s', expected up to %d numbers with commas",
                                   theta_text, KN_MAX_THETA);
        job.fit.theta = theta;
    }

    kn_ctx *ctx = session_begin(&common, "fit");
    kn_model *model = NULL;
    if (!ctx)
        return 1;
    kn_set_memory(ctx, (size_t)memory);
    kn_status status = kn_fit_files(ctx, &job, &model);
    int code = session_end(ctx, status);
    if (status == KN_OK && !common.quiet)
        report(model, job.output);
    kn_model_free(model);
    return code;
}
