/* The completed responses that a fit uses where cells are missing [METHOD 0b]. kn_completion_new
 * (gp/methods/fit_steps.h) computes them:
 *
 *     impute at the start R0 -> R0 by the pilot search -> impute again at that R0
 *
 * each time about the mean of the completed responses, which becomes the training mean. */
#ifndef KN_GP_MISSING_COMPLETION_H
#define KN_GP_MISSING_COMPLETION_H

#include "cov/simplex_weights.h"
#include "gp/likelihood_spec.h"
#include "gp/missing/impute.h"
#include "gp/search/search.h"

/* ---- imputer ----
 *
 * The imputer: R0 and the missing cells, so that imputation can be repeated for any rows
 * [METHOD 0b]. Each fold imputes its own training rows afresh, so held-out participants have no
 * influence on imputed cells of others. */

/* An imputer. Owns nothing. */
typedef struct kn_imputer {
    kn_mat X;       /* view, N x F */
    kn_responses Y; /* all participants, with missing cells */
    kn_cov cov;     /* covariance of R0 */
    ptrdiff_t rank; /* as in kn_spec */
    bool rank_auto;
    /* parameters of R0 */
    double theta[KN_COV_THETA];
    uint64_t seed;
} kn_imputer;

/* Creates an imputer for the responses Y (N x T) with design X (N x F), both borrowed; R0
 * (covariance between participants) is at the start of a search: equal weights, lengths at the
 * median distance. */
kn_status kn_imputer_new(kn_ctx *ctx, const kn_spec *spec, kn_mat X, const kn_responses *Y,
                         kn_imputer *out);
/* Gives the imputer the R0 (covariance between participants) of a search result: weights and
 * shapes `at`, and its rank. */
void kn_imputer_move(kn_imputer *f, const kn_cov_point *at, ptrdiff_t rank);

/* Imputes the missing cells of the given n rows (rows NULL: all) into imputed (missing->cells
 * values); NaN for cells of other rows. *info records the rounds. Collective. */
kn_status kn_imputer_run(kn_ctx *ctx, const kn_imputer *f, const ptrdiff_t *rows, ptrdiff_t n,
                         double *imputed, kn_impute_info *info);

/* Computes Phi (n x m, owned by the caller) with Phi Phi' = R0 (covariance between participants)
 * over the rows of X, except for 1e-6 of its trace: low-rank features, or scaled eigenvectors of
 * a dense R0. A small m matters because every pattern of observed rows costs m^3; the error is
 * far below the uncertainty of imputed cells. */
kn_status kn_imputer_features(kn_ctx *ctx, const kn_imputer *f, kn_mat X, kn_mat *Phi);

/* Returns the bytes of work space of kn_imputer_run over n rows, without the imputed cells
 * themselves. */
double kn_imputer_bytes(const kn_imputer *f, ptrdiff_t n);

/* ---- completed responses ---- */

/* The imputed cells and what folds need to impute their own. */
typedef struct kn_completion {
    kn_missing_mask missing;
    double *imputed; /* holes.cells, standardised, of all participants; NULL: no cell is missing */
    kn_imputer filler;
    kn_impute_info info;
    kn_search_result pilot; /* R0 as the pilot search found it */
} kn_completion;

void kn_completion_clear(kn_completion *c); /* {0} is allowed */

/* Imputes the missing cells of the n rows of a fold afresh from these rows only. *Y are the
 * responses with these cells imputed and NaN in other rows; Y->imputed is *imputed, owned by the
 * caller. Collective. */
kn_status kn_completion_fold(kn_ctx *ctx, const kn_completion *c, const ptrdiff_t *rows,
                             ptrdiff_t n, double **imputed, kn_responses *Y);

/* Sets value[j] to NaN if fewer than KN_IMPUTE_MIN of the n rows have response j: such a fold
 * does not predict it. */
void kn_completion_reject_sparse(const kn_completion *c, const ptrdiff_t *rows, ptrdiff_t n,
                                 double *value);

#endif
