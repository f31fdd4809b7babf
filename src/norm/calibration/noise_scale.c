/* Implements noise_scale.h by Newton's method with a small Cholesky solver. The scale multiplies
 * the noise variance by exp(D beta), with a normal prior of beta over responses. */
#include "norm/calibration/noise_scale.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/parallel/parallel_for.h"
#include "la/vec.h"

enum { NEWTON_STEPS = 200, HALVINGS = 40 };
static const double RIDGE = 1e-6;     /* penalty of b_j */
static const double LONGEST = 1;      /* longest step in any coefficient */
static const double SHORT = 1e-7;     /* the step after one like this would be 1e-14 */
static const double ROUNDING = 1e-13; /* relative error of the value */
static const double SINGULAR = 1e-10; /* times n, added to the diagonal of D'D */
static const double MIN_PROPORTION = 0.02, MIN_V_A = 1e-4;

/* ---- one response --------------------------------------------------------------------------- */

typedef struct problem {
    ptrdiff_t n, F;     /* rows with a value; columns */
    double *X;          /* F x n: rows of D, contiguous */
    double *z2, *e;     /* n: z0^2, and z0^2 e^-eta at beta */
    double *H, *g, *to; /* F x F lower triangle; F; F */
    const kn_noise_scale_penalty *penalty;
} problem;

ptrdiff_t kn_noise_scale_work(ptrdiff_t n, ptrdiff_t F)
{
    return n * (F + 2) + F * (F + 2);
}

/* Pack the fit of one response into work (kn_noise_scale_work() doubles): the rows of D (n x F)
 * with a value of z0 (n), z0^2, and space for the derivatives. penalty is borrowed. */
static problem pack_problem(kn_mat D, const double *z0, const kn_noise_scale_penalty *penalty,
                            double *work)
{
    problem p = {.F = D.cols, .X = work, .penalty = penalty};
    for (ptrdiff_t i = 0; i < D.rows; i++) {
        if (isnan(z0[i]))
            continue;
        for (ptrdiff_t f = 0; f < p.F; f++)
            p.X[p.n * p.F + f] = kn_at(D, i, f);
        p.n++;
    }
    p.z2 = work + D.rows * p.F;
    p.e = p.z2 + D.rows;
    p.H = p.e + D.rows;
    p.g = p.H + p.F * p.F;
    p.to = p.g + p.F;
    for (ptrdiff_t i = 0, k = 0; i < D.rows; i++)
        if (!isnan(z0[i]))
            p.z2[k++] = z0[i] * z0[i];
    return p;
}

/* Value of the noise-scale loss of one response with its penalty at beta (F): sum_i (eta + z0^2
 * exp(-eta))/2 + penalty, eta = D beta. p->e keeps z0^2 exp(-eta) for the derivatives. */
static double value_at(problem *p, const double *beta)
{
    double sum = 0, penalty = 0;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        double eta = 0;
        for (ptrdiff_t f = 0; f < p->F; f++)
            eta += p->X[i * p->F + f] * beta[f];
        sum += eta;
        p->e[i] = -eta;
    }
    kn_vec_exp(p->n, p->e);
    for (ptrdiff_t i = 0; i < p->n; i++) {
        p->e[i] *= p->z2[i];
        sum += p->e[i];
    }
    for (ptrdiff_t f = 0; f < p->F; f++)
        penalty += p->penalty->weight[f] * pow(beta[f] - p->penalty->mu[f], 2);
    return (sum + penalty) / 2;
}

/* Add one participant to gradient g (F) and Hessian H (F x F, lower triangle by rows) of the
 * noise-scale loss. x (F): its row of D; e: its squared residual over the fitted scale, z0^2
 * exp(-eta). */
static void add_row(ptrdiff_t F, const double *x, double e, double *g, double *H)
{
    for (ptrdiff_t f = 0; f < F; f++) {
        g[f] += 0.5 * (1 - e) * x[f];
        for (ptrdiff_t h = 0; h <= f; h++)
            H[f * F + h] += 0.5 * e * x[f] * x[h];
    }
}

/* Add gradient (to g, F) and diagonal Hessian (to H, F x F) of the prior's penalty on the
 * noise-scale coefficients beta. */
static void add_penalty(const kn_noise_scale_penalty *p, ptrdiff_t F, const double *beta, double *g,
                        double *H)
{
    for (ptrdiff_t f = 0; f < F; f++) {
        g[f] += p->weight[f] * (beta[f] - p->mu[f]);
        H[f * F + f] += p->weight[f];
    }
}

