/* Covariances of a model as JSON. Contracts: model/file/internal.h. */
#include "model/file/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cov/simplex_weights.h"
#include "model/fit_info_json.h"

/* Fail with KN_ERR_FORMAT: the file has no valid "kernel" record. */
static kn_status refuse_kernel(kn_ctx *ctx, const char *file)
{
    return kn_fail(ctx, KN_ERR_FORMAT, "%s: 'kernel' is missing or invalid", file);
}

/* Join the hyperparameters of task covariance, sample covariance and noise into theta (KN_THETA),
 * in this order, as far as the method has them. */
static void all_theta(const kn_gp *gp, double *theta)
{
    kn_spec_join(&gp->spec, gp->latent.cell[0].R0.theta, gp->inside, theta);
}

/* True if all responses share one sample covariance R0, so that its terms have weights. */
static bool has_weights(const kn_gp *gp)
{
    return gp->latent.cell[0].R0.m > 0; /* otherwise each response has its own R0 */
}

/* ---- to JSON -------------------------------------------------------------------------------- */

/* Name of parameter i of a kernel: 0 is its amplitude, the others are its shapes. */
static const char *param_name(const kn_kernel *k, int i)
{
    return i == 0 ? k->amplitude : k->shape[i - 1].name;
}

/* The terms of a covariance as a new JSON array, with their columns of X, and with their parameters
 * (logarithms) if theta is not NULL. */
static json_t *terms_to_json(const kn_cov *cov, const double *theta)
{
    json_t *terms = json_array();
    for (int k = 0; k < cov->n; k++) {
        const kn_term *t = &cov->term[k];
        json_t *j = json_pack("{s:s}", "kernel", t->kernel->name), *own = json_object();
        if (t->count > 0)
            json_object_set_new(j, "columns",
                                json_pack("[I I]", (json_int_t)t->first, (json_int_t)t->count));
        for (int i = 0; theta && i <= t->kernel->n_shape; i++)
            json_object_set_new(own, param_name(t->kernel, i), kn_json_number(theta[t->at + i]));
        json_object_set_new(j, "theta", own);
        json_array_append_new(terms, j);
    }
    return terms;
}

json_t *kn_terms_json(const kn_gp *gp)
{
    double theta[KN_THETA];
    all_theta(gp, theta);
    return terms_to_json(&gp->spec.sample, has_weights(gp) ? theta + gp->spec.task.n_theta : NULL);
}

json_t *kn_weights_json(const kn_gp *gp)
{
    const kn_decomp *R0 = &gp->latent.cell[0].R0;
    kn_cov_point at;
    double total;
    if (!has_weights(gp))
        return json_null();
    json_t *weights = json_array();
    kn_cov_point_of(&R0->cov, R0->theta, &at, &total);
    for (int k = 0; k < R0->cov.n; k++)
        json_array_append_new(weights, kn_json_number(at.w[k]));
    return weights;
}

json_t *kn_kernel_to_json(const kn_gp *gp)
{
    const kn_spec *spec = &gp->spec;
    double theta[KN_THETA];
    all_theta(gp, theta);
    json_t *gammas = json_array();
    for (int k = 0; k < gp->latent.n_cells; k++)
        json_array_append_new(gammas, kn_json_number(gp->latent.cell[k].R0.gamma));
    return json_pack("{s:o s:o s:o s:o s:i s:o s:o s:b s:b s:b s:b s:o s:o}", "terms",
                     kn_terms_json(gp), "weights", kn_weights_json(gp), "task_terms",
                     terms_to_json(&spec->task, theta), "noise",
                     kn_json_number(theta[kn_spec_n_theta(spec) - 1]), "task_scale",
                     (int)spec->task_scale, "iso", kn_json_number(gp->latent.iso), "s2",
                     kn_json_number(gp->s2), "pca", gp->pca, "axes", gp->axes,
                     "complement_component", gp->complement_component, "exact", spec->sample.exact,
                     "least", kn_json_number(spec->sample.lowest), "gammas", gammas);
}

/* ---- from JSON ------------------------------------------------------------------------------ */

/* Add the term of JSON object j to cov. Its columns must be within the F columns of X; terms of the
 * task covariance (F = 0) use all columns. KN_ERR_FORMAT for an unknown kernel or other columns. */
static kn_status add_term(kn_ctx *ctx, const char *file, json_t *j, ptrdiff_t F, kn_cov *cov)
{
    const char *name = json_string_value(json_object_get(j, "kernel"));
    json_t *columns = json_object_get(j, "columns");
    const kn_kernel *kernel = name ? kn_kernel_named(name, strlen(name)) : NULL;
    json_int_t first = 0, count = KN_ALL_COLUMNS;
    if (!kernel)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s has a term '%s' that kronorm %s does not know", file,
                       name ? name : "", kn_version());
    if (F > 0 && !kernel->same_sample_only) {
        first = json_integer_value(json_array_get(columns, 0));
        count = json_integer_value(json_array_get(columns, 1));
        if (first < 0 || count < 1 || first > F || count > F - first)
            return refuse_kernel(ctx, file);
    }
    kn_status status = kn_cov_add(ctx, cov, kernel, (ptrdiff_t)first, (ptrdiff_t)count);
    return status == KN_OK ? KN_OK : refuse_kernel(ctx, file);
}

