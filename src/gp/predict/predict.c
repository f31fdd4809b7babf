/* Implements predict.h: cross-covariances with the training participants, ROWS new participants at
 * a time, one cell after the other. Predictions depend on no other new participant. */
#include "gp/predict/predict.h"

#include "gp/basis/complement.h"
#include "gp/method.h"
#include "la/la.h"

enum { ROWS = 1024 }; /* new participants at a time: bounds the work space at ROWS x N */

/* Work space for the components of one cell. */
typedef struct cross_work {
    kn_mat F;                /* ROWS x features (low rank) or ROWS x N (dense): features of new
                              * participants, or R0* */
    kn_mat RU;               /* ROWS x m   R0* U */
    kn_mat mean, var;        /* ROWS x n */
    kn_mat inverse, weights; /* m x n */
    kn_pairs pairs;          /* dense only: distances to the training participants */
    double *self, *sq;       /* ROWS   R0** */
} cross_work;

/* Frees the work space; it can be allocated again. */
static void cross_work_clear(cross_work *f)
{
    kn_mat *m[] = {&f->F, &f->RU, &f->mean, &f->var, &f->inverse, &f->weights};
    for (size_t k = 0; k < sizeof m / sizeof *m; k++)
        kn_mat_clear(m[k]);
    kn_pairs_clear(&f->pairs);
    kn_free(f->self);
    kn_free(f->sq);
    *f = (cross_work){0};
}

/* Allocates work space for predicting at most `rows` participants in a cell (components with
 * equal group noise): features, R0* U, mean and variance, and the inverse of the cell's
 * spectrum. On error f is partly filled; the caller clears it. */
static kn_status cross_work_new(kn_ctx *ctx, const kn_latent *l, const kn_latent_cell *cell,
                                ptrdiff_t rows, cross_work *f)
{
    kn_status status;
    const kn_decomp *R0 = &cell->R0;
    KN_TRY(kn_mat_new(ctx, rows, kn_decomp_is_low(R0) ? kn_decomp_cross_columns(R0) : l->X.rows,
                      &f->F));
    KN_TRY(kn_mat_new(ctx, rows, R0->m, &f->RU));
    KN_TRY(kn_mat_new(ctx, rows, cell->n, &f->mean));
    KN_TRY(kn_mat_new(ctx, rows, cell->n, &f->var));
    KN_TRY(kn_mat_new(ctx, R0->m, cell->n, &f->inverse));
    KN_TRY(kn_mat_new(ctx, R0->m, cell->n, &f->weights));
    KN_TRY(kn_alloc_d(ctx, rows, &f->self));
    KN_TRY(kn_alloc_d(ctx, rows, &f->sq));
    kn_cell_inverse(l, cell, f->inverse, f->weights);
out:
    return status;
}

/* Computes f->RU (n x m) = R0* U for new participants Xs (n x F), n at most ROWS: by features if
 * R0 has low rank, else by pair statistics. */
static kn_status compute_cross_covariance(kn_ctx *ctx, const kn_latent *l, const kn_decomp *R0,
                                          kn_mat Xs, cross_work *f)
{
    ptrdiff_t n = Xs.rows;
    kn_mat F = kn_sub(f->F, 0, 0, n, f->F.cols), RU = kn_sub(f->RU, 0, 0, n, R0->m);
    if (kn_decomp_is_low(R0)) {
        kn_decomp_cross(ctx, R0, Xs, F, RU);
        return KN_OK;
    }
    kn_pairs_clear(&f->pairs);
    kn_status status = kn_pairs_between(ctx, Xs, l->X, &R0->cov.stats, &f->pairs);
    if (status != KN_OK)
        return status;
    kn_cov_fill(&R0->cov, R0->theta, &f->pairs, F);
    kn_gemm(ctx, 1, KN_N, F, KN_N, R0->U, 0, RU);
    return KN_OK;
}

