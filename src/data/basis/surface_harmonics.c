/* Implements surface_harmonics.h: shift-and-invert block Lanczos, with a dense solver for small
 * surfaces. The harmonics are a basis of smooth maps on the cortex, from the largest wavelength
 * on. */
#include "data/basis/surface_harmonics.h"

#include <float.h>
#include <math.h>

#include "base/parallel/parallel_for.h"
#include "base/random.h"
#include "io/file/path.h"
#include "la/la.h"
#include "la/vec.h"

enum {
    DENSE = 400,        /* vertices up to which the dense solver takes less than a second */
    BLOCK_MIN = 16,     /* smallest block size */
    BLOCK_MAX = 128,    /* largest block size; no surface has eigenvalues of this multiplicity */
    CHECK_STEPS = 5,    /* block steps of the run that looks for missed eigenvalues */
    STREAM_START = 411, /* stream of the random numbers */
};

static const double CONVERGED = 1e-11; /* tolerance of |op y - theta y| relative to theta */
static const double RESIDUAL =
    1e-6; /* tolerance of |A^-1/2 L e - lambda y| relative to lambda + sigma */

typedef struct solver {
    const kn_laplacian *l;
    const char *name;
    double *root; /* n, diagonal of A^1/2 */
    double sigma;
    kn_band factor; /* Cholesky factor of L + sigma A */
    kn_rng rng;
    ptrdiff_t b, limit; /* columns of a block, most columns of V */
    kn_mat V;           /* n x (most + b)  orthonormal */
    kn_mat W;           /* n x b, the operator times the last block, then the next block */
    kn_mat H;           /* (most + b) x (most + b)  V' op V, lower triangle */
    kn_mat S;           /* its eigenvectors */
    kn_mat C, R;        /* (most + b) x b, b x b: W = V C + Q R */
    double *theta;      /* eigenvalues of H, ascending */
} solver;

/* Frees the work space of one Lanczos run in s, but not the Cholesky factor. */
static void run_clear(solver *s)
{
    kn_mat_clear(&s->V);
    kn_mat_clear(&s->W);
    kn_mat_clear(&s->H);
    kn_mat_clear(&s->S);
    kn_mat_clear(&s->C);
    kn_mat_clear(&s->R);
    kn_free(s->theta);
    s->theta = NULL;
}

/* Allocates the work space of one block-Lanczos run in s, which owns it: basis V of at most limit +
 * b vectors in blocks of b, and the projected matrix H. Clear it with run_clear() on failure too.
 */
static kn_status run_new(kn_ctx *ctx, ptrdiff_t b, ptrdiff_t limit, solver *s)
{
    kn_status status;
    ptrdiff_t n = s->l->n, m = limit + b;
    s->b = b;
    s->limit = limit;
    KN_TRY(kn_mat_new(ctx, n, m, &s->V));
    KN_TRY(kn_mat_new(ctx, n, b, &s->W));
    KN_TRY(kn_mat_new(ctx, m, m, &s->H));
    KN_TRY(kn_mat_new(ctx, m, m, &s->S));
    KN_TRY(kn_mat_new(ctx, m, b, &s->C));
    KN_TRY(kn_mat_new(ctx, b, b, &s->R));
    KN_TRY(kn_alloc_d(ctx, m, &s->theta));
out:
    return status;
}

/* ---- the operator -----------------------------------------------------------------------------
 */

/* s->W = A^1/2 (L + sigma A)^-1 A^1/2 V for a block V (n x b); 2 banded triangular solves per
 * column. */
static void apply_operator(kn_ctx *ctx, solver *s, kn_mat V)
{
    for (int pass = 0; pass < 2; pass++) {
        for (ptrdiff_t c = 0; c < V.cols; c++)
            for (ptrdiff_t i = 0; i < V.rows; i++)
                kn_col(s->W, c)[i] = s->root[i] * kn_at(pass == 0 ? V : s->W, i, c);
        if (pass == 0)
            kn_band_solve(ctx, &s->factor, s->W);
    }
}

/* Returns the Euclidean norm of x (n). */
static double length_of(const double *x, ptrdiff_t n)
{
    return sqrt(kn_vec_dot(n, x, x));
}

