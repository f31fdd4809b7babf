#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/method.h"
#include "io/path.h"
#include "model/file.h"
#include "model/gaps.h"
#include "model/info_json.h"
#include "model/kernel_json.h"
#include "model/layer_file.h"
#include "model/safetensors.h"
#include "model/space_file.h"

void kn_model_clear(kn_model *m)
{
    kn_names_free(m->ids, m->info.n_samples);
    kn_names_free(m->group_name, m->gp.latent.groups.n);
    kn_free(m->group_column);
    kn_space_clear(&m->space);
    kn_recipe_clear(&m->recipe);
    kn_reference_clear(&m->reference);
    kn_layer_clear(&m->layer);
    kn_design_clear(&m->x);
    kn_scaling_clear(&m->y);
    kn_gp_clear(&m->gp);
    free(m->options);
    kn_free(m->missing_share);
    kn_free(m->empty_level);
}

static kn_status bad(kn_ctx *ctx, const kn_st_file *f, const char *what)
{
    return kn_fail(ctx, KN_ERR_FORMAT, "%s: %s is missing or not what it should be", kn_st_name(f),
                   what);
}

static kn_status check_format(kn_ctx *ctx, const kn_st_file *f, int *out)
{
    const char *format = kn_st_metadata(f, "format");
    const char *version = kn_st_metadata(f, "format_version");
    if (!format || strcmp(format, "kronorm model") != 0)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s is a safetensors file, but not a kronorm model",
                       kn_st_name(f));
    char *end;
    long v = version ? strtol(version, &end, 10) : 0;
    if (v < 1 || *end)
        return bad(ctx, f, "format_version");
    if (v > KN_MODEL_FORMAT)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s has format version %ld, this kronorm %s reads up to %d: a newer kronorm "
                       "wrote it",
                       kn_st_name(f), v, kn_version(), KN_MODEL_FORMAT);
    *out = (int)v;
    return KN_OK;
}

/* A newer format has been refused before: its checksum may be another. */
static kn_status check_seal(kn_ctx *ctx, const kn_st_file *f, int format)
{
    bool sealed;
    kn_status status = kn_st_verify(ctx, f, &sealed);
    if (status == KN_OK && !sealed && format >= KN_MODEL_SEALED)
        status =
            kn_fail(ctx, KN_ERR_FORMAT,
                    "%s: has no checksum, which format version %d has: the file was changed or "
                    "damaged",
                    kn_st_name(f), format);
    return status;
}

/* A JSON array of n texts from the metadata. */
static kn_status read_texts(kn_ctx *ctx, const kn_st_file *f, const char *key, ptrdiff_t n,
                            char ***out)
{
    kn_status status = KN_OK;
    const char *text = kn_st_metadata(f, key);
    const char **words = NULL;
    void *memory = NULL;
    json_t *array = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    *out = NULL;
    if (!json_is_array(array) || json_array_size(array) != (size_t)n) {
        json_decref(array);
        return bad(ctx, f, key);
    }
    KN_TRY(kn_alloc(ctx, n, sizeof *words, &memory));
    words = memory;
    for (ptrdiff_t i = 0; i < n; i++) {
        words[i] = json_string_value(json_array_get(array, (size_t)i));
        if (!words[i]) {
            status = bad(ctx, f, key);
            goto out;
        }
    }
    KN_TRY(kn_names_copy(ctx, words, n, out));
out:
    kn_free(memory);
    json_decref(array);
    return status;
}

/* n ascending indices below limit */
static kn_status read_indices(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t n,
                              ptrdiff_t limit, ptrdiff_t **out, ptrdiff_t *count)
{
    int64_t *raw = NULL;
    kn_status status = kn_st_read_i64(ctx, f, name, n, &raw, count);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < *count; i++)
        if (raw[i] < 0 || raw[i] >= limit || (i > 0 && raw[i] <= raw[i - 1])) {
            kn_free(raw);
            return bad(ctx, f, name);
        }
    *out = (ptrdiff_t *)raw; /* the same 64-bit integers, see kn_model_write */
    return KN_OK;
}

static kn_status read_positive(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t n,
                               bool zero, double **out)
{
    kn_status status = kn_st_read_doubles(ctx, f, name, n, out, NULL);
    for (ptrdiff_t i = 0; status == KN_OK && i < n; i++)
        if (!isfinite((*out)[i]) || (*out)[i] < 0 || (!zero && (*out)[i] == 0))
            return bad(ctx, f, name);
    return status;
}

