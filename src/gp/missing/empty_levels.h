/* Levels of categories in which nobody has a response                               [METHOD 0b]
 *
 * There the level's term has only filled cells to go by, and would hold on to where these began.
 * Its part of the mean of response j for sample i is
 *
 *     w_k E_i (E'alpha_j)     E  n x L indicators of category k, its term's columns */
#ifndef KN_GP_MISSING_EMPTY_LEVELS_H
#define KN_GP_MISSING_EMPTY_LEVELS_H

#include "cov/terms.h"
#include "data/responses/responses.h"

enum { KN_IMPUTE_CATEGORIES = KN_COV_TERMS };

typedef struct kn_impute_levels {
    int n; /* categories */
    struct kn_impute_category {
        kn_mat E;         /* n x L, view or own */
        double w;         /* weight of the term */
        ptrdiff_t *level; /* n  of each sample; -1: none is known */
        uint8_t *empty;   /* L x T: somebody has the level, and nobody of those has the response */
        bool *any;        /* L: some response is */
    } category[KN_IMPUTE_CATEGORIES];
    ptrdiff_t T;
    bool any; /* some level has an empty response */
} kn_impute_levels;

/* From the terms of categories of cov at theta, over the rows X (n x F) of Y. */
kn_status kn_impute_levels_new(kn_ctx *ctx, const kn_cov *cov, const double *theta, kn_mat X,
                               const kn_responses *Y, kn_impute_levels *out);
void kn_impute_levels_clear(kn_impute_levels *l); /* {0} is fine */

bool kn_impute_empty(const kn_impute_levels *l, ptrdiff_t i, ptrdiff_t j);

/* effect (n x count) = what G has of empty levels, 0 for samples of none; alpha n x count. */
kn_status kn_impute_level_effects(kn_ctx *ctx, const kn_impute_levels *l, kn_mat alpha,
                                  kn_mat effect);

#endif
