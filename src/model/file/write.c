/* Writes a model: implements kn_model_write(), _write_bytes() and _hash() of file.h. add_record(),
 * add_process() and add_sections() list everything in the file. */
#include <stdlib.h>
#include <string.h>

#include "gp/method.h"
#include "model/file/change.h"
#include "model/file/file.h"
#include "model/file/internal.h"
#include "model/fit_info_json.h"
#include "model/missing_record.h"

/* Fail with KN_ERR_MEMORY while the model is written. */
static kn_status out_of_memory(kn_ctx *ctx)
{
    return kn_fail(ctx, KN_ERR_MEMORY, "out of memory while writing the model");
}

/* Add n texts to the metadata as one JSON array under `name`, since texts may contain anything,
 * also newlines. KN_ERR_DATA if one is not UTF-8. */
static kn_status add_texts(kn_ctx *ctx, kn_st_writer *w, const char *name, char **text, ptrdiff_t n)
{
    json_t *array = json_array();
    for (ptrdiff_t i = 0; array && i < n; i++)
        json_array_append_new(array, json_string(text[i]));
    bool whole = array && json_array_size(array) == (size_t)n;
    char *dump = whole ? json_dumps(array, JSON_COMPACT) : NULL;
    json_decref(array);
    if (!whole)
        return kn_fail(ctx, KN_ERR_DATA, "%s hold text that is not UTF-8", name);
    if (!dump)
        return out_of_memory(ctx);
    kn_status status = kn_st_set_metadata(ctx, w, name, dump);
    free(dump);
    return status;
}

/* Set the metadata of the file: checksum, format, format version, software, and the JSON record of
 * all scalars of the model. */
static kn_status add_record(kn_ctx *ctx, const kn_model *m, kn_st_writer *w)
{
    static const char *const kinds[] = {"none", "table", "image"};
    kn_status status;
    json_t *record = kn_info_to_json(&m->info);
    char *dump = NULL, version[8];
    if (!record)
        return out_of_memory(ctx);
    snprintf(version, sizeof version, "%d", KN_MODEL_FORMAT);
    json_object_set_new(record, "seed", json_integer((json_int_t)m->seed));
    json_object_set_new(record, "folds", json_integer(m->folds));
    if (m->grouped)
        json_object_set_new(record, "grouped", json_true());
    if (m->deidentified)
        json_object_set_new(record, "shareable", json_true());
    json_object_set_new(record, "kernel", kn_kernel_to_json(&m->gp));
    json_object_set_new(record, "layer", kn_calibration_to_json(&m->calibration));
    if (m->null.noise)
        json_object_set_new(record, "null", kn_null_to_json(&m->null));
    if (m->sites.T > 0)
        json_object_set_new(record, "sites", kn_sites_to_json(&m->sites));
    json_object_set_new(record, "reference", kn_reference_to_json(&m->reference));
    if (m->change.distribution.T > 0)
        json_object_set_new(record, "change", kn_change_to_json(&m->change));
    json_object_set_new(record, "space", json_string(kinds[m->space.kind]));
    if (m->space.kind == KN_SPACE_IMAGE)
        json_object_set_new(record, "parts", kn_space_parts_to_json(&m->space));
    json_object_set_new(record, "recipe",
                        m->encoding.n > 0 ? kn_encoding_to_json(&m->encoding) : json_null());
    json_object_set_new(record, "n_columns", json_integer((json_int_t)m->gp.F));
    json_object_set_new(record, "design", kn_design_to_json(&m->x));
    if (m->batch.M > 0)
        json_object_set_new(record, "batch", kn_site_levels_to_json(&m->batch));
    if (m->adapted.n > 0)
        json_object_set_new(record, "adapted", kn_adapted_to_json(&m->adapted));
    if (m->group_rule != KN_GROUP_NONE)
        json_object_set_new(record, "group",
                            json_pack("{s:i s:s?}", "rule", (int)m->group_rule, "column",
                                      m->group_column));
    json_t *missing = kn_missing_record_to_json(m);
    if (missing)
        json_object_set_new(record, "missing", missing);
    if (m->options)
        json_object_set_new(record, "options", json_loads(m->options, 0, NULL));
    if (m->fit)
        json_object_set_new(record, "fit", json_loads(m->fit, 0, NULL));
    dump = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(record);
    if (!dump)
        return out_of_memory(ctx);
    KN_TRY(kn_st_seal(ctx, w));
    KN_TRY(kn_st_set_metadata(ctx, w, "format", "kronorm model"));
    KN_TRY(kn_st_set_metadata(ctx, w, "format_version", version));
    KN_TRY(kn_st_set_metadata(ctx, w, "software", kn_version()));
    KN_TRY(kn_st_set_metadata(ctx, w, "record", dump));
out:
    free(dump);
    return status;
}

