/* The posterior of convolved processes in one of three forms: collapsed variational bound with
 * inducing functions, PITC, dense [METHOD 1i]. Has the choice of the form, the distances that a
 * form needs, and algebra that the forms share. */
#include "gp/methods/convolved/internal.h"

#include <math.h>

#include "la/la.h"

const kn_conv_form *kn_conv_find_form(kn_inducing how)
{
    static const kn_conv_form *const FORM[] = {[KN_INDUCING_VARIATIONAL] = &kn_conv_bound,
                                               [KN_INDUCING_PITC] = &kn_conv_pitc,
                                               [KN_INDUCING_NONE] = &kn_conv_dense};
    return FORM[how];
}

kn_status kn_conv_data_new(kn_ctx *ctx, const kn_conv_form *form, kn_mat X, kn_mat Z,
                           kn_conv_data *out)
{
    kn_status status;
    *out = (kn_conv_data){0};
    KN_TRY(kn_mat_new(ctx, X.rows, Z.rows, &out->fu));
    KN_TRY(kn_mat_new(ctx, Z.rows, Z.rows, &out->uu));
    kn_conv_distances(X, Z, out->fu);
    kn_conv_distances(Z, Z, out->uu);
    if (form->pairs) {
        KN_TRY(kn_mat_new(ctx, X.rows, X.rows, &out->ff));
        kn_conv_distances(X, X, out->ff);
    }
out:
    if (status != KN_OK)
        kn_conv_data_clear(out);
    return status;
}

void kn_conv_data_clear(kn_conv_data *d)
{
    kn_mat_clear(&d->fu);
    kn_mat_clear(&d->uu);
    kn_mat_clear(&d->ff);
    *d = (kn_conv_data){0};
}

void kn_conv_data_need(kn_mem_plan *r, bool pairs, ptrdiff_t N, ptrdiff_t M)
{
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, N, M);
    kn_plan_alloc_d(r, KN_NEED_WORK, M, M);
    if (pairs)
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, N, N);
}

void kn_conv_posterior_clear(kn_conv_posterior *p)
{
    kn_mat_clear(&p->a);
    kn_mat_clear(&p->E);
    kn_mat_clear(&p->alpha);
}

void kn_conv_inverse(kn_ctx *ctx, kn_mat L, kn_mat inverse)
{
    kn_mat_zero(inverse);
    for (ptrdiff_t i = 0; i < inverse.rows; i++)
        kn_col(inverse, i)[i] = 1;
    kn_trsm_left(ctx, KN_N, L, inverse);
    kn_trsm_left(ctx, KN_T, L, inverse);
}

double kn_conv_log_det(kn_mat L)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < L.rows; i++)
        sum += 2 * log(kn_at(L, i, i));
    return sum;
}

void kn_conv_row_dots(kn_mat A, kn_mat B, double scale, double *v)
{
    for (ptrdiff_t j = 0; j < A.cols; j++) {
        const double *a = kn_col(A, j), *b = kn_col(B, j);
        for (ptrdiff_t i = 0; i < A.rows; i++)
            v[i] += scale * a[i] * b[i];
    }
}
