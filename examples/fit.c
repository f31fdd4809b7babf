/* Fit, predict and score from memory: 40 people, their age and site, three responses.
 *
 *     cc fit.c $(pkg-config --cflags --libs kronorm) -o fit
 *
 * With the library under a prefix of its own, /x, PKG_CONFIG_PATH=/x/lib/pkgconfig comes before
 * that and -Wl,-rpath,/x/lib behind it. */
#include <kronorm.h>
#include <stdio.h>

int main(void)
{
    double age[40], map[40 * 3], mean[3]; /* rows are people */
    const char *site[40];
    for (int i = 0; i < 40; i++) {
        age[i] = 20 + i;
        site[i] = i % 2 ? "Bergen" : "Oslo";
        for (int j = 0; j < 3; j++)
            map[3 * i + j] = 2.5 - 0.01 * (j + 1) * age[i] + 0.1 * ((7 * i + 5 * j) % 11 - 5);
    }
    kn_ctx *ctx = kn_ctx_new();
    kn_options *options = NULL;
    kn_data *people = NULL, *someone = NULL;
    kn_model *model = NULL;
    kn_scores *expected = NULL, *scores = NULL;
    double at = 63;
    const char *where = "Oslo";
    int failed = kn_options_new(ctx, "fit", &options) ||
                 kn_options_set(ctx, options, "folds", "5") || kn_data_new(ctx, 40, &people) ||
                 kn_data_numbers(ctx, people, "age", age, 1) ||
                 kn_data_texts(ctx, people, "site", site) ||
                 kn_data_responses(ctx, people, kn_view_rows(map, 40, 3), NULL) ||
                 kn_fit(ctx, people, options, &model) || kn_data_new(ctx, 1, &someone) ||
                 kn_data_numbers(ctx, someone, "age", &at, 1) ||
                 kn_data_texts(ctx, someone, "site", &where) ||
                 kn_predict(ctx, model, someone, NULL, &expected) ||
                 kn_scores_block(ctx, expected, "yhat", 0, 3, kn_mat_cols(mean, 1, 3)) ||
                 kn_score(ctx, model, people, NULL, &scores);
    if (failed) {
        fprintf(stderr, "kronorm: %s\n", kn_message(ctx));
    } else {
        printf("expected at 63: %.3f %.3f %.3f\n", mean[0], mean[1], mean[2]);
        printf("mean z^2 %.2f, and the first person's deviance %.2f\n",
               kn_scores_number(scores, "calibration.z2"), kn_scores_people(scores, "deviance")[0]);
    }
    kn_scores_free(scores);
    kn_scores_free(expected);
    kn_model_free(model);
    kn_data_free(someone);
    kn_data_free(people);
    kn_options_free(options);
    kn_ctx_free(ctx);
    return failed != 0;
}