/* Set gradient and Hessian of the noise-scale loss with its penalty at beta, where value_at()
 * must have been called: p->g = D'(1 - e)/2 + weight (beta - mu), p->H = D'diag(e) D/2 +
 * diag(weight). */
static void compute_derivatives(problem *p, const double *beta)
{
    ptrdiff_t F = p->F;
    memset(p->H, 0, (size_t)(F * F) * sizeof *p->H);
    memset(p->g, 0, (size_t)F * sizeof *p->g);
    for (ptrdiff_t i = 0; i < p->n; i++)
        add_row(F, p->X + i * F, p->e[i], p->g, p->H);
    add_penalty(p->penalty, F, beta, p->g, p->H);
}

/* Solve A x = b for a positive definite A (F x F, lower triangle by rows) by Cholesky in place; x
 * holds b on entry. F is small, and a call of LAPACK would cost more. False if A is not positive
 * definite. */
static bool solve_small(ptrdiff_t F, double *A, double *x)
{
    for (ptrdiff_t f = 0; f < F; f++) {
        for (ptrdiff_t h = 0; h <= f; h++) {
            double s = A[f * F + h];
            for (ptrdiff_t k = 0; k < h; k++)
                s -= A[f * F + k] * A[h * F + k];
            if (f == h && !(s > 0))
                return false;
            A[f * F + h] = f == h ? sqrt(s) : s / A[h * F + h];
        }
        for (ptrdiff_t k = 0; k < f; k++)
            x[f] -= A[f * F + k] * x[k];
        x[f] /= A[f * F + f];
    }
    for (ptrdiff_t f = F - 1; f >= 0; f--) {
        for (ptrdiff_t k = f + 1; k < F; k++)
            x[f] -= A[k * F + f] * x[k];
        x[f] /= A[f * F + f];
    }
    return true;
}

/* One Newton step of the noise-scale coefficients beta (F), halved until the loss *value does not
 * rise. Returns the largest change of beta, 0 if no step lowers the value. */
static double newton_step(problem *p, double *value, double *beta)
{
    double size = 0, scale = 1;
    compute_derivatives(p, beta);
    if (!solve_small(p->F, p->H, p->g))
        return 0;
    for (ptrdiff_t f = 0; f < p->F; f++)
        size = fmax(size, fabs(p->g[f]));
    if (size > LONGEST)
        scale = LONGEST / size;
    for (int h = 0; h < HALVINGS; h++, scale /= 2) {
        for (ptrdiff_t f = 0; f < p->F; f++)
            p->to[f] = beta[f] - scale * p->g[f];
        double at = value_at(p, p->to);
        if (at <= *value + ROUNDING * (1 + fabs(*value))) {
            memcpy(beta, p->to, (size_t)p->F * sizeof *beta);
            *value = at;
            return scale * size;
        }
    }
    return 0;
}

double kn_noise_scale_newton(kn_mat D, const double *z0, const kn_noise_scale_penalty *penalty,
                             double *work, double *beta)
{
    problem p = pack_problem(D, z0, penalty, work);
    double mean = 0;
    for (ptrdiff_t i = 0; i < p.n; i++)
        mean += p.z2[i] / (double)p.n;
    if (!(mean > 0 && isfinite(mean)))
        return NAN;
    memset(beta, 0, (size_t)p.F * sizeof *beta);
    beta[0] = log(mean);
    double value = value_at(&p, beta);
    for (int i = 0; i < NEWTON_STEPS; i++)
        if (newton_step(&p, &value, beta) <= SHORT)
            break;
    return value;
}

/* ---- without each fold ---------------------------------------------------------------------- */

ptrdiff_t kn_noise_scale_refit_work(ptrdiff_t n, ptrdiff_t F, int folds)
{
    return kn_noise_scale_work(n, F) + folds * F * (F + 1);
}

/* to = beta - H^-1 g (F), scaled so that no coefficient changes by more than LONGEST; beta if H is
 * singular. g and H are overwritten. */
static void limited_step(ptrdiff_t F, const double *beta, double *g, double *H, double *out)
{
    double size = 0, scale = solve_small(F, H, g) ? 1 : 0;
    for (ptrdiff_t f = 0; f < F; f++)
        size = fmax(size, fabs(g[f]));
    if (size > LONGEST)
        scale *= LONGEST / size;
    for (ptrdiff_t f = 0; f < F; f++)
        out[f] = scale > 0 ? beta[f] - scale * g[f] : beta[f];
}

