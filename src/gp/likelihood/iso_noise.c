/* Implements iso_noise.h: sums over the spectrum c_p r_i + d_p per component, in parallel over
 * components. This is the likelihood of the paper's model. */
#include "gp/likelihood/iso_noise.h"

#include <math.h>

#include "base/parallel/parallel_for.h"
#include "cov/spectral_task.h"
#include "la/la.h"
#include "la/vec.h"

static const double LN_2PI = 1.8378770664093455;

void kn_iso_clear(kn_iso *s)
{
    kn_pairs_clear(&s->tasks);
    kn_mat_clear(&s->UC);
    kn_mat_clear(&s->A);
    kn_mat_clear(&s->A2);
    kn_mat_clear(&s->GC);
    kn_mat_clear(&s->S);
    kn_mat_clear(&s->ZZ);
    kn_mat_clear(&s->ZZU);
    kn_free(s->rest);
    kn_free(s->c);
    kn_free(s->gc);
    kn_free(s->part);
    *s = (kn_iso){0};
}

/* Computes the pair statistics *out (P x P) of the task features, the columns of Z (N x P) times
 * scale, for the task covariance C. */
static kn_status compute_task_pairs(kn_ctx *ctx, kn_mat Z, double scale, const kn_stats *stats,
                                    kn_pairs *out)
{
    kn_mat features = {0};
    kn_status status = kn_mat_new(ctx, Z.cols, Z.rows, &features); /* rows are tasks */
    if (status != KN_OK)
        return status;
    for (ptrdiff_t p = 0; p < Z.cols; p++)
        for (ptrdiff_t i = 0; i < Z.rows; i++)
            kn_col(features, i)[p] = scale * kn_at(Z, i, p);
    status = kn_pairs_within(ctx, features, stats, out);
    kn_mat_clear(&features);
    return status;
}

kn_status kn_iso_new(kn_ctx *ctx, const kn_spec *spec, kn_mat Z, ptrdiff_t T, double E,
                     double feature_scale, const kn_pairs *tasks, kn_iso *out)
{
    kn_status status;
    ptrdiff_t N = Z.rows, P = Z.cols;
    *out = (kn_iso){.likelihood = spec->likelihood,
                    .task = spec->task,
                    .sample_iso = kn_spec_sample_iso(spec),
                    .identity = spec->identity,
                    .N = N,
                    .T = T,
                    .P = P,
                    .E = E};
    out->n_inside = out->task.n_theta + (out->sample_iso ? 1 : 0) + 1;
    if (tasks)
        KN_TRY(kn_pairs_copy(ctx, tasks, &out->tasks));
    else
        KN_TRY(compute_task_pairs(ctx, Z, feature_scale, &out->task.stats, &out->tasks));
    out->diagonal = spec->identity ? kn_cov_is_spectral(&out->task)
                                   : kn_cov_is_diagonal(&out->task, &out->tasks);
    KN_TRY(kn_alloc_d(ctx, P, &out->c));
    KN_TRY(kn_alloc_d(ctx, P, &out->gc));
    KN_TRY(kn_alloc_d(ctx, 3 * P, &out->part));
    KN_TRY(kn_mat_new(ctx, P, P, &out->UC));
    for (ptrdiff_t p = 0; p < P; p++)
        kn_col(out->UC, p)[p] = 1;
    if (!out->diagonal) {
        KN_TRY(kn_mat_new(ctx, P, P, &out->GC));
        KN_TRY(kn_mat_new(ctx, P, P, &out->S));
    }
out:
    if (status != KN_OK)
        kn_iso_clear(out);
    return status;
}