static bool finite_matrix(kn_mat m)
{
    for (ptrdiff_t j = 0; j < m.cols; j++)
        for (ptrdiff_t i = 0; i < m.rows; i++)
            if (!isfinite(kn_at(m, i, j)))
                return false;
    return true;
}

static kn_status read_matrix(kn_ctx *ctx, const kn_st_file *f, const char *name, ptrdiff_t rows,
                             ptrdiff_t cols, kn_mat *out)
{
    kn_status status = kn_st_read_mat(ctx, f, name, rows, cols, out);
    if (status == KN_OK && !finite_matrix(*out))
        return bad(ctx, f, name);
    return status;
}

static double number(json_t *object, const char *key)
{
    json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* The process' own arrays. */
typedef struct reading {
    kn_arrays a;
    const kn_st_file *f;
} reading;

static kn_status visit_doubles(kn_arrays *a, const char *name, ptrdiff_t n, kn_values which,
                               double **data)
{
    const kn_st_file *f = ((reading *)a)->f;
    return which == KN_ANY ? kn_st_read_doubles(a->ctx, f, name, n, data, NULL)
                           : read_positive(a->ctx, f, name, n, which == KN_NOT_NEGATIVE, data);
}

static kn_status visit_mat(kn_arrays *a, const char *name, ptrdiff_t rows, ptrdiff_t cols,
                           kn_mat *mat)
{
    return read_matrix(a->ctx, ((reading *)a)->f, name, rows, cols, mat);
}

static kn_status visit_indices(kn_arrays *a, const char *name, ptrdiff_t *n, ptrdiff_t **index)
{
    int64_t *raw = NULL;
    kn_status status = kn_st_read_i64(a->ctx, ((reading *)a)->f, name, -1, &raw, n);
    *index = (ptrdiff_t *)raw; /* the same 64-bit integers, see kn_model_write */
    return status;
}

static bool visit_has(kn_arrays *a, const char *name)
{
    return kn_st_find(((reading *)a)->f, name) != NULL;
}

static kn_status visit_bad(kn_arrays *a, const char *name)
{
    return bad(a->ctx, ((reading *)a)->f, name);
}

static kn_status read_process(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_model *m)
{
    kn_status status;
    kn_gp *gp = &m->gp;
    const kn_fit_info *info = &m->info;
    reading in = {.a = {.ctx = ctx,
                        .reading = true,
                        .doubles = visit_doubles,
                        .mat = visit_mat,
                        .mat_f32 = visit_mat,
                        .indices = visit_indices,
                        .has = visit_has,
                        .bad = visit_bad},
                  .f = f};
    gp->method = info->method;
    gp->spec.noise = info->noise;
    gp->spec.likelihood = info->likelihood;
    gp->F = m->x.F;
    gp->spec.identity = gp->method->identity;
    gp->N = info->n_samples;
    gp->T = m->y.n_kept;
    gp->P = info->n_components;
    gp->latent.cell[0].R0.m =
        gp->method->alone ? 0 : info->rank; /* else responses have their own R0 */
    gp->latent.cell[0].R0.residual = info->rank_residual;
    if (gp->method->alone && info->rank < gp->N)
        gp->spec.rank = info->rank; /* of each */
    KN_TRY(
        kn_kernel_from_json(ctx, kn_st_name(f), json_object_get(record, "kernel"), m->format, gp));
    KN_TRY(read_matrix(ctx, f, "X", gp->N, gp->F, &gp->latent.X));
    KN_TRY(read_positive(ctx, f, "noise", gp->T, true, &gp->noise));
    KN_TRY(gp->method->arrays(gp, &in.a));
out:
    return status;
}

/* Models before the design had standardised columns, constant ones among them. */
static kn_status read_design(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_model *m)
{
    kn_status status;
    double *mean = NULL, *sd = NULL;
    kn_design_scale scale = {.C = m->info.n_covariates};
    json_t *design = json_object_get(record, "design"),
           *columns = json_object_get(record, "n_columns");
    KN_TRY(kn_st_read_doubles(ctx, f, "x_mean", scale.C, &mean, NULL));
    KN_TRY(read_positive(ctx, f, "x_sd", scale.C, false, &sd));
    scale.mean = mean;
    scale.sd = sd;
    KN_TRY(design ? kn_design_from_json(ctx, kn_st_name(f), design, scale, &m->x)
                  : kn_design_plain(ctx, scale, &m->x));
    if (columns && json_integer_value(columns) != m->x.F)
        status = bad(ctx, f, "'design'");
out:
    kn_free(sd);
    kn_free(mean);
    return status;
}

static kn_status read_groups(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_model *m)
{
    kn_status status = KN_OK;
    json_t *j = json_object_get(record, "group");
    const char *column = json_string_value(json_object_get(j, "column"));
    json_int_t rule = json_integer_value(json_object_get(j, "rule"));
    if (!j)
        return KN_OK;
    if (rule <= KN_GROUP_NONE || rule > KN_GROUP_STIMULI || m->gp.latent.groups.n == 0 ||
        (rule == KN_GROUP_COLUMN && !column))
        return bad(ctx, f, "'group'");
    m->group_rule = (kn_group_rule)rule;
    if (column)
        KN_TRY(kn_text_copy(ctx, column, strlen(column), &m->group_column));
    if (kn_st_metadata(f, "groups"))
        KN_TRY(read_texts(ctx, f, "groups", m->gp.latent.groups.n, &m->group_name));
out:
    return status;
}

static kn_status read_scaling(kn_ctx *ctx, const kn_st_file *f, kn_model *m)
{
    kn_status status;
    m->y.n_all = m->info.n_responses;
    KN_TRY(read_indices(ctx, f, "kept", -1, m->y.n_all, &m->y.kept, &m->y.n_kept));
    if (m->y.n_kept < 1)
        return bad(ctx, f, "kept");
    KN_TRY(kn_st_read_doubles(ctx, f, "y_mean", m->y.n_kept, &m->y.mean, NULL));
    KN_TRY(read_positive(ctx, f, "y_sd", m->y.n_kept, false, &m->y.sd));
    bool own = kn_st_find(f, "y_trivial_sd") != NULL; /* the first models had the scaling only */
    KN_TRY(kn_st_read_doubles(ctx, f, own ? "y_trivial_mean" : "y_mean", m->y.n_kept, &m->y.mean0,
                              NULL));
    KN_TRY(read_positive(ctx, f, own ? "y_trivial_sd" : "y_sd", m->y.n_kept, false, &m->y.sd0));
out:
    return status;
}

static kn_status read_deviance(kn_ctx *ctx, const kn_st_file *f, const char *suffix, ptrdiff_t T,
                               ptrdiff_t n_ref, kn_deviance *d)
{
    kn_status status;
    char name[64];
    d->T = T;
#define NAME(stem) (snprintf(name, sizeof name, "deviance%s_%s", suffix, stem), name)
    KN_TRY(kn_st_read_doubles(ctx, f, NAME("lam"), -1, &d->lam, &d->K));
    KN_TRY(read_matrix(ctx, f, NAME("Q"), T, d->K, &d->Q));
    KN_TRY(read_positive(ctx, f, NAME("psi"), T, false, &d->psi));
    KN_TRY(kn_st_read_doubles(ctx, f, NAME("ref"), n_ref, &d->ref, &d->n_ref));
#undef NAME
    KN_TRY(kn_deviance_prepare(ctx, d));
out:
    return status;
}

static kn_status read_gev(kn_ctx *ctx, const kn_st_file *f, json_t *j, bool *has, kn_gev *out)
{
    *has = json_is_object(j);
    if (!*has)
        return KN_OK;
    *out = (kn_gev){number(j, "shape"), number(j, "location"), number(j, "scale")};
    if (!isfinite(out->xi) || !isfinite(out->mu) || !(out->sigma > 0))
        return bad(ctx, f, "'gev'");
    return KN_OK;
}

/* Absent in the first models, and where nobody could say. */
static kn_status read_neighbours(kn_ctx *ctx, const kn_st_file *f, json_t *j, kn_resemblance *out)
{
    if (!j)
        return KN_OK;
    *out = (kn_resemblance){.pairs = (ptrdiff_t)json_integer_value(json_object_get(j, "pairs")),
                            .correlation = number(j, "correlation"),
                            .chance = number(j, "chance"),
                            .limit = number(j, "limit"),
                            .resemble = json_is_true(json_object_get(j, "resemble"))};
    if (out->pairs < 1 || !isfinite(out->correlation) || !isfinite(out->chance) ||
        !isfinite(out->limit))
        return bad(ctx, f, "'neighbours'");
    return KN_OK;
}

/* Models of 0.1 have none of this. */
static kn_status read_burden(kn_ctx *ctx, const kn_st_file *f, json_t *j, kn_reference *r)
{
    kn_status status = KN_OK;
    json_t *units = json_object_get(j, "units");
    r->units = r->n;
    r->fdr_share = number(j, "fdr_share");
    if (!units)
        return KN_OK;
    r->units = (ptrdiff_t)json_integer_value(units);
    if (r->units < 1 || r->units > r->n)
        return bad(ctx, f, "'units'");
    KN_TRY(kn_st_read_doubles(ctx, f, "mean_z", r->n, &r->mean_z, NULL));
    KN_TRY(kn_st_read_doubles(ctx, f, "negative", r->n, &r->negative, NULL));
    KN_TRY(kn_st_read_doubles(ctx, f, "positive", r->n, &r->positive, NULL));
out:
    return status;
}

static kn_status read_reference(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_model *m)
{
    kn_status status = KN_OK;
    kn_reference *r = &m->reference;
    json_t *j = json_object_get(record, "reference");
    json_int_t n = json_integer_value(json_object_get(j, "samples"));
    if (!json_is_object(j) || n < 0 || n > m->info.n_samples)
        return bad(ctx, f, "'reference'");
    r->top = number(j, "top");
    if (n == 0 && r->top == 0)
        r->top = 0.05; /* models of the first days kept it only with a reference */
    if (!(r->top > 0 && r->top <= 1))
        return bad(ctx, f, "'reference'");
    if (n == 0)
        return KN_OK;
    r->n = (ptrdiff_t)n;
    if (r->n < m->info.n_samples) {
        ptrdiff_t count;
        KN_TRY(
            read_indices(ctx, f, "reference_sample", r->n, m->info.n_samples, &r->sample, &count));
    }
    KN_TRY(kn_st_read_doubles(ctx, f, "statistic", r->n, &r->statistic, NULL));
    KN_TRY(read_burden(ctx, f, j, r));
    KN_TRY(kn_st_read_doubles(ctx, f, "extrapolation", r->n, &r->extrapolation, NULL));
    KN_TRY(read_gev(ctx, f, json_object_get(j, "gev"), &r->has_gev, &r->gev));
    KN_TRY(read_gev(ctx, f, json_object_get(j, "gev_loo"), &r->has_loo_gev, &r->loo_gev));
    json_t *se = json_object_get(j, "gev_se"); /* NaN where the fit is not regular */
    r->gev_se = (kn_gev){number(se, "shape"), number(se, "location"), number(se, "scale")};
    r->gev_at_bound = json_is_true(json_object_get(j, "at_bound"));
    KN_TRY(read_neighbours(ctx, f, json_object_get(j, "neighbours"), &r->neighbours));
    if (kn_st_find(f, "y_sum"))
        KN_TRY(kn_st_read_doubles(ctx, f, "y_sum", r->n, &r->y_sum, NULL));
    if (kn_st_find(f, "statistic_loo"))
        KN_TRY(kn_st_read_doubles(ctx, f, "statistic_loo", r->n, &r->loo_statistic, NULL));
    if (json_is_true(json_object_get(j, "deviance"))) {
        KN_TRY(read_deviance(ctx, f, "", m->gp.T, r->n, &r->deviance));
        KN_TRY(read_deviance(ctx, f, "_noise", m->gp.T, r->n, &r->deviance_noise));
        r->has_deviance = true;
    }
    const kn_st_tensor *z = kn_st_find(f, "z_cv");
    if (z) {
        if (z->type != KN_ST_F32 || z->ndim != 2 || z->shape[0] != r->n || z->shape[1] != m->gp.T)
            return bad(ctx, f, "z_cv");
        KN_TRY(kn_alloc_f(ctx, z->count, &r->z));
        memcpy(r->z, z->data, (size_t)z->count * sizeof *r->z);
    }
out:
    return status;
}

static kn_status read_space(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_model *m)
{
    kn_status status = KN_OK;
    kn_space *s = &m->space;
    const char *kind = json_string_value(json_object_get(record, "space"));
    ptrdiff_t T = m->info.n_responses, count;
    if (!kind)
        return bad(ctx, f, "'space'");
    if (strcmp(kind, "table") == 0) {
        s->kind = KN_SPACE_TABLE;
        KN_TRY(read_texts(ctx, f, "responses", T, &s->name));
        s->T = T;
    } else if (strcmp(kind, "image") == 0) {
        KN_TRY(kn_space_parts_read(ctx, f, record, s));
        const ptrdiff_t *dim = s->geometry.dim;
        KN_TRY(read_indices(ctx, f, "voxels", T, dim[0] * dim[1] * dim[2], &s->voxel, &count));
        s->kind = KN_SPACE_IMAGE;
        s->T = T;
    } else if (strcmp(kind, "none") == 0) {
        s->T = T;
    } else {
        return bad(ctx, f, "'space'");
    }
out:
    return status;
}

/* The recipe makes the columns that the design knows. */
static kn_status read_recipe(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_model *m)
{
    json_t *recipe = json_object_get(record, "recipe");
    if (!json_is_object(recipe))
        return KN_OK;
    kn_status status = kn_recipe_from_json(ctx, kn_st_name(f), recipe, &m->recipe);
    if (status != KN_OK)
        return status;
    if (kn_recipe_width(&m->recipe) != m->x.C)
        return bad(ctx, f, "'recipe'");
    for (ptrdiff_t c = 0; c < m->x.C; c++)
        if (m->x.column[c].levels != (m->recipe.codes ? (int)m->recipe.column[c].levels.n : 0))
            return bad(ctx, f, "'recipe'");
    return KN_OK;
}

static kn_status check_sizes(kn_ctx *ctx, const kn_st_file *f, const kn_fit_info *i)
{
    if (i->n_samples < 1 || i->n_covariates < 1 || i->n_responses < 1 || i->rank < 1 ||
        i->rank > i->n_samples ||
        (i->n_components < 1 && !i->method->alone && !i->nothing_predicted))
        return bad(ctx, f, "a size");
    return KN_OK;
}

static kn_status assemble(kn_ctx *ctx, const kn_st_file *f, kn_model **out)
{
    kn_status status;
    kn_model *m = NULL;
    void *memory = NULL;
    json_t *record = NULL;
    const char *text;
    int format = 0;
    *out = NULL;
    KN_TRY(check_format(ctx, f, &format));
    KN_TRY(check_seal(ctx, f, format));
    KN_TRY(kn_st_need_metadata(ctx, f, "record", &text));
    record = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(record)) {
        status = bad(ctx, f, "'record'");
        goto out;
    }
    KN_TRY(kn_alloc(ctx, 1, sizeof *m, &memory));
    m = memory;
    m->format = format;
    KN_TRY(kn_info_from_json(ctx, kn_st_name(f), record, &m->info));
    KN_TRY(check_sizes(ctx, f, &m->info));
    m->seed = (uint64_t)json_integer_value(json_object_get(record, "seed"));
    m->folds = (int)json_integer_value(json_object_get(record, "folds"));
    m->grouped = json_is_true(json_object_get(record, "grouped"));
    KN_TRY(read_scaling(ctx, f, m));
    KN_TRY(read_design(ctx, f, record, m));
    KN_TRY(kn_gaps_read(ctx, f, record, m));
    KN_TRY(read_process(ctx, f, record, m));
    KN_TRY(read_groups(ctx, f, record, m));
    KN_TRY(kn_layer_read(ctx, f, record, (kn_layer_for){&m->x, m->gp.T}, &m->layer));
    KN_TRY(read_reference(ctx, f, record, m));
    KN_TRY(read_space(ctx, f, record, m));
    if (kn_st_metadata(f, "ids"))
        KN_TRY(read_texts(ctx, f, "ids", m->info.n_samples, &m->ids));
    json_t *options = json_object_get(record, "options"); /* absent in the first models */
    if (json_is_object(options))
        m->options = json_dumps(options, JSON_COMPACT);
    kn_model_settle(m);
    KN_TRY(read_recipe(ctx, f, record, m));
out:
    json_decref(record);
    if (status != KN_OK && m) {
        kn_model_clear(m);
        kn_free(m);
        m = NULL;
    }
    *out = m;
    return status;
}

kn_status kn_model_read(kn_ctx *ctx, const char *path, kn_model **out)
{
    kn_st_file *f = NULL;
    *out = NULL;
    kn_status status = kn_st_open(ctx, path, &f);
    if (status == KN_OK)
        status = assemble(ctx, f, out);
    kn_st_close(f);
    return status;
}

kn_status kn_model_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                         kn_model **out)
{
    kn_st_file *f = NULL;
    *out = NULL;
    kn_status status = kn_st_parse(ctx, name, bytes, n, &f);
    if (status == KN_OK)
        status = assemble(ctx, f, out);
    kn_st_close(f);
    return status;
}
