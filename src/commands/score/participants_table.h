/* people.tsv: who was used, in the order of the maps, and with which covariates; then who was
 * dropped, and why. */
#ifndef KN_COMMANDS_SCORE_PARTICIPANTS_TABLE_H
#define KN_COMMANDS_SCORE_PARTICIPANTS_TABLE_H

#include "commands/common/exclusions.h"
#include "commands/score/scores.h"

typedef struct kn_people_sheet { /* all lent */
    const kn_data *data;
    const kn_model *model;
    const kn_people *people;
    const kn_scores *scores;
    const kn_attendance *attendance;
    const char
        *maps; /* names of a person's own files behind ID_, with commas; NULL: none has any */
} kn_people_sheet;

/* One row of it as a text; free with kn_free. */
typedef enum kn_people_row { KN_PEOPLE_HEADER, KN_PEOPLE_USED, KN_PEOPLE_DROPPED } kn_people_row;
kn_status kn_people_line(kn_ctx *ctx, const kn_people_sheet *sheet, kn_people_row which,
                         ptrdiff_t i, char **line);

/* What a covariate is called there: `used_why` if its name is one of ours. */
enum { KN_PEOPLE_NAME = KN_LEVEL_SIZE + 8 };
bool kn_people_ours(const char *name);
void kn_people_covariate(const char *name, char out[KN_PEOPLE_NAME]);

kn_status kn_people_check(kn_ctx *ctx, const char *dir, const kn_write_options *options);
kn_status kn_people_write(kn_ctx *ctx, const kn_people_sheet *sheet, const char *dir,
                          const kn_write_options *options);

#endif