/* Visitor that writes the arrays of the process; derived arrays are not stored. */
typedef struct writing {
    kn_arrays a;
    kn_st_writer *w;
} writing;

/* Array visitor of a method: adds its n doubles to the file. */
static kn_status write_doubles(kn_arrays *a, const char *name, ptrdiff_t n, kn_values which,
                               double **data)
{
    (void)which;
    return kn_st_add_doubles(a->ctx, ((writing *)a)->w, name, *data, n);
}

/* Array visitor of a method: adds its matrix to the file as doubles. */
static kn_status write_mat(kn_arrays *a, const char *name, ptrdiff_t rows, ptrdiff_t cols,
                           kn_mat *mat)
{
    (void)rows, (void)cols;
    return kn_st_add_mat(a->ctx, ((writing *)a)->w, name, *mat, KN_ST_F64);
}

/* Array visitor of a method: adds its matrix to the file as floats. */
static kn_status write_mat_f32(kn_arrays *a, const char *name, ptrdiff_t rows, ptrdiff_t cols,
                               kn_mat *mat)
{
    (void)rows, (void)cols;
    return kn_st_add_mat(a->ctx, ((writing *)a)->w, name, *mat, KN_ST_F32);
}

/* Array visitor of a method: adds its *n indices to the file as 64-bit integers. */
static kn_status write_indices(kn_arrays *a, const char *name, ptrdiff_t *n, ptrdiff_t **index)
{
    return kn_st_add(a->ctx, ((writing *)a)->w, name, KN_ST_I64, 1, n, *index);
}

/* Array visitor of a method: writes nothing, since derived arrays are computed again on reading. */
static kn_status leave_out(kn_arrays *a, const char *name, ptrdiff_t n, double **data)
{
    (void)a, (void)name, (void)n, (void)data;
    return KN_OK;
}

/* Add the Gaussian process to the file: X (N x F, unless de-identified), the method's own arrays,
 * and the noise (T). */
static kn_status add_process(kn_ctx *ctx, const kn_gp *gp, kn_st_writer *w)
{
    kn_status status;
    kn_gp same = *gp;
    writing out = {.a = {.ctx = ctx,
                         .doubles = write_doubles,
                         .mat = write_mat,
                         .mat_f32 = write_mat_f32,
                         .indices = write_indices,
                         .derived = leave_out},
                   .w = w};
    if (!gp->shared)
        KN_TRY(kn_st_add_mat(ctx, w, "X", gp->latent.X, KN_ST_F64));
    KN_TRY(gp->method->arrays(&same, &out.a));
    KN_TRY(kn_st_add_doubles(ctx, w, "noise", gp->noise, gp->T));
out:
    return status;
}

/* Add the names of table columns, or the geometry and voxel indices of images, to the file; nothing
 * for plain arrays. */
static kn_status add_space(kn_ctx *ctx, const kn_space *s, kn_st_writer *w)
{
    kn_status status = KN_OK;
    if (s->kind == KN_SPACE_TABLE)
        KN_TRY(add_texts(ctx, w, "responses", s->name, s->T));
    if (s->kind == KN_SPACE_IMAGE) {
        KN_TRY(kn_space_parts_add(ctx, s, w));
        KN_TRY(kn_st_add(ctx, w, "voxels", KN_ST_I64, 1, &s->T, s->voxel));
    }
out:
    return status;
}

