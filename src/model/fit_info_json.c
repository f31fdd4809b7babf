/* Implements fit_info_json.h with one table of fields, which drives reading, writing and look-up
 * by name. A new number of the record is one row of the table. */
#include "model/fit_info_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gp/method.h"

json_t *kn_json_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *kn_json_text(const char *text)
{
    json_t *json = text ? json_string(text) : NULL;
    return json ? json : json_null();
}

json_t *kn_json_numbers(const double *x, ptrdiff_t n)
{
    json_t *list = json_array();
    for (ptrdiff_t i = 0; i < n; i++)
        if (json_array_append_new(list, kn_json_number(x[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

double kn_json_real(const json_t *v, double otherwise)
{
    return json_is_number(v) ? json_number_value(v) : otherwise;
}

double kn_json_value(const json_t *object, const char *key, double otherwise)
{
    return kn_json_real(json_object_get(object, key), otherwise);
}

/* One row per field: its JSON name, offset in kn_fit_info, and type. */
typedef enum field_type { F_INT, F_SIZE, F_REAL, F_ENUM, F_METHOD } field_type;

typedef struct field {
    const char *name;
    size_t at;
    field_type type;
    const char *const *words; /* F_ENUM, ends with NULL */
} field;

#define WORDS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

#define AT(member) offsetof(kn_fit_info, member)
static const field FIELDS[] = {
    {"method", AT(method), F_METHOD, NULL},
    {"noise", AT(noise), F_ENUM, WORDS("structured", "iso", "whitened")},
    {"likelihood", AT(likelihood), F_ENUM, WORDS("exact", "paper")},
    {"n_samples", AT(n_samples), F_SIZE, NULL},
    {"n_covariates", AT(n_covariates), F_SIZE, NULL},
    {"n_responses", AT(n_responses), F_SIZE, NULL},
    {"n_left_out", AT(n_left_out), F_SIZE, NULL},
    {"n_constant_covariates", AT(n_constant_x), F_SIZE, NULL},
    {"n_components", AT(n_components), F_SIZE, NULL},
    {"rank", AT(rank), F_SIZE, NULL},
    {"lml", AT(lml), F_REAL, NULL},
    {"evaluations", AT(evaluations), F_INT, NULL},
    {"evaluations_subsample", AT(evaluations_subsample), F_INT, NULL},
    {"evaluations_inner", AT(evaluations_inner), F_INT, NULL},
    {"stop", AT(stop), F_ENUM,
     WORDS("converged", "max_evals", "max_seconds", "cancelled", "line_search", "not_optimised")},
    {"converged", AT(converged), F_INT, NULL},
    {"projected_gradient", AT(projected_gradient), F_REAL, NULL},
    {"rho", AT(rho), F_REAL, NULL},
    {"length", AT(length), F_REAL, NULL},
    {"noise_variance", AT(noise_variance), F_REAL, NULL},
    {"complement", AT(complement), F_REAL, NULL},
    {"complement_empty", AT(complement_empty), F_INT, NULL},
    {"basis_orthonormalised", AT(basis_orthonormalised), F_INT, NULL},
    {"clamped", AT(clamped), F_REAL, NULL},
    {"nothing_predicted", AT(nothing_predicted), F_INT, NULL},
};
enum { N_FIELDS = sizeof FIELDS / sizeof *FIELDS };

/* Further fields for look-up by name, which JSON has in nested objects or elsewhere. */
static const field FURTHER[] = {
    {"rank_residual", AT(rank_residual), F_REAL, NULL},
    {"basis_residual", AT(basis_residual), F_REAL, NULL},
    {"basis_columns", AT(basis_columns), F_SIZE, NULL},
    {"basis_constant", AT(basis_constant), F_REAL, NULL},
    {"n_theta", AT(n_theta), F_INT, NULL},
    {"n_curve", AT(n_curve), F_INT, NULL},
    {"cv.folds", AT(cv.folds), F_INT, NULL},
    {"cv.z2", AT(cv.z2), F_REAL, NULL},
    {"cv.msll", AT(cv.msll), F_REAL, NULL},
    {"cv.coverage95", AT(cv.coverage95), F_REAL, NULL},
    {"cv.gain", AT(cv.gain), F_REAL, NULL},
    {"cv.R2", AT(cv.R2), F_REAL, NULL},
    {"loo.folds", AT(loo.folds), F_INT, NULL},
    {"loo.z2", AT(loo.z2), F_REAL, NULL},
    {"loo.msll", AT(loo.msll), F_REAL, NULL},
    {"loo.coverage95", AT(loo.coverage95), F_REAL, NULL},
    {"missing.cells", AT(missing.cells), F_SIZE, NULL},
    {"missing.responses", AT(missing.responses), F_SIZE, NULL},
    {"missing.share", AT(missing.proportion), F_REAL, NULL},
    {"missing.responses_out", AT(missing.responses_out), F_SIZE, NULL},
    {"missing.people_out", AT(missing.participants_out), F_SIZE, NULL},
    {"missing.outliers", AT(missing.outliers), F_SIZE, NULL},
    {"missing.outlying_people", AT(missing.outlying_participants), F_SIZE, NULL},
    {"missing.rounds", AT(missing.rounds), F_INT, NULL},
    {"missing.P_fill", AT(missing.components), F_SIZE, NULL},
    {"missing.rms_change", AT(missing.rms_change), F_REAL, NULL},
    {"seconds.basis", AT(seconds_basis), F_REAL, NULL},
    {"seconds.fit", AT(seconds_fit), F_REAL, NULL},
    {"seconds.reference", AT(seconds_reference), F_REAL, NULL},
};

/* The row of a table of n fields with this name; NULL if there is none. */
static const field *find_field(const field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

double kn_info_number(const kn_fit_info *info, const char *name)
{
    const field *f = find_field(FIELDS, N_FIELDS, name);
    if (!f)
        f = find_field(FURTHER, sizeof FURTHER / sizeof *FURTHER, name);
    const char *at = (const char *)info + (f ? f->at : 0);
    if (!f || f->type == F_ENUM || f->type == F_METHOD ||
        (f->at == AT(rank) && info->method->own_covariance)) /* no R, so no rank */
        return NAN;
    return f->type == F_INT    ? *(const int *)at
           : f->type == F_SIZE ? (double)*(const ptrdiff_t *)at
                               : *(const double *)at;
}

const char *kn_info_text(const kn_fit_info *info, const char *name)
{
    const field *f = find_field(FIELDS, N_FIELDS, name);
    if (f && f->type == F_METHOD)
        return info->method->name;
    if (f && (f->at == AT(noise) || f->at == AT(likelihood)) && info->method->own_noise)
        return NULL;
    return f && f->type == F_ENUM ? f->words[*(const int *)((const char *)info + f->at)] : NULL;
}

/* Index of text among words, a list that ends with NULL; -1 if it is not one of them. */
static int word_index(const char *const *words, const char *text)
{
    for (int k = 0; words[k]; k++)
        if (strcmp(words[k], text) == 0)
            return k;
    return -1;
}

/* A cross-validation summary as a new JSON object: folds, z2, msll, coverage95, gain and R2. All
 * but folds are null if no folds were made. */
static json_t *cv_to_json(const kn_cv_summary *cv)
{
    bool made = cv->folds > 0;
    return json_pack("{s:i s:o s:o s:o s:o s:o}", "folds", cv->folds, "z2",
                     kn_json_number(made ? cv->z2 : NAN), "msll",
                     kn_json_number(made ? cv->msll : NAN), "coverage95",
                     kn_json_number(made ? cv->coverage95 : NAN), "gain",
                     kn_json_number(made ? cv->gain : NAN), "R2",
                     kn_json_number(made ? cv->R2 : NAN));
}

/* The comparison of structured and whitened noise as a new JSON object: both held-out log
 * densities, their difference and its standard error. */
static json_t *choice_to_json(const kn_noise_choice *c)
{
    return json_pack("{s:o s:o s:o s:o}", "structured", kn_json_number(c->structured), "whitened",
                     kn_json_number(c->whitened), "gain", kn_json_number(c->gain), "gain_se",
                     kn_json_number(c->se));
}

/* The comparison of structured and whitened noise from its JSON object; tried = false if j is no
 * object. */
static kn_noise_choice choice_from_json(json_t *j)
{
    return (kn_noise_choice){json_is_object(j), kn_json_value(j, "structured", NAN),
                             kn_json_value(j, "whitened", NAN), kn_json_value(j, "gain", NAN),
                             kn_json_value(j, "gain_se", NAN)};
}

json_t *kn_info_to_json(const kn_fit_info *info)
{
    json_t *j = json_object();
    for (size_t i = 0; i < N_FIELDS; i++) {
        const field *f = &FIELDS[i];
        const char *at = (const char *)info + f->at;
        json_t *v = NULL;
        switch (f->type) {
        case F_INT: v = json_integer(*(const int *)at); break;
        case F_SIZE: v = json_integer(*(const ptrdiff_t *)at); break;
        case F_REAL: v = kn_json_number(*(const double *)at); break;
        case F_ENUM: v = json_string(f->words[*(const int *)at]); break;
        case F_METHOD: v = json_string(info->method->name); break;
        }
        json_object_set_new(j, f->name, v);
    }
    json_t *theta = json_object(), *gradient = json_object(), *curve = json_array();
    for (int i = 0; i < info->n_theta; i++) {
        json_object_set_new(theta, info->theta_name[i], kn_json_number(info->theta[i]));
        json_object_set_new(gradient, info->theta_name[i], kn_json_number(info->gradient[i]));
    }
    for (int i = 0; i < info->n_curve; i++) {
        const kn_curve_point *c = &info->curve[i];
        json_array_append_new(curve,
                              json_pack("{s:i s:o s:o s:o}", "components", c->components, "msll",
                                        kn_json_number(c->msll), "se", kn_json_number(c->se), "lml",
                                        kn_json_number(c->lml)));
    }
    json_object_set_new(j, "rank_residual", kn_json_number(info->rank_residual));
    json_object_set_new(j, "basis_residual", kn_json_number(info->basis_residual));
    if (info->basis_columns > 0) {
        json_t *name = json_string(info->basis);
        json_object_set_new(j, "basis", name ? name : json_null());
        json_object_set_new(j, "basis_columns", json_integer(info->basis_columns));
        json_object_set_new(j, "basis_constant", kn_json_number(info->basis_constant));
    }
    json_object_set_new(j, "theta", theta);
    json_object_set_new(j, "gradient", gradient);
    json_object_set_new(j, "components_curve", curve);
    json_object_set_new(j, "cv", cv_to_json(&info->cv));
    json_object_set_new(j, "loo", cv_to_json(&info->loo));
    if (info->noise_choice.tried)
        json_object_set_new(j, "noise_choice", choice_to_json(&info->noise_choice));
    return j;
}

/* Read one field f of the JSON record to the address `at` in kn_fit_info; null is NaN for a real
 * number. KN_ERR_FORMAT if it is absent, of another type, negative or an unknown word. */
static kn_status read_field(kn_ctx *ctx, const char *file, json_t *json, const field *f, char *at)
{
    json_t *v = json_object_get(json, f->name);
    bool ok = false;
    switch (f->type) {
    case F_INT:
        ok = json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) < INT32_MAX;
        if (ok)
            *(int *)at = (int)json_integer_value(v);
        break;
    case F_SIZE:
        ok = json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) < INT32_MAX;
        if (ok)
            *(ptrdiff_t *)at = (ptrdiff_t)json_integer_value(v);
        break;
    case F_REAL:
        ok = json_is_number(v) || json_is_null(v);
        if (ok)
            *(double *)at = kn_json_real(v, NAN);
        break;
    case F_METHOD: {
        const kn_method *method = json_is_string(v) ? kn_method_find(json_string_value(v)) : NULL;
        ok = method != NULL;
        *(const kn_method **)at = method;
        break;
    }
    case F_ENUM: {
        int k = json_is_string(v) ? word_index(f->words, json_string_value(v)) : -1;
        ok = k >= 0;
        if (ok)
            *(int *)at = k;
        break;
    }
    }
    return ok ? KN_OK
              : kn_fail(ctx, KN_ERR_FORMAT, "%s: '%s' is missing or invalid", file, f->name);
}

/* Read the hyperparameters with their names and gradient into info, in the order of the file.
 * KN_ERR_FORMAT if they are absent or more than KN_MAX_THETA. */
static kn_status read_theta(kn_ctx *ctx, const char *file, json_t *json, kn_fit_info *info)
{
    json_t *theta = json_object_get(json, "theta"), *gradient = json_object_get(json, "gradient");
    const char *name;
    json_t *v;
    if (!json_is_object(theta) || !json_is_object(gradient) ||
        json_object_size(theta) > KN_MAX_THETA)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: 'theta' is missing or too long", file);
    json_object_foreach(theta, name, v)
    {
        int i = info->n_theta++;
        info->theta[i] = kn_json_real(v, NAN);
        info->gradient[i] = kn_json_value(gradient, name, NAN);
        strncpy(info->theta_name[i], name, sizeof info->theta_name[i] - 1);
    }
    return KN_OK;
}

/* Read the curve of held-out loss over the number of components into info. KN_ERR_FORMAT if it is
 * absent or has more than KN_MAX_CURVE points. */
static kn_status read_curve(kn_ctx *ctx, const char *file, json_t *json, kn_fit_info *info)
{
    json_t *curve = json_object_get(json, "components_curve");
    if (!json_is_array(curve) || json_array_size(curve) > KN_MAX_CURVE)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: 'components_curve' is missing or too long", file);
    for (size_t i = 0; i < json_array_size(curve); i++) {
        json_t *c = json_array_get(curve, i);
        info->curve[info->n_curve++] =
            (kn_curve_point){(int)json_integer_value(json_object_get(c, "components")),
                             kn_json_value(c, "msll", NAN), kn_json_value(c, "se", NAN),
                             kn_json_value(c, "lml", NAN)};
    }
    return KN_OK;
}

/* A cross-validation summary from its JSON object; absent numbers are NaN, and without an object
 * folds is 0. */
static kn_cv_summary cv_from_json(json_t *j)
{
    return (kn_cv_summary){(int)json_integer_value(json_object_get(j, "folds")),
                           kn_json_value(j, "z2", NAN),
                           kn_json_value(j, "msll", NAN),
                           kn_json_value(j, "coverage95", NAN),
                           kn_json_value(j, "gain", NAN),
                           kn_json_value(j, "R2", NAN)};
}

kn_status kn_info_from_json(kn_ctx *ctx, const char *file, json_t *json, kn_fit_info *info)
{
    kn_status status = KN_OK;
    *info = (kn_fit_info){0};
    for (size_t i = 0; i < N_FIELDS; i++)
        KN_TRY(read_field(ctx, file, json, &FIELDS[i], (char *)info + FIELDS[i].at));
    info->method = kn_method_of(info->method->name, info->noise);
    KN_TRY(read_theta(ctx, file, json, info));
    KN_TRY(read_curve(ctx, file, json, info));
    info->cv = cv_from_json(json_object_get(json, "cv"));
    info->loo = cv_from_json(json_object_get(json, "loo"));
    info->rank_residual = json_number_value(json_object_get(json, "rank_residual"));
    info->basis_residual = json_number_value(json_object_get(json, "basis_residual"));
    info->noise_choice = choice_from_json(json_object_get(json, "noise_choice"));
    const char *basis = json_string_value(json_object_get(json, "basis"));
    snprintf(info->basis, sizeof info->basis, "%s", basis ? basis : "");
    json_int_t columns = json_integer_value(json_object_get(json, "basis_columns"));
    info->basis_columns = columns > 0 && columns < INT32_MAX ? (ptrdiff_t)columns : 0;
    info->basis_constant = json_number_value(json_object_get(json, "basis_constant"));
out:
    return status;
}