/* Change gradient g (F) and Hessian H (F x F) of the noise-scale loss of one response as if all of
 * its squared residuals were multiplied by `by`. With a first column of ones, g = D'(1 - e)/2
 * changes by the first column of H, D'e/2. */
static void rescale_derivatives(ptrdiff_t F, double by, double *g, double *H)
{
    for (ptrdiff_t f = 0; f < F; f++)
        g[f] += (1 - by) * H[f * F];
    for (ptrdiff_t c = 0; c < F * F; c++)
        H[c] *= by;
}

void kn_noise_scale_refit(kn_mat D, const double *z0, const kn_noise_scale_folds *rows,
                          const double *beta, double *work, kn_mat out)
{
    ptrdiff_t F = D.cols, one = F * (F + 1), k = 0;
    kn_noise_scale_penalty first = {rows->prior[0].mu, rows->prior[0].weight};
    problem p = pack_problem(D, z0, &first, work);
    double *fold_sums = work + kn_noise_scale_work(D.rows, F),
           *total = p.H; /* H, g: F^2 + F in a row */
    value_at(&p, beta);
    memset(fold_sums, 0, (size_t)(rows->folds * one) * sizeof *fold_sums);
    memset(total, 0, (size_t)one * sizeof *total);
    for (ptrdiff_t i = 0; i < D.rows; i++)
        if (!isnan(z0[i])) {
            double *own = fold_sums + rows->fold[i] * one;
            add_row(F, p.X + k * F, p.e[k], own + F * F, own);
            k++;
        }
    for (ptrdiff_t c = 0; c < rows->folds * one; c++)
        total[c % one] += fold_sums[c];
    for (int f = 0; f < rows->folds; f++) {
        kn_noise_scale_penalty penalty = {rows->prior[f].mu, rows->prior[f].weight};
        double *remaining = fold_sums + f * one;
        for (ptrdiff_t c = 0; c < one; c++)
            remaining[c] = total[c] - remaining[c];
        if (rows->spread)
            rescale_derivatives(F, rows->spread[f] * rows->spread[f], remaining + F * F, remaining);
        add_penalty(&penalty, F, beta, remaining + F * F, remaining);
        limited_step(F, beta, remaining + F * F, remaining, kn_col(out, f));
    }
}

/* ---- many responses ------------------------------------------------------------------------- */

typedef struct block_job {
    kn_mat D, z0, beta;
    const kn_noise_scale_penalty *penalty;
    const double *otherwise; /* F: result for a response without a minimum; NULL: NaN */
    double *work;
} block_job;

/* Worker: fits the noise-scale coefficients of responses first .. last - 1 of the job in self. A
 * response whose fit fails gets the coefficients `otherwise`, or NaN. */
static void fit_responses(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    block_job *job = self;
    double *work = job->work + worker * kn_noise_scale_work(job->D.rows, job->D.cols);
    for (ptrdiff_t j = first; j < last; j++) {
        double *beta = kn_col(job->beta, j);
        if (isnan(kn_noise_scale_newton(job->D, kn_col(job->z0, j), job->penalty, work, beta)))
            for (ptrdiff_t f = 0; f < job->D.cols; f++)
                beta[f] = job->otherwise ? job->otherwise[f] : NAN;
    }
}

/* Fit the noise-scale coefficients of a block of responses in parallel: residuals z0 (n x T) to
 * beta (F x T). Can be cancelled. */
static kn_status fit_block(kn_ctx *ctx, block_job *job)
{
    enum { GRAIN = 16 };
    ptrdiff_t T = job->z0.cols, one = kn_noise_scale_work(job->D.rows, job->D.cols);
    assert(job->D.rows == job->z0.rows && job->beta.rows == job->D.cols && job->beta.cols == T);
    kn_status status = kn_alloc_d(ctx, kn_workers(ctx, T, GRAIN) * one, &job->work);
    if (status == KN_OK)
        status = kn_parallel_or_stop(ctx, T, GRAIN, fit_responses, job);
    kn_free(job->work);
    return status;
}

kn_status kn_noise_scale_fit(kn_ctx *ctx, kn_mat D, kn_mat z0, const kn_noise_scale_prior *prior,
                             kn_mat beta)
{
    kn_noise_scale_penalty penalty = {prior->mu, prior->weight};
    block_job job = {D, z0, beta, &penalty, prior->mu, NULL};
    return fit_block(ctx, &job);
}

