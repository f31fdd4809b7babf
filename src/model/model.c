/* What a model will tell about itself. */
#include <math.h>
#include <string.h>

#include "gp/method.h"
#include "model/model.h"

void kn_model_info_sized(const kn_model *model, kn_fit_info *info, size_t size)
{
    size_t n = size < sizeof model->info ? size : sizeof model->info;
    memset(info, 0, size);
    memcpy(info, &model->info, n);
    info->size = size;
}

/* Looks for one of the process' arrays by its name. */
typedef struct looking {
    kn_arrays a;
    const char *name;
    kn_view found;
} looking;

static void look(kn_arrays *a, const char *name, const double *data, ptrdiff_t rows, ptrdiff_t cols)
{
    looking *l = (looking *)a;
    if (strcmp(name, l->name) == 0)
        l->found = kn_view_cols(data, rows, cols);
}

static kn_status see_doubles(kn_arrays *a, const char *name, ptrdiff_t n, kn_values which,
                             double **data)
{
    (void)which;
    look(a, name, *data, n, 1);
    return KN_OK;
}

static kn_status see_mat(kn_arrays *a, const char *name, ptrdiff_t rows, ptrdiff_t cols,
                         kn_mat *mat)
{
    look(a, name, mat->data, rows, cols);
    return KN_OK;
}

static kn_status see_indices(kn_arrays *a, const char *name, ptrdiff_t *n, ptrdiff_t **index)
{
    (void)a, (void)name, (void)n, (void)index; /* no view has integers */
    return KN_OK;
}

static kn_status see_derived(kn_arrays *a, const char *name, ptrdiff_t n, double **data)
{
    look(a, name, *data, n, 1);
    return KN_OK;
}

kn_view kn_model_array(const kn_model *model, const char *name)
{
    kn_gp gp = model->gp;
    const kn_scaling *y = &model->y;
    looking l = {.a = {.doubles = see_doubles,
                       .mat = see_mat,
                       .mat_f32 = see_mat,
                       .indices = see_indices,
                       .derived = see_derived},
                 .name = name,
                 .found = kn_view_cols(NULL, 0, 0)};
    look(&l.a, "X", gp.latent.X.data, gp.N, gp.F);
    look(&l.a, "noise", gp.noise, gp.T, 1);
    look(&l.a, "x_mean", model->x.mean, model->x.F, 1);
    look(&l.a, "x_sd", model->x.sd, model->x.F, 1);
    look(&l.a, "y_mean", y->mean, y->n_kept, 1);
    look(&l.a, "y_sd", y->sd, y->n_kept, 1);
    gp.method->arrays(&gp, &l.a);
    return l.found;
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
