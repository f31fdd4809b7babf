/* The imputer: R0 and the missing cells, so that imputation can be repeated for any rows
 * [METHOD 0b]. Each fold imputes its own training rows afresh, so held-out participants have no
 * influence on imputed cells of others. */
#ifndef KN_GP_MISSING_IMPUTER_H
#define KN_GP_MISSING_IMPUTER_H

#include "cov/simplex_weights.h"
#include "gp/missing/impute.h"
#include "gp/spec.h"

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

/* Sets R0 to the start of a search: equal weights, lengths at the median distance. X and Y are
 * borrowed. */
kn_status kn_imputer_new(kn_ctx *ctx, const kn_spec *spec, kn_mat X, const kn_responses *Y,
                         kn_imputer *out);
/* Sets R0 to the result of a search. */
void kn_imputer_move(kn_imputer *f, const kn_cov_point *at, ptrdiff_t rank);

/* Imputes the n rows (rows NULL: all) into filled (holes->cells); NaN for other rows.
 * Collective. */
kn_status kn_imputer_run(kn_ctx *ctx, const kn_imputer *f, const ptrdiff_t *rows, ptrdiff_t n,
                         double *filled, kn_impute_info *info);

/* Computes Phi (n x m, owned by the caller) with Phi Phi' = R0 over the rows of X, except for 1e-6
 * of its trace: low-rank features, or scaled eigenvectors of a dense R0. A small m matters because
 * every pattern of observed rows costs m^3; the error is far below the uncertainty of imputed
 * cells. */
kn_status kn_imputer_features(kn_ctx *ctx, const kn_imputer *f, kn_mat X, kn_mat *Phi);

/* Bytes of one run over n rows, without the imputed cells themselves. */
double kn_imputer_bytes(const kn_imputer *f, ptrdiff_t n);

#endif
