#include "gp/latent.h"

#include "cov/lowrank.h"

void kn_latent_clear(kn_latent *l)
{
    kn_mat_clear(&l->X);
    kn_decomp_clear(&l->R0);
    kn_mat_clear(&l->A);
    kn_free(l->c);
    kn_free(l->d);
    *l = (kn_latent){0};
}

kn_status kn_latent_new(kn_ctx *ctx, const kn_latent_parts *from, kn_latent *out)
{
    kn_status status;
    kn_mat *A = from->A;
    ptrdiff_t P = A->cols;
    *out = (kn_latent){.iso = from->iso};
    KN_TRY(kn_alloc_d(ctx, P, &out->c));
    KN_TRY(kn_alloc_d(ctx, P, &out->d));
    for (ptrdiff_t p = 0; p < P; p++) {
        out->c[p] = from->c[p];
        out->d[p] = from->d[p];
    }
    if (A->ld == A->rows) {
        out->A = *A;
        *A = kn_mat_none();
    } else { /* room for more rows than the decomposition has */
        KN_TRY(kn_mat_copy(ctx, *A, &out->A));
    }
    out->X = *from->X;
    out->R0 = *from->R0;
    *from->X = kn_mat_none();
    *from->R0 = (kn_decomp){0};
out:
    if (status != KN_OK)
        kn_latent_clear(out);
    return status;
}

void kn_latent_need(kn_rehearsal *r, const kn_need_shape *s)
{
    ptrdiff_t P = s->P + 1; /* a complement component */
    kn_hold_d(r, KN_NEED_WORK, s->N, s->F);
    if (s->M < s->N) {
        kn_lowrank_kept_need(r, s);
    } else {
        kn_hold_d(r, KN_NEED_SAMPLES, s->N, s->N);
        kn_hold_d(r, KN_NEED_SAMPLES, s->N, 1);
    }
    kn_hold_d(r, KN_NEED_WORK, s->M, P);
    kn_hold_d(r, KN_NEED_WORK, P, 2);
}

double kn_at_least_zero(double v, double scale, double *clamped)
{
    if (v >= 0)
        return v;
    if (scale > 0 && -v / scale > *clamped)
        *clamped = -v / scale;
    return 0;
}

void kn_latent_inverse(const kn_latent *l, kn_mat inverse, kn_mat weights)
{
    for (ptrdiff_t p = 0; p < l->A.cols; p++) {
        double c = l->c[p], d = l->d[p];
        for (ptrdiff_t i = 0; i < l->R0.m; i++) {
            double k = c * l->R0.r[i] + d, v = k > 0 ? 1 / k : 0; /* 0: no energy at all */
            kn_col(inverse, p)[i] = v;
            if (weights.data)
                kn_col(weights, p)[i] = kn_at(l->A, i, p) * c * v;
        }
    }
}

void kn_latent_square(kn_mat M)
{
    for (ptrdiff_t j = 0; j < M.cols; j++)
        for (ptrdiff_t i = 0; i < M.rows; i++)
            kn_col(M, j)[i] *= kn_at(M, i, j);
}
