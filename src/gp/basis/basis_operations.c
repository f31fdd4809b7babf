/* Implements basis.h. All sums over responses go through block visitors and exact sums. */
#include "gp/basis/basis.h"

#include <math.h>

#include "base/mpi/comm.h"
#include "base/sum/block_sums.h"
#include "data/mpi/gather_responses.h"
#include "gp/basis/internal.h"
#include "gp/block_visitor.h"
#include "la/la.h"
#include "la/vec.h"

/* |B'B - I| above this is corrected; below it is rounding. */
static const double ORTHONORMAL = 1e-12;

/* Safety factor of the bounds of exact sums, for rounding and the subtraction of a mean. */
static const double GENEROUS = 2;

void kn_basis_clear(kn_basis *b)
{
    kn_mat_clear(&b->B);
    kn_mat_clear(&b->Z);
    *b = (kn_basis){0};
}

/* Returns the largest Euclidean length of the columns of B (T x P): a bound of the entries of
 * B'B and Y B. */
static double longest_column(kn_mat B)
{
    double limit = 0;
    for (ptrdiff_t p = 0; p < B.cols; p++)
        limit = fmax(limit, kn_sumsq(kn_cols(B, p, 1)));
    return sqrt(limit);
}

typedef struct angles {
    kn_mat B, part;
    kn_sum S;
} angles;

/* Block visitor of kn_basis_angles (self: angles): adds B_b'B_b (P x P, lower triangle) of the
 * block's rows of B to the exact sum. */
static kn_status add_angles(kn_ctx *ctx, void *self, kn_block *b)
{
    angles *a = self;
    kn_syrk(ctx, 1, KN_T, kn_sub(a->B, b->first, 0, b->count, a->B.cols), 0, a->part);
    kn_sum_add(ctx, &a->S, a->part);
    return KN_OK;
}

kn_status kn_basis_angles(kn_ctx *ctx, const kn_responses *Y, kn_mat B, kn_mat S)
{
    kn_status status;
    angles a = {.B = B};
    kn_visitor visitor = {&a, 0, NULL, add_angles, NULL};
    double limit = longest_column(B);
    if (!isfinite(limit))
        return kn_fail(ctx, KN_ERR_DATA, "the basis has values that are not finite");
    KN_TRY(kn_sum_new_lower(ctx, B.cols, GENEROUS * limit * limit, 2, &a.S));
    KN_TRY(kn_mat_new(ctx, B.cols, B.cols, &a.part));
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = *Y}, &visitor, 1));
    KN_TRY(kn_sum_value(ctx, &a.S, S));
out:
    kn_mat_clear(&a.part);
    kn_sum_clear(&a.S);
    return status;
}

/* Returns max |S_ij - (i == j)| over the lower triangle of S = B'B (P x P): how far B is from
 * orthonormal; NaN if an entry is NaN. */
static double largest_deviation(kn_mat S)
{
    double worst = 0;
    for (ptrdiff_t j = 0; j < S.cols; j++)
        for (ptrdiff_t i = j; i < S.rows; i++) {
            double e = fabs(kn_at(S, i, j) - (i == j));
            if (isnan(e))
                return NAN;
            worst = fmax(worst, e);
        }
    return worst;
}

/* Orthonormalises the columns of B (T x P) in place: B <- B L^-T with LL' = B'B, twice, because
 * one step loses the square of B's condition number (CholeskyQR2, Yamamoto et al. 2015). Columns
 * are scaled first, so only their angles matter. S (P x P) is work space. KN_ERR_DATA if columns
 * are zero, not finite or linearly dependent. Collective. */
static kn_status orthonormalise_basis(kn_ctx *ctx, const kn_responses *Y, kn_mat B, kn_mat S)
{
    kn_status status = KN_OK;
    for (ptrdiff_t j = 0; j < B.cols; j++) {
        double norm = sqrt(kn_sumsq(kn_cols(B, j, 1)));
        if (!(norm > 0 && isfinite(norm)))
            return kn_fail(ctx, KN_ERR_DATA, "column %td of the basis is zero or not finite",
                           j + 1);
        for (ptrdiff_t i = 0; i < B.rows; i++)
            kn_col(B, j)[i] /= norm;
    }
    for (int pass = 0; pass < 2; pass++) {
        KN_TRY(kn_basis_angles(ctx, Y, B, S));
        status = kn_chol(ctx, S, "the matrix of basis angles");
        for (ptrdiff_t j = 0; status == KN_OK && j < S.cols; j++)
            if (kn_at(S, j, j) < 1e-7)
                status = KN_ERR_NUMERIC;
        if (status != KN_OK)
            return kn_fail(ctx, KN_ERR_DATA,
                           "the columns of the basis are linearly dependent: it has rank below %td",
                           B.cols);
        kn_trsm_right(ctx, KN_T, S, B);
    }
out:
    return status;
}