/* Add the whole model to w: the JSON record and all arrays, in the order of the file. */
static kn_status add_sections(kn_ctx *ctx, const kn_model *m, kn_st_writer *w)
{
    _Static_assert(sizeof(ptrdiff_t) == 8, "indices are written as 64-bit integers");
    kn_status status;
    KN_TRY(add_record(ctx, m, w));
    if (m->ids)
        KN_TRY(add_texts(ctx, w, "ids", m->ids, m->info.n_samples));
    if (m->group_name)
        KN_TRY(add_texts(ctx, w, "groups", m->group_name, m->gp.latent.groups.n));
    KN_TRY(add_process(ctx, &m->gp, w));
    if (m->row_order)
        KN_TRY(kn_st_add(ctx, w, "row_order", KN_ST_I64, 1, &m->info.n_samples, m->row_order));
    KN_TRY(kn_st_add(ctx, w, "kept", KN_ST_I64, 1, &m->y.n_kept, m->y.kept));
    KN_TRY(kn_st_add_doubles(ctx, w, "y_mean", m->y.mean, m->y.n_kept));
    KN_TRY(kn_st_add_doubles(ctx, w, "y_sd", m->y.sd, m->y.n_kept));
    KN_TRY(kn_st_add_doubles(ctx, w, "y_trivial_mean", m->y.mean0, m->y.n_kept));
    KN_TRY(kn_st_add_doubles(ctx, w, "y_trivial_sd", m->y.sd0, m->y.n_kept));
    if (m->y.n)
        KN_TRY(kn_st_add(ctx, w, "y_values", KN_ST_I64, 1, &m->y.n_kept, m->y.n));
    if (m->missing_proportion)
        KN_TRY(kn_st_add_doubles(ctx, w, "missing_share", m->missing_proportion, m->x.F));
    if (m->empty_level)
        KN_TRY(kn_st_add(ctx, w, "empty_level", KN_ST_U8, 2,
                         (ptrdiff_t[]){m->n_levels, m->y.n_kept}, m->empty_level));
    KN_TRY(kn_st_add_doubles(ctx, w, "x_mean", m->x.mean, m->x.C));
    KN_TRY(kn_st_add_doubles(ctx, w, "x_sd", m->x.sd, m->x.C));
    KN_TRY(kn_calibration_add(ctx, &m->calibration, w));
    KN_TRY(kn_null_add(ctx, &m->null, m->gp.T, w));
    KN_TRY(kn_sites_add(ctx, &m->sites, w));
    KN_TRY(kn_reference_add(ctx, &m->reference, m->gp.T, m->ids != NULL, w));
    KN_TRY(kn_adapted_add(ctx, &m->adapted, w));
    KN_TRY(kn_change_add(ctx, &m->change, w));
    KN_TRY(add_space(ctx, &m->space, w));
out:
    return status;
}

kn_status kn_model_write(kn_ctx *ctx, const kn_model *m, const char *path,
                         const kn_write_options *options)
{
    kn_status status;
    kn_st_writer *w = NULL;
    KN_TRY(kn_st_writer_new(ctx, &w));
    KN_TRY(add_sections(ctx, m, w));
    KN_TRY(kn_st_write(ctx, w, path, options));
out:
    kn_st_writer_free(w);
    return status;
}

kn_status kn_model_write_bytes(kn_ctx *ctx, const kn_model *m, void **bytes, ptrdiff_t *n)
{
    kn_status status;
    kn_st_writer *w = NULL;
    *bytes = NULL;
    KN_TRY(kn_st_writer_new(ctx, &w));
    KN_TRY(add_sections(ctx, m, w));
    KN_TRY(kn_st_write_bytes(ctx, w, bytes, n));
out:
    kn_st_writer_free(w);
    return status;
}

kn_status kn_model_hash(kn_ctx *ctx, const kn_model *m, uint64_t *out)
{
    kn_status status;
    kn_st_writer *w = NULL;
    *out = m->hash;
    if (m->hash)
        return KN_OK;
    KN_TRY(kn_st_writer_new(ctx, &w));
    KN_TRY(add_sections(ctx, m, w));
    KN_TRY(kn_st_write_hash(ctx, w, out));
out:
    kn_st_writer_free(w);
    return status;
}