/* Predicts the k-th component p of a cell for one participant in known group g; *mean and *v are
 * set from its row RU of R0* U (m values, `stride` apart) and self = R0**. Q = (R0* + gamma
 * delta G*) U over all directions, those outside U included
 *     mean = Q (A ./ (r + delta)),  v = c (R0** + gamma delta - Q.^2 (1 ./ (r + delta)))
 * With s = sums of U over the group, the directions outside U add
 *     gamma (zeta - s A)  and  c gamma^2 delta (n/(1 + n gamma) - |s|^2),
 *     zeta = sum z/(1 + n gamma)
 * Limit c = 0: Q = gamma G* U, mean = Q A, v = d (gamma - Q.^2 1) [METHOD 4]. */
static void predict_in_group(const kn_latent *l, const kn_latent_cell *cell, ptrdiff_t k,
                             ptrdiff_t g, const double *RU, ptrdiff_t stride, double self,
                             double *mean, double *v)
{
    ptrdiff_t p = kn_cell_component(cell, k);
    double c = l->c[p], d = l->d[p], gamma = cell->R0.gamma, n = l->groups.size[g];
    double sum = 0, square = 0, outside = kn_at(l->z_sums, g, p) / (1 + n * gamma);
    double left = n / (1 + n * gamma);
    for (ptrdiff_t i = 0; i < cell->R0.m; i++) {
        double s = kn_at(cell->sums, g, i), a = kn_at(cell->A, i, k);
        double q = c * RU[i * stride] + gamma * d * s, K = c * cell->R0.r[i] + d;
        sum += K > 0 ? q * a / K : 0;
        square += K > 0 ? q * q / K : 0;
        outside -= s * a;
        left -= s * s;
    }
    bool low = kn_decomp_is_low(&cell->R0);
    *mean = sum + (low ? gamma * outside : 0);
    *v = c * self + gamma * d - square - (low ? gamma * gamma * d * left : 0);
}

/* Predicts the components of one cell for at most ROWS new participants from `row` on, into the
 * rows of out->mean, variance and, if requested, RU. clamped: see kn_clamp_nonnegative. */
static kn_status predict_rows(kn_ctx *ctx, const kn_latent *l, const kn_latent_cell *cell,
                              const kn_predict_input *input, ptrdiff_t row, cross_work *f,
                              const kn_latent_prediction *out, double *clamped)
{
    ptrdiff_t n = kn_min_size(input->X.rows - row, ROWS);
    kn_mat mean = out->mean, variance = out->variance;
    kn_mat xs = kn_sub(input->X, row, 0, n, input->X.cols), ru = kn_sub(f->RU, 0, 0, n, cell->R0.m);
    kn_mat m = kn_sub(f->mean, 0, 0, n, cell->n), v = kn_sub(f->var, 0, 0, n, cell->n);
    kn_status status = compute_cross_covariance(ctx, l, &cell->R0, xs, f);
    if (status != KN_OK)
        return status;
    kn_cov_self(&cell->R0.cov, cell->R0.theta, xs, f->sq, f->self);
    if (out->RU.data)
        kn_complement_take(l, ru, kn_sub(out->RU, row, 0, n, out->RU.cols));
    kn_gemm(ctx, 1, KN_N, ru, KN_N, f->weights, 0, m);
    for (ptrdiff_t i = 0; input->group && cell->R0.gamma > 0 && i < n; i++)
        for (ptrdiff_t k = 0; input->group[row + i] >= 0 && k < cell->n; k++)
            predict_in_group(l, cell, k, input->group[row + i], &ru.data[i], ru.ld, f->self[i],
                             &kn_col(m, k)[i],
                             &kn_col(variance, kn_cell_component(cell, k))[row + i]);
    kn_latent_square(ru);
    kn_gemm(ctx, 1, KN_N, ru, KN_N, f->inverse, 0, v); /* H of METHOD 4 */
    for (ptrdiff_t k = 0; k < cell->n; k++) {
        ptrdiff_t p = kn_cell_component(cell, k);
        double c = l->c[p], own = cell->R0.gamma * l->d[p];
        double *to = kn_col(variance, p) + row;
        for (ptrdiff_t i = 0; i < n; i++) {
            bool known = input->group && own > 0 && input->group[row + i] >= 0;
            double prior = c * (f->self[i] + l->iso) + (known ? own : 0);
            double left = known ? to[i] : prior - c * c * kn_at(v, i, k);
            to[i] = kn_clamp_nonnegative(left, prior, clamped);
            kn_col(mean, p)[row + i] = kn_at(m, i, k);
        }
    }
    return KN_OK;
}

