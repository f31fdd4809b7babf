/* Determines from summary.json which command wrote a folder, and by which model. The commands are
 * score, cv and change. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/table/text_list.h"
#include "io/file/byte_source.h"
#include "io/file/path.h"
#include "model/file/file.h"
#include "report/input/internal.h"

enum { PATH = 4096, HASH = 32 };
static const char EXPECTED[] = "give a folder that score, cv or change wrote";

/* Reads the text of summary.json into m->summary_json, in the arena. KN_ERR_IO if the folder or the
 * file does not exist. */
static kn_status read_summary(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status;
    char path[PATH];
    kn_byte_source file = {0};
    void *text;
    KN_TRY(kn_path_in_folder(ctx, m->dir, "summary.json", path, PATH));
    if (access(m->dir, F_OK) != 0)
        return kn_fail(ctx, KN_ERR_IO, "%s: this folder does not exist; %s", m->dir, EXPECTED);
    if (access(path, F_OK) != 0)
        return kn_fail(ctx, KN_ERR_IO,
                       "%s has no summary.json; either the run did not finish (run it again), or "
                       "the folder is not from score, cv or change",
                       m->dir);
    KN_TRY(kn_byte_source_open(ctx, path, &file));
    KN_TRY(kn_arena_alloc(ctx, &m->arena, file.size + 1, 1, &text));
    KN_TRY(kn_byte_source_read(ctx, &file, 0, file.size, text));
    m->summary_json = text;
out:
    kn_byte_source_close(&file);
    return status;
}

/* Returns whether the folder has a file of this name. */
static bool has_file(const kn_report_input *m, const char *name)
{
    char path[PATH];
    return snprintf(path, PATH, "%s/%s", m->dir, name) < PATH && access(path, F_OK) == 0;
}

/* Sets m->kind, the command that wrote the folder, by keys that only its summary.json has. hash: of
 * the model, NULL for cv. KN_ERR_DATA if it is another command. */
static kn_status find_kind(kn_ctx *ctx, kn_report_input *m, const json_t *summary, const char *hash)
{
    bool change = json_object_get(summary, "changed") && json_object_get(summary, "pairs");
    bool scores = json_object_get(summary, "abnormality") && json_object_get(summary, "metrics");
    if (!change && !scores)
        return kn_fail(ctx, KN_ERR_DATA, "%s: summary.json was written by another command; %s",
                       m->dir, EXPECTED);
    m->kind = change                              ? KN_INPUT_CHANGE
              : !hash && has_file(m, "folds.tsv") ? KN_INPUT_CV
                                                  : KN_INPUT_SCORE;
    return KN_OK;
}

/* Checks that the folder was made with m->model, by its hash in summary.json ("xxh64:<hex>").
 * saved: hash of the same model with the reference of change that it was saved with; may be NULL.
 * KN_ERR_ARGUMENT if a model is needed or must not be given, KN_ERR_DATA if it is another. */
static kn_status check_model(kn_ctx *ctx, const kn_report_input *m, const char *hash,
                             const char *saved)
{
    const char *command = m->kind == KN_INPUT_CHANGE ? "change" : "score";
    char own[HASH];
    uint64_t h = 0;
    if (m->kind == KN_INPUT_CV)
        return !m->model
                   ? KN_OK
                   : kn_fail(
                         ctx, KN_ERR_ARGUMENT,
                         "%s was written by cv, which has no single model; give the folder alone",
                         m->dir);
    if (!m->model)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s was written by %s; also name the model that it was made with", m->dir,
                       command);
    if (!hash)
        return kn_fail(ctx, KN_ERR_DATA, "%s: summary.json does not name the model; run %s again",
                       m->dir, command);
    kn_status status = kn_model_hash(ctx, m->model, &h);
    if (status != KN_OK)
        return status;
    snprintf(own, sizeof own, "xxh64:%016" PRIx64, h);
    if (strcmp(own, hash) == 0 || (saved && strcmp(own, saved) == 0))
        return KN_OK;
    return kn_fail(ctx, KN_ERR_DATA,
                   "%s was made with another model (%s, this one is %s); give that model, or run "
                   "the command again with this one",
                   m->dir, kn_clipped(hash).text, own);
}

kn_status kn_report_input_identify(kn_ctx *ctx, kn_report_input *m)
{
    kn_status status;
    json_t *summary = NULL;
    json_error_t error;
    KN_TRY(read_summary(ctx, m));
    summary = json_loads(m->summary_json, JSON_REJECT_DUPLICATES, &error);
    if (!summary)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s/summary.json line %d is not JSON; run the command again", m->dir,
                       error.line);
    const json_t *hashes = json_object_get(summary, "hashes");
    const char *hash = json_string_value(json_object_get(hashes, "model"));
    const char *saved = json_string_value(json_object_get(hashes, "saved"));
    KN_TRY(find_kind(ctx, m, summary, hash));
    KN_TRY(check_model(ctx, m, hash, saved));
out:
    json_decref(summary);
    return status;
}
