/* Reads a model: implements kn_model_read(), _parse(), _copy() and _clear() of file.h. The
 * sections are read in the order of their dependencies, and every size is checked before it is
 * used. */

#include <stdlib.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "gp/method.h"
#include "io/file/path.h"
#include "model/file/change.h"
#include "model/file/file.h"
#include "model/file/internal.h"
#include "model/fit_info_json.h"
#include "model/missing_record.h"

void kn_model_clear(kn_model *m)
{
    kn_names_free(m->ids, m->info.n_samples);
    kn_names_free(m->group_name, m->gp.latent.groups.n);
    kn_free(m->group_column);
    kn_free(m->row_order);
    kn_space_clear(&m->space);
    kn_encoding_clear(&m->encoding);
    kn_reference_clear(&m->reference);
    kn_change_reference_clear(&m->change);
    kn_calibration_clear(&m->calibration);
    kn_null_calibration_clear(&m->null);
    kn_adapted_clear(&m->adapted);
    kn_site_levels_clear(&m->batch);
    kn_sites_clear(&m->sites);
    kn_design_clear(&m->x);
    kn_scaling_clear(&m->y);
    kn_gp_clear(&m->gp);
    free(m->options);
    free(m->fit);
    kn_free(m->missing_proportion);
    kn_free(m->empty_level);
}

/* KN_ERR_FORMAT unless the file is a model of the one format version that this program reads.
 * Drafts before the first release had versions 1 to 4; versions 1 and 2 had no checksum. */
static kn_status check_format(kn_ctx *ctx, const kn_st_file *f)
{
    const char *format = kn_st_metadata(f, "format");
    const char *version = kn_st_metadata(f, "format_version");
    if (!format || strcmp(format, "kronorm model") != 0)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s is a safetensors file, but not a kronorm model",
                       kn_st_name(f));
    char *end;
    long v = version ? strtol(version, &end, 10) : 0;
    if (v < 1 || *end)
        return kn_st_bad(ctx, f, "format_version");
    if (v != KN_MODEL_FORMAT)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s has format version %ld, but kronorm %s reads version %d; fit again, or "
                       "use the kronorm that wrote it",
                       kn_st_name(f), v, kn_version(), KN_MODEL_FORMAT);
    return KN_OK;
}

/* KN_ERR_FORMAT if the file has no checksum or a wrong one. Reads the whole file. */
static kn_status check_checksum(kn_ctx *ctx, const kn_st_file *f)
{
    bool sealed;
    kn_status status = kn_st_verify(ctx, f, &sealed);
    if (status == KN_OK && !sealed)
        status = kn_fail(ctx, KN_ERR_FORMAT,
                         "%s has no checksum, because it was changed, or written by a development "
                         "version of kronorm; fit again",
                         kn_st_name(f));
    return status;
}

/* Read a JSON array of n texts from the metadata of f; *out is owned by the caller (kn_names_free).
 * KN_ERR_FORMAT if it is absent, has another length or holds something else. */
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
        return kn_st_bad(ctx, f, key);
    }
    KN_TRY(kn_alloc(ctx, n, sizeof *words, &memory));
    words = memory;
    for (ptrdiff_t i = 0; i < n; i++) {
        words[i] = json_string_value(json_array_get(array, (size_t)i));
        if (!words[i]) {
            status = kn_st_bad(ctx, f, key);
            goto out;
        }
    }
    KN_TRY(kn_names_copy(ctx, words, n, out));
out:
    kn_free(memory);
    json_decref(array);
    return status;
}

/* Visitor that reads the arrays of the process. */
typedef struct reading {
    kn_arrays a;
    const kn_st_file *f;
} reading;

/* Array visitor of a method: reads its n doubles of this name from the file; unless `which` is
 * KN_ANY, they must be positive or not negative. */
static kn_status visit_doubles(kn_arrays *a, const char *name, ptrdiff_t n, kn_values which,
                               double **data)
{
    const kn_st_file *f = ((reading *)a)->f;
    return which == KN_ANY
               ? kn_st_read_numbers(a->ctx, f, name, n, true, data, NULL)
               : kn_st_read_positive(a->ctx, f, name, n, which == KN_NOT_NEGATIVE, data);
}

