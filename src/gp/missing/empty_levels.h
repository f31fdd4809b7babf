/* Empty levels: levels of a categorical covariate in which no participant has a response
 * [METHOD 0b]
 *
 * There the term of the level depends on imputed cells only and would keep their initial values.
 * Its part of the mean of response j for participant i is
 *
 *     w_k E_i (E'alpha_j)     E  n x L indicators of category k, its term's columns */
#ifndef KN_GP_MISSING_EMPTY_LEVELS_H
#define KN_GP_MISSING_EMPTY_LEVELS_H

#include "cov/kernel_sum.h"
#include "data/responses/responses.h"

/* Maximal number of categories. */
enum { KN_IMPUTE_CATEGORIES = KN_COV_TERMS };

/* The categories of R0 and their empty levels. */
typedef struct kn_impute_levels {
    int n; /* number of categories */
    struct kn_impute_category {
        kn_mat E;         /* n x L  view of the columns of X */
        double w;         /* weight of the term */
        ptrdiff_t *level; /* n  level of each participant; -1: unknown */
        uint8_t *empty;   /* L x T  the level has participants, but none of them has the response */
        bool *any;        /* L  the level is empty for some response */
    } category[KN_IMPUTE_CATEGORIES];
    ptrdiff_t T;
    bool any; /* some level is empty for some response */
} kn_impute_levels;

/* Finds, for each category term of cov at parameters theta, the levels of the rows X (n x F,
 * borrowed) and those that have no value in a response of Y. out is cleared on error. */
kn_status kn_impute_levels_new(kn_ctx *ctx, const kn_cov *cov, const double *theta, kn_mat X,
                               const kn_responses *Y, kn_impute_levels *out);
void kn_impute_levels_clear(kn_impute_levels *l); /* {0} is allowed */

/* True if the level of participant i in some category is empty for response j. */
bool kn_impute_empty(const kn_impute_levels *l, ptrdiff_t i, ptrdiff_t j);

/* Computes effect (n x count), the part of the predicted mean that comes from levels that are
 * empty for some response; 0 for participants without such a level. alpha (n x count): weights
 * R0^-1 of the mean. */
kn_status kn_impute_level_effects(kn_ctx *ctx, const kn_impute_levels *l, kn_mat alpha,
                                  kn_mat effect);

#endif