/* ---- the prior that responses share --------------------------------------------------------- */

kn_status kn_noise_scale_prior_init(kn_ctx *ctx, ptrdiff_t F, kn_noise_scale_prior *prior)
{
    kn_status status;
    *prior = (kn_noise_scale_prior){.F = F, .kurt = 2, .T_sq = 1};
    KN_TRY(kn_alloc_d(ctx, F, &prior->S));
    KN_TRY(kn_alloc_d(ctx, F, &prior->mu));
    KN_TRY(kn_alloc_d(ctx, F, &prior->v));
    KN_TRY(kn_alloc_d(ctx, F, &prior->weight));
out:
    if (status != KN_OK)
        kn_noise_scale_prior_clear(prior);
    return status;
}

void kn_noise_scale_prior_clear(kn_noise_scale_prior *prior)
{
    kn_free(prior->S);
    kn_free(prior->mu);
    kn_free(prior->v);
    kn_free(prior->weight);
    *prior = (kn_noise_scale_prior){0};
}

/* x (F) = column f of (D'D)^-1, whose diagonal is the sampling variance of coefficient f; A: F x F
 * of work. A column of D that is constant or duplicated gets a large number. */
static void inverse_column(kn_mat D, ptrdiff_t f, double *A, double *x)
{
    for (ptrdiff_t g = 0; g < D.cols; g++) {
        x[g] = g == f;
        for (ptrdiff_t h = 0; h <= g; h++) {
            double s = 0;
            for (ptrdiff_t i = 0; i < D.rows; i++)
                s += kn_at(D, i, g) * kn_at(D, i, h);
            A[g * D.cols + h] = s + (g == h) * SINGULAR * (double)D.rows;
        }
    }
    if (!solve_small(D.cols, A, x))
        x[f] = 1 / (SINGULAR * (double)D.rows);
}

/* Mean of n/n_j over the responses j with coefficients (b_j is not NaN), n_j: number of values in
 * column j of z0 (n x T); by it their sampling variance is larger. 1 without any. */
static double missing_factor(kn_mat z0, kn_mat b)
{
    double sum = 0, T = 0;
    for (ptrdiff_t j = 0; j < z0.cols; j++) {
        double n = 0;
        for (ptrdiff_t i = 0; i < z0.rows; i++)
            n += !isnan(kn_at(z0, i, j));
        if (!isnan(kn_at(b, 0, j))) {
            sum += (double)z0.rows / n;
            T++;
        }
    }
    return T > 0 ? sum / T : 1;
}

/* Set mean mu, variance v and penalty weight of the prior of coefficient f of the noise scale from
 * its values in all responses, b (F x T; NaN: not used). */
static void column_prior(kn_mat b, ptrdiff_t f, kn_noise_scale_prior *p)
{
    double T = 0, mean = 0, var = 0;
    for (ptrdiff_t j = 0; j < b.cols; j++)
        if (!isnan(kn_at(b, f, j))) {
            T++;
            mean += kn_at(b, f, j);
        }
    mean = T > 0 ? mean / T : 0;
    for (ptrdiff_t j = 0; j < b.cols; j++)
        if (!isnan(kn_at(b, f, j)))
            var += pow(kn_at(b, f, j) - mean, 2) / T;
    double S = p->S[f], keep = 1 - S / (p->T_sq * mean * mean); /* mean = 0: -inf */
    p->mu[f] = f == 0 ? mean : keep > 0 ? mean * keep : 0;
    p->v[f] = fmax(var - S * (1 - 1 / p->T_sq), MIN_PROPORTION * S);
    p->weight[f] = 2 / (p->kurt * p->v[f]);
}

kn_status kn_noise_scale_prior_fit(kn_ctx *ctx, kn_mat D, kn_mat z0, kn_mat b,
                                   kn_noise_scale_prior *prior)
{
    kn_status status;
    ptrdiff_t F = D.cols;
    double *A = NULL, *x = NULL, *flat = NULL;
    KN_TRY(kn_alloc_d(ctx, F * F, &A));
    KN_TRY(kn_alloc_d(ctx, F, &x));
    KN_TRY(kn_alloc_d(ctx, 2 * F, &flat));
    for (ptrdiff_t f = 0; f < F; f++)
        flat[F + f] = RIDGE;
    kn_noise_scale_penalty ridge = {flat, flat + F};
    block_job job = {D, z0, b, &ridge, NULL, NULL};
    KN_TRY(fit_block(ctx, &job));
    double thin = missing_factor(z0, b);
    for (ptrdiff_t f = 0; f < F; f++) {
        inverse_column(D, f, A, x);
        prior->S[f] = prior->kurt * x[f] * thin;
        column_prior(b, f, prior);
    }
out:
    kn_free(A);
    kn_free(x);
    kn_free(flat);
    return status;
}