/* Read the terms of a covariance over F columns and their parameters in order; null is -infinity:
 * the term is off. KN_ERR_FORMAT if a parameter is absent from a sound range. */
static kn_status read_terms(kn_ctx *ctx, const char *file, json_t *terms, ptrdiff_t F, kn_cov *cov,
                            double *theta)
{
    static const double MAX_THETA = 50;
    *cov = (kn_cov){0};
    if (!json_is_array(terms))
        return refuse_kernel(ctx, file);
    for (size_t k = 0; k < json_array_size(terms); k++) {
        kn_status status = add_term(ctx, file, json_array_get(terms, k), F, cov);
        if (status != KN_OK)
            return status;
    }
    for (int k = 0; k < cov->n; k++) {
        const kn_term *t = &cov->term[k];
        json_t *own = json_object_get(json_array_get(terms, (size_t)k), "theta");
        for (int i = 0; i <= t->kernel->n_shape; i++) {
            json_t *v = json_object_get(own, param_name(t->kernel, i));
            theta[t->at + i] = kn_json_real(v, v ? -INFINITY : 0);
            /* an amplitude may be -infinity, a shape may not; larger logarithms are invalid */
            if (!(theta[t->at + i] <= MAX_THETA) || (i > 0 && !(theta[t->at + i] >= -MAX_THETA)))
                return refuse_kernel(ctx, file);
        }
    }
    return KN_OK;
}

/* Read task and sample covariance from JSON object k, and split their hyperparameters into those of
 * R0 and the rest (gp->inside). */
static kn_status read_covariances(kn_ctx *ctx, const char *file, json_t *k, kn_gp *gp)
{
    kn_status status;
    double C[KN_COV_THETA], R[KN_COV_THETA], theta[KN_THETA] = {0};
    kn_spec *spec = &gp->spec;
    KN_TRY(read_terms(ctx, file, json_object_get(k, "terms"), gp->F, &spec->sample, R));
    KN_TRY(read_terms(ctx, file, json_object_get(k, "task_terms"), 0, &spec->task, C));
    memcpy(theta, C, (size_t)spec->task.n_theta * sizeof *C);
    memcpy(theta + spec->task.n_theta, R, (size_t)spec->sample.n_theta * sizeof *R);
    theta[kn_spec_n_theta(spec) - 1] = kn_json_value(k, "noise", 0);
    kn_spec_split(spec, theta, gp->latent.cell[0].R0.theta, gp->inside);
out:
    return status;
}

/* Read the noise ratios gamma of the component groups, which must ascend, and set up one
 * decomposition of R0 for each. Without `gammas` there is one if the responses share R0 and none
 * otherwise, as after a fit. */
static kn_status read_cells(kn_ctx *ctx, const char *file, json_t *gammas, kn_gp *gp)
{
    kn_latent *l = &gp->latent;
    size_t n = json_array_size(gammas);
    if (n > KN_GAMMAS)
        return refuse_kernel(ctx, file);
    l->n_cells = n == 0 && has_weights(gp) ? 1 : (int)n;
    l->cell[0].R0.cov = kn_cov_between(&gp->spec.sample);
    l->cell[0].R0.N = gp->N;
    for (int k = 0; k < l->n_cells; k++) {
        kn_decomp *R0 = &l->cell[k].R0;
        R0->N = gp->N;
        R0->gamma = kn_json_real(json_array_get(gammas, (size_t)k), 0);
        R0->cov = l->cell[0].R0.cov;
        memcpy(R0->theta, l->cell[0].R0.theta, sizeof R0->theta);
        if (!(R0->gamma >= 0) || (k > 0 && !(R0->gamma > l->cell[k - 1].R0.gamma)))
            return refuse_kernel(ctx, file);
    }
    return KN_OK;
}

kn_status kn_kernel_from_json(kn_ctx *ctx, const char *file, json_t *kernel, kn_gp *gp)
{
    kn_status status;
    json_int_t scale = json_integer_value(json_object_get(kernel, "task_scale"));
    KN_TRY(read_covariances(ctx, file, kernel, gp));
    gp->spec.task_scale = (kn_task_scale)scale;
    gp->spec.sample.exact = json_is_true(json_object_get(kernel, "exact"));
    gp->spec.sample.lowest = kn_json_value(kernel, "least", 0);
    KN_TRY(read_cells(ctx, file, json_object_get(kernel, "gammas"), gp));
    gp->latent.iso = kn_json_value(kernel, "iso", NAN);
    gp->s2 = kn_json_value(kernel, "s2", NAN);
    gp->pca = json_is_true(json_object_get(kernel, "pca"));
    gp->axes = json_is_true(json_object_get(kernel, "axes"));
    gp->complement_component = json_is_true(json_object_get(kernel, "complement_component"));
    if (gp->spec.sample.n_between < 1 || scale < 0 || scale > 1 || !(gp->latent.iso >= 0) ||
        !(gp->s2 >= 0))
        status = refuse_kernel(ctx, file);
out:
    return status;
}