kn_status kn_iso_set_rank(kn_ctx *ctx, kn_iso *s, kn_mat Z, ptrdiff_t m)
{
    kn_status status = KN_OK;
    if (m < s->N && !s->ZZ.data) {
        KN_TRY(kn_mat_new(ctx, s->P, s->P, &s->ZZ));
        KN_TRY(kn_mat_new(ctx, s->P, s->P, &s->ZZU));
        KN_TRY(kn_alloc_d(ctx, s->P, &s->rest));
        kn_syrk(ctx, 1, KN_T, Z, 0, s->ZZ);
        kn_mirror(s->ZZ);
    }
    if (!s->A.data || m > s->A.ld) {
        kn_mat_clear(&s->A);
        kn_mat_clear(&s->A2);
        KN_TRY(kn_mat_new(ctx, m, s->P, &s->A));
        KN_TRY(kn_mat_new(ctx, m, s->P, &s->A2));
    }
    s->A.rows = s->A2.rows = m;
    s->zeros = s->N - m;
out:
    return status;
}

void kn_iso_need(kn_mem_plan *r, const kn_problem_size *s, bool given)
{
    const kn_mem_category part = KN_NEED_BASIS; /* P x P; with identity T x T */
    kn_mem_usage mark;
    kn_pairs_need(r, part, s->task_stats, s->P, s->P);
    mark = r->now;
    if (!given)
        kn_plan_alloc_d(r, KN_NEED_WORK, s->P, s->N); /* features */
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, part, s->P, 5); /* c, gc, part */
    kn_plan_alloc_d(r, part, s->P, s->P);
    if (s->rotated)
        kn_plan_alloc_d(r, part, 2 * s->P, s->P);
    if (s->M < s->N)
        kn_plan_alloc_d(r, part, 2 * s->P, s->P);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M, s->P);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M, s->P);
    if (s->rotated)
        kn_eig_need(r, part, s->P);
}

/* Sets s->rest[p] = (U_C' Z'Z U_C)_pp - |A_p|^2 (at least 0): the energy of rotated component p
 * outside the m eigenvectors of R0. s->A2, the squares of A, must be set. */
static void compute_energy_outside(kn_ctx *ctx, kn_iso *s)
{
    if (!s->diagonal)
        kn_gemm(ctx, 1, KN_N, s->ZZ, KN_N, s->UC, 0, s->ZZU);
    for (ptrdiff_t p = 0; p < s->P; p++) {
        double all = s->diagonal ? kn_at(s->ZZ, p, p)
                                 : kn_vec_dot(s->P, kn_col(s->UC, p), kn_col(s->ZZU, p));
        for (ptrdiff_t i = 0; i < s->A2.rows; i++)
            all -= kn_at(s->A2, i, p);
        s->rest[p] = all > 0 ? all : 0;
    }
}

/* Computes eigenvalues s->c (P) and eigenvectors s->UC of the task covariance C at its
 * parameters theta, and s->A = A0 U_C (m x P), A0 = U'Z. No eigenproblem if C is diagonal.
 * KN_ERR_NUMERIC as kn_eig. */
static kn_status decompose_tasks(kn_ctx *ctx, kn_iso *s, kn_mat A0, const double *theta)
{
    if (s->diagonal) {
        kn_cov_diagonal(&s->task, theta, &s->tasks, s->P, s->c, &s->c0);
        if (!s->fresh)
            kn_mat_set(s->A, A0);
        return KN_OK;
    }
    kn_cov_fill(&s->task, theta, &s->tasks, s->UC);
    kn_status status = kn_eig(ctx, s->UC, s->c);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t p = 0; p < s->P; p++)
        if (s->c[p] < 0)
            s->c[p] = 0; /* negative only by rounding */
    kn_gemm(ctx, 1, KN_N, A0, KN_N, s->UC, 0, s->A);
    return KN_OK;
}

/* Adds to s->S (P x P, lower triangle) the contribution of directions with eigenvalue 0 of R0
 * (covariance between participants) to the gradient by C: 1/2 iso E_z/(d d'), E_z = U_C' Z'Z U_C
 * - A'A [METHOD 6a]. Overwrites s->GC. */
