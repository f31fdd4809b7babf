/* Provenance of a summary: the command, hashes of the input files, how rows were matched, excluded
 * participants, and all warnings. summary.json has it, and `kronorm report` recognises the model
 * of a folder by its hash. */
#ifndef KN_COMMANDS_SCORE_PROVENANCE_H
#define KN_COMMANDS_SCORE_PROVENANCE_H

#include "base/context.h"
#include "commands/common/exclusions.h"
#include "commands/score/scores.h"

typedef struct kn_provenance { /* all borrowed; options may be NULL */
    const kn_options *options;
    const kn_settings *s;
    const kn_data *data;
    const kn_exclusions *exclusions;
    const kn_warnings *warnings; /* in addition to those of the data */
    uint64_t values;             /* hash of the responses by kn_values_all; 0: not made */
} kn_provenance;

/* each[i] = XXH64 of row i of Y as doubles; one pass over memory, images are not read again.
 * KN_ERR_MEMORY. */
kn_status kn_values_hash(kn_ctx *ctx, kn_view Y, uint64_t *each);

/* Chain n hashes to one, in their order. */
uint64_t kn_values_all(const uint64_t *each, ptrdiff_t n);
/* True if the values are hashed rather than the file. Tables are hashed as files. */
bool kn_values_hashed(const kn_data *data);

/* Hash of the model file, which need not be written yet, as a new JSON string; JSON null without
 * model. */
kn_status kn_model_hash_json(kn_ctx *ctx, const kn_model *model, json_t **out);

/* Makes the summary of a job part: counts only. Columns that depend on other participants become
 * NaN until the join. */
kn_status kn_summary_job_part(kn_ctx *ctx, kn_scores *s, kn_job_part part, ptrdiff_t participants);

/* Makes s->summary and s->json, the content of summary.json. Call after kn_scores_finish. */
kn_status kn_summary_make(kn_ctx *ctx, kn_scores *s, const kn_provenance *from);

#endif
