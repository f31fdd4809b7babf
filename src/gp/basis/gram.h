/* The Gram matrix of the responses, on the smaller side: G = YY' (N x N), or G = Y'Y (T x T) if
 * there are fewer responses than participants; and its eigenvectors. The principal components of
 * all participants and of every fold follow from it [METHOD 1, 5b] */
#ifndef KN_GP_BASIS_GRAM_H
#define KN_GP_BASIS_GRAM_H

#include "base/memory/plan.h"
#include "data/responses/responses.h"

/* A Gram matrix and its decomposition; owns its arrays. */
typedef struct kn_gram {
    bool by_responses; /* G = Y'Y, T x T; else G = YY', N x N */
    kn_mat G;          /* both triangles */
    kn_mat U;          /* its eigenvectors, leading first */
    double *s2;        /* its eigenvalues, as many as G has rows, descending, not negative */
    double *sums;      /* T  sum of each response over the participants; by_responses only */
    /* precision of the products; KN_F32: entries accurate to 1e-7 of the diagonal, not 1e-15 */
    kn_type made;
    double noise;   /* eigenvalues of G, or of a submatrix, up to this are rounding */
    ptrdiff_t rank; /* number of eigenvalues above noise */
} kn_gram;

/* Computes the Gram matrix of the responses Y (N x T) and its eigenvectors: G = Y'Y (T x T) or
 * YY' (N x N), normally the smaller one (kn_by_responses). N T min(N, T) flops and one
 * eigenproblem of size min(N, T); reads Y once. out is cleared on error. Collective. */
kn_status kn_gram_new(kn_ctx *ctx, const kn_responses *Y, kn_gram *out);
/* Computes G = YY' (N x N) with its eigenvectors, N^2 T flops, in the precision `made` of the
 * products: KN_F64, or KN_F32 with the sum over blocks in double. kn_gram_new takes KN_F32 for
 * float32 responses if N^2 T exceeds 1e11. out is cleared on error. Collective. */
kn_status kn_gram_made(kn_ctx *ctx, const kn_responses *Y, kn_type made, kn_gram *out);
/* Computes G = Y'Y (T x T) with its eigenvectors and the sums of the responses, N T^2 flops in
 * double; for fewer responses than participants. out is cleared on error. Collective. */
kn_status kn_gram_of_responses(kn_ctx *ctx, const kn_responses *Y, kn_gram *out);
/* Returns the precision of the products in kn_gram_new: KN_F32 for float32 responses if N^2 T
 * exceeds 1e11, else KN_F64. */
kn_type kn_gram_precision(const kn_responses *Y);
/* Frees g and sets it to {0}. */
void kn_gram_clear(kn_gram *g);
/* Computes Z (N x P, owned by the caller), the coordinates of all participants in the leading P
 * principal components: U_P diag(s) of G = YY', or Y U_P of G = Y'Y, for which Y is read once.
 * Collective. */
kn_status kn_gram_coordinates(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram, ptrdiff_t P,
                              kn_mat *Z);

/* Computes S = Y'Y (T x T, lower triangle) and sums = Y'1 (T) over the rows of Y, strip by strip
 * of participants; every MPI rank receives the responses of the others and has the whole result.
 * stage: its name in progress reports, or NULL for none. N T^2 flops. Collective. */
kn_status kn_response_products(kn_ctx *ctx, const kn_responses *Y, const char *stage, kn_mat S,
                               double *sums);
/* Adds the work space of kn_response_products (s->N, s->T) to the memory plan and removes it
 * again: only the peak rises. */
void kn_response_products_need(kn_mem_plan *r, const kn_problem_size *s);

/* True if N^2 T exceeds 1e11: enough work for all threads to read blocks at once. */
bool kn_gram_long(const kn_problem_size *s);
/* Adds a Gram matrix with its eigenvectors, on the smaller side of s->N x s->T, to the memory
 * plan, where it stays; the work space of kn_gram_new only raises the peak. */
void kn_gram_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
