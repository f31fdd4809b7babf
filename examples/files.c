/* Fit a model to files and score the same participants, as `kronorm fit` and `kronorm score` do.
 *
 *     files COVARIATES RESPONSES MODEL FOLDER */
#include <kronorm.h>
#include <stdio.h>

/* The options of a command from a list of keys and values that ends with NULL. */
static kn_options *options_of(kn_ctx *ctx, const char *command, const char *const *pairs)
{
    kn_options *o = NULL;
    kn_status status = kn_options_new(ctx, command, &o);
    for (; status == KN_OK && pairs[0]; pairs += 2)
        status = kn_options_set(ctx, o, pairs[0], pairs[1]);
    if (status == KN_OK)
        return o;
    kn_options_free(o);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return fprintf(stderr, "usage: files COVARIATES RESPONSES MODEL FOLDER\n"), 2;
    const char *const fit[] = {"covariates", argv[1], "responses", argv[2],
                               "output",     argv[3], NULL};
    const char *const score[] = {"covariates", argv[1], "responses", argv[2],
                                 "output",     argv[4], NULL};
    kn_ctx *ctx = kn_ctx_new();
    kn_options *fit_options = options_of(ctx, "fit", fit),
               *score_options = options_of(ctx, "score", score);
    kn_data *training = NULL, *scored = NULL;
    kn_model *model = NULL;
    kn_scores *scores = NULL;
    int failed = !fit_options || !score_options || kn_data_read(ctx, fit_options, &training) ||
                 kn_fit(ctx, training, fit_options, &model) ||
                 kn_data_read(ctx, score_options, &scored) ||
                 kn_score(ctx, model, scored, score_options, &scores);
    if (failed)
        fprintf(stderr, "files: %s\n", kn_message(ctx));
    for (ptrdiff_t i = 0; !failed && i < kn_scores_n_participants(scores); i++)
        printf("%s %.4f\n", kn_scores_ids(scores)[i],
               kn_scores_participants(scores, "deviance_p")[i]);
    kn_scores_free(scores);
    kn_model_free(model);
    kn_data_free(scored);
    kn_data_free(training);
    kn_options_free(score_options);
    kn_options_free(fit_options);
    kn_ctx_free(ctx);
    return failed != 0;
}
