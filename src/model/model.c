/* Accessors of kronorm.h for a model: named numbers, texts and arrays, ids, noise; and its size.
 * Other functions of the public interface are in public_api.c. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp/method.h"
#include "gp/predict/gp_maps.h"
#include "model/file/file.h"
#include "model/fit_info_json.h"
#include "model/summary_text.h"

void kn_model_free(kn_model *model)
{
    if (!model)
        return;
    kn_model_clear(model);
    kn_free(model);
}

void kn_model_finalise(kn_model *m)
{
    for (int k = 0; k < m->info.n_curve; k++)
        m->curve_components[k] = m->info.curve[k].components;
}

double kn_model_number(const kn_model *model, const char *name)
{
    if (strncmp(name, "seconds.", 8) == 0 && !model->timed)
        return NAN;
    if (strcmp(name, "reference.smallest_p") == 0)
        return kn_smallest_p(model);
    if (strcmp(name, "reference.smallest_deviance_p") == 0)
        return kn_smallest_deviance_p(model);
    return kn_info_number(&model->info, name);
}

const char *kn_model_text(const kn_model *model, const char *name)
{
    int k;
    if (sscanf(name, "theta.%d", &k) == 1)
        return k >= 0 && k < model->info.n_theta ? model->info.theta_name[k] : NULL;
    if (strcmp(name, "response_noun") == 0)
        return kn_space_noun(&model->space);
    return kn_info_text(&model->info, name);
}

typedef struct named_array {
    const char *name;
    const double *data;
    ptrdiff_t rows, cols, stride; /* stride from row to row */
} named_array;

/* View of the first of n arrays with this name that exists; an empty view if there is none. */
static kn_view find_array(const named_array *a, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, a[i].name) == 0 && a[i].data)
            return (kn_view){a[i].data, KN_F64, a[i].rows, a[i].cols, a[i].stride, a[i].rows};
    return kn_view_cols(NULL, 0, 0);
}

/* View of an array in the record of the fit by name: theta, gradient, or a column of the curve over
 * components. Empty if there is none. Borrowed from m. */
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
    return find_array(arrays, sizeof arrays / sizeof *arrays, name);
}

/* Visitor of the process's arrays that finds one by name. */
typedef struct looking {
    kn_arrays a;
    const char *name;
    kn_view found;
} looking;

/* Keep a view of the array (rows x cols) if its name is the one that kn_model_array() looks for. */
static void visit_array(kn_arrays *a, const char *name, const double *data, ptrdiff_t rows,
                        ptrdiff_t cols)
{
    looking *l = (looking *)a;
    if (strcmp(name, l->name) == 0)
        l->found = kn_view_cols(data, rows, cols);
}

/* Array visitor of a method: keeps a view of its n doubles if they have the wanted name. */
static kn_status visit_doubles(kn_arrays *a, const char *name, ptrdiff_t n, kn_values which,
                               double **data)
{
    (void)which;
    visit_array(a, name, *data, n, 1);
    return KN_OK;
}

/* Array visitor of a method: keeps a view of its rows x cols matrix if it has the wanted name. */
static kn_status visit_mat(kn_arrays *a, const char *name, ptrdiff_t rows, ptrdiff_t cols,
                           kn_mat *mat)
{
    visit_array(a, name, mat->data, rows, cols);
    return KN_OK;
}

/* Array visitor of a method: ignores index arrays, since a view holds doubles only. */
static kn_status visit_indices(kn_arrays *a, const char *name, ptrdiff_t *n, ptrdiff_t **index)
{
    (void)a, (void)name, (void)n, (void)index; /* views hold doubles only */
    return KN_OK;
}

/* Array visitor of a method: keeps a view of n doubles that are computed on reading if they have
 * the wanted name. */
static kn_status visit_derived(kn_arrays *a, const char *name, ptrdiff_t n, double **data)
{
    visit_array(a, name, *data, n, 1);
    return KN_OK;
}

