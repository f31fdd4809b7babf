/* Public accessors of kn_scores by name, and the numbers of summary.json. PARTICIPANTS is the
 * table by which columns are allocated, written, joined and freed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "commands/score/internal.h"
#include "la/openblas.h"
#include "model/fit_info_json.h"
#include "stats/flag.h"

/* ---- summary.json ---- */

/* AUC of statistic k with its confidence interval as a new JSON object; null if it was not
 * computed. */
static json_t *auc_json(const kn_scores *s, int k)
{
    if (!s->has_auc[k])
        return json_null();
    const kn_auc *a = &s->auc[k];
    return json_pack("{s:o s:o s:o s:b}", "auc", kn_json_number(a->auc), "low",
                     kn_json_number(a->low), "high", kn_json_number(a->high), "degenerate",
                     a->degenerate);
}

/* The AUC of all statistics by name as a new JSON object. */
static json_t *auc_all(const kn_scores *s)
{
    json_t *all = json_object();
    for (int k = 0; k < KN_N_STATISTICS; k++)
        json_object_set_new(all, kn_statistic_name[k], auc_json(s, k));
    return all;
}

kn_flag_row kn_scores_flag_row(const kn_scores *s, ptrdiff_t i)
{
    return (kn_flag_row){.p = kn_scores_participants(s, KN_FLAG_COLUMN)[i],
                         .is_case = s->label[i] == 1,
                         .in_training = s->in_training[i] == 1,
                         .site_unknown = s->site_adapted[i] == 0 && s->min_unseen > 0};
}

/* Counts of the cases, or of the others, as a new JSON object: flagged, with a small p of the
 * extreme values, and with a finding after FDR. All by stats/flag.h. */
static json_t *count_group(const kn_scores *s, bool cases)
{
    kn_flag_counts flag[2] = {{0, 0}, {0, 0}}, extreme[2] = {{0, 0}, {0, 0}},
                   fdr[2] = {{0, 0}, {0, 0}};
    for (ptrdiff_t i = 0; i < s->n; i++) {
        kn_flag_row row = kn_scores_flag_row(s, i);
        double found = s->n_low_fdr[i] + s->n_high_fdr[i];
        kn_flag_count(&row, flag);
        row.p = s->extreme_z_p[i];
        kn_flag_count(&row, extreme);
        row.p = isnan(found) ? NAN : found > 0 ? 0 : 1;
        kn_flag_count(&row, fdr);
    }
    return json_pack("{s:I s:I s:o s:I s:I s:I s:I}", "with_p", (json_int_t)flag[cases].n,
                     "flagged", (json_int_t)flag[cases].flagged, "expected",
                     kn_json_number(s->flag_rate * (double)flag[cases].n), "with_extreme_p",
                     (json_int_t)extreme[cases].n, "extreme", (json_int_t)extreme[cases].flagged,
                     "with_z", (json_int_t)fdr[cases].n, "with_fdr",
                     (json_int_t)fdr[cases].flagged);
}

/* The flags as a new JSON object: rule, counts of the cases and of the others, smallest possible
 * p-value. */
static json_t *abnormality_json(const kn_scores *s)
{
    return json_pack("{s:{s:s s:f} s:o s:o s:o s:o}", "flag", "column", KN_FLAG_COLUMN, "at_most",
                     KN_FLAG_P, "others", count_group(s, false), "cases",
                     s->n_abnormal > 0 ? count_group(s, true) : json_null(), "smallest_p",
                     kn_json_number(s->smallest_p), "reference_fdr_share",
                     kn_json_number(s->fdr_proportion));
}

/* Summary of predictions as a new JSON object: counts only. */
static json_t *predicted_summary(const kn_scores *s)
{
    return json_pack("{s:{s:I s:I s:I} s:o s:{s:f} s:{s:s}}", "counts", "participants",
                     (json_int_t)s->n, "extrapolated", (json_int_t)s->n_extrapolated, "responses",
                     (json_int_t)s->T, "warnings", json_array(), "seconds", "predict",
                     kn_clock() - s->began, "software", "kronorm", kn_version());
}

json_t *kn_scores_summary(const kn_scores *s)
{
    if (!s->scored)
        return predicted_summary(s);
    json_t *metrics = json_object(), *calibration = json_object();
    for (int k = 0; k < KN_N_METRICS; k++)
        json_object_set_new(metrics, kn_metric_name[k], kn_json_number(s->mean_metrics[k]));
    json_object_set_new(metrics, "joint_density", kn_json_number(s->joint_density));
    for (int k = 0; k < KN_N_CALIBRATION; k++)
        json_object_set_new(calibration, kn_calibration_name[k], kn_json_number(s->calibration[k]));
    json_t *gev = s->has_gev
                      ? json_pack("{s:o s:o s:o}", "shape", kn_json_number(s->gev.xi), "location",
                                  kn_json_number(s->gev.mu), "scale", kn_json_number(s->gev.sigma))
                      : json_null();
    return json_pack(
        "{s:o s:o s:o s:o s:o s:{s:I s:I s:I s:I s:I s:I} s:o s:{s:f} s:{s:s s:s s:s}}", "metrics",
        metrics, "calibration", calibration, "AUC", auc_all(s), "gev", gev, "abnormality",
        abnormality_json(s), "counts", "participants", (json_int_t)s->n, "in_training",
        (json_int_t)s->n_in_training, "cases", (json_int_t)s->n_abnormal, "extrapolated",
        (json_int_t)s->n_extrapolated, "implausible", (json_int_t)s->n_implausible, "responses",
        (json_int_t)s->T, "warnings", json_array(), "seconds", "score", kn_clock() - s->began,
        "software", "kronorm", kn_version(), "blas", kn_la_config(), "core", kn_la_core());
}