/* Array visitor of a method: reads its rows x cols matrix of finite numbers from the file. */
static kn_status visit_mat(kn_arrays *a, const char *name, ptrdiff_t rows, ptrdiff_t cols,
                           kn_mat *mat)
{
    return kn_st_read_finite(a->ctx, ((reading *)a)->f, name, rows, cols, mat);
}

/* Array visitor of a method: reads any number *n of indices from the file; the method checks
 * them. */
static kn_status visit_indices(kn_arrays *a, const char *name, ptrdiff_t *n, ptrdiff_t **index)
{
    int64_t *raw = NULL;
    kn_status status = kn_st_read_i64(a->ctx, ((reading *)a)->f, name, -1, &raw, n);
    *index = (ptrdiff_t *)raw; /* the same 64-bit integers, see kn_model_write */
    return status;
}

/* Array visitor of a method: true if the file has an array of this name. */
static bool visit_has(kn_arrays *a, const char *name)
{
    return kn_st_find(((reading *)a)->f, name) != NULL;
}

/* Array visitor of a method: fails with KN_ERR_FORMAT, since the array of this name is invalid. */
static kn_status visit_bad(kn_arrays *a, const char *name)
{
    return kn_st_bad(a->ctx, ((reading *)a)->f, name);
}

/* Read the Gaussian process into m->gp: covariances, X (N x F), noise (T) and the method's own
 * arrays. Sizes come from sections that were read before. */
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
    gp->shared = m->deidentified;
    gp->latent.cell[0].R0.m = gp->method->independent_responses || gp->method->own_covariance
                                  ? 0
                                  : info->rank; /* otherwise responses have their own R0 */
    gp->latent.cell[0].R0.residual = info->rank_residual;
    if (gp->method->independent_responses && info->rank < gp->N)
        gp->spec.rank = info->rank; /* rank of each response's R0 */
    KN_TRY(kn_kernel_from_json(ctx, kn_st_name(f), json_object_get(record, "kernel"), gp));
    if (!gp->shared)
        KN_TRY(kn_st_read_finite(ctx, f, "X", gp->N, gp->F, &gp->latent.X));
    KN_TRY(kn_st_read_positive(ctx, f, "noise", gp->T, true, &gp->noise));
    KN_TRY(gp->method->arrays(gp, &in.a));
out:
    return status;
}

/* Read design and batch levels into m->x and m->batch. KN_ERR_FORMAT if the number of design
 * columns is not that of the record. */
static kn_status read_design(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_model *m)
{
    kn_status status;
    double *mean = NULL, *sd = NULL;
    kn_design_scale scale = {.C = m->info.n_covariates};
    json_t *design = json_object_get(record, "design"),
           *columns = json_object_get(record, "n_columns");
    KN_TRY(kn_st_read_numbers(ctx, f, "x_mean", scale.C, false, &mean, NULL));
    KN_TRY(kn_st_read_positive(ctx, f, "x_sd", scale.C, false, &sd));
    scale.mean = mean;
    scale.sd = sd;
    KN_TRY(kn_design_from_json(ctx, kn_st_name(f), design, scale, &m->x));
    if (json_integer_value(columns) != m->x.F) {
        status = kn_st_bad(ctx, f, "'design'");
        goto out;
    }
    if (kn_design_has_batch(&m->x))
        status = kn_site_levels_from_json(ctx, kn_st_name(f), json_object_get(record, "batch"),
                                          &m->x, &m->batch);
out:
    kn_free(sd);
    kn_free(mean);
    return status;
}

/* Read how groups of repeated measures were found, and their names; nothing if the record has no
 * "group". KN_ERR_FORMAT if the process has no groups. */
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
        return kn_st_bad(ctx, f, "'group'");
    m->group_rule = (kn_group_rule)rule;
    if (column)
        KN_TRY(kn_text_copy(ctx, column, strlen(column), &m->group_column));
    if (kn_st_metadata(f, "groups"))
        KN_TRY(read_texts(ctx, f, "groups", m->gp.latent.groups.n, &m->group_name));
