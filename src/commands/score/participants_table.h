/* Writes scored_participants.tsv: used participants with their covariates in the order of the
 * maps, then excluded ones with the reason. `kronorm report` reads the table back. */
#ifndef KN_COMMANDS_SCORE_PARTICIPANTS_TABLE_H
#define KN_COMMANDS_SCORE_PARTICIPANTS_TABLE_H

#include "commands/common/exclusions.h"
#include "commands/score/scores.h"

typedef struct kn_participants_table { /* all borrowed */
    const kn_data *data;
    const kn_model *model;
    const kn_sample *participants;
    const kn_scores *scores;
    const kn_exclusions *exclusions;
    const char *maps; /* with {split}: map file names after ID_, with commas; else NULL */
} kn_participants_table;

/* Makes one row as text without newline; owned by the caller (kn_free). i: index of the participant
 * or the exclusion; ignored for the header. */
typedef enum kn_participants_row {
    KN_PARTICIPANTS_HEADER,
    KN_PARTICIPANTS_USED,
    KN_PARTICIPANTS_EXCLUDED
} kn_participants_row;

/* Make one row of the table as text without newline; owned by the caller (kn_free). i: index of the
 * participant or of the exclusion; ignored for the header. */
kn_status kn_participants_line(kn_ctx *ctx, const kn_participants_table *sheet,
                               kn_participants_row which, ptrdiff_t i, char **line);

/* Column name of a covariate: prefixed by `used_` if it equals a column of this table
 * (kn_participants_ours). */
enum { KN_PARTICIPANTS_NAME = KN_LEVEL_SIZE + 8 };

/* True if this is the name of a column of the table itself. */
bool kn_participants_ours(const char *name);

/* Column name of a covariate: prefixed by `used_` if it equals a column of the table itself. */
void kn_participants_covariate(const char *name, char out[KN_PARTICIPANTS_NAME]);

/* Check before the computation that dir/scored_participants.tsv can be written. */
kn_status kn_participants_table_check(kn_ctx *ctx, const char *dir,
                                      const kn_write_options *options);

/* Write dir/scored_participants.tsv with its sidecar. */
kn_status kn_participants_table_write(kn_ctx *ctx, const kn_participants_table *sheet,
                                      const char *dir, const kn_write_options *options);

#endif
