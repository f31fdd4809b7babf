/* Implements check_arguments.h, and kn_options_check of the public header. They check what the
 * option table cannot express: combinations of options and data. */
#include "commands/common/check_arguments.h"

#include <limits.h>
#include <string.h>

#include "cov/additive.h"
#include "cov/kernel.h"
#include "data/shared_noise_groups.h"
#include "gp/method.h"
#include "io/file/path.h"

ptrdiff_t kn_auto_rank(ptrdiff_t N, bool additive, ptrdiff_t block)
{
    enum { DIVISOR_ADDITIVE = 4, DIVISOR = 3, ELEMENTS = 90000000, LEAST = 300 };
    ptrdiff_t rank = N / (additive ? DIVISOR_ADDITIVE : DIVISOR), most = ELEMENTS / N;
    most = most > LEAST + block ? most : LEAST + block;
    return rank < most ? rank : most;
}

kn_status kn_check_view(kn_ctx *ctx, kn_view v, const char *name)
{
    if (!v.data)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s has no data (a null pointer)", name);
    if (v.type != KN_F64 && v.type != KN_F32)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s has type %d, but must be KN_F64 or KN_F32", name,
                       (int)v.type);
    if (v.rows < 1 || v.cols < 1)
        return kn_fail(ctx, KN_ERR_SHAPE,
                       "%s is %td x %td, but must have at least one row and column", name, v.rows,
                       v.cols);
    if (v.rows > INT_MAX / 2 || v.cols > INT_MAX / 2)
        return kn_fail(ctx, KN_ERR_SHAPE, "%s is %td x %td, beyond %d in one direction", name,
                       v.rows, v.cols, INT_MAX / 2);
    return KN_OK;
}

kn_status kn_check_training(kn_ctx *ctx, const kn_model *model, kn_view Y)
{
    kn_status status = kn_check_view(ctx, Y, "responses");
    if (status != KN_OK)
        return status;
    if (Y.rows != model->info.n_samples || Y.cols != model->info.n_responses)
        return kn_fail(ctx, KN_ERR_SHAPE,
                       "responses are %td x %td, but the model was trained on %td x %td", Y.rows,
                       Y.cols, model->info.n_samples, model->info.n_responses);
    return KN_OK;
}

kn_status kn_check_covariances(kn_ctx *ctx, const kn_settings *s, ptrdiff_t F, kn_cov *sample,
                               kn_cov *task)
{
    char names[128];
    kn_status status;
    bool additive = kn_settings_additive(s); /* additive: the terms follow from the design */
    *task = (kn_cov){0};
    KN_TRY(additive ? kn_cov_before_design(ctx, F, sample)
                    : kn_cov_parse(ctx, s->sample_kernel, F, sample));
    if (s->task_kernel)
        KN_TRY(kn_cov_parse(ctx, s->task_kernel, KN_ALL_COLUMNS, task));
    if (sample->n_between == 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "the sample kernel has neither %s, so covariates would have no effect",
                       kn_kernel_list(true, " nor ", " nor ", names, sizeof names));
    if (s->noise != KN_NOISE_ISO && sample->n > sample->n_between &&
        !kn_method_find(s->method)->iso_term)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "structured noise allows the sample kernels %s; its noise already models %s",
                       kn_kernel_list(true, ", ", " and ", names, sizeof names),
                       sample->term[sample->n_between].kernel->name);
out:
    return status;
}

/* KN_ERR_ARGUMENT for options that need iso noise, if the noise is not iso; and for {noise=auto}
 * without folds. */
static kn_status check_noise(kn_ctx *ctx, const kn_settings *s)
{
    bool independent_responses = kn_method_find(s->method)->independent_responses;
    if (s->noise == KN_NOISE_ISO)
        return KN_OK;
    if (s->noise == KN_NOISE_AUTO && s->folds == 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{noise=auto} needs held-out participants, but {folds=0} holds none out");
    if (s->task_kernel)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{task_kernel} requires {noise=iso}");
    if (s->task_scale != KN_TASK_SCALE_NONE)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{task_scale} requires {noise=iso}");
    if (s->likelihood == KN_PAPER)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{likelihood=paper} requires {noise=iso}");
    if (s->optimiser != KN_NESTED && !independent_responses)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "joint optimisers (tnewton, lbfgs) require {noise=iso}");
    if (s->theta_start && !independent_responses)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "theta is for iso noise; structured noise starts from rho and length");
    return KN_OK;
}