static void add_outside(kn_ctx *ctx, kn_iso *s)
{
    kn_mat E = s->GC;
    kn_gemm(ctx, 1, KN_T, s->UC, KN_N, s->ZZU, 0, E);
    kn_syrk(ctx, -1, KN_T, s->A, 1, E);
    for (ptrdiff_t q = 0; q < s->P; q++)
        for (ptrdiff_t p = q; p < s->P; p++) {
            double dp = s->c[p] * s->iso + s->s2, dq = s->c[q] * s->iso + s->s2;
            kn_col(s->S, q)[p] += 0.5 * s->iso * kn_at(E, p, q) / (dp * dq);
        }
}

/* Computes the derivative of the likelihood by the task covariance C, G_C = 1/2 U_C (Yt' diag(r
 * + iso) Yt - diag(b)) U_C' (P x P), into s->S [METHOD 3]; r (m): eigenvalues of R0. Overwrites
 * s->A2 and s->GC. */
static void contract_tasks(kn_ctx *ctx, kn_iso *s, const double *r)
{
    kn_mat Yt = s->A2; /* the squares are not needed any more */
    for (ptrdiff_t p = 0; p < s->P; p++) {
        double c = s->c[p], d = c * s->iso + s->s2;
        for (ptrdiff_t i = 0; i < s->A.rows; i++)
            kn_col(Yt, p)[i] = kn_at(s->A, i, p) * sqrt(r[i] + s->iso) / (c * r[i] + d);
    }
    kn_syrk(ctx, 0.5, KN_T, Yt, 0, s->S);
    if (s->zeros > 0 && s->iso > 0)
        add_outside(ctx, s);
    for (ptrdiff_t p = 0; p < s->P; p++) {
        double c = s->c[p], d = c * s->iso + s->s2, b = (double)s->zeros * s->iso / d;
        for (ptrdiff_t i = 0; i < s->A.rows; i++)
            b += (r[i] + s->iso) / (c * r[i] + d);
        kn_col(s->S, p)[p] -= 0.5 * b;
    }
    kn_mirror(s->S);
    kn_gemm(ctx, 1, KN_N, s->UC, KN_N, s->S, 0, s->GC); /* U_C S; the next product overwrites S */
    kn_gemm(ctx, 1, KN_N, s->GC, KN_T, s->UC, 0, s->S);
}

/* Contribution of each component to LML and to the derivatives by s2, iso and its own c. */
typedef struct spectrum_job {
    kn_iso *s;
    const double *r;
} spectrum_job;

/* Parallel task (self: spectrum_job) for components first .. last - 1: log determinant plus
 * quadratic form, and the derivatives of the likelihood by s2 and iso (three numbers per
 * component in s->part) and by c_p (s->gc). */
static void compute_spectra(void *self, ptrdiff_t first, ptrdiff_t last)
{
    spectrum_job *job = self;
    kn_iso *s = job->s;
    for (ptrdiff_t p = first; p < last; p++) {
        double c = s->c[p], *part = s->part + 3 * p;
        double d = c * s->iso + s->s2;
        kn_spectrum k = kn_vec_spectrum(s->A.rows, job->r, kn_col(s->A2, p), c, d);
        if (s->zeros > 0) { /* k = d for r = 0 */
            k.log_k += (double)s->zeros * log(d);
            k.quad += s->rest[p] / d;
            k.inv += (double)s->zeros / d;
            k.sq += s->rest[p] / (d * d);
        }
        part[0] = k.log_k + k.quad;
        part[1] = 0.5 * (k.sq - k.inv);
        part[2] = c * part[1];
        s->gc[p] = 0.5 * (k.r_sq + s->iso * k.sq - k.r_inv - s->iso * k.inv);
    }
}

/* Returns the sums over the spectrum for one of the T - P dimensions outside the basis of
 * MT-Kronprod: no energy, eigenvalues L0_n = c0 (r_n + iso) + s2 (r: m eigenvalues of R0)
 * [METHOD 1c]. */
