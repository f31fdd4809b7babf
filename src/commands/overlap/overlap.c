/* kn_overlap: reads the z-maps as bit sets of exceedances, computes shares per group, and with two
 * groups a permutation test. The proportions beyond the threshold are compared per response. */
#include "commands/overlap/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/hash/xxh64.h"
#include "commands/common/output_folder.h"
#include "data/canonical_order.h"
#include "data/table/text_list.h"

#define SIGNIFICANT 0.05

const char *const kn_sign_name[KN_SIGNS] = {"low", "high"};

/* One run of kn_overlap. */
typedef struct work {
    kn_settings s;
    kn_scored scored;
    kn_membership members;
    kn_warnings warnings;
    kn_exceedance e; /* exceedances of participants with a group, in their order */
    ptrdiff_t *kept;
    kn_overlaps result;
    kn_overlap_info info;
    kn_created_files made;
    kn_uncommitted_files pending;
    const char *inputs[2];
    kn_write_options options;
} work;

/* Frees the work; uncommitted files are removed. */
static void clear_work(work *w)
{
    for (ptrdiff_t g = 0; w->result.proportions && g < w->members.levels.n; g++) {
        kn_free(w->result.proportions[g].n);
        for (int k = 0; k < KN_SIGNS; k++)
            kn_free(w->result.proportions[g].proportion[k]);
    }
    kn_free(w->result.proportions);
    for (int k = 0; k < KN_SIGNS; k++) {
        kn_free(w->result.compare[k].difference);
        kn_free(w->result.compare[k].p);
        kn_free(w->result.compare[k].p_fdr);
    }
    kn_free(w->kept);
    kn_exceedance_clear(&w->e);
    kn_membership_clear(&w->members);
    kn_scored_clear(&w->scored);
    kn_warnings_clear(&w->warnings);
    kn_uncommitted_files_clear(&w->pending);
    kn_created_files_clear(&w->made);
}

/* ---- checks ---- */

/* KN_ERR_ARGUMENT if the output is the scored folder; then create the folder and check all
 * files. */
static kn_status check_folder(kn_ctx *ctx, work *w)
{
    struct stat from, output;
    const char *folder = w->s.folder;
    kn_status status = KN_OK;
    if (stat(w->s.scored, &from) == 0 && stat(folder, &output) == 0 &&
        from.st_dev == output.st_dev && from.st_ino == output.st_ino)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{output} is the scored folder; choose another one");
    KN_TRY(kn_created_files_folder(ctx, &w->made, folder));
    KN_TRY(kn_overlap_check(ctx, &w->result, &w->options));
out:
    return status;
}

/* Warn if ids repeat: a permutation test treats the rows of a participant as independent. */
static kn_status warn_of_repeats(kn_ctx *ctx, const kn_scored *s)
{
    void *memory;
    bool repeat = false;
    kn_status status = kn_alloc(ctx, s->n, sizeof(char *), &memory);
    if (status != KN_OK)
        return status;
    const char **id = memory;
    for (ptrdiff_t i = 0; i < s->n; i++)
        id[i] = kn_scored_id(s, i);
    qsort(id, (size_t)s->n, sizeof *id, kn_by_text);
    for (ptrdiff_t i = 1; i < s->n; i++)
        repeat = repeat || strcmp(id[i - 1], id[i]) == 0;
    if (repeat)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: some IDs occur in several rows, which count as different participants; score "
               "one row per participant",
               kn_table_path(s->participants));
    kn_free(memory);
    return KN_OK;
}

/* ---- shares and test ---- */

/* Read the z-maps one at a time, and keep three bits per response and participant: observed, and
 * beyond either threshold. Can be cancelled. */
