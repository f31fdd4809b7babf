/* kn_centiles: checks the options, makes the grid, chooses responses and bands, and runs jackknife
 * and output. Also the value of a centile and its band. */
#include "commands/centiles/centiles.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "commands/common/output_folder.h"
#include "commands/score/scores.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/path.h"
#include "norm/calibration/calibration_transform.h"
#include "stats/normal.h"

const char *const kn_bands_name[] = {"none", "model", "jackknife"};

void kn_centiles_clear(kn_centiles_work *w)
{
    kn_grid_clear(&w->grid);
    kn_mat_clear(&w->raw);
    kn_free(w->kept);
    kn_free(w->response);
    kn_free(w->distribution);
    kn_mat_clear(&w->t);
    kn_mat_clear(&w->J);
    kn_free(w->kurt);
    kn_warnings_clear(&w->warnings);
    kn_free((void *)w->write.inputs);
    kn_uncommitted_files_clear(&w->pending);
    kn_created_files_clear(&w->made);
}

kn_status kn_centiles_path(kn_ctx *ctx, const kn_centiles_work *w, const char *name,
                           char path[KN_CENTILES_PATH])
{
    return kn_path_in_folder(ctx, w->s.folder, name, path, KN_CENTILES_PATH);
}

/* ---- options ---- */

/* KN_ERR_ARGUMENT if a required option or data that the bands need are not given; KN_ERR_DATA if
 * the model has no encoding of covariates. */
static kn_status check_needs(kn_ctx *ctx, const kn_centiles_work *w)
{
    const kn_settings *s = &w->s;
    bool trained = s->bands && strcmp(s->bands, kn_bands_name[KN_BANDS_JACKKNIFE]) == 0;
    if (!s->over)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{over} is needed");
    if (!s->folder)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{output} is needed");
    if (w->model->encoding.n == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s was fitted to numeric arrays and has no encoding of covariates",
                       s->model ? s->model : "the model");
    if (trained && !w->training && (!s->covariates || !s->responses))
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{bands=jackknife} needs the {covariates} and {responses} of the training sample");
    if (s->covariates && !s->responses)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{covariates} needs {responses}");
    if (s->people && !s->responses)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{participants} needs {responses}");
    if (s->responses && !s->covariates && !s->people)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{responses} needs {participants} or {covariates}");
    return KN_OK;
}

/* Parse {centiles} into w->centile: distinct numbers in (0, 100), each with its normal quantile and
 * name. KN_ERR_ARGUMENT for others. */
static kn_status parse_centiles(kn_ctx *ctx, kn_centiles_work *w)
{
    double p[KN_NUMBERS_MAX];
    int n = kn_list_numbers(w->s.centiles, p);
    if (n < 1 || n > KN_CENTILES_MAX)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{centiles} is '%s', but must be up to %d numbers between 0 and 100",
                       kn_clipped(w->s.centiles).text, KN_CENTILES_MAX);
    for (int k = 0; k < n; k++) {
        char text[KN_NUMBER_SIZE];
        if (!(p[k] > 0 && p[k] < 100))
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "{centiles} has %g; each must be above 0 and below 100", p[k]);
        for (int i = 0; i < k; i++)
            if (p[i] == p[k])
                return kn_fail(ctx, KN_ERR_ARGUMENT, "{centiles} has %g twice", p[k]);
        kn_number_text(p[k], text);
        w->centile[k] = (kn_centile){.percent = p[k], .z = kn_normal_quantile(p[k] / 100)};
        snprintf(w->centile[k].name, KN_CENTILE_NAME, "centile_%s%s", p[k] < 10 ? "0" : "", text);
    }
    w->n_centiles = n;
    return KN_OK;
}

/* True if any of the patterns matches the name, or there are none; sets hit[k] of each that
 * does. */
static bool matches_pattern(const kn_names *patterns, const char *name, bool *hit)
{
    bool any = patterns->n == 0;
    for (ptrdiff_t k = 0; k < patterns->n; k++)
        if (fnmatch(patterns->name[k], name, 0) == 0)
            any = hit[k] = true;
    return any;
}

/* Set w->kept and w->response to the S responses that match the patterns; KN_ERR_ARGUMENT if a
 * pattern matches none. */
static kn_status find_responses(kn_ctx *ctx, kn_centiles_work *w, const kn_names *patterns)
{
    kn_status status;
    const kn_scaling *y = &w->model->y;
    char name[1100];
    bool *hit = NULL;
    KN_TRY(kn_alloc_bool(ctx, patterns->n, &hit));
    KN_TRY(kn_alloc_i(ctx, y->n_kept, &w->kept));
    KN_TRY(kn_alloc_i(ctx, y->n_kept, &w->response));
    for (ptrdiff_t k = 0; k < y->n_kept; k++) {
        if (patterns->n > 0)
            kn_response_name(&w->model->space, y->kept[k], name, sizeof name);
        if (!matches_pattern(patterns, name, hit))
            continue;
        w->kept[w->S] = k;
        w->response[w->S++] = y->kept[k];
    }
    for (ptrdiff_t k = 0; k < patterns->n; k++)
        if (!hit[k]) {
            status =
                kn_fail(ctx, KN_ERR_ARGUMENT, "{targets}: no response of the model matches '%s'",
                        kn_clipped(patterns->name[k]).text);
            break;
        }
out:
    kn_free(hit);
    return status;
}

