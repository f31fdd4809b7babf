/* Implements the kn_model_ calls of kronorm.h that save, open and copy a model and describe it as
 * JSON, and the calls that describe the build. Each checks its arguments, since callers are other
 * programs. */
#include "gp/method.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "la/openblas.h"
#include "model/file/change.h"
#include "model/file/file.h"
#include "model/file/internal.h"
#include "model/fit_info_json.h"
#include "model/missing_record.h"
#include "model/summary_text.h"

enum { PATH = 4096 };

void kn_log_path(const char *model, char *out, size_t size)
{
    snprintf(out, size, "%s.log.json", model);
}

kn_status kn_model_save(kn_ctx *ctx, const kn_model *model, const char *path, int force)
{
    kn_write_options o = {.force = force != 0};
    if (!model || !path)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", model ? "path" : "model");
    return kn_model_write(ctx, model, path, &o);
}

/* Read the seconds of the fit from MODEL.log.json beside the model into m->info; m->timed is false
 * if there are none. They are not in the model file, whose bytes depend on its inputs alone. */
static void read_log(const char *path, kn_model *m)
{
    char name[PATH];
    kn_log_path(path, name, sizeof name);
    json_t *log = json_load_file(name, 0, NULL), *seconds = json_object_get(log, "seconds");
    m->timed = json_is_object(seconds);
    m->info.seconds_basis = json_number_value(json_object_get(seconds, "basis"));
    m->info.seconds_fit = json_number_value(json_object_get(seconds, "fit"));
    m->info.seconds_reference = json_number_value(json_object_get(seconds, "reference"));
    json_decref(log);
}

kn_status kn_model_open(kn_ctx *ctx, const char *path, kn_model **model)
{
    *model = NULL;
    if (!path)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "path is a null pointer");
    kn_status status = kn_model_read(ctx, path, model);
    if (status == KN_OK)
        read_log(path, *model);
    return status;
}

kn_status kn_model_to_bytes(kn_ctx *ctx, const kn_model *model, void **bytes, size_t *count)
{
    ptrdiff_t n = 0;
    *bytes = NULL;
    *count = 0;
    if (!model)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "model is a null pointer");
    kn_status status = kn_model_write_bytes(ctx, model, bytes, &n);
    *count = (size_t)n;
    return status;
}

kn_status kn_model_from_bytes(kn_ctx *ctx, const void *bytes, size_t count, kn_model **model)
{
    *model = NULL;
    if (!bytes)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "bytes is a null pointer");
    return kn_model_parse(ctx, "memory", bytes, (ptrdiff_t)count, model);
}

void kn_bytes_free(void *bytes)
{
    kn_free(bytes);
}

/* Hyperparameters of a model with structured noise as a new JSON object: terms and their weights,
 * length scale, c, d and gamma of each component, and rho (NaN unless there are two terms). */
static json_t *theta_json(const kn_model *m)
{
    const kn_latent *l = &m->gp.latent;
    char name[KN_LEVEL_SIZE], units[KN_LEVEL_SIZE];
    double length = kn_length_in_units(m, units, sizeof units);
    json_t *terms = json_array();
    for (int k = 0; k < m->gp.spec.sample.n; k++) {
        kn_term_name(m, k, name, sizeof name);
        json_array_append_new(terms, json_string(name));
    }
    return json_pack("{s:o s:o s:o s:o s:o s:o s:o s:o s:o}", "terms", terms, "weights",
                     kn_weights_json(&m->gp), "rho", kn_json_number(m->info.rho), "length",
                     kn_json_number(length), "length_units",
                     *units ? json_string(units) : json_null(), "c", kn_json_numbers(l->c, m->gp.P),
                     "d", kn_json_numbers(l->d, m->gp.P), "gamma",
                     l->gamma ? kn_json_numbers(l->gamma, m->gp.P) : json_null(), "slope_mean",
                     kn_json_number(kn_mean_slope(m)));
}

/* Summary of the calibration as a new JSON object: nu, for each component whether it was kept with
 * its held-out gain, and the noise terms of sites. JSON null without calibration. */
static json_t *calibration_json(const kn_calibration_transform *l)
{
    json_t *calibration = kn_calibration_to_json(l);
    json_object_del(calibration, "columns");
    json_object_del(calibration, "shape");
    json_object_del(calibration, "sites");
    if (l->S > 0)
        json_object_set_new(calibration, "batch", kn_json_numbers(l->batch, l->S));
    return calibration;
}

/* Add the reference sample to the JSON object j: its size, GEV distribution, how p-values are made,
 * the smallest p-value, and the number of components of the whole-map deviance. */
