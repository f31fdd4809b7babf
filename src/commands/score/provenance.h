/* Of what a summary is the summary: the command, the files by their hashes, how rows were matched,
 * who was dropped, and every warning that was given. */
#ifndef KN_COMMANDS_SCORE_PROVENANCE_H
#define KN_COMMANDS_SCORE_PROVENANCE_H

#include "base/warnings.h"
#include "commands/common/exclusions.h"
#include "commands/score/scores.h"

typedef struct kn_provenance { /* all lent; options may be NULL */
    const kn_options *options;
    const kn_settings *s;
    const kn_data *data;
    const kn_exclusions *exclusions;
    const kn_warnings *warnings; /* beside those of the data */
    uint64_t values;             /* hash of the responses, by kn_values_hash; 0: not made */
} kn_provenance;

/* each[i] = XXH64 of row i of responses as doubles. Costs a pass over what is in memory: images are
 * not read again. _all: of n people, the chain of theirs in order. */
kn_status kn_values_hash(kn_ctx *ctx, kn_view Y, uint64_t *each);
uint64_t kn_values_all(const uint64_t *each, ptrdiff_t n);
/* Are the values hashed, and not the file? Tables are: they are small, and their file says more. */
bool kn_values_hashed(const kn_data *data);

/* A hash of the file that says which responses are whose, or holds them as a table; of an array or
 * images of everybody, which may be too large to be read for this, of some of its bytes; 0: there
 * is no file. */
kn_status kn_responses_stamp(kn_ctx *ctx, const kn_data *data, uint64_t *out);

/* "xxh64:28192758c5b520c3" of the model's file, which need not be written yet; null: no model. */
kn_status kn_model_hash_json(kn_ctx *ctx, const kn_model *model, json_t **out);

/* Of a part all that can be said before the join: how many it has. Numbers that others have a say
 * in become NaN. */
kn_status kn_summary_part(kn_ctx *ctx, kn_scores *s, kn_job_part part, ptrdiff_t people);

/* summary.json, as JSON and as text, after kn_scores_finish. */
kn_status kn_summary_make(kn_ctx *ctx, kn_scores *s, const kn_provenance *from);

#endif
