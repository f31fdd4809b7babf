/* Leading principal components where a Gram matrix is too much: of many samples, or of a part of
 * them with its own mean                                                             [METHOD 6b] */
#ifndef KN_GP_BASIS_RANGE_FINDER_H
#define KN_GP_BASIS_RANGE_FINDER_H

#include "base/memory/plan.h"
#include "gp/basis/basis.h"

enum { KN_RANGE_PASSES = 2, KN_RANGE_OVERSAMPLE = 10 };

/* A residual that is enough where the basis of most samples is known: eigenvalues are off by its
 * square, what the components hold by less. */
#define KN_RANGE_ENOUGH 0.1

/* Precision of the last reading. By size: float32 where the responses themselves have no more
 * digits and it would take a while. */
typedef enum kn_range_last { KN_LAST_BY_SIZE, KN_LAST_DOUBLE, KN_LAST_SINGLE } kn_range_last;

typedef struct kn_range_options {
    bool centre;   /* take away the mean over these samples */
    int passes;    /* power passes: KN_RANGE_PASSES; from a good start one does */
    double enough; /* a residual from which on no further one is made; 0: all are */
    uint64_t seed; /* of the random directions */
    kn_mat sketch; /* n x any, or none: A times directions to begin with, such as the components of
                    * some of the samples; random ones fill up */
    double *mean;  /* T, or NULL: where the mean goes */
    kn_range_last last;
} kn_range_options;

typedef struct kn_range_info {
    double residual; /* max over p <= P of |A A' u_p - t_p u_p| / t_p for the orthonormal u_p and
                      * t_p = |A' u_p|^2 half a step before the end: within t_p (1 +- residual) lies
                      * an eigenvalue of A A', and those of Z'Z are nearer */
    double captured; /* |Z|^2 / |A|^2 */
    int readings;    /* of Y */
} kn_range_info;

/* A (n x T) = Y - 1 mean', where mean = 0 unless centred. B (T x P), B'B = I to double, Z = A B to
 * the precision of the last reading, Z'Z diagonal and descending, E = |A|^2 - |Z|^2, signs as
 * kn_basis_pca has them. With k = P + 10:
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
 * 2024, "Faster randomized SVD with dynamic shifts".) Both products of a pass are made of the same
 * strip of responses, so Y is read passes + 2 times instead of 2 passes + 3; once more when Z's
 * smallest column would carry the rounding of its largest. Where some residual is enough, each pass
 * is made as the last. Sums over responses are added in double
 * from strip to strip. The columns of Q sum to zero when centred, so that A'Q = Y'Q and no mean is
 * needed before the last reading. Memory: two n x k and one T x k doubles, the same n x k twice in
 * float32, and strips of at most 128 MB; nothing n x T.
 *
 * Responses of rank below P give as many components as there are: B.cols says how many; none is an
 * error. Sums over responses are exact: the same
 * bytes for the same seed and any number of threads, as far as kn_eig of k x k has them.
 * Collective. */
kn_status kn_basis_range(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, const kn_range_options *o,
                         kn_basis *out, kn_range_info *info);

/* P components of n samples: leaves B and Z with the columns that it works with, k = P + 10. */
ptrdiff_t kn_range_columns(ptrdiff_t n, ptrdiff_t T, ptrdiff_t P);
void kn_range_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T, ptrdiff_t P);

#endif
