/* kn_cv: for each fold, fits a model to the other participants from the start (components, weights,
 * calibration, reference) and scores the fold with it. With {leave_out} a fold is a level of a
 * column; it is scored with the site prior, and again after adaptation to {controls} healthy
 * participants of it [METHOD 8i]
 *
 * Cost: one fit per fold. Values are read once; memory holds them, one model, and the scores that
 * are not in a scratch file. */
#include "commands/cv/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/mpi/comm.h"
#include "commands/common/output_folder.h"
#include "commands/fit/fit.h"
#include "data/table/text_list.h"
#include "gp/method.h"
#include "model/file/file.h"

enum { FOLD_NAME = 48 };

/* ---- folds ---- */

typedef enum part { JUDGED, CONTROLS, OTHERS } part;

/* Data of a fold: all scored rows, its controls, or the other scored rows. *out is owned by the
 * caller. */
static kn_status select_rows(kn_ctx *ctx, kn_cv_work *w, int fold, part which, kn_data **out)
{
    const kn_holdout *h = &w->holdout;
    memset(w->use, 0, (size_t)w->data->n * sizeof *w->use);
    for (ptrdiff_t i = 0; i < h->n; i++)
        w->use[h->row[i]] =
            h->fold[i] == fold && (which == JUDGED || (which == CONTROLS) == h->control[i]);
    return kn_data_subset_new(ctx, w->preloaded, w->use, out);
}

/* Fit the model of a fold to the participants outside it, and broadcast it to all ranks. *model is
 * owned by the caller. Collective. */
static kn_status fit_others(kn_ctx *ctx, kn_cv_work *w, int fold, kn_model **model)
{
    kn_status status;
    kn_data *train = NULL;
    memset(w->use, 0, (size_t)w->data->n * sizeof *w->use);
    kn_holdout_training(&w->holdout, fold, w->abnormal, w->use);
    KN_TRY(kn_data_subset_new(ctx, w->preloaded, w->use, &train));
    KN_TRY(kn_fit_with_basis(ctx, train, w->fit, &w->basis, model));
    KN_TRY(kn_check_cancel(ctx)); /* a cancelled fit still returns a model */
    KN_TRY(kn_model_broadcast(ctx, model));
    bool components = (*model)->gp.method->components;
    w->fold[fold] = (kn_fold_fact){.n_train = (*model)->info.n_samples,
                                   .components = components ? (*model)->gp.P : -1,
                                   .n_sites = (*model)->sites.S,
                                   .on_root_only = (*model)->y.n && kn_ctx_comm(ctx)->size > 1};
out:
    kn_data_free(train);
    return status;
}

/* Score a subset of the fold into its join. Collective. */
static kn_status score_subset(kn_ctx *ctx, kn_cv_work *w, const kn_model *model, int fold,
                              part which)
{
    kn_data *participants = NULL;
    kn_status status = select_rows(ctx, w, fold, which, &participants);
    if (status == KN_OK)
        status = kn_score_fold(ctx, model, participants, w->score,
                               which == JUDGED ? w->join : w->adapted);
    kn_data_free(participants);
    return status;
}

/* Adapt the model to the controls of the fold, and score the others into the second join.
 * Collective. */
static kn_status score_adapted(kn_ctx *ctx, kn_cv_work *w, const kn_model *model, int fold)
{
    kn_status status;
    kn_data *controls = NULL;
    kn_model *adapted = NULL;
    KN_TRY(select_rows(ctx, w, fold, CONTROLS, &controls));
    KN_TRY(kn_adapt(ctx, model, controls, w->adapt, &adapted));
    KN_TRY(score_subset(ctx, w, adapted, fold, OTHERS));
out:
    kn_model_free(adapted);
    kn_data_free(controls);
    return status;
}

/* Put the name of the fold before the error message, unless the status is KN_OK or cancelled;
 * returns the status. */
static kn_status name_fold(kn_ctx *ctx, kn_status status, const char *fold)
{
    char before[1024];
    if (status == KN_OK || status == KN_ERR_CANCELLED)
        return status;
    snprintf(before, sizeof before, "%s", kn_message(ctx));
    return kn_fail(ctx, status, "%s: %s", fold, before);
}

/* Fit and score one fold. Warnings of the fit go to w->of_fits, and all ranks agree on the status.
 * Collective. */