out:
    return status;
}

/* Read into m->y which responses are in use, with their means and sds: those of the
 * standardisation, and those of the trivial model. */
static kn_status read_scaling(kn_ctx *ctx, const kn_st_file *f, kn_model *m)
{
    kn_status status;
    ptrdiff_t kept = -1; /* any number of them */
    m->y.n_all = m->info.n_responses;
    KN_TRY(kn_st_read_indices(ctx, f, "kept", m->y.n_all, &m->y.kept, &kept));
    m->y.n_kept = kept;
    if (m->y.n_kept < 1)
        return kn_st_bad(ctx, f, "kept");
    KN_TRY(kn_st_read_numbers(ctx, f, "y_mean", m->y.n_kept, false, &m->y.mean, NULL));
    KN_TRY(kn_st_read_positive(ctx, f, "y_sd", m->y.n_kept, false, &m->y.sd));
    KN_TRY(kn_st_read_numbers(ctx, f, "y_trivial_mean", m->y.n_kept, false, &m->y.mean0, NULL));
    KN_TRY(kn_st_read_positive(ctx, f, "y_trivial_sd", m->y.n_kept, false, &m->y.sd0));
out:
    return status;
}

/* Read the space of the responses into m->space: names of a table, voxels of images, or none.
 * KN_ERR_FORMAT for another kind. */
static kn_status read_space(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_model *m)
{
    kn_status status = KN_OK;
    kn_space *s = &m->space;
    const char *kind = json_string_value(json_object_get(record, "space"));
    ptrdiff_t T = m->info.n_responses, count = T;
    if (!kind)
        return kn_st_bad(ctx, f, "'space'");
    if (strcmp(kind, "table") == 0) {
        s->kind = KN_SPACE_TABLE;
        KN_TRY(read_texts(ctx, f, "responses", T, &s->name));
        s->T = T;
    } else if (strcmp(kind, "image") == 0) {
        KN_TRY(kn_space_parts_read(ctx, f, record, s));
        const ptrdiff_t *dim = s->geometry.dim;
        KN_TRY(kn_st_read_indices(ctx, f, "voxels", dim[0] * dim[1] * dim[2], &s->voxel, &count));
        s->kind = KN_SPACE_IMAGE;
        s->T = T;
    } else if (strcmp(kind, "none") == 0) {
        s->T = T;
    } else {
        return kn_st_bad(ctx, f, "'space'");
    }
out:
    return status;
}

/* Reads the encoding (key "recipe") into m->encoding; without that key the model has none, which is
 * KN_OK. m->x must have been read. KN_ERR_FORMAT if its width, levels or batch effects differ from
 * those of m->x. */
static kn_status read_encoding(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_model *m)
{
    json_t *encoding = json_object_get(record, "recipe");
    if (!json_is_object(encoding))
        return KN_OK;
    kn_status status = kn_encoding_from_json(ctx, kn_st_name(f), encoding, &m->encoding);
    if (status != KN_OK)
        return status;
    if (kn_encoding_width(&m->encoding) != m->x.C)
        return kn_st_bad(ctx, f, "'recipe'");
    for (ptrdiff_t c = 0; c < m->x.C; c++)
        if (m->x.column[c].levels !=
                (m->encoding.codes ? (int)m->encoding.column[c].levels.n : 0) ||
            (m->encoding.codes && m->x.column[c].batch != m->encoding.column[c].batch))
            return kn_st_bad(ctx, f, "'recipe'");
    return KN_OK;
}

/* Read the order in which participants are assigned to folds; KN_ERR_FORMAT unless it is a
 * permutation of 0 .. N - 1. Nothing if the model has none. */