/* ---- access by name ---- */

ptrdiff_t kn_scores_n_participants(const kn_scores *s)
{
    return s->n;
}

ptrdiff_t kn_scores_n_responses(const kn_scores *s)
{
    return s->T;
}

const char *const *kn_scores_ids(const kn_scores *s)
{
    return (const char *const *)s->id;
}

/* Columns of abnormality.tsv in order. */
static const struct {
    const char *name;
    size_t at;
} PARTICIPANTS[] = {
#define COLUMN(name)                                                                               \
    {                                                                                              \
#name, offsetof(kn_scores, name)                                                           \
    }
    COLUMN(in_training),      COLUMN(extreme_z),      COLUMN(extreme_z_p),
    COLUMN(deviance),         COLUMN(deviance_p),     COLUMN(deviance_noise),
    COLUMN(deviance_noise_p), COLUMN(extrapolation),  COLUMN(extrapolation_pct),
    COLUMN(mean_z),           COLUMN(mean_z_p),       COLUMN(n_low),
    COLUMN(n_low_p),          COLUMN(n_high),         COLUMN(n_high_p),
    COLUMN(extreme_z_low),    COLUMN(extreme_z_high), COLUMN(n_low_fdr),
    COLUMN(n_high_fdr),       COLUMN(n_responses),    COLUMN(p_note),
    COLUMN(site_adapted),     COLUMN(unseen_level),   COLUMN(implausible),
    COLUMN(flagged),          COLUMN(label),
#undef COLUMN
};
enum { N_PARTICIPANTS = sizeof PARTICIPANTS / sizeof *PARTICIPANTS };

const char *kn_scores_column(int k)
{
    return k < N_PARTICIPANTS ? PARTICIPANTS[k].name : NULL;
}

double **kn_scores_slot(kn_scores *s, int k)
{
    return k < N_PARTICIPANTS ? (double **)((char *)s + PARTICIPANTS[k].at) : NULL;
}

const double *kn_scores_participants(const kn_scores *s, const char *name)
{
    for (int k = 0; k < N_PARTICIPANTS; k++)
        if (strcmp(PARTICIPANTS[k].name, name) == 0)
            return *(double *const *)((const char *)s + PARTICIPANTS[k].at);
    return NULL;
}

const double *kn_scores_responses(const kn_scores *s, const char *name)
{
    if (strcmp(name, "ys2_noise") == 0)
        return s->noise;
    if (strcmp(name, "ys2_noise_known") == 0)
        return s->noise_group;
    for (int k = 0; s->scored && k < KN_N_METRICS; k++)
        if (strcmp(kn_metric_name[k], name) == 0)
            return kn_col(s->metrics, k);
    return NULL;
}

double kn_scores_number(const kn_scores *s, const char *name)
{
    char key[64];
    const json_t *at = s->summary;
    if (strcmp(name, "files") == 0)
        return (double)s->n_files;
    for (const char *w = name; *w;) {
        size_t n = strcspn(w, ".");
        if (n >= sizeof key)
            return NAN;
        memcpy(key, w, n);
        key[n] = '\0';
        at = json_object_get(at, key);
        w += n + (w[n] == '.');
    }
    if (json_is_object(at)) /* "AUC.extreme_z" means the field auc of the object */
        at = json_object_get(at, "auc");
    return json_is_number(at) ? json_number_value(at) : NAN;
}

const char *kn_scores_json(const kn_scores *s)
{
    return s->json;
}

/* Index of a map by name; KN_N_MAPS: unknown. */
static int map_of(const char *name)
{
    int k = 0;
    while (k < KN_N_MAPS && strcmp(kn_map_name[k], name) != 0)
        k++;
    return k;
}

kn_view kn_scores_array(const kn_scores *s, const char *name)
{
    int k = map_of(name);
    return k < KN_N_MAPS && s->map[k] ? kn_view_rows_f32(s->map[k], s->n, s->T)
                                      : kn_view_rows_f32(NULL, 0, 0);
}

kn_status kn_scores_block(kn_ctx *ctx, const kn_scores *s, const char *name, ptrdiff_t first,
                          ptrdiff_t count, kn_mat out)
{
    if (!s || !name)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", s ? "name" : "scores");
    int k = map_of(name);
    if (k == KN_N_MAPS)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "there is no map '%s', only z, yhat, ys2_model, fdr and ys2", name);
    if (!s->map[k])
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s is not in memory; name it in {write}, and give no {output}", name);
    if (first < 0 || count < 0 || first > s->T - count)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "responses %td to %td asked for, there are %td",
                       first + 1, first + count, s->T);
    if (!out.data || out.rows != s->n || out.cols != count || out.ld < s->n)
        return kn_fail(ctx, KN_ERR_SHAPE, "out is %td x %td with ld %td, expected %td x %td",
                       out.rows, out.cols, out.ld, s->n, count);
    for (ptrdiff_t j = 0; j < count; j++)
        for (ptrdiff_t i = 0; i < s->n; i++)
            kn_col(out, j)[i] = (double)s->map[k][i * s->T + first + j];
    return KN_OK;
}