kn_view kn_model_array(const kn_model *model, const char *name)
{
    const kn_reference *r = &model->reference;
    if (strcmp(name, "z_cv") == 0)
        return r->z ? kn_view_rows_f32(r->z, r->n, model->y.n_kept) : kn_view_rows_f32(NULL, 0, 0);
    kn_gp gp = model->gp;
    const kn_scaling *y = &model->y;
    looking l = {.a = {.doubles = visit_doubles,
                       .mat = visit_mat,
                       .mat_f32 = visit_mat,
                       .indices = visit_indices,
                       .derived = visit_derived},
                 .name = name,
                 .found = kn_view_cols(NULL, 0, 0)};
    visit_array(&l.a, "X", gp.latent.X.data, gp.N, gp.F);
    visit_array(&l.a, "noise", gp.noise, gp.T, 1);
    visit_array(&l.a, "cv.R2", model->null.R2, model->null.R2 ? gp.T : 0, 1);
    visit_array(&l.a, "x_mean", model->x.mean, model->x.C, 1);
    visit_array(&l.a, "x_sd", model->x.sd, model->x.C, 1);
    visit_array(&l.a, "y_mean", y->mean, y->n_kept, 1);
    visit_array(&l.a, "y_sd", y->sd, y->n_kept, 1);
    gp.method->arrays(&gp, &l.a);
    return l.found.data ? l.found : record_array(model, name);
}

ptrdiff_t kn_model_kept(const kn_model *model, const ptrdiff_t **index)
{
    *index = model->y.kept;
    return model->y.n_kept;
}

const char *const *kn_model_ids(const kn_model *model)
{
    return (const char *const *)model->ids;
}

const char *const *kn_model_response_names(const kn_model *model)
{
    return (const char *const *)model->space.name;
}

ptrdiff_t kn_model_voxels(const kn_model *model, const ptrdiff_t **index)
{
    const kn_space *s = &model->space;
    bool image = s->kind == KN_SPACE_IMAGE;
    *index = image ? s->voxel : NULL;
    return image ? s->T : 0;
}

ptrdiff_t kn_model_reference(const kn_model *model, const ptrdiff_t **sample)
{
    *sample = model->reference.sample;
    return model->reference.n;
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

/* Size in memory of a calibration transform, in bytes. */
static double calibration_bytes(const kn_calibration_transform *l)
{
    return sizeof(double) *
               (double)(l->beta.rows * l->beta.cols + l->theta.rows * l->theta.cols + l->S) +
           (l->map ? KN_STUDENT_MAP_BYTES : 0);
}

/* Size in memory of a whole-map deviance (T x K factor, variances, reference values), in bytes. */
static double deviance_bytes(const kn_deviance *d)
{
    double T = (double)d->T, K = (double)d->K;
    return sizeof(double) * (T * (K + 1) + 2 * K * K + 2 * (double)d->n_ref);
}

double kn_model_bytes(const kn_model *m)
{
    enum {
        OF_A_RESPONSE = 8,
        OF_A_SAMPLE = 5
    }; /* doubles per response (scaling, noise) and per reference participant */
    enum { OF_SITES = 4, OF_ADAPTED = 3 }; /* doubles per response too */
    const kn_reference *r = &m->reference;
    double T = (double)m->gp.T, n = (double)r->n;
    return m->gp.method->bytes(&m->gp) + deviance_bytes(&r->deviance) +
           deviance_bytes(&r->deviance_noise) + calibration_bytes(&m->calibration) +
           calibration_bytes(&m->null.transform) +
           sizeof(double) * 3 * (double)m->change.distribution.T +
           sizeof(double) * (OF_A_RESPONSE * T + OF_SITES * (double)m->sites.T +
                             OF_ADAPTED * T * (double)m->adapted.n + OF_A_SAMPLE * n +
                             (double)m->gp.N * (double)m->gp.F) +
           (r->z ? sizeof(float) * n * T : 0);
}

/* ---- maps in original units ------------------------------------------------------------------ */

/* Set all entries of column j of m to value; nothing for a matrix without data. */
static void fill_column(kn_mat m, ptrdiff_t j, double value)
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

/* Predict the w responses in use from k on, which are consecutive in the caller's numbering too,
 * and convert them to original units. mean and variance (N* x count, or none) begin at response
 * `first`; only the w columns are written. */
static kn_status predict_in_place(kn_ctx *ctx, const kn_maps *maps, ptrdiff_t k, ptrdiff_t first,
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
            fill_column(mean, j, NAN);
            fill_column(variance, j, NAN);
        }
    if (!mean.data && !variance.data)
        return KN_OK;
    for (ptrdiff_t k = k0, w; k < k1; k += w) { /* runs of consecutive responses */
        w = 1;
        while (w < KN_BLOCK && k + w < k1 && s->kept[k + w] == s->kept[k] + w)
            w++;
        kn_status status = kn_check_cancel(ctx);
        if (status == KN_OK)
            status = predict_in_place(ctx, maps, k, first, w, mean, variance);
        if (status != KN_OK)
            return status;
    }
    return KN_OK;
}