/* The rows of D outside fold f, copied to the first rows of `scratch`; fold (n): fold of each
 * row. */
static kn_mat rows_without(kn_mat D, const int *fold, int f, kn_mat scratch)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < D.rows; i++) {
        if (fold[i] == f)
            continue;
        for (ptrdiff_t c = 0; c < D.cols; c++)
            kn_col(scratch, c)[n] = kn_at(D, i, c);
        n++;
    }
    return kn_sub(scratch, 0, 0, n, D.cols);
}

kn_status kn_noise_scale_priors_without(kn_ctx *ctx, const kn_noise_scale_sample *sample,
                                        const kn_noise_scale_folds *rows,
                                        kn_noise_scale_prior *priors)
{
    kn_status status;
    kn_mat D = sample->D, z0 = sample->z0, b = sample->b;
    kn_noise_scale_folds own = *rows;
    ptrdiff_t F = D.cols, T = z0.cols;
    double *A = NULL, *work = NULL;
    kn_mat without_fold = {0}, each = {0}, scratch = {0};
    KN_TRY(kn_alloc_d(ctx, F * F + F, &A));
    KN_TRY(kn_alloc_d(ctx, kn_noise_scale_refit_work(D.rows, F, rows->folds), &work));
    KN_TRY(kn_mat_new(ctx, F, rows->folds, &each));
    KN_TRY(kn_mat_new(ctx, F, rows->folds * T, &without_fold));
    KN_TRY(kn_mat_new(ctx, D.rows, F, &scratch));
    for (int f = 0; f < rows->folds; f++)
        for (ptrdiff_t c = 0; c < F; c++) {
            priors[f].mu[c] = 0;
            priors[f].weight[c] = RIDGE;
        }
    for (ptrdiff_t j = 0; j < T; j++) {
        KN_TRY(kn_check_cancel(ctx));
        bool finite = !isnan(kn_at(b, 0, j));
        own.spread = sample->spread.data ? kn_col(sample->spread, j) : NULL;
        if (finite)
            kn_noise_scale_refit(D, kn_col(z0, j), &own, kn_col(b, j), work, each);
        for (int f = 0; f < rows->folds; f++)
            for (ptrdiff_t c = 0; c < F; c++)
                kn_col(without_fold, f * T + j)[c] = finite ? kn_at(each, c, f) : NAN;
    }
    double thin = missing_factor(z0, b);
    for (int f = 0; f < rows->folds; f++) {
        kn_mat remaining = rows_without(D, rows->fold, f, scratch);
        for (ptrdiff_t c = 0; c < F; c++) {
            inverse_column(remaining, c, A, A + F * F);
            priors[f].S[c] = priors[f].kurt * A[F * F + c] * thin;
            column_prior(kn_cols(without_fold, f * T, T), c, &priors[f]);
        }
    }
out:
    kn_mat_clear(&scratch);
    kn_mat_clear(&without_fold);
    kn_mat_clear(&each);
    kn_free(work);
    kn_free(A);
    return status;
}

/* ---- site term ------------------------------------------------------------------------------ */

double kn_noise_scale_batch(ptrdiff_t S, const kn_noise_scale_level *level, double kurt,
                            double T_sq, double *term)
{
    double N = 0, mean = 0, var = 0, q = 0;
    for (ptrdiff_t s = 0; s < S; s++) {
        bool known = level[s].n > 0 && level[s].z2 > 0;
        term[s] = known ? log(level[s].z2 / level[s].cells) : 0;
        if (known) {
            N += level[s].n;
            mean += level[s].n * term[s];
            q += kurt / T_sq; /* n_s q_s */
        }
    }
    if (N == 0)
        return MIN_V_A;
    for (ptrdiff_t s = 0; s < S; s++)
        if (level[s].n > 0 && level[s].z2 > 0)
            var += level[s].n / N * pow(term[s] - mean / N, 2);
    double v_a = fmax(var - q / N, MIN_V_A);
    for (ptrdiff_t s = 0; s < S; s++)
        if (level[s].n > 0)
            term[s] *= v_a / (v_a + kurt / (level[s].n * T_sq));
    return v_a;
}