static kn_status read_row_order(kn_ctx *ctx, const kn_st_file *f, kn_model *m)
{
    kn_status status;
    void *memory = NULL;
    int64_t *order = NULL;
    ptrdiff_t N = m->info.n_samples;
    if (m->deidentified || !kn_st_find(f, "row_order"))
        return KN_OK;
    KN_TRY(kn_alloc(ctx, N, sizeof(bool), &memory));
    bool *met = memory;
    KN_TRY(kn_st_read_i64(ctx, f, "row_order", N, &order, NULL));
    KN_TRY(kn_alloc_i(ctx, N, &m->row_order));
    for (ptrdiff_t k = 0; k < N; k++) {
        int64_t i = order[k];
        if (i < 0 || i >= N || met[i]) {
            status = kn_st_bad(ctx, f, "row_order");
            goto out;
        }
        met[i] = true;
        m->row_order[k] = (ptrdiff_t)i;
    }
out:
    kn_free(order);
    kn_free(memory);
    return status;
}

/* KN_ERR_FORMAT for sizes in the record that no fit can have, such as no participant or a rank
 * above N. */
static kn_status check_sizes(kn_ctx *ctx, const kn_st_file *f, const kn_fit_info *i)
{
    if (i->n_samples < 1 || i->n_covariates < 1 || i->n_responses < 1 || i->rank < 1 ||
        i->rank > i->n_samples ||
        (i->n_components < 1 && !i->method->independent_responses && !i->nothing_predicted))
        return kn_st_bad(ctx, f, "a size");
    return KN_OK;
}

/* Read all sections of f into a new model. Later sections depend on sizes that earlier ones have
 * set. *out is owned by the caller, NULL on failure. */
static kn_status read_sections(kn_ctx *ctx, const kn_st_file *f, kn_model **out)
{
    kn_status status;
    kn_model *m = NULL;
    void *memory = NULL;
    json_t *record = NULL;
    const char *text;
    *out = NULL;
    KN_TRY(check_format(ctx, f));
    KN_TRY(check_checksum(ctx, f));
    KN_TRY(kn_st_need_metadata(ctx, f, "record", &text));
    record = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(record)) {
        status = kn_st_bad(ctx, f, "'record'");
        goto out;
    }
    KN_TRY(kn_alloc(ctx, 1, sizeof *m, &memory));
    m = memory;
    KN_TRY(kn_info_from_json(ctx, kn_st_name(f), record, &m->info));
    KN_TRY(check_sizes(ctx, f, &m->info));
    m->seed = (uint64_t)json_integer_value(json_object_get(record, "seed"));
    m->folds = (int)json_integer_value(json_object_get(record, "folds"));
    m->grouped = json_is_true(json_object_get(record, "grouped"));
    m->deidentified = json_is_true(json_object_get(record, "shareable"));
    KN_TRY(read_scaling(ctx, f, m));
    KN_TRY(read_design(ctx, f, record, m));
    KN_TRY(kn_missing_record_read(ctx, f, record, m));
    KN_TRY(read_process(ctx, f, record, m));
    KN_TRY(read_groups(ctx, f, record, m));
    KN_TRY(read_row_order(ctx, f, m));
    KN_TRY(kn_calibration_read(ctx, f, record, (kn_calibration_for){&m->x, m->gp.T, m->batch.S},
                               &m->calibration));
    KN_TRY(kn_null_read(ctx, f, record, m->gp.T, &m->null));
    KN_TRY(kn_sites_read(ctx, f, record, m->gp.T, &m->sites));
    KN_TRY(kn_reference_read(ctx, f, record,
                             (kn_reference_for){m->info.n_samples, m->gp.T, m->deidentified,
                                                m->gp.method->own_deviance},
                             &m->reference));
    KN_TRY(
        kn_adapted_read(ctx, f, record, (kn_adapted_for){&m->x, &m->batch, m->gp.T}, &m->adapted));
    KN_TRY(kn_change_read(ctx, f, record, m->gp.T, &m->change));
    KN_TRY(read_space(ctx, f, record, m));
    if (kn_st_metadata(f, "ids") && !m->deidentified)
        KN_TRY(read_texts(ctx, f, "ids", m->info.n_samples, &m->ids));
    json_t *options = json_object_get(record, "options");
    if (json_is_object(options)) /* the fit had options */
        m->options = json_dumps(options, JSON_COMPACT);
    json_t *fit = json_object_get(record, "fit");
    if (json_is_object(fit))
        m->fit = json_dumps(fit, JSON_COMPACT);
    kn_model_finalise(m);
    KN_TRY(read_encoding(ctx, f, record, m));
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