typedef struct energy_job {
    kn_mat y;
    const double *mean; /* of these responses, or NULL */
    double *energy;
} energy_job;

/* Parallel task (self: energy_job) for columns from .. to - 1 of a block y (N x count):
 * subtracts mean[j] unless mean is NULL, and sets energy[j] = |y_j|^2. */
static void centre_columns(void *self, ptrdiff_t from, ptrdiff_t to)
{
    const energy_job *b = self;
    for (ptrdiff_t j = from; j < to; j++) {
        double *y = kn_col(b->y, j);
        for (ptrdiff_t i = 0; b->mean && i < b->y.rows; i++)
            y[i] -= b->mean[j];
        b->energy[j] = kn_vec_dot(b->y.rows, y, y);
    }
}

typedef struct projection {
    const double *mean;
    kn_mat B, part;
    kn_sum Z;
    double *energy; /* width  energy of each response */
    kn_slots total;
} projection;

/* Begins the loop of kn_project (self: projection): allocates the N x P product of one block,
 * the energies of its responses and one sum of energies per block. */
static kn_status begin_projection(kn_ctx *ctx, void *self, const kn_block_loop_plan *plan)
{
    kn_status status;
    projection *p = self;
    KN_TRY(kn_mat_new(ctx, plan->n, p->B.cols, &p->part));
    KN_TRY(kn_alloc_d(ctx, plan->width, &p->energy));
    KN_TRY(kn_slots_new(ctx, plan->blocks, 1, &p->total));
out:
    return status;
}

/* Block visitor of kn_project (self: projection): centres the block's responses in place, adds
 * y_block B_block (N x P) to Z and their squared lengths to the total. */
static kn_status project_block(kn_ctx *ctx, void *self, kn_block *b)
{
    enum { COLUMNS = 16 };
    projection *p = self;
    energy_job job = {b->y, p->mean ? p->mean + b->first : NULL, p->energy};
    kn_parallel(ctx, b->count, COLUMNS, centre_columns, &job);
    kn_gemm(ctx, 1, KN_N, b->y, KN_N, kn_sub(p->B, b->first, 0, b->count, p->B.cols), 0, p->part);
    kn_sum_add(ctx, &p->Z, p->part);
    for (ptrdiff_t j = 0; j < b->count; j++)
        *kn_slot(&p->total, b->number) += p->energy[j];
    return KN_OK;
}

kn_status kn_project(kn_ctx *ctx, const kn_responses *Y, const double *mean, kn_mat B, kn_mat Z,
                     double *total)
{
    kn_status status;
    projection p = {.mean = mean, .B = B};
    kn_visitor visitor = {&p, KN_BLOCK_Y, begin_projection, project_block, NULL};
    /* |z_ip| <= |y_i - mean| |b_p|; the mean is bounded by the same norm */
    double bound = GENEROUS * sqrt(kn_responses_energy(Y)) * longest_column(B);
    KN_TRY(kn_sum_new(ctx, Z.rows, Z.cols, bound, 2, &p.Z));
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = *Y}, &visitor, 1));
    KN_TRY(kn_sum_value(ctx, &p.Z, Z));
    KN_TRY(kn_slots_sum(ctx, &p.total, total));
out:
    kn_slots_clear(&p.total);
    kn_free(p.energy);
    kn_mat_clear(&p.part);
    kn_sum_clear(&p.Z);
    return status;
}

kn_status kn_basis_project(kn_ctx *ctx, const kn_responses *Y, const double *mean, kn_basis *b)
{
    kn_status status = kn_project(ctx, Y, mean, b->B, b->Z, &b->total);
    b->E = fmax(b->total - kn_sumsq(b->Z), 0);
    return status;
}