static kn_status run_fold(kn_ctx *ctx, kn_cv_work *w, int fold)
{
    kn_status status;
    kn_model *model = NULL;
    char name[FOLD_NAME];
    const kn_holdout *h = &w->holdout;
    snprintf(name, sizeof name, "fold %d of %d", fold + 1, h->folds);
    const char *within = kn_ctx_enter_stage(ctx, name);
    kn_warnings *kept = kn_keep_warnings(ctx, &w->of_fits);
    KN_TRY(fit_others(ctx, w, fold, &model));
    KN_TRY(score_subset(ctx, w, model, fold, JUDGED));
    if (w->adapted && h->controls[fold] > 0)
        KN_TRY(score_adapted(ctx, w, model, fold));
out:
    kn_model_free(model);
    w->fold[fold].warned = w->of_fits.n;
    kn_keep_warnings(ctx, kept);
    kn_ctx_enter_stage(ctx, within);
    status =
        kn_comm_agree_status(ctx,
                             status); /* before the name is added: all ranks are in this fold */
    if (status == KN_OK) {
        ptrdiff_t judged = 0;
        for (ptrdiff_t i = 0; i < h->n; i++)
            judged += h->fold[i] == fold;
        kn_log(ctx, KN_LOG_INFO, "%s: %td participants scored with a model of %td%s%s%s", name,
               judged, w->fold[fold].n_train, h->level.n > 0 ? ", all but " : "",
               h->level.n > 0 ? kn_clipped(h->level.name[fold]).text : "",
               w->fold[fold].on_root_only ? " (imputing cells: one process fits, the others wait)"
                                          : "");
        kn_report_progress(ctx, "folds", fold + 1, h->folds, NAN);
    }
    return name_fold(ctx, status, name);
}

/* End of a message without the list after its last colon; the first colon follows the file name. */
static const char *find_end_of_message(const char *text)
{
    const char *first = strstr(text, ": "), *last = first;
    for (const char *next; last && (next = strstr(last + 1, ": "));)
        last = next;
    return last == first ? text + strlen(text) : last;
}

/* True if two messages are equal except for digits and lists, which differ between folds. */
static bool same_sentence(const char *a, const char *b)
{
    const char *a_end = find_end_of_message(a), *b_end = find_end_of_message(b);
    for (;; a++, b++) {
        while (a < a_end && isdigit((unsigned char)*a))
            a++;
        while (b < b_end && isdigit((unsigned char)*b))
            b++;
        if (a == a_end || b == b_end || *a != *b)
            return a == a_end && b == b_end;
    }
}

/* The message without the level at its beginning, which with {leave_out} differs between folds. */
static const char *after_level(const kn_cv_work *w, const char *text)
{
    const kn_strata *level = &w->holdout.level;
    for (ptrdiff_t l = 0; w->s.leave_out && l < level->n; l++) {
        size_t n = strlen(level->name[l]);
        if (strncmp(text, level->name[l], n) == 0 && text[n] == ' ')
            return text + n;
    }
    return text;
}

/* Number of folds with a warning like `text`, by same_sentence(). */
static ptrdiff_t folds_like(const kn_cv_work *w, const char *text)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t fold = 0, k = 0; fold < w->holdout.folds; fold++) {
        bool alike = false;
        for (; k < w->fold[fold].warned; k++)
            alike = alike || same_sentence(after_level(w, w->of_fits.text[k]), text);
        n += alike;
    }
    return n;
}

/* Repeat each warning of the fits once, with the number of folds; those about all data were given
 * already. */
static void log_fit_warnings(kn_ctx *ctx, const kn_cv_work *w)
{
    enum { MAX_COUNT = 5 };
    const kn_warnings *all = &w->of_fits;
    ptrdiff_t n_named = 0, left = 0;
    for (ptrdiff_t i = 0; i < all->n; i++) {
        bool known = false;
        const char *text = after_level(w, all->text[i]);
        for (ptrdiff_t k = 0; k < w->warnings.n; k++)
            known = known || same_sentence(w->warnings.text[k], text);
        for (ptrdiff_t k = 0; k < i; k++)
            known = known || same_sentence(after_level(w, all->text[k]), text);
        ptrdiff_t same = known ? 0 : folds_like(w, text);
        if (!known && n_named++ < MAX_COUNT)
            kn_log(ctx, KN_LOG_WARNING, "in %td of %d folds%s: %s", same, w->holdout.folds,
                   same > 1 && text > all->text[i] ? ", such as" : "", all->text[i]);
        left += !known && n_named > MAX_COUNT;
    }
    if (left > 0)
        kn_log(ctx, KN_LOG_WARNING, "and %td more such warnings", left);
}