static void add_reference(const kn_model *m, json_t *j)
{
    const kn_reference *r = &m->reference;
    json_object_set_new(j, "gev",
                        r->has_gev
                            ? json_pack("{s:o s:o s:o s:b}", "shape", kn_json_number(r->gev.xi),
                                        "location", kn_json_number(r->gev.mu), "scale",
                                        kn_json_number(r->gev.sigma), "at_bound", r->gev_at_bound)
                            : json_null());
    json_object_set_new(j, "reference_samples", json_integer(r->n));
    json_object_set_new(j, "reference",
                        json_pack("{s:I s:I s:s s:o s:o}", "participants", (json_int_t)r->n,
                                  "units", (json_int_t)r->units, "p_by",
                                  r->n == 0    ? "none"
                                  : r->has_gev ? "gev"
                                               : "rank",
                                  "smallest_p", kn_json_number(kn_smallest_p(m)), "fdr_share",
                                  kn_json_number(r->n > 0 ? r->fdr_proportion : NAN)));
    json_object_set_new(j, "deviance_components",
                        r->has_deviance && !r->own_deviance ? json_integer(r->deviance.K)
                                                            : json_null());
    if (r->own_deviance)
        json_object_set_new(j, "own_deviance", json_true());
}

/* The three dimensions of an image as a new JSON array. */
static json_t *shape_json(const kn_geometry *g)
{
    return json_pack("[I,I,I]", (json_int_t)g->dim[0], (json_int_t)g->dim[1],
                     (json_int_t)g->dim[2]);
}

/* The space of the responses as a new JSON object: kind, and for images shape and affine (null for
 * surfaces); two images per participant also have a shape each. JSON null for arrays. */
static json_t *space_json(const kn_space *s)
{
    const kn_geometry *g = &s->geometry;
    if (s->kind == KN_SPACE_NONE)
        return json_null();
    if (s->kind == KN_SPACE_TABLE)
        return json_pack("{s:s}", "kind", "table");
    json_t *affine = kn_geometry_is_placed(g) ? json_array() : json_null();
    for (int i = 0; i < 4 && json_is_array(affine); i++)
        json_array_append_new(affine, kn_json_numbers(g->affine[i], 4));
    json_t *j = json_pack("{s:s s:o s:o s:i}", "kind", "image", "shape", shape_json(g), "affine",
                          affine, "parts", s->parts);
    json_t *shapes = s->parts > 1 ? json_array() : NULL;
    for (int k = 0; k < s->parts && shapes; k++)
        json_array_append_new(shapes, shape_json(&s->part[k].geometry));
    if (shapes)
        json_object_set_new(j, "shapes", shapes);
    return j;
}

kn_status kn_model_json(kn_ctx *ctx, const kn_model *m, char **text)
{
    static const char *const kinds[] = {"array", "table", "image"};
    *text = NULL;
    if (!m)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "model is a null pointer");
    json_t *j = json_object(), *info = kn_info_to_json(&m->info);
    json_object_set_new(j, "format_version", json_integer(KN_MODEL_FORMAT));
    json_object_set_new(j, "software", json_string(kn_version()));
    json_object_update(j, info);
    json_decref(info);
    if (m->info.noise != KN_NOISE_ISO && !m->gp.method->independent_responses)
        json_object_set_new(j, "theta", theta_json(m));
    json_object_set_new(j, "terms", kn_terms_json(&m->gp));
    json_object_set_new(j, "weights", kn_weights_json(&m->gp));
    add_reference(m, j);
    json_object_set_new(j, "change",
                        m->change.distribution.T > 0 ? kn_change_to_json(&m->change) : json_null());
    json_object_set_new(j, "calibration", calibration_json(&m->calibration));
    json_object_set_new(j, "responses_kind", json_string(kinds[m->space.kind]));
    json_object_set_new(j, "space", space_json(&m->space));
    json_object_set_new(j, "has_ids", json_boolean(m->ids != NULL));
    json_object_set_new(j, "shareable", json_boolean(m->deidentified));
    json_object_set_new(j, "recipe",
                        m->encoding.n > 0 ? kn_encoding_to_json(&m->encoding) : json_null());
    if (m->batch.M > 0)
        json_object_set_new(j, "batch", kn_site_levels_to_json(&m->batch));
    if (m->sites.T > 0)
        json_object_set_new(j, "sites", kn_sites_to_json(&m->sites));
    if (m->adapted.n > 0)
        json_object_set_new(j, "adapted", kn_adapted_to_json(&m->adapted));
    json_t *missing = kn_missing_record_to_json(m);
    if (missing)
        json_object_set_new(j, "missing", missing);
    if (m->options)
        json_object_set_new(j, "options", json_loads(m->options, 0, NULL));
    json_object_set_new(j, "fit", m->fit ? json_loads(m->fit, 0, NULL) : json_null());
    if (m->timed)
        json_object_set_new(j, "seconds",
                            json_pack("{s:f s:f s:f}", "basis", m->info.seconds_basis, "fit",
                                      m->info.seconds_fit, "reference", m->info.seconds_reference));
    *text = json_dumps(j, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(j);
    return *text ? KN_OK : kn_fail(ctx, KN_ERR_MEMORY, "out of memory");
}

void kn_text_free(char *text)
{
    free(text);
}

const char *kn_build_blas(void)
{
    return kn_la_config();
}

const char *kn_build_core(void)
{
    return kn_la_core();
}

const char *kn_build_better_core(void)
{
    return kn_la_better_core();
}