void kn_basis_fix_signs(kn_basis *basis)
{
    for (ptrdiff_t p = 0; p < basis->B.cols; p++) {
        double *b = kn_col(basis->B, p), *z = kn_col(basis->Z, p);
        ptrdiff_t top = 0;
        for (ptrdiff_t j = 1; j < basis->B.rows; j++)
            if (fabs(b[j]) > fabs(b[top]))
                top = j;
        if (b[top] >= 0)
            continue;
        for (ptrdiff_t j = 0; j < basis->B.rows; j++)
            b[j] = -b[j];
        for (ptrdiff_t i = 0; i < basis->Z.rows; i++)
            z[i] = -z[i];
    }
}

kn_status kn_rotate(kn_ctx *ctx, kn_mat *M, kn_mat V)
{
    kn_status status;
    kn_mat strip = {0};
    ptrdiff_t rows = M->rows < KN_BLOCK ? M->rows : KN_BLOCK;
    KN_TRY(kn_mat_new(ctx, rows, M->cols, &strip));
    for (ptrdiff_t i = 0; i < M->rows; i += rows) {
        ptrdiff_t n = M->rows - i < rows ? M->rows - i : rows;
        kn_mat m = kn_sub(*M, i, 0, n, M->cols), s = kn_sub(strip, 0, 0, n, M->cols);
        kn_mat_set(s, m);
        kn_gemm(ctx, 1, KN_N, s, KN_N, V, 0, kn_cols(m, 0, V.cols));
    }
    M->cols = V.cols;
out:
    kn_mat_clear(&strip);
    return status;
}

kn_status kn_basis_ritz(kn_ctx *ctx, kn_basis *b, ptrdiff_t P)
{
    kn_status status;
    kn_mat S = {0}, V = {0};
    double *w = NULL;
    ptrdiff_t k = b->Z.cols;
    KN_TRY(kn_alloc_d(ctx, k, &w));
    KN_TRY(kn_mat_new(ctx, k, k, &S));
    KN_TRY(kn_mat_new(ctx, k, P, &V));
    kn_syrk(ctx, 1, KN_T, b->Z, 0, S);
    KN_TRY(kn_eig_on_root(ctx, S, w));
    for (ptrdiff_t p = 0; p < P; p++)
        kn_mat_set(kn_cols(V, p, 1), kn_cols(S, k - 1 - p, 1));
    KN_TRY(kn_rotate(ctx, &b->B, V));
    KN_TRY(kn_rotate(ctx, &b->Z, V));
out:
    kn_mat_clear(&V);
    kn_mat_clear(&S);
    kn_free(w);
    return status;
}

/* Repairs a basis whose small singular values carry the rounding of the Gram matrix:
 * orthonormalises b->B (T x P) again, projects Y on it and rotates so that Z'Z is diagonal. S (P
 * x P) is work space. Collective. */
static kn_status repair_basis(kn_ctx *ctx, const kn_responses *Y, kn_basis *b, kn_mat S)
{
    kn_status status;
    KN_TRY(orthonormalise_basis(ctx, Y, b->B, S));
    KN_TRY(kn_basis_project(ctx, Y, NULL, b));
    KN_TRY(kn_basis_ritz(ctx, b, b->B.cols));
out:
    return status;
}

typedef struct basis_pass {
    kn_mat scaled; /* N x P  U S^-1 */
    kn_mat B;
} basis_pass;

/* Block visitor of build_from_sample_gram (self: basis_pass): computes the block's rows of B = Y' U
 * S^-1 (T x P). */
static kn_status build_block(kn_ctx *ctx, void *self, kn_block *b)
{
    basis_pass *u = self;
    kn_gemm(ctx, 1, KN_T, b->y, KN_N, u->scaled, 0, kn_sub(u->B, b->first, 0, b->count, u->B.cols));
    return KN_OK;
}

/* Fills b->B = Y' U S^-1 (T x P) and b->Z = U S (N x P) from the leading eigenvectors U of G =
 * YY' (N x N) and their singular values S; repairs B if rounding made it less than orthonormal.
 * Reads Y once, 2 N T P flops. Collective. */
