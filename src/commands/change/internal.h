/* Private interfaces of kn_change: the pairs of visits of a participant, and the results that are
 * written. change.c computes them. */
#ifndef KN_COMMANDS_CHANGE_INTERNAL_H
#define KN_COMMANDS_CHANGE_INTERNAL_H

#include "base/context.h"
#include "data/sample.h"
#include "io/file/atomic_writer.h"
#include "model/model.h"
#include "norm/change/reference.h"

/* ---- visits.c ---- */

/* Orders the rows of a participant as visits and makes pairs: each visit with the next, and of
 * three or more also the first with the last. */

/* Two visits of one participant. */
typedef struct kn_visit_pair {
    ptrdiff_t first, second; /* rows of the sample */
    ptrdiff_t participant;   /* participant, from 0; pairs of one are consecutive */
    bool whole;              /* first and last of three or more visits */
    bool control;            /* participant of the reference */
    bool moved;              /* visits at different sites */
    double interval;         /* second minus first; NaN: unknown */
} kn_visit_pair;

/* All pairs, sorted by participant. */
typedef struct kn_visits {
    ptrdiff_t n_pairs, n_participants; /* participants of the reference come first, then by name */
    ptrdiff_t n_controls;              /* participants of the reference */
    ptrdiff_t n_single;                /* participants with one visit: excluded */
    kn_visit_pair *pair;
    char **id;                         /* n_pairs: PERSON_VISIT1_VISIT2 */
    const char **participant, **visit; /* per row of the sample, borrowed from the data */
    ptrdiff_t n_rows;
    const char *interval_name; /* column of intervals, borrowed; NULL: none */
} kn_visits;

/* Make visits and pairs from {visit}, {reference} and {interval}; without {interval} from the age
 * covariate of the model. Logs excluded participants and changes of site. KN_ERR_DATA if there is
 * no pair, or visits are duplicated or not in order of time. out is owned by the caller. */
kn_status kn_visits_new(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                        const kn_data *data, const kn_sample *participants, kn_visits *out);
void kn_visits_clear(kn_visits *v); /* accepts {0} */

/* ---- write.c ---- */

/* Results of kn_change: changes between visits compared with stable participants [METHOD 8g].
 * change.c computes them, write.c writes them. */

/* Everything that write.c needs; pointers are borrowed from the run. */
typedef struct kn_changes {
    const kn_options *options;
    const kn_settings *s;
    const kn_model *model;
    const kn_data *data;
    const kn_warnings *warnings;
    const kn_visits *visits;
    const kn_change_reference *reference;
    bool saved;   /* the reference is the one saved in the model */
    kn_mat value; /* pairs x KN_CHANGE_VALUES */
    double *n;    /* pairs: number of finite z */
    kn_change_info *info;
} kn_changes;

/* p-value of one statistic of pair i; a member of the reference is compared with the other
 * members. */
double kn_changes_p(const kn_changes *c, ptrdiff_t i, kn_change_value which);

/* Check before the computation that all files can be written; the folder exists. */
kn_status kn_changes_check(kn_ctx *ctx, const kn_changes *c, const kn_write_options *options);

/* Write change.tsv, reference.json, with {save} the model, and last summary.json; adds their number
 * to c->info->files. */
kn_status kn_changes_write(kn_ctx *ctx, const kn_changes *c, const kn_write_options *options);

#endif
