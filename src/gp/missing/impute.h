/* Missing responses filled in, before anything is learned from the table            [METHOD 0b]
 *
 *     start    each response from its own available rows: y_u <- its mean given R0   [fill_start.h]
 *     rounds   m_j = mean of the completed y_j,  G = m + R0 (R0 + delta_j I)^-1 (y - m),  E = Y - G
 *              B, lam: leading P eigenpairs of E'E/N [fill_basis.h] psi_j = max(sum over observed
 * of (E - EBB')^2/n_j, .05) d_p = max(lam_p - sum_j B_jp^2 psi_j, 1e-6) a = (diag(1/d) +
 * B_o'Psi_o^-1 B_o)^-1 B_o'Psi_o^-1 (y_o - G_o)         of each sample y_u <- G_u + B_u a where
 * nobody of a sample's level has the response, with Gn for G throughout:   [fill_levels.h] G
 * without the terms of such levels, which are then carried over from the others
 *
 * delta_j is held after the start: at the fixed point G is then the mean given what is observed,
 * while a delta from filled cells would be too small. A round: 8 N m T for G twice, N^2 T for the
 * eigenvectors, P^2 a missing cell, N P^3; N x N or N x 2048, and 16 bytes a missing cell. */
#ifndef KN_GP_MISSING_IMPUTE_H
#define KN_GP_MISSING_IMPUTE_H

#include "data/responses/responses.h"
#include "gp/missing/empty_levels.h"

enum { KN_IMPUTE_ROUNDS = 5, KN_IMPUTE_MOST = 10 }; /* components */
enum { KN_IMPUTE_LEAST = 3 }; /* values of a response among the rows that say more than a mean */
extern const double kn_impute_tolerance; /* rms change of the missing cells that ends the rounds */

typedef struct kn_impute_info {
    int rounds;
    ptrdiff_t P;       /* components that were used */
    double rms_change; /* of the last round, in standard deviations */
    ptrdiff_t cells;   /* filled */
} kn_impute_info;

typedef struct kn_impute_problem {
    kn_responses Y;                 /* n x T with holes; what is filled in it is not read */
    kn_mat Phi;                     /* n x m   R0 = Phi Phi' of these rows */
    const kn_impute_levels *levels; /* of these rows; NULL: no category */
    ptrdiff_t P;                    /* components; 0: by the rule */
    int rounds;                     /* at most */
    double tolerance;
    uint64_t seed; /* of the start of eigenvectors, where samples are very many */
} kn_impute_problem;

/* P by the rule: floor(min(n/20, observed cells a sample/7)), 1 to 10 */
ptrdiff_t kn_impute_components(const kn_responses *Y);

/* filled (holes->cells): the missing cells of these rows; those of others become NaN. delta: T, or
 * NULL where it is not asked for; infinity: a response without signal. */
kn_status kn_impute(kn_ctx *ctx, const kn_impute_problem *p, double *filled, double *delta,
                    kn_impute_info *info);

/* rows -> 0 .. n-1 of the caller's rows, -1: not among them. Free with kn_free. */
kn_status kn_impute_places(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t **place);

#endif