static kn_status build_from_sample_gram(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram,
                                        kn_basis *b)
{
    kn_status status;
    basis_pass u = {.B = b->B};
    kn_visitor visitor = {&u, KN_BLOCK_Y, NULL, build_block, NULL};
    kn_mat S = {0};
    ptrdiff_t N = Y->N, P = b->B.cols;
    KN_TRY(kn_mat_new(ctx, N, P, &u.scaled));
    KN_TRY(kn_mat_new(ctx, P, P, &S));
    for (ptrdiff_t p = 0; p < P; p++) {
        double s = sqrt(gram->s2[p]);
        for (ptrdiff_t i = 0; i < N; i++) {
            kn_col(u.scaled, p)[i] = kn_at(gram->U, i, p) / s;
            kn_col(b->Z, p)[i] = kn_at(gram->U, i, p) * s;
        }
    }
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = *Y}, &visitor, 1));
    KN_TRY(kn_allgather_response_rows(ctx, Y, b->B));
    KN_TRY(kn_basis_angles(ctx, Y, b->B, S));
    if (gram->made == KN_F32 || largest_deviation(S) > ORTHONORMAL)
        KN_TRY(repair_basis(ctx, Y, b, S));
out:
    kn_mat_clear(&S);
    kn_mat_clear(&u.scaled);
    return status;
}

/* Returns the largest |cosine| between two columns of Z, from ZZ = Z'Z (P x P, lower triangle):
 * 0 if they are orthogonal. */
static double largest_cosine(kn_mat ZZ)
{
    double worst = 0;
    for (ptrdiff_t j = 0; j < ZZ.cols; j++)
        for (ptrdiff_t i = j + 1; i < ZZ.rows; i++)
            worst = fmax(worst, fabs(kn_at(ZZ, i, j)) / sqrt(kn_at(ZZ, i, i) * kn_at(ZZ, j, j)));
    return worst;
}

/* Fills b->B = U (T x P) and b->Z = Y U (N x P) from the leading eigenvectors U of G = Y'Y (T x
 * T). B'B = I to rounding; if columns of Z with small singular values carry the rounding of Y'Y,
 * both are rotated so that Z'Z is diagonal. Collective. */
static kn_status build_from_response_gram(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram,
                                          kn_basis *b)
{
    kn_status status;
    kn_mat ZZ = {0};
    ptrdiff_t P = b->B.cols;
    KN_TRY(kn_mat_new(ctx, P, P, &ZZ));
    kn_mat_set(b->B, kn_cols(gram->U, 0, P));
    KN_TRY(kn_basis_project(ctx, Y, NULL, b));
    kn_syrk(ctx, 1, KN_T, b->Z, 0, ZZ);
    if (largest_cosine(ZZ) > ORTHONORMAL)
        KN_TRY(kn_basis_ritz(ctx, b, P));
out:
    kn_mat_clear(&ZZ);
    return status;
}

kn_status kn_basis_pca(kn_ctx *ctx, const kn_responses *Y, const kn_gram *gram, ptrdiff_t P,
                       kn_basis *out)
{
    kn_status status;
    *out = (kn_basis){.pca = true};
    KN_TRY(kn_mat_new(ctx, Y->T, P, &out->B));
    KN_TRY(kn_mat_new(ctx, Y->N, P, &out->Z));
    for (ptrdiff_t i = 0; i < gram->G.rows; i++)
        out->total += kn_at(gram->G, i, i);
    out->E = out->total;
    for (ptrdiff_t p = 0; p < P; p++)
        out->E -= gram->s2[p];
    if (out->E < 0)
        out->E = 0;
    KN_TRY((gram->by_responses ? build_from_response_gram : build_from_sample_gram)(ctx, Y, gram,
                                                                                    out));
    kn_basis_fix_signs(out);
out:
    if (status != KN_OK)
        kn_basis_clear(out);
    return status;
}

kn_status kn_basis_check(kn_ctx *ctx, const kn_responses *Y, ptrdiff_t P, ptrdiff_t limit)
{
    if (P < 1)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{components} is %td, but must be 1 to %td", P, limit);
    if (P > limit)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{components} is %td, but %td participants with %td responses allow at most %td", P,
            Y->N, Y->T, limit);
    return KN_OK;
}