static kn_spectrum sum_complement_spectrum(const kn_iso *s, const double *r)
{
    kn_spectrum k = {0};
    for (ptrdiff_t i = 0; i < s->A.rows; i++) {
        double L0 = s->c0 * (r[i] + s->iso) + s->s2;
        k.log_k += log(L0);
        k.inv += 1 / L0;
        k.r_inv += r[i] / L0;
    }
    return k;
}

kn_status kn_iso_eval(kn_ctx *ctx, kn_iso *s, const double *r, kn_mat A0, const double *inside,
                      double *lml, double *g)
{
    int n_task = s->task.n_theta;
    double noise = inside[s->n_inside - 1], N = (double)s->N, T = (double)s->T, P = (double)s->P;
    double outside = N * (T - P); /* dimensions outside the basis */
    kn_status status = decompose_tasks(ctx, s, A0, inside);
    if (status != KN_OK)
        return status;
    s->iso = s->sample_iso ? exp(2 * inside[n_task]) : 0;
    s->s2 = exp(2 * noise);
    for (ptrdiff_t p = 0; p < s->P && !s->fresh; p++)
        for (ptrdiff_t i = 0; i < s->A.rows; i++)
            kn_col(s->A2, p)[i] = kn_at(s->A, i, p) * kn_at(s->A, i, p);
    if (s->zeros > 0 && !s->fresh)
        compute_energy_outside(ctx, s);
    s->fresh = s->diagonal; /* otherwise A changes with C, and A2 is work space */

    spectrum_job job = {s, r};
    kn_parallel(ctx, s->P, 1 + 40000 / (s->A.rows + 1), compute_spectra, &job);
    double sum = 0, d_iso = 0, d_s2 = 0, d_c0 = 0;
    for (ptrdiff_t p = 0; p < s->P; p++) { /* sequential: the sum does not depend on the threads */
        sum += s->part[3 * p];
        d_s2 += s->part[3 * p + 1];
        d_iso += s->part[3 * p + 2];
    }
    if (s->identity) {
        kn_spectrum k = sum_complement_spectrum(s, r);
        sum += (T - P) * k.log_k;
        d_s2 -= 0.5 * (T - P) * k.inv;
        d_iso -= 0.5 * (T - P) * s->c0 * k.inv;
        d_c0 = -0.5 * (T - P) * (k.r_inv + s->iso * k.inv);
        *lml = -0.5 * (N * T * LN_2PI + sum);
    } else if (s->likelihood == KN_EXACT) {
        *lml = -0.5 * (N * T * LN_2PI + sum + outside * 2 * noise + s->E / s->s2);
        d_s2 += 0.5 * (s->E / s->s2 - outside) / s->s2;
    } else {
        *lml = -0.5 * (N * P * LN_2PI + sum);
    }
    if (!g)
        return KN_OK;
    if (s->diagonal) { /* dC/dtheta is diagonal as well */
        kn_cov_diagonal_gradient(&s->task, inside, &s->tasks, kn_mat_cols(s->gc, s->P, 1), d_c0, g);
    } else {
        contract_tasks(ctx, s, r);
        kn_cov_gradient(&s->task, inside, &s->tasks, s->S, g);
    }
    if (s->sample_iso)
        g[n_task] = 2 * s->iso * d_iso;
    g[s->n_inside - 1] = 2 * s->s2 * d_s2;
    return KN_OK;
}

void kn_iso_outer(const kn_iso *s, const double *r, kn_mat M, double *w)
{
    for (ptrdiff_t i = 0; i < M.rows; i++)
        w[i] = 0;
    for (ptrdiff_t p = 0; p < s->P; p++) {
        double c = s->c[p], d = c * s->iso + s->s2, root = sqrt(c);
        for (ptrdiff_t i = 0; i < M.rows; i++) {
            double v = 1 / (c * r[i] + d);
            kn_col(M, p)[i] = kn_at(s->A, i, p) * root * v;
            w[i] += c * v;
        }
    }
    for (ptrdiff_t i = 0; s->identity && i < M.rows; i++)
        w[i] += (double)(s->T - s->P) * s->c0 / (s->c0 * (r[i] + s->iso) + s->s2);
}
