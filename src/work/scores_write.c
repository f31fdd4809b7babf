#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "la/core.h"
#include "model/info_json.h"
#include "work/scores.h"

enum { PATH = 4096 };
static const char *const FILES[] = {"abnormality.tsv", "metrics.tsv", "summary.json"};

static kn_status path_of(kn_ctx *ctx, const char *dir, const char *name, char path[PATH])
{
    return snprintf(path, PATH, "%s/%s", dir, name) < PATH
               ? KN_OK
               : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", dir);
}

kn_status kn_scores_check(kn_ctx *ctx, const char *dir, const kn_write_options *options)
{
    char path[PATH];
    kn_status status = KN_OK;
    for (int i = 0; i < 3; i++) {
        KN_TRY(path_of(ctx, dir, FILES[i], path));
        KN_TRY(kn_writer_check(ctx, path, options));
    }
out:
    return status;
}

static kn_status write_abnormality(kn_ctx *ctx, const kn_scores *s, const char *path,
                                   const kn_write_options *options)
{
    const struct {
        const char *name;
        const double *value;
    } columns[] = {
        {"statistic", s->statistic},
        {"probability", s->probability},
        {"p_upper", s->p_upper},
        {"deviance", s->deviance},
        {"deviance_p", s->deviance_p},
        {"deviance_noise", s->deviance_noise},
        {"deviance_noise_p", s->deviance_noise_p},
        {"extrapolation", s->extrapolation},
        {"extrapolation_pct", s->extrapolation_pct},
    };
    enum { N_COLUMNS = sizeof columns / sizeof *columns };
    kn_status status;
    kn_table_writer *w = NULL;
    KN_TRY(kn_table_writer_new(ctx, path, options, &w));
    KN_TRY(kn_table_writer_text(ctx, w, "participant_id"));
    KN_TRY(kn_table_writer_text(ctx, w, "in_training"));
    for (int c = 0; c < N_COLUMNS; c++)
        KN_TRY(kn_table_writer_text(ctx, w, columns[c].name));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t i = 0; i < s->n; i++) {
        KN_TRY(kn_table_writer_text(ctx, w, s->id[i]));
        KN_TRY(kn_table_writer_text(ctx, w, s->training[i] >= 0 ? "1" : "0"));
        for (int c = 0; c < N_COLUMNS; c++)
            KN_TRY(kn_table_writer_number(ctx, w, columns[c].value[i]));
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}

static void response_name(const kn_space *space, ptrdiff_t j, char *out, size_t size)
{
    if (space->kind == KN_SPACE_TABLE) {
        snprintf(out, size, "%s", space->name[j]);
    } else if (space->kind == KN_SPACE_IMAGE) { /* voxel coordinates, from 0 */
        ptrdiff_t v = space->voxel[j], nx = space->geometry.dim[0], ny = space->geometry.dim[1];
        snprintf(out, size, "%td,%td,%td", v % nx, v / nx % ny, v / (nx * ny));
    } else {
        snprintf(out, size, "%td", j + 1);
    }
}

static kn_status write_metrics(kn_ctx *ctx, const kn_scores *s, const char *path,
                               const kn_write_options *options)
{
    kn_status status;
    kn_table_writer *w = NULL;
    char name[1100];
    KN_TRY(kn_table_writer_new(ctx, path, options, &w));
    KN_TRY(kn_table_writer_text(ctx, w, "response"));
    for (int k = 0; k < KN_N_METRICS; k++)
        KN_TRY(kn_table_writer_text(ctx, w, kn_metric_name[k]));
    KN_TRY(kn_table_writer_end_row(ctx, w));
    for (ptrdiff_t j = 0; j < s->T; j++) {
        response_name(&s->model->space, j, name, sizeof name);
        KN_TRY(kn_table_writer_text(ctx, w, name));
        for (int k = 0; k < KN_N_METRICS; k++)
            KN_TRY(kn_table_writer_number(ctx, w, kn_at(s->metrics, j, k)));
        KN_TRY(kn_table_writer_end_row(ctx, w));
    }
    KN_TRY(kn_table_writer_commit(ctx, w));
out:
    kn_table_writer_free(w);
    return status;
}

