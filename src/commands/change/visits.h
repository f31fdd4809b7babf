/* Orders the rows of a participant as visits and makes pairs: each visit with the next, and of
 * three or more also the first with the last. */
#ifndef KN_COMMANDS_CHANGE_VISITS_H
#define KN_COMMANDS_CHANGE_VISITS_H

#include "data/sample.h"
#include "model/model.h"

/* Two visits of one participant. */
typedef struct kn_visit_pair {
    ptrdiff_t first, second; /* rows of the sample */
    ptrdiff_t person;        /* participant, from 0; pairs of one are consecutive */
    bool whole;              /* first and last of three or more visits */
    bool control;            /* participant of the reference */
    bool moved;              /* visits at different sites */
    double interval;         /* second minus first; NaN: unknown */
} kn_visit_pair;

/* All pairs, sorted by participant. */
typedef struct kn_visits {
    ptrdiff_t n_pairs, n_people; /* participants of the reference come first, then by name */
    ptrdiff_t n_controls;        /* participants of the reference */
    ptrdiff_t n_alone;           /* participants with one visit: excluded */
    kn_visit_pair *pair;
    char **id;                    /* n_pairs: PERSON_VISIT1_VISIT2 */
    const char **person, **visit; /* per row of the sample, borrowed from the data */
    ptrdiff_t n_rows;
    const char *interval_name; /* column of intervals, borrowed; NULL: none */
} kn_visits;

/* Makes visits and pairs from {visit}, {reference} and {interval}; without {interval} from the age
 * covariate of the model. Logs excluded participants and changes of site. KN_ERR_DATA if there is
 * no pair, or visits are duplicated or not in order of time. */
kn_status kn_visits_new(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                        const kn_data *data, const kn_sample *people, kn_visits *out);
void kn_visits_clear(kn_visits *v); /* accepts {0} */

#endif