/* Read the model, keep the hash of its file, check that the file was not changed meanwhile, and
 * close f, also on error. *out is NULL on failure. */
static kn_status assemble_and_close(kn_ctx *ctx, kn_st_file *f, kn_model **out)
{
    uint64_t hash = 0;
    kn_status status;
    KN_TRY(read_sections(ctx, f, out));
    KN_TRY(kn_st_hash(ctx, f, &hash));
    KN_TRY(kn_st_check_unchanged(ctx, f));
    (*out)->hash = hash;
out:
    kn_st_close(f);
    if (status != KN_OK) {
        kn_model_free(*out);
        *out = NULL;
    }
    return status;
}

kn_status kn_model_read(kn_ctx *ctx, const char *path, kn_model **out)
{
    kn_st_file *f = NULL;
    *out = NULL;
    kn_status status = kn_st_open(ctx, path, &f);
    return status == KN_OK ? assemble_and_close(ctx, f, out) : status;
}

kn_status kn_model_parse(kn_ctx *ctx, const char *name, const void *bytes, ptrdiff_t n,
                         kn_model **out)
{
    kn_st_file *f = NULL;
    *out = NULL;
    kn_status status = kn_st_parse(ctx, name, bytes, n, &f);
    return status == KN_OK ? assemble_and_close(ctx, f, out) : status;
}

kn_status kn_model_copy(kn_ctx *ctx, const kn_model *model, kn_model **out)
{
    void *bytes = NULL;
    ptrdiff_t n;
    *out = NULL;
    kn_status status = kn_model_write_bytes(ctx, model, &bytes, &n);
    if (status == KN_OK)
        status = kn_model_parse(ctx, "a copy of the model", bytes, n, out);
    if (status == KN_OK)
        (*out)->hash = 0; /* the caller may change the copy */
    kn_free(bytes);
    return status;
}

/* ---- broadcast over MPI ranks ---------------------------------------------------------------- */

/* Give the cross-validated z-scores of root (r->n x T), which a file without ids does not hold, to
 * ranks that lack them. p-values of participants with missing responses need them. Collective. */
static kn_status broadcast_z(kn_ctx *ctx, kn_reference *r, ptrdiff_t T)
{
    kn_status status;
    void *memory;
    double there = r->z != NULL, lacks = !r->z;
    KN_TRY(kn_comm_broadcast(ctx, &there, sizeof there, 0));
    KN_TRY(kn_comm_max(ctx, &lacks, 1));
    if (there == 0 || lacks == 0)
        return KN_OK;
    if (!r->z) {
        KN_TRY(kn_alloc(ctx, r->n * T, sizeof *r->z, &memory));
        r->z = memory;
    }
    KN_TRY(kn_comm_broadcast(ctx, r->z, r->n * T * (ptrdiff_t)sizeof *r->z, 0));
out:
    return status;
}

kn_status kn_model_broadcast(kn_ctx *ctx, kn_model **model)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    double lacks = !*model;
    void *bytes = NULL;
    ptrdiff_t n = 0;
    KN_TRY(kn_comm_max(ctx, &lacks, 1));
    if (lacks == 0)
        return KN_OK;
    if (c->rank == 0)
        KN_TRY(kn_model_write_bytes(ctx, *model, &bytes, &n));
    KN_TRY(kn_comm_broadcast(ctx, &n, sizeof n, 0));
    if (c->rank > 0)
        KN_TRY(kn_alloc_raw(ctx, n, 1, &bytes));
    KN_TRY(kn_comm_broadcast(ctx, bytes, n, 0));
    if (!*model)
        KN_TRY(kn_model_parse(ctx, "the model of rank 0", bytes, n, model));
    KN_TRY(broadcast_z(ctx, &(*model)->reference, (*model)->gp.T));
out:
    kn_free(bytes);
    return status;
}