/* Warn of participants with a level that occurs in their fold only. */
static void log_unseen(kn_ctx *ctx, const kn_cv_work *w)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < w->join->scores->n; i++)
        n += w->join->scores->unseen_level[i] > 0 || w->join->scores->site_adapted[i] == 0;
    if (n > 0 && !w->s.leave_out)
        kn_log(ctx, KN_LOG_WARNING,
               "%td of %td participants have a level that occurs in no other fold and are scored "
               "with the prior over levels (see columns unseen_level and site_adapted)",
               n, w->join->scores->n);
}

/* Warn of participants without adaptation: with several batch columns a site is a combination of
 * levels, and some have no control. */
static void log_not_adapted(kn_ctx *ctx, const kn_cv_work *w)
{
    const kn_scores *s = w->adapted->scores;
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < s->n; i++)
        n += s->site_adapted[i] == 0;
    if (n > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: %td of %td participants have a combination of batch levels without controls "
               "and are scored without adaptation (see column site_adapted)",
               w->adapted_dir, n, s->n);
}

/* ---- results ---- */

/* Set w->values, the hash of all responses in the order of reading, from the hashes made during
 * scoring. */
static kn_status hash_values(kn_ctx *ctx, kn_cv_work *w)
{
    void *memory = NULL;
    kn_status status = kn_alloc(ctx, w->all->n, sizeof w->values, &memory);
    uint64_t *each = memory;
    for (ptrdiff_t i = 0; status == KN_OK && i < w->all->n; i++)
        each[i] = w->join->participant[w->join->place[w->all->covariate_row[i]]].values;
    if (status == KN_OK)
        w->values = kn_values_all(each, w->all->n);
    kn_free(memory);
    return status;
}

/* Compute what depends on all participants, for both joins, and fill the info struct. Root only. */
static kn_status finish_scores(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status = KN_OK;
    if (kn_values_hashed(w->data))
        KN_TRY(hash_values(ctx, w));
    kn_provenance from = {w->given, &w->s, w->data, &w->exclusions, &w->warnings, w->values};
    kn_scores *s = w->join->scores;
    log_fit_warnings(ctx, w);
    log_unseen(ctx, w);
    KN_TRY(kn_join_finish(ctx, w->join, &from));
    w->info.R2 = s->mean_metrics[KN_METRIC_R2];
    w->info.MSLL = s->mean_metrics[KN_METRIC_MSLL];
    w->info.gain = s->mean_metrics[KN_METRIC_GAIN];
    w->info.joint_density = s->joint_density;
    w->info.z2 = s->calibration[KN_CALIBRATION_Z2];
    w->info.AUC = s->has_auc[0] ? s->auc[0].auc : NAN;
    w->info.AUC_deviance = s->has_auc[1] ? s->auc[1].auc : NAN;
    if (w->adapted) {
        log_not_adapted(ctx, w);
        const char *within =
            kn_ctx_enter_stage(ctx,
                               "adapted"); /* mutes warnings that were given for the first join */
        status = kn_join_finish(ctx, w->adapted, &from);
        if (status == KN_OK)
            status = kn_join_write(ctx, w->adapted, w->adapted_dir, &w->options);
        kn_ctx_enter_stage(ctx, within);
        if (status != KN_OK)
            goto out;
        w->info.files += w->adapted->scores->n_files;
        w->info.adapted = w->n_scored;
        w->info.adapted_MSLL = w->adapted->scores->mean_metrics[KN_METRIC_MSLL];
        w->info.adapted_gain = w->adapted->scores->mean_metrics[KN_METRIC_GAIN];
        w->info.adapted_z2 = w->adapted->scores->calibration[KN_CALIBRATION_Z2];
    }
out:
    return status;
}

