/* Argument checks of the public calls. Each returns KN_OK or an error with a message. */
#ifndef KN_COMMANDS_COMMON_CHECK_ARGUMENTS_H
#define KN_COMMANDS_COMMON_CHECK_ARGUMENTS_H

#include "model/model.h"

enum {
    KN_MIN_SAMPLES = 3, /* participants of a fit */
    KN_RANK_FROM =
        1000 /* {rank=auto} takes a low rank from here on; the additive kernel at any N */
};

/* The largest rank of R0 with {rank=auto} for N participants: N/4 with the additive kernel, N/3
 * with others. N times the rank is at most 9e7 where that leaves 300 and the block, so that memory
 * grows no faster than N. block: columns of the category that is held as levels
 * [cov/indicators.h]; 0: none. */
ptrdiff_t kn_auto_rank(ptrdiff_t N, bool additive, ptrdiff_t block);

/* Bits of the words of {write}, in the same order. */
#define KN_MAP_WORDS "z|yhat|ys2_model|fdr|ys2|metrics"
enum {
    KN_MAP_Z = 1,
    KN_MAP_YHAT = 2,
    KN_MAP_YS2_MODEL = 4,
    KN_MAP_FDR = 8,
    KN_MAP_YS2 = 16,
    KN_WRITE_METRICS = 32
};
/* KN_ERR_ARGUMENT if `write` has maps that need responses (z, fdr, metrics). */
kn_status kn_check_predicted(kn_ctx *ctx, unsigned write);

/* Checks that v has data, a known type, and 1 to INT_MAX / 2 rows and columns. `name` is for the
 * message. */
kn_status kn_check_view(kn_ctx *ctx, kn_view v, const char *name);
/* Checks that Y has the shape N x T of the training responses. */
kn_status kn_check_training(kn_ctx *ctx, const kn_model *model, kn_view Y);

/* Parses the sample kernel R over F design columns and, if given, the task kernel C.
 * KN_ERR_ARGUMENT if they contradict the noise model or the method. */
kn_status kn_check_covariances(kn_ctx *ctx, const kn_settings *s, ptrdiff_t F, kn_cov *sample,
                               kn_cov *task);

/* Checks the fit options that do not depend on the data: ranges and combinations. */
kn_status kn_check_fit(kn_ctx *ctx, const kn_settings *s);

#endif