kn_status kn_latent_predict(kn_ctx *ctx, const kn_latent *l, const kn_predict_input *input,
                            kn_mat mean, kn_mat variance, double *clamped)
{
    return kn_latent_predict_all(ctx, l, input,
                                 &(kn_latent_prediction){mean, variance, kn_mat_none()}, clamped);
}

kn_status kn_latent_predict_all(kn_ctx *ctx, const kn_latent *l, const kn_predict_input *input,
                                const kn_latent_prediction *to, double *clamped)
{
    kn_status status = KN_OK;
    cross_work f = {0};
    ptrdiff_t rows = input->X.rows, limit = rows < ROWS ? rows : ROWS;
    for (int k = 0; k < l->n_cells; k++) {
        const kn_latent_cell *cell = &l->cell[k];
        if (cell->n == 0)
            continue;
        KN_TRY(cross_work_new(ctx, l, cell, limit, &f));
        for (ptrdiff_t i = 0; i < rows; i += ROWS) {
            KN_TRY(kn_check_cancel(ctx));
            KN_TRY(predict_rows(ctx, l, cell, input, i, &f, to, clamped));
        }
        cross_work_clear(&f);
    }
out:
    cross_work_clear(&f);
    return status;
}

kn_status kn_latent_extrapolation(kn_ctx *ctx, const kn_latent *l, kn_mat Xs, double *extrapolation)
{
    kn_status status;
    double one = 1, clamped = 0;
    kn_mat mean = {0};
    kn_latent probe = {.X = l->X, .P = 1, .n_cells = 1, .c = &one, .d = &one};
    probe.cell[0] = (kn_latent_cell){.R0 = l->cell[0].R0, .n = 1};
    KN_TRY(kn_mat_new(ctx, l->cell[0].R0.m, 1, &probe.cell[0].A));
    KN_TRY(kn_mat_new(ctx, Xs.rows, 1, &mean));
    KN_TRY(kn_latent_predict(ctx, &probe, &(kn_predict_input){.X = Xs}, mean,
                             kn_mat_cols(extrapolation, Xs.rows, 1), &clamped));
out:
    kn_mat_clear(&mean);
    kn_mat_clear(&probe.cell[0].A);
    return status;
}

void kn_latent_predict_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n)
{
    kn_mem_usage mark = r->now;
    ptrdiff_t limit = kn_min_size(n, ROWS);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M, 2 * (s->P + 1));
    kn_plan_alloc_d(r, KN_NEED_WORK, limit, 2 * (s->P + 1));
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, limit, 2 * s->M + 2);
    if (s->M >= s->N)
        kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, limit, s->N);
    kn_plan_free_to(r, mark);
}

kn_status kn_components_predict(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *input,
                                kn_gp_maps *out)
{
    kn_status status;
    KN_TRY(kn_gp_maps_one_part(ctx, gp, input->X.rows, out));
    kn_fold_prediction *part = &out->part[0];
    if (gp->D0.rows > 0)
        KN_TRY(kn_mat_new(ctx, part->n, gp->D0.rows, &part->RU));
    KN_TRY(kn_latent_predict_all(ctx, &gp->latent, input,
                                 &(kn_latent_prediction){part->mean, part->var, part->RU},
                                 &out->clamped));
    if (gp->P == 0) {
        KN_TRY(kn_alloc_d(ctx, out->n, &out->extrapolation));
        KN_TRY(kn_latent_extrapolation(ctx, &gp->latent, input->X, out->extrapolation));
    }
    if (input->group) {
        void *memory;
        KN_TRY(kn_alloc(ctx, out->n, sizeof *out->known, &memory));
        out->known = memory;
        for (ptrdiff_t i = 0; i < out->n; i++)
            out->known[i] = input->group[i] >= 0;
    }
out:
    if (status != KN_OK)
        kn_gp_maps_clear(out);
    return status;
}

kn_status kn_gp_predict(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *input,
                        kn_gp_maps *out)
{
    return gp->method->predict(ctx, gp, input, out);
}
