/* Maps in original units: mean sd_j + mean_j, variance sd_j^2 [METHOD 1d]; NaN where a response
 * was left out of training. */
#include "model/maps.h"

#include <math.h>

static void undo_scaling(const kn_scaling *s, ptrdiff_t k, ptrdiff_t n, const double *mean,
                         const double *var, double *mean_out, double *var_out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        if (mean_out)
            mean_out[i] = mean[i] * s->sd[k] + s->mean[k];
        if (var_out)
            var_out[i] = var[i] * s->sd[k] * s->sd[k];
    }
}

static void fill(kn_mat m, ptrdiff_t j, double value)
{
    for (ptrdiff_t i = 0; m.data && i < m.rows; i++)
        kn_col(m, j)[i] = value;
}

ptrdiff_t kn_kept_from(const kn_scaling *s, ptrdiff_t j)
{
    ptrdiff_t lo = 0, hi = s->n_kept;
    while (lo < hi) {
        ptrdiff_t mid = lo + (hi - lo) / 2;
        if (s->kept[mid] < j)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

kn_status kn_model_maps_block(kn_ctx *ctx, const kn_maps *maps, ptrdiff_t first, ptrdiff_t count,
                              kn_mat mean, kn_mat variance)
{
    kn_status status = KN_OK;
    const kn_scaling *s = &maps->model->y;
    kn_mat m = {0}, v = {0};
    ptrdiff_t n = maps->maps.n, k0 = kn_kept_from(s, first), k1 = kn_kept_from(s, first + count);
    for (ptrdiff_t j = 0; j < count; j++) {
        fill(mean, j, NAN);
        fill(variance, j, NAN);
    }
    for (ptrdiff_t k = k0; k < k1; k += KN_BLOCK) {
        ptrdiff_t w = k1 - k < KN_BLOCK ? k1 - k : KN_BLOCK;
        kn_mat_clear(&m);
        kn_mat_clear(&v);
        KN_TRY(kn_check_cancel(ctx));
        if (mean.data)
            KN_TRY(kn_mat_new(ctx, n, w, &m));
        if (variance.data)
            KN_TRY(kn_mat_new(ctx, n, w, &v));
        if (!m.data && !v.data)
            break;
        KN_TRY(kn_gp_maps_block(ctx, &maps->maps, k, m, v));
        for (ptrdiff_t j = 0; j < w; j++) {
            ptrdiff_t out = s->kept[k + j] - first;
            undo_scaling(s, k + j, n, m.data ? kn_col(m, j) : NULL, v.data ? kn_col(v, j) : NULL,
                         m.data ? kn_col(mean, out) : NULL, v.data ? kn_col(variance, out) : NULL);
        }
    }
out:
    kn_mat_clear(&m);
    kn_mat_clear(&v);
    return status;
}