/* Sets x (n, one value per vertex) to normal random numbers of the solver's stream. */
static void draw_vector(solver *s, double *x)
{
    for (ptrdiff_t i = 0; i < s->l->n; i++)
        x[i] = kn_rng_normal(&s->rng);
}

/* W = W - V V'W for orthonormal V (n x m) and W (n x b), twice so that W is orthogonal to working
 * precision. C (m x b) gets the sum of both projections V'W; part (m x b) is work space. */
static void project_out(kn_ctx *ctx, kn_mat V, kn_mat W, kn_mat C, kn_mat part)
{
    kn_mat_zero(C);
    for (int pass = 0; pass < 2 && V.cols > 0; pass++) {
        kn_gemm(ctx, 1, KN_T, V, KN_N, W, 0, part);
        kn_gemm(ctx, -1, KN_N, V, KN_N, part, 1, W);
        for (ptrdiff_t j = 0; j < C.cols; j++)
            for (ptrdiff_t i = 0; i < C.rows; i++)
                kn_col(C, j)[i] += kn_at(part, i, j);
    }
}

/* Orthonormalises s->W against the first m columns of V and stores the result as columns m .. m + b
 * - 1: W = V C + Q R. A column that depends on the others (an invariant subspace was found) is
 * replaced by a random one, and its R is zero. */
static kn_status next_block(kn_ctx *ctx, solver *s, ptrdiff_t m)
{
    kn_status status;
    kn_mat V = kn_cols(s->V, 0, m), part = {0};
    kn_mat C = kn_sub(s->C, 0, 0, m, s->b);
    KN_TRY(kn_mat_new(ctx, m + s->b, s->b, &part));
    project_out(ctx, V, s->W, C, kn_sub(part, 0, 0, m, s->b));
    kn_mat_zero(s->R);
    for (ptrdiff_t j = 0; j < s->b; j++) {
        kn_mat w = kn_cols(s->W, j, 1), before = kn_cols(s->V, m, j), c = kn_sub(s->R, 0, j, j, 1);
        double scale = length_of(w.data, w.rows), after;
        project_out(ctx, before, w, c, kn_sub(part, 0, 0, j, 1));
        after = length_of(w.data, w.rows);
        kn_col(s->R, j)[j] = after;
        while (!(after > 1e-10 * scale) || after == 0) {
            kn_mat all = kn_cols(s->V, 0, m + j), some = kn_sub(part, 0, 1, m + j, 1);
            kn_mat given = kn_sub(part, 0, 0, m + j, 1);
            kn_col(s->R, j)[j] = 0;
            draw_vector(s, w.data);
            scale = length_of(w.data, w.rows);
            project_out(ctx, all, w, given, some);
            after = length_of(w.data, w.rows);
        }
        for (ptrdiff_t i = 0; i < w.rows; i++)
            kn_col(s->V, m + j)[i] = w.data[i] / after;
    }
out:
    kn_mat_clear(&part);
    return status;
}

/* ---- Lanczos ----------------------------------------------------------------------------------
 */

/* Computes the eigenvalues s->theta (m, ascending) and eigenvectors s->S of the projection H of the
 * operator on the first m columns of V. *converged: how many of them, from the largest on and at
 * most `wanted`, have a residual below CONVERGED. */
static kn_status ritz_values(kn_ctx *ctx, solver *s, ptrdiff_t m, ptrdiff_t wanted,
                             ptrdiff_t *converged)
{
    kn_status status;
    kn_mat S = kn_sub(s->S, 0, 0, m, m);
    for (ptrdiff_t j = 0; j < m; j++)
        for (ptrdiff_t i = j; i < m; i++)
            kn_col(S, j)[i] = kn_at(s->H, i, j);
    KN_TRY(kn_eig_reproducible(ctx, S, s->theta));
    *converged = 0;
    for (ptrdiff_t k = m - 1; k >= 0 && *converged < wanted; k--, (*converged)++) {
        double sum = 0;
        for (ptrdiff_t i = 0; i < s->b; i++) {
            double r = 0;
            for (ptrdiff_t j = i; j < s->b; j++)
                r += kn_at(s->R, i, j) * kn_at(S, m - s->b + j, k);
            sum += r * r;
        }
        if (!(sqrt(sum) <= CONVERGED * s->theta[k]))
            break;
    }
out:
    return status;
}

