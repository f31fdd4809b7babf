/* Writes change.tsv (one row per pair), reference.json, summary.json, and the model with the
 * reference. Files get their names together at the end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/options/command_line.h"
#include "commands/change/internal.h"
#include "commands/common/output_folder.h"
#include "commands/score/provenance.h"
#include "io/file/path.h"
#include "io/table/sidecar.h"
#include "model/deidentify.h"
#include "model/file/change.h"
#include "model/file/file.h"
#include "model/fit_info_json.h"
#include "stats/flag.h"

enum { PATH = 4096, FILES = 3 };
static const char *const FILE_NAMES[FILES] = {"change.tsv", "reference.json", "summary.json"};

kn_status kn_changes_check(kn_ctx *ctx, const kn_changes *c, const kn_write_options *options)
{
    kn_status status = KN_OK;
    char path[PATH];
    for (int k = 0; k < FILES; k++) {
        KN_TRY(kn_path_in_folder(ctx, c->s->folder, FILE_NAMES[k], path, PATH));
        KN_TRY(kn_writer_check(ctx, path, options));
        if (k == 0)
            KN_TRY(kn_sidecar_check(ctx, path, options));
    }
    if (c->s->save)
        KN_TRY(kn_writer_check(ctx, c->s->save, options));
out:
    return status;
}

/* ---- the table ---- */

