/* Of what a summary is the summary: the command, the files by their hashes, how rows were matched,
 * who was dropped, and every warning that was given. */
#ifndef KN_WORK_PROVENANCE_H
#define KN_WORK_PROVENANCE_H

#include "base/warnings.h"
#include "work/attendance.h"
#include "work/scores.h"

typedef struct kn_provenance { /* all lent; options may be NULL */
    const kn_options *options;
    const kn_settings *s;
    const kn_data *data;
    const kn_attendance *attendance;
    const kn_warnings *warnings; /* beside those of the data */
    uint64_t values;             /* hash of the responses, by kn_values_hash; 0: not made */
} kn_provenance;

/* XXH64 of rows of responses as doubles, person by person; `before` of the people before, 0 at the
 * start. Costs a pass over what is in memory: images are not read again. */
kn_status kn_values_hash(kn_ctx *ctx, kn_view Y, uint64_t before, uint64_t *out);
/* Are the values hashed, and not the file? Tables are: they are small, and their file says more. */
bool kn_values_hashed(const kn_data *data);

/* "xxh64:28192758c5b520c3" of the model's file, which need not be written yet; null: no model. */
kn_status kn_model_hash_json(kn_ctx *ctx, const kn_model *model, json_t **out);

/* summary.json, as JSON and as text, after kn_scores_finish. */
kn_status kn_summary_make(kn_ctx *ctx, kn_scores *s, const kn_provenance *from);

#endif
