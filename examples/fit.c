/* Fit a model, predict and score from memory: 40 participants with age, site and three responses.
 *
 *     cc fit.c $(pkg-config --cflags --libs kronorm) -o fit
 *
 * If the library is installed under another prefix, such as /x, set
 * PKG_CONFIG_PATH=/x/lib/pkgconfig and append -Wl,-rpath,/x/lib. */
#include <kronorm.h>
#include <stdio.h>

int main(void)
{
    double age[40], map[40 * 3], mean[3]; /* one row per participant */
    const char *site[40];
    for (int i = 0; i < 40; i++) {
        age[i] = 20 + i;
        site[i] = i % 2 ? "Bergen" : "Oslo";
        for (int j = 0; j < 3; j++)
            map[3 * i + j] = 2.5 - 0.01 * (j + 1) * age[i] + 0.1 * ((7 * i + 5 * j) % 11 - 5);
    }
    kn_ctx *ctx = kn_ctx_new();
    kn_options *options = NULL;
    kn_data *training = NULL, *new_one = NULL;
    kn_model *model = NULL;
    kn_scores *prediction = NULL, *scores = NULL;
    double new_age = 63;
    const char *new_site = "Oslo";
    int failed = kn_options_new(ctx, "fit", &options) ||
                 kn_options_set(ctx, options, "folds", "5") || kn_data_new(ctx, 40, &training) ||
                 kn_data_numbers(ctx, training, "age", age, 1) ||
                 kn_data_texts(ctx, training, "site", site) ||
                 kn_data_responses(ctx, training, kn_view_rows(map, 40, 3), NULL) ||
                 kn_fit(ctx, training, options, &model) || kn_data_new(ctx, 1, &new_one) ||
                 kn_data_numbers(ctx, new_one, "age", &new_age, 1) ||
                 kn_data_texts(ctx, new_one, "site", &new_site) ||
                 kn_predict(ctx, model, new_one, NULL, &prediction) ||
                 kn_scores_block(ctx, prediction, "yhat", 0, 3, kn_mat_cols(mean, 1, 3)) ||
                 kn_score(ctx, model, training, NULL, &scores);
    if (failed) {
        fprintf(stderr, "kronorm: %s\n", kn_message(ctx));
    } else {
        printf("predicted at 63: %.3f %.3f %.3f\n", mean[0], mean[1], mean[2]);
        printf("mean z^2 %.2f; deviance of the first participant %.2f\n",
               kn_scores_number(scores, "calibration.z2"),
               kn_scores_participants(scores, "deviance")[0]);
    }
    kn_scores_free(scores);
    kn_scores_free(prediction);
    kn_model_free(model);
    kn_data_free(new_one);
    kn_data_free(training);
    kn_options_free(options);
    kn_ctx_free(ctx);
    return failed != 0;
}
