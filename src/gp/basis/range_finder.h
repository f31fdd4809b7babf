/* Randomised range finder: leading principal components without a Gram matrix, for many
 * participants, or for a subset of them with its own mean [METHOD 6b]. range_finder_passes.c reads
 * the responses. */
#ifndef KN_GP_BASIS_RANGE_FINDER_H
#define KN_GP_BASIS_RANGE_FINDER_H

#include "base/memory/plan.h"
#include "gp/basis/basis.h"

/* Default number of power passes, and additional columns. */
enum { KN_RANGE_PASSES = 2, KN_RANGE_OVERSAMPLE = 10 };

/* Sufficient residual where the basis of most participants is known already. Errors of the
 * eigenvalues are of the order of its square. */
#define KN_RANGE_ENOUGH 0.1

/* Precision of the last reading. By size: float32 if the responses are float32 and the product is
 * large. */
typedef enum kn_range_last { KN_LAST_BY_SIZE, KN_LAST_DOUBLE, KN_LAST_SINGLE } kn_range_last;

/* Options of kn_basis_range; pointers are borrowed. */
typedef struct kn_range_options {
    bool centre;   /* subtract the mean over these participants */
    int passes;    /* number of power passes, normally KN_RANGE_PASSES; 1 from a good start */
    double enough; /* stop before `passes` if the residual is at most this; 0: never */
    uint64_t seed; /* of the random directions */
    /* n x any, or none: A times initial directions, such as the components of some participants;
     * random directions fill up */
    kn_mat sketch;
    double *mean; /* T  receives the mean; may be NULL */
    kn_range_last last;
} kn_range_options;

/* Accuracy and cost of a result. */
typedef struct kn_range_info {
    /* max over p <= P of |A A' u_p - t_p u_p| / t_p for the orthonormal u_p and t_p = |A' u_p|^2
     * before the last half step: an eigenvalue of A A' lies within t_p (1 +- residual); those of
     * Z'Z are closer */
    double residual;
    double captured; /* |Z|^2 / |A|^2 */
    int readings;    /* number of times that Y was read */
} kn_range_info;

/* Computes P components of A (n x T) = Y - 1 mean', where mean = 0 unless centred: B (T x P), B'B
 * = I to double precision, Z = A B to the precision of the last reading, Z'Z diagonal and
 * descending, E = |A|^2 - |Z|^2, signs as in kn_basis_pca. With k = P + 10:
 *
 *     Q = orth([sketch, A random])                       2 n T k flops, float32, one reading; none
 *                                                        where the sketch has k columns
 *     passes times: M = A (A'Q), Q'M = X diag(t) X'      4 n T k flops, float32, one reading
 *                   Q = orth(M - t_k/2 Q)                n k^2
 *     W = A'Q, M = A W                                   4 n T k flops, one reading; double, or
 *                                                        float32 for many responses in float32
 *     W = B R, Z = M R^-1, and Rayleigh-Ritz             T k^2 + n k^2
 *
 * (Halko, Martinsson & Tropp 2011, algorithms 4.4 and 5.1; the shift is from Feng, Yu, Xie & Tang
 * 2024, "Faster randomized SVD with dynamic shifts".) Both products of a pass use the same strip
 * of responses, so Y is read passes + 2 times instead of 2 passes + 3; once more if the smallest
 * column of Z would carry the rounding of its largest. With o->enough > 0 and float32 each pass is
 * computed as if it were the last. The columns of Q sum to zero when centred, so that A'Q = Y'Q
 * and no mean is needed before the last reading. Memory: two n x k and one T x k doubles, the same
 * n x k twice in float32, and strips of at most 128 MB; nothing n x T.
 *
 * If the rank of A is below P, B.cols is that rank; KN_ERR_DATA if no response varies,
 * KN_ERR_ARGUMENT if P is out of range. Sums over responses are exact: the same bytes for the same
 * seed and any number of threads, as far as kn_eig of k x k is reproducible. Collective. */
kn_status kn_basis_range(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, const kn_range_options *o,
                         kn_basis *out, kn_range_info *info);

/* Returns the number of columns that the range finder works with: k = P + 10, at most min(n, T). */
ptrdiff_t kn_range_columns(ptrdiff_t n, ptrdiff_t T, ptrdiff_t P);
/* Predicts in plan r the memory of kn_basis_range for P components of n participants and T
 * responses: B (T x k) and Z (n x k) stay in the plan, the work space only raises the peak. */
void kn_range_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T, ptrdiff_t P);

#endif
