/* Checks that every public call makes of its arguments. */
#ifndef KN_COMMANDS_COMMON_VALIDATE_H
#define KN_COMMANDS_COMMON_VALIDATE_H

#include "model/model.h"

enum {
    KN_LEAST_SAMPLES = 3, /* to fit */
    /* Low rank is tried by itself from so many samples on, and taken where features are fewer than
     * one for so many samples; the additive sum at any size. */
    KN_RANK_FROM = 1000,
    KN_RANK_SHARE = 3,
    KN_RANK_SHARE_ADDITIVE = 4
};

/* Maps by their place in the words of {write}. */
#define KN_MAP_WORDS "z|yhat|ys2_model|fdr|ys2|metrics"
enum {
    KN_MAP_Z = 1,
    KN_MAP_YHAT = 2,
    KN_MAP_YS2_MODEL = 4,
    KN_MAP_FDR = 8,
    KN_MAP_YS2 = 16,
    KN_WRITE_METRICS = 32
};
/* What is written of people without responses, or a refusal. */
kn_status kn_check_predicted(kn_ctx *ctx, unsigned write);

/* Data present, sizes positive and within what BLAS can count. */
kn_status kn_check_view(kn_ctx *ctx, kn_view v, const char *name);
/* Y has the samples and responses the model was trained on. */
kn_status kn_check_training(kn_ctx *ctx, const kn_model *model, kn_view Y);

/* R over F columns, and C where there is one, as the settings have them. */
kn_status kn_check_covariances(kn_ctx *ctx, const kn_settings *s, ptrdiff_t F, kn_cov *sample,
                               kn_cov *task);

/* Ranges and combinations of what a fit is told: nothing that needs the data. */
kn_status kn_check_fit(kn_ctx *ctx, const kn_settings *s);

#endif