/* Sets w->kept, w->response and w->S to the responses whose names match {targets}, or to all
 * without it. KN_ERR_ARGUMENT if {targets} is given for images, if a pattern matches nothing, or if
 * the table would have more than KN_CENTILES_ROWS rows. */
static kn_status choose_responses(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    kn_names patterns = {0};
    if (w->s.targets && kn_centiles_images(w))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{targets} is for tables, but the responses of the model are images");
    KN_TRY(kn_names_split(ctx, "targets", w->s.targets, &patterns));
    KN_TRY(find_responses(ctx, w, &patterns));
    double rows = (double)w->S * (double)w->grid.n * w->n_centiles;
    if (!kn_centiles_images(w) && rows > KN_CENTILES_ROWS)
        status =
            kn_fail(ctx, KN_ERR_ARGUMENT,
                    "%td responses at %td points and %d centiles make a table of %.0f rows, but at "
                    "most %d are allowed; select responses with {targets}, or use a smaller {grid}",
                    w->S, w->grid.n, w->n_centiles, rows, KN_CENTILES_ROWS);
out:
    kn_names_clear(&patterns);
    return status;
}

/* ---- bands ---- */

/* Choose the kind of confidence bands by {bands} and the data that are given. With iso noise
 * there are none: all responses share one noise variance, and neither variance of the mean is
 * meaningful. */
static kn_status choose_bands(kn_ctx *ctx, kn_centiles_work *w)
{
    const char *asked = w->s.bands;
    bool iso = w->model->info.noise == KN_NOISE_ISO, trained = w->training || w->s.covariates;
    if (asked)
        while (strcmp(kn_bands_name[w->bands], asked) != 0)
            w->bands++;
    else if (!iso)
        w->bands = trained                 ? KN_BANDS_JACKKNIFE
                   : kn_centiles_images(w) ? KN_BANDS_NONE
                                           : KN_BANDS_MODEL;
    if (iso && (w->bands != KN_BANDS_NONE || (trained && !asked)))
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{bands=%s} needs structured noise, but the model has iso noise; use {bands=none}",
            asked ? asked : kn_bands_name[KN_BANDS_JACKKNIFE]);
    if (trained && w->bands != KN_BANDS_JACKKNIFE)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{covariates} are for {bands=jackknife}, which was not given");
    if (w->bands == KN_BANDS_MODEL)
        kn_log(ctx, KN_LOG_INFO,
               "bands from the model's own variance ignore the uncertainty of its parameters and "
               "were 2.5 to 4.5 times too narrow at the ends of an age range; {bands=jackknife} "
               "refits the model");
    w->info.bands = (int)w->bands;
    return KN_OK;
}

/* Effective number of participants behind the noise variance of the response with index kept among
 * those in use. */
static double n_participants_of(const kn_model *m, ptrdiff_t kept)
{
    double n = (double)(m->y.n ? m->y.n[kept] : m->info.n_samples);
    return m->calibration.nu > 0 ? fmin(n, m->calibration.nu + 1) : n;
}

kn_status kn_centiles_set_distributions(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    const kn_calibration_transform *l = &w->model->calibration;
    void *memory = NULL;
    KN_TRY(kn_mat_new(ctx, w->n_centiles, w->S, &w->t));
    KN_TRY(kn_alloc_d(ctx, w->S, &w->kurt));
    if (l->theta.data)
        KN_TRY(kn_alloc(ctx, w->S, sizeof *w->distribution, &memory));
    w->distribution = memory;
    for (ptrdiff_t j = 0; j < w->S; j++) {
        if (w->distribution)
            w->distribution[j] = kn_calibration_distribution(l, w->kept[j]);
        const kn_shash *distribution = kn_centiles_distribution(w, j);
        w->kurt[j] = kn_band_kurt(&l->nodes, distribution, n_participants_of(w->model, w->kept[j]));
        for (int k = 0; k < w->n_centiles; k++)
            kn_col(w->t, j)[k] = kn_calibration_inverse(l, distribution, w->centile[k].z);
    }
out:
    return status;
}

kn_centile_value kn_centiles_value(const kn_centiles_work *w, const kn_curves *c, ptrdiff_t first,
                                   ptrdiff_t i, ptrdiff_t j, int k)
{
    double v = kn_at(c->var, i, j), noise = kn_at(c->noise, i, j), t = kn_at(w->t, k, j);
    kn_band_terms parts = {.J = w->J.data ? kn_at(w->J, first + i, j) : v,
                           .t = t,
                           .noise = noise,
                           .kurt = w->kurt[j],
                           .n = n_participants_of(w->model, w->kept[j])};
    return (kn_centile_value){kn_at(c->mean, i, j) + sqrt(v + noise) * t,
                              w->bands == KN_BANDS_NONE ? NAN : kn_band_half(&parts)};
}