static kn_status read_z(kn_ctx *ctx, work *w)
{
    kn_status status;
    float *z = NULL;
    kn_scored *s = &w->scored;
    ptrdiff_t T = s->space.T, k = 0;
    KN_TRY(kn_alloc_f(ctx, T, &z));
    KN_TRY(kn_exceedance_new(ctx, w->members.n, T, w->s.threshold, &w->e));
    for (ptrdiff_t i = 0; i < s->n; i++) {
        if (w->members.group[i] < 0)
            continue;
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_scored_z(ctx, s, i, z));
        kn_exceedance_row(&w->e, k++, z);
        kn_report_progress(ctx, "reading", k, w->members.n, NAN);
    }
    if (s->space.kind ==
        KN_SPACE_IMAGE) { /* drop voxels that are 0 in all maps: outside the mask */
        KN_TRY(kn_alloc_i(ctx, T, &w->kept));
        kn_exceedance_drop_zeros(&w->e, w->kept);
        w->result.kept = w->kept;
    }
    w->result.T = w->e.T;
out:
    kn_free(z);
    return status;
}

/* Set the proportion of each group beyond the threshold, per response and sign. */
static kn_status compute_proportions(kn_ctx *ctx, work *w)
{
    kn_status status;
    void *memory = NULL, *set = NULL;
    ptrdiff_t G = w->members.levels.n;
    KN_TRY(kn_alloc(ctx, G, sizeof *w->result.proportions, &memory));
    w->result.proportions = memory;
    KN_TRY(kn_alloc(ctx, w->e.words, sizeof(uint64_t), &set));
    for (ptrdiff_t g = 0; g < G; g++) {
        kn_exceedance_proportions *proportions = &w->result.proportions[g];
        KN_TRY(kn_alloc_d(ctx, w->e.T, &proportions->n));
        for (int k = 0; k < KN_SIGNS; k++)
            KN_TRY(kn_alloc_d(ctx, w->e.T, &proportions->proportion[k]));
        memset(set, 0, (size_t)w->e.words * sizeof(uint64_t));
        for (ptrdiff_t i = 0, k = 0; i < w->scored.n; i++) {
            if (w->members.group[i] == g)
                kn_set_add(set, k);
            k += w->members.group[i] >= 0;
        }
        kn_exceedance_group(&w->e, set, *proportions);
    }
out:
    kn_free(set);
    return status;
}

/* Set the smallest p-values and the numbers of significant responses (of T) of one sign in info;
 * NaN if no response has values in both groups. */
static void note_findings(const kn_permutation_result *r, ptrdiff_t T, kn_sign k,
                          kn_overlap_info *info)
{
    info->least_p[k] = INFINITY;
    info->least_p_fdr[k] = INFINITY;
    for (ptrdiff_t j = 0; j < T; j++) {
        info->least_p[k] = fmin(info->least_p[k], r->p[j]); /* fmin ignores NaN */
        info->least_p_fdr[k] = fmin(info->least_p_fdr[k], r->p_fdr[j]);
        info->below[k] += r->p[j] < SIGNIFICANT;
        info->below_fdr[k] += r->p_fdr[j] < SIGNIFICANT;
    }
    if (!isfinite(info->least_p[k])) /* no response has values in both groups */
        info->least_p[k] = info->least_p_fdr[k] = NAN;
}

/* order (members.n) = the members in canonical order, by their ids, so that the order of the scored
 * folder does not matter. */
static kn_status order_members(kn_ctx *ctx, const work *w, ptrdiff_t *order)
{
    void *memory;
    kn_status status = kn_alloc(ctx, w->members.n, sizeof(uint64_t), &memory);
    uint64_t *key = memory;
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0, k = 0; i < w->scored.n; i++)
        if (w->members.group[i] >= 0) {
            const char *id = kn_scored_id(&w->scored, i);
            key[k++] = kn_hash(id, strlen(id), 0);
        }
    status = kn_row_order(ctx, &(kn_row_source){.n = w->members.n, .key = key}, order);
    kn_free(memory);
    return status;
}

/* Test the difference between two groups per response and sign, with the same permutations of the
 * labels. */