/* Prepare, run all folds, and finish the scores on root. Collective. */
static kn_status cross_validate(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status = kn_cv_prepare(ctx, w);
    if (status == KN_OK && w->adapted)
        status = kn_cv_make_step_options(ctx, w->given, "adapt", &w->adapt);
    KN_TRY(kn_comm_agree_status(ctx, status)); /* errors up to here are not of a fold */
    w->info.folds = w->holdout.folds;
    w->info.responses = w->all->space.T;
    for (int k = 0; k < w->holdout.folds; k++)
        KN_TRY(run_fold(ctx, w, k));
    if (kn_ctx_comm(ctx)->rank == 0)
        KN_TRY(finish_scores(ctx, w));
out:
    return status;
}

/* Write and commit all files; summary.json is the last. Root only. */
static kn_status write_files(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status;
    KN_TRY(kn_crossval_write(ctx, &w->files, &w->info.files));
    if (w->s.lists) {
        KN_TRY(kn_uncommitted_files_commit(ctx, &w->pending, &w->made));
        goto out;
    }
    KN_TRY(kn_join_write(ctx, w->join, w->s.folder, &w->options)); /* summary.json is the last */
    w->info.files += w->join->scores->n_files;
    KN_TRY(kn_folder_commit(ctx, w->s.folder, &w->options));
    kn_crossval_remove_folder(&w->files);
out:
    return status;
}

/* {split}: assign the test set. Nothing is fitted, and no response is read. */
static kn_status assign_test_set(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status;
    KN_TRY(kn_data_finalise(ctx, &w->s, w->data));
    KN_TRY(kn_holdout_new(ctx, w->data, &w->s, NULL, &w->holdout));
    KN_TRY(kn_holdout_test(ctx, w->data, &w->s, &w->holdout));
    KN_TRY(kn_cv_find_ids(ctx, w));
    KN_TRY(kn_cv_check_outputs(ctx, w));
    w->info.folds = 1;
    for (ptrdiff_t i = 0; i < w->holdout.n; i++)
        w->info.test += w->holdout.fold[i];
out:
    return status;
}

/* KN_ERR_ARGUMENT if a required option is not given, or options contradict each other. */
static kn_status check_needs(kn_ctx *ctx, const kn_options *o, const kn_settings *s)
{
    static const struct {
        const char *one, *other;
    } EITHER[] = {{"leave_out", "folds"}, {"split", "folds"}, {"split", "leave_out"}};
    if (!s->folder)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{output} is needed");
    for (size_t k = 0; k < sizeof EITHER / sizeof *EITHER; k++)
        if (kn_cv_given(o, EITHER[k].one) && kn_cv_given(o, EITHER[k].other))
            return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} and {%s} cannot be combined; choose one",
                           EITHER[k].one, EITHER[k].other);
    if (kn_cv_given(o, "controls") && !s->leave_out)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{controls} needs {leave_out}");
    return kn_settings_check_ranges(ctx, s);
}

kn_status kn_cv(kn_ctx *ctx, kn_data *data, const kn_options *options, kn_cv_info *info)
{
    kn_cv_work w = {.data = data,
                    .given = options,
                    .info = {.R2 = NAN,
                             .MSLL = NAN,
                             .joint_density = NAN,
                             .z2 = NAN,
                             .gain = NAN,
                             .adapted_MSLL = NAN,
                             .adapted_gain = NAN,
                             .adapted_z2 = NAN,
                             .AUC = NAN,
                             .AUC_deviance = NAN}};
    if (!data)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "data is a null pointer");
    kn_status status = kn_settings_of(ctx, options, "cv", &w.s);
    if (status == KN_OK)
        status = check_needs(ctx, options, &w.s);
    if (status != KN_OK)
        return status;
    kn_resources before = kn_settings_resources(ctx, &w.s);
    kn_warnings *kept = kn_keep_warnings(ctx, &w.warnings);
    status = w.s.lists ? assign_test_set(ctx, &w) : cross_validate(ctx, &w);
    status = kn_comm_agree_status(ctx, status); /* all ranks succeeded */
    if (status == KN_OK && kn_ctx_comm(ctx)->rank == 0)
        status = write_files(ctx, &w);
    kn_keep_warnings(ctx, kept);
    if (status != KN_OK) {
        kn_uncommitted_files_clear(&w.pending);
        kn_created_files_remove(&w.made);
    } else {
        w.info.participants = w.holdout.n;
        kn_info_copy_out(info, &w.info, sizeof w.info);
    }
    kn_cv_work_clear(&w);
    kn_resources_restore(ctx, before);
    return status;
}
