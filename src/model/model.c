/* What a model will tell about itself. */
#include <math.h>
#include <string.h>

#include "model/model.h"

void kn_model_info_sized(const kn_model *model, kn_fit_info *info, size_t size)
{
    size_t n = size < sizeof model->info ? size : sizeof model->info;
    memset(info, 0, size);
    memcpy(info, &model->info, n);
    info->size = size;
}

kn_view kn_model_array(const kn_model *model, const char *name)
{
    const kn_gp *gp = &model->gp;
    const kn_scaling *y = &model->y;
    bool stgpr = gp->method == KN_STGPR;
    struct {
        const char *name;
        const double *data;
        ptrdiff_t rows, cols;
    } arrays[] = {
        {"c", stgpr ? gp->stgpr.c : gp->latent.c, stgpr ? gp->T : gp->latent.A.cols, 1},
        {"d", stgpr ? gp->stgpr.d : gp->latent.d, stgpr ? gp->T : gp->latent.A.cols, 1},
        {"B", gp->B.data, gp->T, gp->P},
        {"A", gp->latent.A.data, gp->latent.R0.m, gp->latent.A.cols},
        {"U", gp->latent.R0.U.data, gp->N, gp->latent.R0.m},
        {"map", gp->latent.R0.map.data, gp->latent.R0.n_pivots, gp->latent.R0.m},
        {"r", gp->latent.R0.r, gp->latent.R0.m, 1},
        {"cells", gp->stgpr.cells.data, gp->stgpr.cells.rows, 2},
        {"cell", gp->stgpr.cell, gp->T, 1},
        {"delta", gp->stgpr.delta, gp->T, 1},
        {"alpha", gp->stgpr.alpha.data, gp->N, gp->T},
        {"lml", gp->stgpr.lml, gp->T, 1},
        {"X", gp->latent.X.data, gp->N, gp->F},
        {"noise", gp->noise, gp->T, 1},
        {"x_mean", model->x.mean, model->x.F, 1},
        {"x_sd", model->x.sd, model->x.F, 1},
        {"y_mean", y->mean, y->n_kept, 1},
        {"y_sd", y->sd, y->n_kept, 1},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (strcmp(name, arrays[i].name) == 0 && arrays[i].data)
            return kn_view_cols(arrays[i].data, arrays[i].rows, arrays[i].cols);
    return kn_view_cols(NULL, 0, 0);
}

ptrdiff_t kn_model_kept(const kn_model *model, const ptrdiff_t **index)
{
    *index = model->y.kept;
    return model->y.n_kept;
}

kn_status kn_model_noise(kn_ctx *ctx, const kn_model *model, double *noise)
{
    if (!model || !noise)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", model ? "noise" : "model");
    const kn_scaling *y = &model->y;
    for (ptrdiff_t j = 0; j < y->n_all; j++)
        noise[j] = NAN;
    for (ptrdiff_t k = 0; k < y->n_kept; k++)
        noise[y->kept[k]] = model->gp.noise[k] * y->sd[k] * y->sd[k];
    return KN_OK;
}