kn_status kn_basis_given(kn_ctx *ctx, const kn_responses *Y, kn_view B, kn_basis *out)
{
    kn_status status;
    kn_mat S = {0};
    *out = (kn_basis){0};
    KN_TRY(kn_mat_new(ctx, Y->T, B.cols, &out->B));
    KN_TRY(kn_mat_new(ctx, Y->N, B.cols, &out->Z));
    KN_TRY(kn_mat_new(ctx, B.cols, B.cols, &S));
    for (ptrdiff_t p = 0; p < B.cols; p++)
        for (ptrdiff_t j = 0; j < Y->T; j++)
            kn_col(out->B, p)[j] = kn_view_at(B, Y->scaling->kept[j], p);
    KN_TRY(kn_basis_angles(ctx, Y, out->B, S));
    if (!(largest_deviation(S) <= ORTHONORMAL)) {
        KN_TRY(orthonormalise_basis(ctx, Y, out->B, S));
        out->orthonormalised = true;
    }
    KN_TRY(kn_basis_project(ctx, Y, NULL, out));
out:
    kn_mat_clear(&S);
    if (status != KN_OK)
        kn_basis_clear(out);
    return status;
}

void kn_angles_need(kn_mem_plan *r, ptrdiff_t P)
{
    kn_mem_usage mark = r->now;
    kn_sum_need(r, KN_NEED_WORK, (kn_sum){P, P, true, {0}}, 2);
    kn_plan_alloc_d(r, KN_NEED_WORK, P, P);
    kn_plan_free_to(r, mark);
}

void kn_project_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P)
{
    kn_mem_usage mark = r->now;
    ptrdiff_t width = kn_block_loop_width(0, T);
    kn_sum_need(r, KN_NEED_WORK, (kn_sum){N, P, false, {0}}, 2);
    kn_plan_alloc_d(r, KN_NEED_WORK, N, P);
    kn_plan_alloc_d(r, KN_NEED_WORK, width, 1);
    kn_slots_need(r, KN_NEED_WORK, 1 + T / KN_BLOCK, 1);
    kn_block_loop_need(r, N, width, KN_BLOCK_Y);
    kn_plan_free_to(r, mark);
}

void kn_ritz_need(kn_mem_plan *r, ptrdiff_t N, ptrdiff_t T, ptrdiff_t k)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, k, 2 * k + 1);
    kn_eig_need(r, KN_NEED_WORK, k);
    kn_plan_alloc_d(r, KN_NEED_WORK, kn_min_size(N > T ? N : T, KN_BLOCK), k);
    kn_plan_free_to(r, mark);
}

void kn_basis_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->P);
    kn_mem_usage mark = r->now;
    if (!s->given_basis)
        kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->P); /* scaled */
    kn_plan_alloc_d(r, KN_NEED_WORK, s->P, s->P);
    kn_angles_need(r, s->P);
    kn_project_need(r, s->N, s->T, s->P);
    if (!s->given_basis)
        kn_ritz_need(r, s->N, s->T, s->P);
    kn_plan_free_to(r, mark);
}

/* ---- eigenproblem on root ---- */

/* Solves the symmetric eigenproblem of S (n x n, lower triangle) by `solve` on MPI rank 0 and
 * broadcasts the eigenvectors (into S) and eigenvalues w (n), so that all ranks have the same
 * bits. Collective. */
static kn_status solve_on_root(kn_ctx *ctx, kn_status (*solve)(kn_ctx *, kn_mat, double *),
                               kn_mat S, double *w)
{
    kn_status status = KN_OK;
    ptrdiff_t n = S.rows, bytes = sizeof *w;
    if (kn_ctx_comm(ctx)->rank == 0)
        KN_TRY(solve(ctx, S, w));
    KN_TRY(kn_comm_broadcast(ctx, w, n * bytes, 0));
    KN_TRY(kn_comm_broadcast(ctx, S.data, n > 0 ? ((n - 1) * S.ld + n) * bytes : 0, 0));
out:
    return status;
}

kn_status kn_eig_on_root(kn_ctx *ctx, kn_mat S, double *w)
{
    return solve_on_root(ctx, kn_eig, S, w);
}

kn_status kn_eig_reproducible_on_root(kn_ctx *ctx, kn_mat S, double *w)
{
    return solve_on_root(ctx, kn_eig_reproducible, S, w);
}