static kn_status compare_groups(kn_ctx *ctx, work *w)
{
    kn_status status;
    kn_labels labels = {0};
    bool *second = NULL;
    ptrdiff_t *order = NULL;
    KN_TRY(kn_alloc_bool(ctx, w->members.n, &second));
    for (ptrdiff_t i = 0, k = 0; i < w->scored.n; i++)
        if (w->members.group[i] >= 0)
            second[k++] = w->members.group[i] == 1;
    KN_TRY(kn_alloc_i(ctx, w->members.n, &order));
    KN_TRY(order_members(ctx, w, order));
    KN_TRY(kn_labels_new(ctx, second, w->members.n, order, w->s.permutations, w->s.seed, &labels));
    for (int k = 0; k < KN_SIGNS; k++) {
        kn_permutation_result *r = &w->result.compare[k];
        KN_TRY(kn_alloc_d(ctx, w->e.T, &r->difference));
        KN_TRY(kn_alloc_d(ctx, w->e.T, &r->p));
        KN_TRY(kn_alloc_d(ctx, w->e.T, &r->p_fdr));
        KN_TRY(kn_permutation_test(ctx, &w->e, (kn_sign)k, &labels, *r));
        note_findings(r, w->e.T, (kn_sign)k, &w->info);
    }
out:
    kn_labels_clear(&labels);
    kn_free(order);
    kn_free(second);
    return status;
}

/* Run the command: open the scored folder, find groups, read z, compute, then write and commit. */
static kn_status run_overlap(kn_ctx *ctx, work *w)
{
    kn_status status;
    KN_TRY(kn_scored_open(ctx, w->s.scored, &kn_scored_by_score, &w->scored));
    KN_TRY(kn_membership_new(ctx, &w->s, &w->scored, &w->members));
    ptrdiff_t G = w->members.levels.n;
    w->inputs[0] = kn_table_path(w->scored.participants);
    w->inputs[1] = w->s.covariates ? w->s.covariates : w->inputs[0];
    KN_TRY(check_folder(ctx, w));
    KN_TRY(warn_of_repeats(ctx, &w->scored));
    if (G != 2)
        kn_log(ctx, KN_LOG_INFO, "%td group%s: differences need exactly two", G, G == 1 ? "" : "s");
    KN_TRY(read_z(ctx, w));
    KN_TRY(compute_proportions(ctx, w));
    w->info.participants = w->members.n;
    w->info.excluded = w->members.left_out;
    w->info.groups = G;
    w->info.responses = w->e.T;
    if (G == 2)
        KN_TRY(compare_groups(ctx, w));
    KN_TRY(kn_overlap_write(ctx, &w->result, &w->options));
    KN_TRY(kn_folder_commit(ctx, w->s.folder, &w->options));
out:
    return status;
}

/* KN_ERR_ARGUMENT unless {scored}, {by} and {output} are given. */
static kn_status check_needs(kn_ctx *ctx, const kn_settings *s)
{
    if (!s->scored)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{scored} is needed");
    if (!s->by)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{by} is needed");
    if (!s->folder)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{output} is needed");
    return KN_OK;
}

kn_status kn_overlap(kn_ctx *ctx, const kn_options *options, kn_overlap_info *info)
{
    work w = {.info = {.least_p = {NAN, NAN}, .least_p_fdr = {NAN, NAN}}};
    kn_status status = kn_settings_of(ctx, options, "overlap", &w.s);
    if (status == KN_OK)
        status = check_needs(ctx, &w.s);
    if (status != KN_OK)
        return status;
    kn_resources before = kn_settings_resources(ctx, &w.s);
    kn_warnings *kept = kn_keep_warnings(ctx, &w.warnings);
    w.result = (kn_overlaps){.options = options,
                             .s = &w.s,
                             .scored = &w.scored,
                             .members = &w.members,
                             .warnings = &w.warnings,
                             .info = &w.info};
    w.options = (kn_write_options){.force = w.s.force,
                                   .inputs = w.inputs,
                                   .n_inputs = 2,
                                   .made = &w.made,
                                   .pending = &w.pending};
    status = run_overlap(ctx, &w);
    kn_keep_warnings(ctx, kept);
    if (status != KN_OK) {
        kn_uncommitted_files_clear(&w.pending);
        kn_created_files_remove(&w.made);
    } else {
        kn_info_copy_out(info, &w.info, sizeof w.info);
    }
    clear_work(&w);
    kn_resources_restore(ctx, before);
    return status;
}
