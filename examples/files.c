/* From files to a model, and from the model to scores: what `kronorm fit` and `kronorm score` do.
 *
 *     files COVARIATES RESPONSES MODEL FOLDER */
#include <kronorm.h>
#include <stdio.h>

/* Options of a command, as key and value by turns. */
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
    kn_options *how = options_of(ctx, "fit", fit), *which = options_of(ctx, "score", score);
    kn_data *people = NULL, *same = NULL;
    kn_model *model = NULL;
    kn_scores *scores = NULL;
    int failed = !how || !which || kn_data_read(ctx, how, &people) ||
                 kn_fit(ctx, people, how, &model) || kn_data_read(ctx, which, &same) ||
                 kn_score(ctx, model, same, which, &scores);
    if (failed)
        fprintf(stderr, "files: %s\n", kn_message(ctx));
    for (ptrdiff_t i = 0; !failed && i < kn_scores_n_people(scores); i++)
        printf("%s %.4f\n", kn_scores_ids(scores)[i], kn_scores_people(scores, "deviance_p")[i]);
    kn_scores_free(scores);
    kn_model_free(model);
    kn_data_free(same);
    kn_data_free(people);
    kn_options_free(which);
    kn_options_free(how);
    kn_ctx_free(ctx);
    return failed != 0;
}
