/* New people before a model: who belongs to a group of training, whose covariates are beyond what
 * training says anything of                                                      [METHOD 0, 4] */
#ifndef KN_COMMANDS_SCORE_NEW_PARTICIPANTS_H
#define KN_COMMANDS_SCORE_NEW_PARTICIPANTS_H

#include "commands/score/site_lookup.h"

typedef struct kn_participant_status {
    ptrdiff_t n;
    ptrdiff_t *group;  /* n  the group of training, -1: a new one; NULL: groups are not asked for */
    int *held;         /* n  covariates that were held, or of a level or value that is new */
    bool *unseen;      /* n  of a level that training did not have */
    ptrdiff_t *column; /* how many people that is, for each covariate of the model */
    ptrdiff_t n_known; /* people in a group of training */
    kn_site_lookup from; /* which sites */
} kn_participant_status;

/* Says what it finds. {known_groups} is refused where the model has no groups. */
kn_status kn_participant_status_new(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                                    const kn_data *data, const kn_sample *people,
                                    kn_participant_status *out);
void kn_participant_status_clear(kn_participant_status *s); /* {0} is fine */

/* Are the covariates of row i those that training sample t had? X: as kn_design_apply makes it. */
bool kn_provenance_covariates_equal(const kn_model *model, kn_mat X, ptrdiff_t i, ptrdiff_t t);

/* The column that says who is in which group of training, for kn_sample_spec; NULL: none is asked
 * for. */
const char *kn_participant_status_column(const kn_settings *s, const kn_model *model);

#endif
