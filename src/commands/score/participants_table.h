/* people.tsv: who was used, in the order of the maps, and with which covariates; then who was
 * dropped, and why. */
#ifndef KN_COMMANDS_SCORE_PARTICIPANTS_TABLE_H
#define KN_COMMANDS_SCORE_PARTICIPANTS_TABLE_H

#include "commands/common/exclusions.h"
#include "commands/score/scores.h"

typedef struct kn_participants_table { /* all lent */
    const kn_data *data;
    const kn_model *model;
    const kn_sample *people;
    const kn_scores *scores;
    const kn_exclusions *exclusions;
    const char
        *maps; /* names of a person's own files behind ID_, with commas; NULL: none has any */
} kn_participants_table;

/* One row of it as a text; free with kn_free. */
typedef enum kn_participants_row {
    KN_PARTICIPANTS_HEADER,
    KN_PARTICIPANTS_USED,
    KN_PARTICIPANTS_EXCLUDED
} kn_participants_row;
kn_status kn_participants_line(kn_ctx *ctx, const kn_participants_table *sheet,
                               kn_participants_row which, ptrdiff_t i, char **line);

/* What a covariate is called there: `used_why` if its name is one of ours. */
enum { KN_PARTICIPANTS_NAME = KN_LEVEL_SIZE + 8 };
bool kn_participants_ours(const char *name);
void kn_participants_covariate(const char *name, char out[KN_PARTICIPANTS_NAME]);

kn_status kn_participants_table_check(kn_ctx *ctx, const char *dir,
                                      const kn_write_options *options);
kn_status kn_participants_table_write(kn_ctx *ctx, const kn_participants_table *sheet,
                                      const char *dir, const kn_write_options *options);

#endif