double kn_centiles_at_z(const kn_centiles_work *w, const kn_curves *c, ptrdiff_t i, ptrdiff_t j,
                        double z)
{
    double sd = sqrt(kn_at(c->var, i, j) + kn_at(c->noise, i, j));
    return kn_at(c->mean, i, j) +
           sd * kn_calibration_inverse(&w->model->calibration, kn_centiles_distribution(w, j), z);
}

/* ---- run ---- */

/* Set w->write, with the list of all input files, which must not be overwritten. */
static kn_status list_inputs(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status = KN_OK;
    const kn_data *data[] = {w->training, w->participants};
    const char **files[2] = {NULL, NULL};
    ptrdiff_t n[2] = {0, 0}, at = 0;
    void *all = NULL;
    for (int k = 0; k < 2; k++)
        if (data[k])
            KN_TRY(kn_data_files(ctx, data[k], NULL, &files[k], &n[k]));
    KN_TRY(kn_alloc(ctx, n[0] + n[1] + 1, sizeof(char *), &all));
    for (int k = 0; k < 2; k++)
        for (ptrdiff_t i = 0; i < n[k]; i++)
            ((const char **)all)[at++] = files[k][i];
    if (w->s.model)
        ((const char **)all)[at++] = w->s.model;
    w->write = (kn_write_options){.force = w->s.force,
                                  .inputs = all,
                                  .n_inputs = at,
                                  .made = &w->made,
                                  .pending = &w->pending};
out:
    kn_free(files[0]);
    kn_free(files[1]);
    return status;
}

/* Create the output folder, and fail if one of its files must not be overwritten. */
static kn_status check_folder(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status = KN_OK;
    KN_TRY(kn_created_files_folder(ctx, &w->made, w->s.folder));
    KN_TRY(kn_centiles_check(ctx, w));
    if (w->participants)
        KN_TRY(kn_points_check(ctx, w));
out:
    return status;
}

/* Prepare all that depends on model and options only: grid, centiles, bands, responses. */
static kn_status prepare_curves(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    KN_TRY(kn_grid_new(ctx, w->model, &w->s, &w->grid));
    KN_TRY(kn_grid_design_input(ctx, &w->grid, w->grid.code, w->model, &w->raw));
    KN_TRY(parse_centiles(ctx, w));
    KN_TRY(choose_bands(ctx, w));
    KN_TRY(choose_responses(ctx, w));
    KN_TRY(kn_centiles_set_distributions(ctx, w));
    w->info.responses = w->S;
    w->info.curves = w->grid.curves;
    w->info.values = w->grid.values;
    w->info.centiles = w->n_centiles;
out:
    return status;
}

/* Run the command: read data, check the folder, run the jackknife if it is chosen, then write and
 * commit all files. */
static kn_status run_centiles(kn_ctx *ctx, kn_centiles_work *w)
{
    kn_status status;
    kn_data *read[2] = {NULL, NULL};
    KN_TRY(check_needs(ctx, w));
    KN_TRY(prepare_curves(ctx, w));
    if (!w->training && w->s.covariates) {
        KN_TRY(kn_jackknife_read(ctx, w, &read[0]));
        w->training = read[0];
    }
    if (!w->participants && w->s.people) {
        KN_TRY(kn_points_read(ctx, w, &read[1]));
        w->participants = read[1];
    }
    KN_TRY(list_inputs(ctx, w));
    KN_TRY(check_folder(ctx, w));
    if (w->bands == KN_BANDS_JACKKNIFE)
        KN_TRY(kn_centiles_jackknife(ctx, w));
    KN_TRY(kn_centiles_write(ctx, w));
    if (w->participants)
        KN_TRY(kn_points_write(ctx, w));
    KN_TRY(kn_centiles_summary(ctx, w));
    KN_TRY(kn_folder_commit(ctx, w->s.folder, &w->write));
out:
    kn_data_free(read[0]);
    kn_data_free(read[1]);
    return status;
}

kn_status kn_centiles(kn_ctx *ctx, const kn_model *model, kn_data *training, kn_data *participants,
                      const kn_options *options, kn_centiles_info *info)
{
    kn_centiles_work w = {.model = model,
                          .options = options,
                          .training = training,
                          .participants = participants};
    if (!model || !options)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is a null pointer", model ? "options" : "model");
    kn_status status = kn_settings_of(ctx, options, "centiles", &w.s);
    if (status != KN_OK)
        return status;
    kn_resources before = kn_settings_resources(ctx, &w.s);
    kn_warnings *kept = kn_keep_warnings(ctx, &w.warnings);
    status = run_centiles(ctx, &w);
    kn_keep_warnings(ctx, kept);
    if (status != KN_OK) {
        kn_uncommitted_files_clear(&w.pending);
        kn_created_files_remove(&w.made);
    } else {
        kn_info_copy_out(info, &w.info, sizeof w.info);
    }
    kn_centiles_clear(&w);
    kn_resources_restore(ctx, before);
    return status;
}
