/* What a model will tell about itself. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file.h"
#include "model/info_json.h"

void kn_model_free(kn_model *model)
{
    if (!model)
        return;
    kn_model_clear(model);
    kn_free(model);
}

void kn_model_settle(kn_model *m)
{
    for (int k = 0; k < m->info.n_curve; k++)
        m->curve_components[k] = m->info.curve[k].components;
}

double kn_model_number(const kn_model *model, const char *name)
{
    if (strncmp(name, "seconds.", 8) == 0 && !model->timed)
        return NAN;
    return kn_info_number(&model->info, name);
}

const char *kn_model_text(const kn_model *model, const char *name)
{
    int k;
    if (sscanf(name, "theta.%d", &k) == 1)
        return k >= 0 && k < model->info.n_theta ? model->info.theta_name[k] : NULL;
    return kn_info_text(&model->info, name);
}

typedef struct named_array {
    const char *name;
    const double *data;
    ptrdiff_t rows, cols, stride; /* from row to row */
} named_array;

static kn_view find(const named_array *a, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, a[i].name) == 0 && a[i].data)
            return (kn_view){a[i].data, KN_F64, a[i].rows, a[i].cols, a[i].stride, a[i].rows};
    return kn_view_cols(NULL, 0, 0);
}

/* The record's own. */
static kn_view record_array(const kn_model *m, const char *name)
{
    enum { STEP = sizeof(kn_curve_point) / sizeof(double) };
    const kn_fit_info *i = &m->info;
    const named_array arrays[] = {
        {"theta", i->theta, i->n_theta, 1, 1},
        {"gradient", i->gradient, i->n_theta, 1, 1},
        {"curve.components", m->curve_components, i->n_curve, 1, 1},
        {"curve.msll", &i->curve[0].msll, i->n_curve, 1, STEP},
        {"curve.se", &i->curve[0].se, i->n_curve, 1, STEP},
        {"curve.lml", &i->curve[0].lml, i->n_curve, 1, STEP},
    };
    return find(arrays, sizeof arrays / sizeof *arrays, name);
}

kn_view kn_model_array(const kn_model *model, const char *name)
{
    const kn_gp *gp = &model->gp;
    const kn_scaling *y = &model->y;
    bool stgpr = gp->method == KN_STGPR;
    const named_array arrays[] = {
        {"c", stgpr ? gp->stgpr.c : gp->latent.c, stgpr ? gp->T : gp->latent.A.cols, 1, 1},
        {"d", stgpr ? gp->stgpr.d : gp->latent.d, stgpr ? gp->T : gp->latent.A.cols, 1, 1},
        {"B", gp->B.data, gp->T, gp->P, 1},
        {"A", gp->latent.A.data, gp->latent.R0.m, gp->latent.A.cols, 1},
        {"U", gp->latent.R0.U.data, gp->N, gp->latent.R0.m, 1},
        {"map", gp->latent.R0.map.data, gp->latent.R0.n_pivots, gp->latent.R0.m, 1},
        {"r", gp->latent.R0.r, gp->latent.R0.m, 1, 1},
        {"cells", gp->stgpr.cells.data, gp->stgpr.cells.rows, 2, 1},
        {"cell", gp->stgpr.cell, gp->T, 1, 1},
        {"delta", gp->stgpr.delta, gp->T, 1, 1},
        {"alpha", gp->stgpr.alpha.data, gp->N, gp->T, 1},
        {"lml", gp->stgpr.lml, gp->T, 1, 1},
        {"X", gp->latent.X.data, gp->N, gp->F, 1},
        {"noise", gp->noise, gp->T, 1, 1},
        {"x_mean", model->x.mean, model->x.F, 1, 1},
        {"x_sd", model->x.sd, model->x.F, 1, 1},
        {"y_mean", y->mean, y->n_kept, 1, 1},
        {"y_sd", y->sd, y->n_kept, 1, 1},
    };
    kn_view v = find(arrays, sizeof arrays / sizeof *arrays, name);
    return v.data ? v : record_array(model, name);
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
