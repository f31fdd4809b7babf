/* Imputation of missing responses, before anything is learned from them [METHOD 0b]
 *
 *     start    each response from its own observed rows: y_u <- its mean given R0  [impute_start.c]
 *     rounds   m_j = mean of the completed y_j,  G = m + R0 (R0 + delta_j I)^-1 (y - m),  E = Y - G
 *              B, lam: leading P eigenpairs of E'E/N                               [impute_basis.c]
 *              psi_j = max(sum over observed of (E - EBB')^2/n_j, .05)
 *              d_p = max(lam_p - sum_j B_jp^2 psi_j, 1e-6)
 *              a = (diag(1/d) + B_o'Psi_o^-1 B_o)^-1 B_o'Psi_o^-1 (y_o - G_o)   of each participant
 *              y_u <- G_u + B_u a
 *
 * For a participant whose level is empty for the response [empty_levels.h], Gn replaces G
 * throughout: G without the terms of such levels, whose effect is carried over from other
 * responses.
 *
 * delta_j is fixed after the start: at the fixed point G is then the mean given the observed
 * cells, while a delta estimated from imputed cells would be too small. A round: 8 N m T for G
 * twice, N^2 T for the eigenvectors, P^2 per missing cell, N P^3; N x N or N x 2048, and 16 bytes
 * per missing cell. */
#ifndef KN_GP_MISSING_IMPUTE_H
#define KN_GP_MISSING_IMPUTE_H

#include "cov/indicators.h"
#include "data/responses/responses.h"
#include "gp/missing/empty_levels.h"

enum { KN_IMPUTE_ROUNDS = 5, KN_IMPUTE_MAX = 10 }; /* maximal rounds and components */
enum { KN_IMPUTE_MIN = 3 }; /* observed values of a response needed for more than its mean */
/* rms change of the imputed cells that ends the rounds, in sd */
extern const double kn_impute_tolerance;

/* Record of an imputation. */
typedef struct kn_impute_info {
    int rounds;
    ptrdiff_t P;       /* components used */
    double rms_change; /* of the imputed cells in the last round, in standard deviations */
    ptrdiff_t cells;   /* number of imputed cells */
} kn_impute_info;

/* Input of kn_impute; all borrowed. */
typedef struct kn_impute_problem {
    kn_responses Y;                 /* n x T  with missing cells; its imputed values are not read */
    kn_mat Phi;                     /* n x m  R0 = Phi Phi' of these rows */
    kn_indicators block;            /* of Phi; count 0: none */
    const kn_impute_levels *levels; /* of these rows; NULL: no category */
    ptrdiff_t P;                    /* components; 0: by kn_impute_components */
    int rounds;                     /* maximal number */
    double tolerance;
    uint64_t seed; /* of the initial eigenvectors, for many participants */
} kn_impute_problem;

/* Returns the default number of factors of an imputation: floor(min(n/20, observed cells per
 * participant/7)), 1 to 10. */
ptrdiff_t kn_impute_components(const kn_responses *Y);

/* Imputes the missing cells of the rows p->Y by their expectation under R0 (covariance between
 * participants) and a few factors [METHOD 0b]: imputed (missing->cells values, standardised
 * units); NaN for cells of other rows. delta (T, or NULL if not wanted): noise over signal of
 * each response; infinity: no signal. Collective. */
kn_status kn_impute(kn_ctx *ctx, const kn_impute_problem *p, double *imputed, double *delta,
                    kn_impute_info *info);

/* Computes *place (rows of the data, owned by the caller, kn_free): index of each row of the
 * data among the rows of Y; -1: not among them. */
kn_status kn_impute_row_index(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t **place);

#endif