/* KN_ERR_ARGUMENT for options that only the additive kernel has, if the sample kernel is
 * another. */
static kn_status check_additive(kn_ctx *ctx, const kn_settings *s)
{
    const char *sum = s->sample_kernel;
    if (kn_settings_additive(s) && (!strchr(sum, '+') || kn_method_find(s->method)->iso_term)) {
        if (s->noise == KN_NOISE_ISO)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "{sample_kernel=additive} requires structured noise");
        return KN_OK;
    }
    if (strchr(sum, 'v')) /* a 'v' means that "additive" is part of a longer sum */
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{sample_kernel=%s}: additive cannot be combined with other kernels", sum);
    if (s->interaction)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{interaction} requires {sample_kernel=additive}, not %s", sum);
    if (s->batch && strcmp(s->batch, "auto") != 0 && strcmp(s->batch, "none") != 0)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{batch=%s} requires {sample_kernel=additive}, not %s",
                       s->batch, sum);
    if (kn_group_column(s->group))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{group=%s} requires {sample_kernel=additive}, not %s",
                       s->group, sum);
    return KN_OK;
}

kn_status kn_check_fit(kn_ctx *ctx, const kn_settings *s)
{
    kn_status status;
    kn_cov sample, task;
    KN_TRY(kn_settings_check_ranges(ctx, s));
    KN_TRY(kn_settings_check_method(ctx, s));
    KN_TRY(check_noise(ctx, s));
    KN_TRY(check_additive(ctx, s));
    KN_TRY(kn_check_covariances(ctx, s, KN_ALL_COLUMNS, &sample, &task));
out:
    return status;
}

kn_status kn_check_predicted(kn_ctx *ctx, unsigned write)
{
    if (write & (KN_MAP_Z | KN_MAP_FDR | KN_WRITE_METRICS))
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s need responses; use 'kronorm score'",
                       write & KN_MAP_Z     ? "z maps"
                       : write & KN_MAP_FDR ? "fdr maps"
                                            : "metrics");
    return KN_OK;
}

/* KN_ERR_ARGUMENT for an output with the ending of an image or a table: models, reports and folders
 * are neither. */
static kn_status check_endings(kn_ctx *ctx, const kn_settings *s)
{
    static const char *const FOREIGN[] = {".nii", ".nii.gz", ".csv", ".tsv"};
    const struct {
        const char *path, *key, *expected;
    } outputs[] = {{s->output, "output", "a model file (.safetensors)"},
                   {s->shared, "output", "a model file (.safetensors)"},
                   {s->save, "save", "a model file (.safetensors)"},
                   {s->page, "output", "an HTML file"},
                   {s->folder, "output", "a folder"},
                   {s->figures, "figures", "a folder"},
                   {s->results, "output", "a folder"}};
    for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++)
        for (size_t e = 0; e < sizeof FOREIGN / sizeof *FOREIGN; e++)
            if (outputs[k].path && kn_path_ends(outputs[k].path, FOREIGN[e]))
                return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} is '%s', but must be %s", outputs[k].key,
                               outputs[k].path, outputs[k].expected);
    return KN_OK;
}

kn_status kn_options_check(kn_ctx *ctx, const kn_options *options)
{
    kn_settings s;
    kn_status status;
    unsigned maps = 0;
    if (!options)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "options is a null pointer");
    const char *command = kn_options_command(options);
    KN_TRY(kn_settings_of(ctx, options, command, &s));
    KN_TRY(kn_settings_check_ranges(ctx, &s));
    KN_TRY(check_endings(ctx, &s));
    if (strcmp(command, "fit") == 0)
        KN_TRY(kn_check_fit(ctx, &s));
    if (strcmp(command, "predict") == 0 && s.write) {
        kn_list_bits(s.write, KN_MAP_WORDS, &maps);
        status = kn_check_predicted(ctx, maps);
    }
out:
    return status;
}
