#include "work/check.h"

#include <limits.h>

kn_status kn_check_view(kn_ctx *ctx, kn_view v, const char *name)
{
    if (!v.data)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s has no data (a null pointer)", name);
    if (v.type != KN_F64 && v.type != KN_F32)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s has type %d, expected KN_F64 or KN_F32", name,
                       (int)v.type);
    if (v.rows < 1 || v.cols < 1)
        return kn_fail(ctx, KN_ERR_SHAPE, "%s is %td x %td, expected at least one row and column",
                       name, v.rows, v.cols);
    if (v.rows > INT_MAX / 2 || v.cols > INT_MAX / 2)
        return kn_fail(ctx, KN_ERR_SHAPE, "%s is %td x %td, beyond %d in one direction", name,
                       v.rows, v.cols, INT_MAX / 2);
    return KN_OK;
}

kn_status kn_check_training(kn_ctx *ctx, const kn_model *model, kn_view Y)
{
    kn_status status = kn_check_view(ctx, Y, "responses");
    if (status != KN_OK)
        return status;
    if (Y.rows != model->info.n_samples || Y.cols != model->info.n_responses)
        return kn_fail(ctx, KN_ERR_SHAPE,
                       "responses are %td x %td, but the model was trained on %td x %td", Y.rows,
                       Y.cols, model->info.n_samples, model->info.n_responses);
    return KN_OK;
}