/* Runs block Lanczos in the complement of the first `locked` columns of V, which are orthonormal
 * eigenvectors, until `wanted` eigenvalues have converged or `steps` blocks were made (0: no
 * limit). The caller has set H of the locked columns; zero hides their eigenvalues. *m: number of
 * columns of V that H covers. KN_ERR_NUMERIC if V is full before. */
static kn_status run_lanczos(kn_ctx *ctx, solver *s, ptrdiff_t locked, ptrdiff_t wanted,
                             ptrdiff_t steps, ptrdiff_t *m)
{
    kn_status status = KN_OK;
    ptrdiff_t found = 0, at = locked;
    for (ptrdiff_t j = 0; j < s->b; j++)
        draw_vector(s, kn_col(s->W, j));
    KN_TRY(next_block(ctx, s, at));
    for (ptrdiff_t step = 1;; step++) {
        KN_TRY(kn_check_cancel(ctx));
        apply_operator(ctx, s, kn_cols(s->V, at, s->b));
        at += s->b;
        if (at > s->limit) /* V is full */
            break;
        KN_TRY(next_block(ctx, s, at));
        for (ptrdiff_t j = 0; j < s->b; j++)
            for (ptrdiff_t i = j; i < s->b; i++) {
                kn_col(s->H, at - s->b + j)[at - s->b + i] = kn_at(s->C, at - s->b + i, j);
                if (at + j <
                    s->H.rows) /* R' is lower triangular: row at + j of column at - b + i */
                    kn_col(s->H, at - s->b + i)[at + j] = kn_at(s->R, j, i);
            }
        *m = at;
        if (step == steps || (steps == 0 && at >= wanted + s->b)) {
            KN_TRY(ritz_values(ctx, s, at, wanted, &found));
            if (found == wanted || step == steps)
                goto out;
        }
    }
    status = kn_fail(ctx, KN_ERR_NUMERIC, "%s: only %td of %td harmonics converged after %td steps",
                     s->name, found, wanted, at / s->b);
out:
    return status;
}

/* Sets Y (n x K) to the Ritz vectors V S of the K largest eigenvalues, descending, from the first m
 * columns of V. */
static void take_vectors(kn_ctx *ctx, solver *s, ptrdiff_t m, kn_mat Y)
{
    kn_mat some = kn_sub(s->C, 0, 0, m, 1);
    for (ptrdiff_t k = 0; k < Y.cols; k++) {
        kn_mat_set(some, kn_sub(s->S, 0, m - 1 - k, m, 1));
        kn_gemm(ctx, 1, KN_N, kn_cols(s->V, 0, m), KN_N, some, 0, kn_cols(Y, k, 1));
    }
}

/* Runs a short Lanczos iteration in the orthogonal complement of the eigenvectors Y (n x K), theta
 * being the smallest of their eigenvalues. *more: it found a larger eigenvalue, which Y therefore
 * misses. */
static kn_status search_complement(kn_ctx *ctx, solver *s, kn_mat Y, double theta, bool *more)
{
    static const double ABOVE = 1 + 1e-6;
    kn_status status;
    ptrdiff_t b = s->b, m, n_max = kn_min_size(Y.cols + CHECK_STEPS * b, s->l->n - b);
    run_clear(s);
    *more = false;
    ptrdiff_t steps = (n_max - Y.cols) / b;
    if (steps < 1) /* the complement has fewer dimensions than a block */
        return KN_OK;
    KN_TRY(run_new(ctx, b, Y.cols + steps * b, s));
    kn_mat_set(kn_cols(s->V, 0, Y.cols), Y);
    KN_TRY(run_lanczos(ctx, s, Y.cols, 1, steps, &m));
    *more = s->theta[m - 1] > theta * ABOVE;
out:
    return status;
}

/* Sets the first columns of V to the eigenvectors that are known: A^1/2 1 on each connected
 * component, normalised. Their eigenvalue 1/sigma goes to the diagonal of H. */
static void lock_constants(solver *s)
{
    const kn_laplacian *l = s->l;
    for (ptrdiff_t i = 0; i < l->n; i++)
        kn_col(s->V, l->part[i])[i] = s->root[i];
    for (ptrdiff_t c = 0; c < l->parts; c++) {
        double length = length_of(kn_col(s->V, c), l->n);
        for (ptrdiff_t i = 0; i < l->n; i++)
            kn_col(s->V, c)[i] /= length;
        kn_col(s->H, c)[c] = 1 / s->sigma;
    }
}

