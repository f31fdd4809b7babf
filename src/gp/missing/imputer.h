/* What filling in needs to be repeated for any rows: R0 as it is, and where cells are missing
 * [METHOD 0b]. Each fold fills its own training rows afresh: whoever is held out has no part in
 * what is filled in for others. */
#ifndef KN_GP_MISSING_IMPUTER_H
#define KN_GP_MISSING_IMPUTER_H

#include "cov/simplex_weights.h"
#include "gp/missing/impute.h"
#include "gp/spec.h"

typedef struct kn_imputer {
    kn_mat X;       /* view, N x F */
    kn_responses Y; /* all samples, with holes */
    kn_cov cov;     /* of R0 */
    ptrdiff_t rank; /* as in kn_spec */
    bool rank_auto;
    double theta[KN_COV_THETA];
    uint64_t seed;
} kn_imputer;

/* R0 where a search begins: equal weights, lengths at the median distance. */
kn_status kn_imputer_new(kn_ctx *ctx, const kn_spec *spec, kn_mat X, const kn_responses *Y,
                         kn_imputer *out);
/* R0 as a search has found it. */
void kn_imputer_move(kn_imputer *f, const kn_cov_point *at, ptrdiff_t rank);

/* filled (holes->cells) of the n rows, NULL: all; NaN in those of others. */
kn_status kn_imputer_run(kn_ctx *ctx, const kn_imputer *f, const ptrdiff_t *rows, ptrdiff_t n,
                         double *filled, kn_impute_info *info);

/* Phi (n x m) with Phi Phi' = R0 over the rows of X but for 1e-6 of its trace: features, or of a
 * dense R0 its own vectors. Every response with rows of its own pays m^3, and what is filled in
 * is uncertain by far more. */
kn_status kn_imputer_features(kn_ctx *ctx, const kn_imputer *f, kn_mat X, kn_mat *Phi);

/* Bytes beside the filled cells themselves, for one run over n rows. */
double kn_imputer_bytes(const kn_imputer *f, ptrdiff_t n);

#endif