/* Write the header of change.tsv, each statistic followed by its p-value. */
static kn_status write_header(kn_ctx *ctx, kn_table_writer *w)
{
    static const char *const names[] = {"participant_id", "visit1",     "visit2",
                                        "pair",           "interval",   "different_sites",
                                        "reference",      "n_responses"};
    kn_status status = KN_OK;
    char name[64];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        KN_TRY(kn_table_writer_text(ctx, w, names[k]));
    for (int k = 0; k < KN_CHANGE_VALUES; k++) {
        KN_TRY(kn_table_writer_text(ctx, w, kn_change_column[k]));
        snprintf(name, sizeof name, "%s_p", kn_change_column[k]);
        KN_TRY(kn_table_writer_text(ctx, w, name));
    }
    KN_TRY(kn_table_writer_text(ctx, w, "flagged"));
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

/* Write the row of pair i in change.tsv: visits, interval, and each statistic with its p-value. */
static kn_status write_pair(kn_ctx *ctx, const kn_changes *c, ptrdiff_t i, kn_table_writer *w)
{
    kn_status status;
    const kn_visits *v = c->visits;
    const kn_visit_pair *p = &v->pair[i];
    KN_TRY(kn_table_writer_text(ctx, w, v->participant[p->first]));
    KN_TRY(kn_table_writer_text(ctx, w, v->visit[p->first]));
    KN_TRY(kn_table_writer_text(ctx, w, v->visit[p->second]));
    KN_TRY(kn_table_writer_text(ctx, w, p->whole ? "first_last" : "consecutive"));
    KN_TRY(kn_table_writer_short(ctx, w, p->interval));
    KN_TRY(kn_table_writer_number(ctx, w, p->moved));
    KN_TRY(kn_table_writer_number(ctx, w, p->control && !c->saved));
    KN_TRY(kn_table_writer_number(ctx, w, c->n[i]));
    for (int k = 0; k < KN_CHANGE_VALUES; k++) {
        KN_TRY(kn_table_writer_number(ctx, w, kn_at(c->value, i, k)));
        KN_TRY(kn_table_writer_number(ctx, w, kn_changes_p(c, i, (kn_change_value)k)));
    }
    kn_flag_row flag = {.p = kn_changes_p(c, i, KN_CHANGE_FLAG),
                        .in_training = p->control && !c->saved};
    KN_TRY(kn_table_writer_number(ctx, w, kn_flag_of(&flag)));
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

/* Write change.tsv, one row per pair; adds it and its sidecar to the number of files. */
static kn_status write_table(kn_ctx *ctx, const kn_changes *c, const kn_write_options *options)
{
    kn_status status;
    char path[PATH];
    kn_table_writer *w = NULL;
    KN_TRY(kn_path_in_folder(ctx, c->s->folder, FILE_NAMES[0], path, PATH));
    KN_TRY(kn_table_writer_new(ctx, path, options, &w));
    KN_TRY(kn_table_writer_describe(ctx, w, FILE_NAMES[0]));
    KN_TRY(write_header(ctx, w));
    for (ptrdiff_t i = 0; i < c->visits->n_pairs; i++)
        KN_TRY(write_pair(ctx, c, i, w));
    KN_TRY(kn_table_writer_commit(ctx, w));
    c->info->files += 2;
out:
    kn_table_writer_free(w);
    return status;
}

/* ---- JSON ---- */

/* The reference for change as a new JSON object: distribution, origin and smallest p-value. */
static json_t *reference_json(const kn_changes *c)
{
    const kn_change_reference *r = c->reference;
    json_t *j = kn_change_to_json(r);
    json_object_set_new(j, "of",
                        c->saved ? json_string("the model") : kn_json_text(c->s->controls));
    json_object_set_new(j, "smallest_p",
                        kn_json_number(kn_change_smallest_p(r, KN_CHANGE_EXTREME_Z)));
    return j;
}

/* The warnings of reading and of comparing as a new JSON array. */
static json_t *warnings_json(const kn_changes *c)
{
    json_t *list = json_array();
    const kn_warnings *all[] = {&c->data->warnings, c->warnings};
    for (int k = 0; k < 2; k++)
        for (ptrdiff_t i = 0; i < all[k]->n; i++) {
            json_t *text = json_string(all[k]->text[i]);
            json_array_append_new(list,
                                  text ? text : json_string("a warning that is not UTF-8 text"));
        }
    return list;
}

/* The object of summary.json: command line, counts, warnings and hashes. hash: of the model and of
 * the saved model; these references are moved. NULL: out of memory. */
static json_t *summary_json(const kn_changes *c, const char *line, json_t *const hash[2])
{
    const kn_change_info *i = c->info;
    ptrdiff_t moved = 0;
    for (ptrdiff_t k = 0; k < c->visits->n_pairs; k++)
        moved += c->visits->pair[k].moved;
    return json_pack("{s:o s:I s:I s:I s:I s:I s:I s:I s:o s:{s:I s:I s:o} s:o s:{s:o s:o}}",
                     "command", kn_json_text(line), "participants", (json_int_t)i->participants,
                     "pairs", (json_int_t)i->pairs, "one_visit", (json_int_t)i->one_visit,
                     "responses", (json_int_t)i->responses, "different_sites", (json_int_t)moved,
                     "far_intervals", (json_int_t)i->far, "reference_participants",
                     (json_int_t)i->reference_participants, "threshold",
                     kn_json_number(c->s->threshold), "changed", "with_p", (json_int_t)i->with_p,
                     "flagged", (json_int_t)i->flagged, "expected", kn_json_number(i->expected),
                     "warnings", warnings_json(c), "hashes", "model", hash[0], "saved", hash[1]);
}

/* Write j to file number `file` of FILE_NAMES in the folder. j is moved; NULL means out of
 * memory. */
static kn_status write_json(kn_ctx *ctx, const kn_changes *c, int file, json_t *j,
                            const kn_write_options *options)
{
    char path[PATH];
    char *text = j ? json_dumps(j, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : NULL;
    json_decref(j);
    kn_status status = kn_path_in_folder(ctx, c->s->folder, FILE_NAMES[file], path, PATH);
    if (status == KN_OK)
        status = text ? kn_write_text(ctx, path, text, options)
                      : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for %s", FILE_NAMES[file]);
    c->info->files += status == KN_OK;
    free(text);
    return status;
}

/* ---- all ---- */

/* With {save}: write the model with the reference for change. *hash: JSON hash of that file, null
 * without {save}; owned by the caller. */
static kn_status save_model(kn_ctx *ctx, const kn_changes *c, const kn_write_options *options,
                            json_t **hash)
{
    kn_status status = KN_OK;
    kn_model with = *c->model, *shared = NULL;
    *hash = json_null();
    if (!c->s->save)
        return KN_OK;
    with.change = *c->reference;
    with.hash = 0;
    if (with.deidentified) { /* a de-identified model keeps a de-identified reference */
        KN_TRY(kn_model_copy(ctx, &with, &shared));
        KN_TRY(kn_model_deidentify_change(ctx, shared));
    }
    KN_TRY(kn_model_write(ctx, shared ? shared : &with, c->s->save, options));
    KN_TRY(kn_model_hash_json(ctx, shared ? shared : &with, hash));
    c->info->files++;
out:
    kn_model_free(shared);
    return status;
}

kn_status kn_changes_write(kn_ctx *ctx, const kn_changes *c, const kn_write_options *options)
{
    kn_status status;
    char *line = NULL;
    json_t *hash[2] = {NULL, NULL}; /* of the model, and of the saved model */
    KN_TRY(save_model(ctx, c, options, &hash[1]));
    KN_TRY(write_table(ctx, c, options));
    KN_TRY(write_json(ctx, c, 1, reference_json(c), options));
    if (c->options && !c->data->in_memory)
        KN_TRY(kn_command_line(ctx, c->options, &line));
    KN_TRY(kn_model_hash_json(ctx, c->model, &hash[0]));
    json_t *summary = summary_json(c, line, hash);
    hash[1] = NULL; /* moved to the summary */
    status = kn_folder_list_files(ctx, c->s->folder, options, summary);
    if (status == KN_OK)
        KN_TRY(write_json(ctx, c, 2, summary, options));
    else
        json_decref(summary);
out:
    json_decref(hash[1]);
    kn_free(line);
    return status;
}