static json_t *auc_json(const kn_scores *s, int k)
{
    if (!s->has_auc[k])
        return json_null();
    const kn_auc *a = &s->auc[k];
    return json_pack("{s:o s:o s:o s:b}", "auc", kn_json_number(a->auc), "low",
                     kn_json_number(a->low), "high", kn_json_number(a->high), "degenerate",
                     a->degenerate);
}

static json_t *summary(const kn_scores *s, const kn_apply_result *result)
{
    json_t *metrics = json_object(), *calibration = json_object(), *warnings = json_array();
    for (int k = 0; k < KN_N_METRICS; k++)
        json_object_set_new(metrics, kn_metric_name[k], kn_json_number(s->mean_metrics[k]));
    for (int k = 0; k < KN_N_CALIBRATION; k++)
        json_object_set_new(calibration, kn_calibration_name[k], kn_json_number(s->calibration[k]));
    if (result->n_extrapolated > s->n / 50)
        json_array_append_new(warnings, json_string("covariates far from training"));
    if (s->seen_as_new)
        json_array_append_new(warnings, json_string("training samples scored as if they were new"));
    if (s->n_empty > 0)
        json_array_append_new(warnings, json_string("samples without a finite response"));
    if (s->labelled && !s->has_auc[0])
        json_array_append_new(warnings, json_string("no AUC: one class has no statistic"));
    if (!s->has_gev)
        json_array_append_new(warnings, json_string("no extreme value reference"));
    json_t *gev = s->has_gev
                      ? json_pack("{s:o s:o s:o}", "shape", kn_json_number(s->gev.xi), "location",
                                  kn_json_number(s->gev.mu), "scale", kn_json_number(s->gev.sigma))
                      : json_null();
    return json_pack(
        "{s:o s:o s:{s:o s:o s:o} s:o s:{s:I s:I s:I s:I s:I} s:o s:{s:f} s:{s:s s:s s:s}}",
        "metrics", metrics, "calibration", calibration, "AUC", "top", auc_json(s, 0), "deviance",
        auc_json(s, 1), "deviance_noise", auc_json(s, 2), "gev", gev, "counts", "samples",
        (json_int_t)s->n, "in_training", (json_int_t)result->n_in_training, "abnormal",
        (json_int_t)result->n_abnormal, "extrapolated", (json_int_t)result->n_extrapolated,
        "responses", (json_int_t)s->T, "warnings", warnings, "seconds", "score",
        kn_clock() - s->began, "software", "kronorm", kn_version(), "blas", kn_la_config(), "core",
        kn_la_core());
}

static kn_status write_summary(kn_ctx *ctx, const kn_scores *s, const char *path,
                               const kn_write_options *options, const kn_apply_result *result)
{
    kn_status status;
    json_t *j = summary(s, result);
    char *text = j ? json_dumps(j, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : NULL;
    json_decref(j);
    if (!text)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory while writing %s", path);
    status = kn_write_text(ctx, path, text, options);
    free(text);
    return status;
}

kn_status kn_scores_write(kn_ctx *ctx, const kn_scores *s, const char *dir,
                          const kn_write_options *options, const kn_apply_result *result)
{
    kn_status status;
    char path[PATH];
    KN_TRY(path_of(ctx, dir, FILES[0], path));
    KN_TRY(write_abnormality(ctx, s, path, options));
    KN_TRY(path_of(ctx, dir, FILES[1], path));
    KN_TRY(write_metrics(ctx, s, path, options));
    KN_TRY(path_of(ctx, dir, FILES[2], path));
    KN_TRY(write_summary(ctx, s, path, options, result));
out:
    return status;
}
