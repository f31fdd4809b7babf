/* Implements provenance.h. Files are hashed by their bytes, data in memory by their values. */
#include "commands/score/provenance.h"

#include <math.h>
#include <string.h>

#include "base/hash/xxh64.h"
#include "base/options/command_line.h"
#include "commands/common/input_hashes.h"
#include "commands/score/internal.h"
#include "model/file/file.h"
#include "model/fit_info_json.h"

/* ---- hashes ---- */

bool kn_values_hashed(const kn_data *d)
{
    return kn_data_has_responses(d) && !d->responses;
}

kn_status kn_values_hash(kn_ctx *ctx, kn_view Y, uint64_t *each)
{
    double *row;
    kn_status status = kn_alloc_d(ctx, Y.cols, &row);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < Y.rows; i++) {
        for (ptrdiff_t j = 0; j < Y.cols; j++)
            row[j] = kn_view_at(Y, i, j);
        each[i] = kn_hash(row, (size_t)Y.cols * sizeof *row, 0);
    }
    kn_free(row);
    return KN_OK;
}

uint64_t kn_values_all(const uint64_t *each, ptrdiff_t n)
{
    uint64_t all = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        all = kn_hash(&each[i], sizeof each[i], all);
    return all;
}

kn_status kn_model_hash_json(kn_ctx *ctx, const kn_model *model, json_t **out)
{
    uint64_t h = 0;
    kn_status status = model ? kn_model_hash(ctx, model, &h) : KN_OK;
    *out = status == KN_OK && model ? kn_hash_json("xxh64", h) : json_null();
    return status;
}

/* The hashes of model (moved), covariates and responses as a new JSON object; those of values in
 * memory if there is no file. */
static json_t *hashes_json(kn_ctx *ctx, const kn_provenance *from, json_t *model)
{
    const kn_data *d = from->data;
    uint64_t several = 0;
    bool tables = kn_responses_are_several(d) && kn_responses_stamp(ctx, d, &several) == KN_OK;
    json_t *responses = kn_values_hashed(d) ? kn_hash_json("xxh64-values", from->values)
                        : tables            ? kn_hash_json("xxh64", several)
                                            : kn_file_hash_json(ctx, d->responses_path);
    return json_pack("{s:o s:o s:o}", "model", model, "covariates",
                     kn_file_hash_json(ctx, d->covariates_path), "responses", responses);
}

/* ---- summary ---- */

/* How rows of covariates were matched with responses, as a new JSON string: "row", "position" or
 * the id column. */
static json_t *matched_json(const kn_data *d)
{
    if (!kn_data_has_responses(d))
        return json_null();
    if (d->in_memory || d->responses == d->covariates)
        return json_string("row");
    return d->match.by_position ? json_string("position")
                                : kn_json_text(kn_table_name(d->covariates, d->id_col));
}

/* The command line as a new JSON string, if all data came from files; else null. */
static kn_status command_json(kn_ctx *ctx, const kn_provenance *from, json_t **out)
{
    static const char *const PARTS[] = {"part", "join", NULL};
    char *line = NULL;
    kn_status status = KN_OK;
    if (from->options && !from->data->in_memory)
        status = kn_command_line_without(ctx, from->options, PARTS,
                                         &line); /* as one run without job parts */
    *out = kn_json_text(line);
    kn_free(line);
    return status;
}

/* Append the warnings to a JSON array. */
static void add_warnings(json_t *list, const kn_warnings *w)
{
    for (ptrdiff_t i = 0; i < w->n; i++) {
        json_t *text = json_string(w->text[i]);
        json_array_append_new(list, text ? text : json_string("a warning that is not UTF-8 text"));
    }
}

/* Add command, hashes, label, matching, exclusions and warnings to the summary. KN_ERR_MEMORY. */
static kn_status add_provenance(kn_ctx *ctx, const kn_provenance *from, const kn_model *model,
                                json_t *summary)
{
    json_t *command, *hash, *warnings = json_array(),
                            *dropped = kn_exclusions_json(from->exclusions);
    kn_status status = command_json(ctx, from, &command);
    kn_status hashed = kn_model_hash_json(ctx, model, &hash);
    add_warnings(warnings, &from->data->warnings);
    add_warnings(warnings, from->warnings);
    json_object_set_new(json_object_get(summary, "counts"), "dropped",
                        json_integer((json_int_t)from->exclusions->n));
    bool failed = from->warnings->lost || from->data->warnings.lost || !dropped;
    failed |= json_object_set_new(summary, "warnings", warnings) != 0;
    failed |= json_object_set_new(summary, "command", command) != 0;
    failed |= json_object_set_new(summary, "hashes", hashes_json(ctx, from, hash)) != 0;
    failed |= json_object_set_new(summary, "cases", kn_json_text(from->s->cases)) != 0;
    failed |= json_object_set_new(summary, "matched_by", matched_json(from->data)) != 0;
    failed |= json_object_set_new(summary, "dropped", dropped) != 0;
    if (status == KN_OK)
        status = hashed;
    if (status == KN_OK && failed)
        status = kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the summary");
    return status;
}

kn_status kn_summary_job_part(kn_ctx *ctx, kn_scores *s, kn_job_part part, ptrdiff_t participants)
{
    double *later[] = {s->extrapolation_pct, s->site_adapted, s->unseen_level,
                       s->implausible,       s->flagged,      s->label};
    for (int k = 0; s->scored && k < KN_P_KINDS; k++) /* except those that need no other part */
        for (ptrdiff_t i = 0; i < s->n; i++)
            if (kn_p_basis_of(s, k, i) != KN_P_SAME_RESPONSES)
                kn_p_column_of(s, k).p[i] = NAN;
    for (size_t k = 0; k < sizeof later / sizeof *later; k++)
        for (ptrdiff_t i = 0; later[k] && i < s->n; i++)
            later[k][i] = NAN;
    s->summary = json_pack("{s:{s:I s:I} s:{s:I s:I s:I}}", "part", "part", (json_int_t)part.i,
                           "of", (json_int_t)part.n, "counts", "participants", (json_int_t)s->n,
                           "participants_of_all_parts", (json_int_t)participants, "responses",
                           (json_int_t)s->T);
    s->json = s->summary ? json_dumps(s->summary, JSON_INDENT(2)) : NULL;
    return s->json ? KN_OK : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the summary");
}

kn_status kn_summary_make(kn_ctx *ctx, kn_scores *s, const kn_provenance *from)
{
    kn_status status;
    s->summary = kn_scores_summary(s);
    if (!s->summary)
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the summary");
    KN_TRY(add_provenance(ctx, from, s->model, s->summary));
    s->json = json_dumps(s->summary, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    if (!s->json)
        status = kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the summary");
out:
    return status;
}