/* Returns the number of columns of V to allow for K eigenvalues with blocks of b: about 6 K, and no
 * more than the surface has dimensions. */
static ptrdiff_t basis_capacity(const solver *s, ptrdiff_t b, ptrdiff_t K)
{
    ptrdiff_t whole = (s->l->n - s->l->parts) / b * b + s->l->parts - b;
    return kn_min_size(s->l->parts + 6 * (K + b) + 10 * b, whole);
}

/* Sets Y (n x K) to the eigenvectors of the K largest eigenvalues of the shifted and inverted
 * operator. The block size doubles until search_complement() finds none that is missed;
 * KN_ERR_NUMERIC above BLOCK_MAX. */
static kn_status solve_lanczos(kn_ctx *ctx, solver *s, kn_mat Y)
{
    kn_status status = KN_OK;
    ptrdiff_t K = Y.cols, m;
    bool more = true;
    for (ptrdiff_t b = BLOCK_MIN; more; b *= 2) {
        if (b > BLOCK_MAX) {
            status = kn_fail(ctx, KN_ERR_NUMERIC,
                             "%s: the harmonics were not found; eigenvalues have multiplicity %d",
                             s->name, BLOCK_MAX);
            goto out;
        }
        run_clear(s);
        KN_TRY(run_new(ctx, b, basis_capacity(s, b, K), s));
        lock_constants(s);
        KN_TRY(run_lanczos(ctx, s, s->l->parts, K, 0, &m));
        take_vectors(ctx, s, m, Y);
        KN_TRY(search_complement(ctx, s, Y, s->theta[m - K], &more));
    }
out:
    run_clear(s);
    return status;
}

/* ---- the dense problem ------------------------------------------------------------------------
 */

/* Sets Y (n x K) to the eigenvectors of the K smallest eigenvalues of the dense matrix A^-1/2 L
 * A^-1/2. O(n^3) flops, n^2 doubles. */
static kn_status solve_dense(kn_ctx *ctx, const solver *s, kn_mat Y)
{
    const kn_laplacian *l = s->l;
    kn_status status;
    kn_mat M = {0};
    double *w = NULL;
    KN_TRY(kn_mat_new(ctx, l->n, l->n, &M));
    KN_TRY(kn_alloc_d(ctx, l->n, &w));
    for (ptrdiff_t i = 0; i < l->n; i++)
        for (ptrdiff_t k = l->start[i]; k < l->start[i + 1]; k++)
            kn_col(M, l->col[k])[i] = l->value[k] / (s->root[i] * s->root[l->col[k]]);
    KN_TRY(kn_eig_reproducible(ctx, M, w));
    kn_mat_set(Y, kn_cols(M, 0, Y.cols));
out:
    kn_mat_clear(&M);
    kn_free(w);
    return status;
}

/* ---- result -----------------------------------------------------------------------------------
 */

/* On entry E (n x K) has the eigenvectors Y of the symmetric problem; it becomes E = A^-1/2 Y with
 * the largest |entry| of each column positive. Sets lambda (K), ascending. KN_ERR_NUMERIC if a
 * residual exceeds RESIDUAL. */
static kn_status finish_eigenvectors(kn_ctx *ctx, const solver *s, kn_mat E, double *lambda)
{
    kn_status status;
    const kn_laplacian *l = s->l;
    double *Le = NULL, worst = 0;
    KN_TRY(kn_alloc_d(ctx, l->n, &Le));
    for (ptrdiff_t k = 0; k < E.cols; k++) {
        double *e = kn_col(E, k), top = 0, residual = 0;
        lambda[k] = 0;
        for (ptrdiff_t i = 0; i < l->n; i++) {
            e[i] /= s->root[i];
            top = fabs(e[i]) > fabs(top) ? e[i] : top;
        }
        kn_laplacian_times(l, e, Le);
        for (ptrdiff_t i = 0; i < l->n; i++) {
            e[i] = top < 0 ? -e[i] : e[i];
            Le[i] = top < 0 ? -Le[i] : Le[i];
            lambda[k] += e[i] * Le[i];
        }
        for (ptrdiff_t i = 0; i < l->n; i++) {
            double r = (Le[i] - lambda[k] * l->mass[i] * e[i]) / s->root[i];
            residual += r * r;
        }
        lambda[k] = fmax(lambda[k], 0);
        worst = fmax(worst, sqrt(residual) / (lambda[k] + s->sigma));
    }
    if (!(worst <= RESIDUAL))
        status = kn_fail(ctx, KN_ERR_NUMERIC, "%s: the harmonics have a residual of %.2g", s->name,
                         worst);
out:
    kn_free(Le);
    return status;
}

