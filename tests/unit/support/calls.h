/* The public calls as tests make them: options as one text, "use=age,sex folds=4". */
#ifndef KN_TEST_CALLS_H
#define KN_TEST_CALLS_H

#include "support/test.h"

#include "commands/score/score.h"

static inline kn_options *options_of(kn_ctx *ctx, const char *command, const char *text)
{
    kn_options *o;
    char words[1024];
    assert_ok(ctx, kn_options_new(ctx, command, &o));
    snprintf(words, sizeof words, "%s", text);
    for (char *w = strtok(words, " "); w; w = strtok(NULL, " ")) {
        char *value = strchr(w, '=');
        assert_non_null(value);
        *value = '\0';
        assert_ok(ctx, kn_options_set(ctx, o, w, value + 1));
    }
    return o;
}

/* Of data in memory, which stay the caller's. */
static inline kn_model *fit_data(kn_ctx *ctx, kn_data *d, const char *text)
{
    kn_options *o = options_of(ctx, "fit", text);
    kn_model *m;
    assert_ok(ctx, kn_fit(ctx, d, o, &m));
    kn_options_free(o);
    return m;
}

static inline kn_scores *score_data(kn_ctx *ctx, const kn_model *m, kn_data *d, const char *text)
{
    kn_options *o = options_of(ctx, "score", text);
    kn_scores *s;
    assert_ok(ctx, kn_score(ctx, m, d, o, &s));
    kn_options_free(o);
    return s;
}

/* From files, all named in the options. */
static inline kn_status fit_files(kn_ctx *ctx, const char *text, kn_model **model)
{
    kn_options *o = options_of(ctx, "fit", text);
    kn_data *data;
    kn_status status = kn_data_read(ctx, o, &data);
    *model = NULL;
    if (status == KN_OK)
        status = kn_fit(ctx, data, o, model);
    kn_data_free(data);
    kn_options_free(o);
    return status;
}

/* "score" or "predict", so many participants at a time. */
static inline kn_status score_files(kn_ctx *ctx, const char *command, const char *text,
                                    ptrdiff_t rows, kn_scores **scores)
{
    kn_options *o = options_of(ctx, command, text);
    kn_model *model = NULL;
    kn_data *data = NULL;
    kn_status status = kn_model_open(ctx, kn_options_get(o, "model"), &model);
    *scores = NULL;
    if (status == KN_OK)
        status = kn_data_read(ctx, o, &data);
    if (status == KN_OK)
        status = kn_score_in_batches(ctx, model, data, o, rows, scores);
    kn_data_free(data);
    kn_model_free(model);
    kn_options_free(o);
    return status;
}

#endif
