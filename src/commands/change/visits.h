/* Rows of one person as visits in their order, and the pairs of them that are looked at: each visit
 * with the next, and of three or more the first with the last. */
#ifndef KN_COMMANDS_CHANGE_VISITS_H
#define KN_COMMANDS_CHANGE_VISITS_H

#include "data/sample.h"
#include "model/model.h"

typedef struct kn_visit_pair {
    ptrdiff_t first, second; /* rows of the people */
    ptrdiff_t person;        /* 0 ..; pairs of one lie together */
    bool whole;              /* from the first to the last of three or more visits */
    bool control;            /* of a person of the reference */
    bool moved;              /* of two sites */
    double interval;         /* NaN: not known */
} kn_visit_pair;

typedef struct kn_visits {
    ptrdiff_t n_pairs, n_people; /* those of the reference come first, then by their names */
    ptrdiff_t n_controls;        /* people of the reference */
    ptrdiff_t n_alone;           /* people with one visit: left out */
    kn_visit_pair *pair;
    char **id;                    /* n_pairs  PERSON_VISIT1_VISIT2 */
    const char **person, **visit; /* of each row of the people, lent by the data */
    ptrdiff_t n_rows;
    const char *interval_name; /* column of the covariates, lent; NULL: there is none */
} kn_visits;

/* By {visit}, {reference} as the settings have them and {interval}, or else the age of the model's
 * covariates. Says what it leaves out and whose visits are of two sites. */
kn_status kn_visits_new(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                        const kn_data *data, const kn_sample *people, kn_visits *out);
void kn_visits_clear(kn_visits *v); /* {0} is fine */

#endif