/* Fails with KN_ERR_MEMORY if the solver for K harmonics would exceed the budget: the band and the
 * Lanczos basis, or twice n x n doubles if `small`. */
static kn_status check_memory(kn_ctx *ctx, const solver *s, ptrdiff_t K, bool small)
{
    const kn_laplacian *l = s->l;
    double n = (double)l->n, m = (double)(l->parts + 6 * K + 20 * BLOCK_MIN);
    double bytes = small ? 16 * n * n : kn_band_bytes(l->n, l->width) + 8 * m * (n + 2 * m);
    double limit = (double)kn_memory(ctx);
    if (bytes <= limit)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_MEMORY,
                   "%s: %td harmonics of %td vertices need %s (a band of %td), but %s are "
                   "available ({memory})",
                   s->name, K, l->n, kn_format_size(bytes).text, l->width,
                   kn_format_size(limit).text);
}

/* Sets s->factor to the Cholesky factor of L + sigma A, a band matrix. The caller frees it, also on
 * failure. n width^2 flops. */
static kn_status factorise_shifted(kn_ctx *ctx, solver *s)
{
    const kn_laplacian *l = s->l;
    kn_status status;
    KN_TRY(kn_band_new(ctx, l->n, l->width, &s->factor));
    for (ptrdiff_t i = 0; i < l->n; i++) {
        for (ptrdiff_t k = l->start[i]; k < l->start[i + 1]; k++)
            if (l->col[k] <= i)
                *kn_band_at(&s->factor, i, l->col[k]) = l->value[k];
        *kn_band_at(&s->factor, i, i) += s->sigma * l->mass[i];
    }
    KN_TRY(kn_band_chol(ctx, &s->factor, "the operator of the surface"));
out:
    return status;
}

/* Fails unless K harmonics can be computed: KN_ERR_DATA if no triangle is inside the mask,
 * KN_ERR_ARGUMENT unless K is between the number of connected components and the number of
 * vertices. */
static kn_status check_number(kn_ctx *ctx, const char *name, const kn_laplacian *l, ptrdiff_t K)
{
    if (l->n == 0)
        return kn_fail(ctx, KN_ERR_DATA, "%s: no triangle has all its vertices inside the mask",
                       name);
    if (K > l->n)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s: %td harmonics are too many; at most %td are possible, the number of "
                       "vertices inside the mask",
                       name, K, l->n);
    if (K < l->parts)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s: %td harmonics are too few; at least %td are needed, the number of "
                       "surface parts inside the mask",
                       name, K, l->parts);
    return KN_OK;
}

kn_status kn_harmonics(kn_ctx *ctx, const char *name, const kn_laplacian *l, kn_mat E,
                       double *lambda)
{
    static const double FIRST = 12.566370614359172; /* Weyl: lambda_k ~ 4 pi k / area */
    kn_status status;
    solver s = {.l = l, .name = name};
    double area = 0;
    bool small = l->n <= DENSE || 3 * E.cols >= l->n;
    KN_TRY(check_number(ctx, name, l, E.cols));
    KN_TRY(check_memory(ctx, &s, E.cols, small));
    KN_TRY(kn_alloc_d(ctx, l->n, &s.root));
    for (ptrdiff_t i = 0; i < l->n; i++) {
        s.root[i] = sqrt(l->mass[i]);
        area += l->mass[i];
    }
    s.sigma = FIRST / area;
    kn_rng_init(&s.rng, 1, STREAM_START);
    if (small) {
        KN_TRY(solve_dense(ctx, &s, E));
    } else {
        KN_TRY(factorise_shifted(ctx, &s));
        KN_TRY(solve_lanczos(ctx, &s, E));
    }
    KN_TRY(finish_eigenvectors(ctx, &s, E, lambda));
out:
    run_clear(&s);
    kn_band_clear(&s.factor);
    kn_free(s.root);
    return status;
}
