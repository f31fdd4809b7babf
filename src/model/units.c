/* Implements units.h: mean sd_j + mean_j, variance sd_j^2 [METHOD 1d]; NaN for responses that
 * are not in the model. */
#include "model/units.h"
#include "gp/predict/prediction_blocks.h"

#include <math.h>

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

/* Compute responses in use k .. k + w - 1, which are neighbours in the caller's numbering too,
 * in place, and scale them there. */
static kn_status in_place(kn_ctx *ctx, const kn_maps *maps, ptrdiff_t k, ptrdiff_t first,
                          ptrdiff_t w, kn_mat mean, kn_mat variance)
{
    const kn_scaling *s = &maps->model->y;
    ptrdiff_t at = s->kept[k] - first;
    kn_mat m = mean.data ? kn_cols(mean, at, w) : mean;
    kn_mat v = variance.data ? kn_cols(variance, at, w) : variance;
    kn_status status = kn_gp_maps_block(ctx, &maps->maps, k, m, v);
    for (ptrdiff_t j = 0; j < w && status == KN_OK; j++) {
        double sd = s->sd[k + j], mu = s->mean[k + j];
        for (ptrdiff_t i = 0; m.data && i < m.rows; i++)
            kn_col(m, j)[i] = kn_at(m, i, j) * sd + mu;
        for (ptrdiff_t i = 0; v.data && i < v.rows; i++)
            kn_col(v, j)[i] *= sd * sd;
    }
    return status;
}

kn_status kn_model_maps_block(kn_ctx *ctx, const kn_maps *maps, ptrdiff_t first, ptrdiff_t count,
                              kn_mat mean, kn_mat variance)
{
    const kn_scaling *s = &maps->model->y;
    ptrdiff_t k0 = kn_kept_from(s, first), k1 = kn_kept_from(s, first + count);
    if (k1 - k0 < count)
        for (ptrdiff_t j = 0; j < count; j++) {
            fill(mean, j, NAN);
            fill(variance, j, NAN);
        }
    if (!mean.data && !variance.data)
        return KN_OK;
    for (ptrdiff_t k = k0, w; k < k1; k += w) { /* runs of consecutive responses */
        w = 1;
        while (w < KN_BLOCK && k + w < k1 && s->kept[k + w] == s->kept[k] + w)
            w++;
        kn_status status = kn_check_cancel(ctx);
        if (status == KN_OK)
            status = in_place(ctx, maps, k, first, w, mean, variance);
        if (status != KN_OK)
            return status;
    }
    return KN_OK;
}
