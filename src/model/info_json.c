#include "model/info_json.h"

#include <math.h>
#include <string.h>

#include "gp/method.h"

json_t *kn_json_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* One row per field: its JSON name, where it is, and what it is. */
typedef enum field_type { F_INT, F_SIZE, F_REAL, F_ENUM, F_METHOD } field_type;

typedef struct field {
    const char *name;
    size_t at;
    field_type type;
    const char *words; /* F_ENUM */
} field;

#define AT(member) offsetof(kn_fit_info, member)
static const field FIELDS[] = {
    {"method", AT(method), F_METHOD, NULL},
    {"noise", AT(noise), F_ENUM, "structured|iso"},
    {"likelihood", AT(likelihood), F_ENUM, "exact|paper"},
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
     "converged|max_evals|max_seconds|cancelled|line_search|not_optimised"},
    {"converged", AT(converged), F_INT, NULL},
    {"projected_gradient", AT(projected_gradient), F_REAL, NULL},
    {"rho", AT(rho), F_REAL, NULL},
    {"length", AT(length), F_REAL, NULL},
    {"noise_variance", AT(noise_variance), F_REAL, NULL},
    {"complement", AT(complement), F_REAL, NULL},
    {"complement_empty", AT(complement_empty), F_INT, NULL},
    {"basis_orthonormalised", AT(basis_orthonormalised), F_INT, NULL},
    {"jitter", AT(jitter), F_REAL, NULL},
    {"clamped", AT(clamped), F_REAL, NULL},
    {"nothing_predicted", AT(nothing_predicted), F_INT, NULL},
};
enum { N_FIELDS = sizeof FIELDS / sizeof *FIELDS };

static json_t *word(const char *words, int k)
{
    for (; k > 0; k--)
        words += strcspn(words, "|") + 1;
    return json_stringn(words, strcspn(words, "|"));
}

static int word_index(const char *words, const char *text)
{
    int k = 0;
    for (const char *w = words; *w; k++) {
        size_t n = strcspn(w, "|");
        if (strlen(text) == n && memcmp(w, text, n) == 0)
            return k;
        w += n + (w[n] == '|');
    }
    return -1;
}

static json_t *cv_to_json(const kn_cv_summary *cv)
{
    bool made = cv->folds > 0;
    return json_pack("{s:i s:o s:o s:o}", "folds", cv->folds, "z2",
                     kn_json_number(made ? cv->z2 : NAN), "msll",
                     kn_json_number(made ? cv->msll : NAN), "coverage95",
                     kn_json_number(made ? cv->coverage95 : NAN));
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
        case F_ENUM: v = word(f->words, *(const int *)at); break;
        case F_METHOD: v = json_string(kn_method_at(*(const int *)at)->name); break;
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
    json_object_set_new(j, "theta", theta);
    json_object_set_new(j, "gradient", gradient);
    json_object_set_new(j, "components_curve", curve);
    json_object_set_new(j, "cv", cv_to_json(&info->cv));
    json_object_set_new(j, "loo", cv_to_json(&info->loo));
    return j;
}

static double real_of(json_t *v)
{
    return json_is_number(v) ? json_number_value(v) : NAN;
}

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
            *(double *)at = real_of(v);
        break;
    case F_METHOD: {
        const kn_method *method = json_is_string(v) ? kn_method_find(json_string_value(v)) : NULL;
        ok = method != NULL;
        if (ok)
            *(int *)at = kn_method_number(method);
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
              : kn_fail(ctx, KN_ERR_FORMAT, "%s: '%s' is missing or not what it should be", file,
                        f->name);
}

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
        info->theta[i] = real_of(v);
        info->gradient[i] = real_of(json_object_get(gradient, name));
        strncpy(info->theta_name[i], name, sizeof info->theta_name[i] - 1);
    }
    return KN_OK;
}

static kn_status read_curve(kn_ctx *ctx, const char *file, json_t *json, kn_fit_info *info)
{
    json_t *curve = json_object_get(json, "components_curve");
    if (!json_is_array(curve) || json_array_size(curve) > KN_MAX_CURVE)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: 'components_curve' is missing or too long", file);
    for (size_t i = 0; i < json_array_size(curve); i++) {
        json_t *c = json_array_get(curve, i);
        info->curve[info->n_curve++] =
            (kn_curve_point){(int)json_integer_value(json_object_get(c, "components")),
                             real_of(json_object_get(c, "msll")), real_of(json_object_get(c, "se")),
                             real_of(json_object_get(c, "lml"))};
    }
    return KN_OK;
}

static kn_cv_summary cv_of(json_t *j)
{
    return (kn_cv_summary){(int)json_integer_value(json_object_get(j, "folds")),
                           real_of(json_object_get(j, "z2")), real_of(json_object_get(j, "msll")),
                           real_of(json_object_get(j, "coverage95"))};
}

kn_status kn_info_from_json(kn_ctx *ctx, const char *file, json_t *json, kn_fit_info *info)
{
    kn_status status = KN_OK;
    *info = (kn_fit_info){.size = sizeof *info};
    for (size_t i = 0; i < N_FIELDS; i++)
        KN_TRY(read_field(ctx, file, json, &FIELDS[i], (char *)info + FIELDS[i].at));
    KN_TRY(read_theta(ctx, file, json, info));
    KN_TRY(read_curve(ctx, file, json, info));
    info->cv = cv_of(json_object_get(json, "cv"));
    info->loo = cv_of(json_object_get(json, "loo")); /* absent in the first models: zeros */
    info->rank_residual = json_number_value(json_object_get(json, "rank_residual"));
    info->basis_residual = json_number_value(json_object_get(json, "basis_residual"));
out:
    return status;
}
